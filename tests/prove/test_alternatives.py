"""Alternatives to look-ups: swapped in, each does as well, and success accepts it while the reward stays as it was."""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import replace

import pytest

from mcp_servers.catalogue import SERVERS, TOOLS, fingerprint
from mcp_servers.world import World
from tests.prove.known import cached_examples, graph_of, known_graph
from training_worker.core.trajectory import Alternative, Example, ExecutedCall, Rollout, Step, ToolCall, WorldRef, dumps
from training_worker.dataflow.provenance import single
from training_worker.dataflow.resolver import list_unresolved_values
from training_worker.datasets.edits import apply_edits, as_it_is
from training_worker.environment.episode import Attempt, demonstration, oracle
from training_worker.evaluation.worlds.scorer import SUCCESS, judge_rollout
from training_worker.reward import PRESETS, reward_of, score
from training_worker.reward.success import is_accepted, is_success
from training_worker.synthesis import alternatives
from training_worker.synthesis.alternatives import find_alternatives, find_taken, is_covered, swap
from training_worker.synthesis.conversation import Recipe, make
from training_worker.synthesis.knobs import PAPER
from training_worker.synthesis.validate import Rejected, validate

SEED = 5
RECIPE = Recipe(knobs=PAPER)


def make_chains() -> Iterator[Example]:
    """Yield chains about files and those of the servers of the small policy."""
    for graph in (graph_of("filesystem"), known_graph()):
        yield from (one for index in range(40) if (one := make(index, "train", graph, RECIPE, "chain")[0]))


@pytest.fixture(scope="module")
def chains() -> list[Example]:
    return cached_examples("alternatives", __file__, make_chains)


@pytest.fixture(scope="module")
def swappable(chains: list[Example]) -> list[tuple[Example, Alternative]]:
    """Each example with each of its alternatives."""
    found = [(example, one) for example in chains for one in example.alternatives]
    assert len(found) > 3
    return found


def look_up(example: Example, one: Alternative) -> ToolCall:
    return example.steps[one.step].calls[one.call]


def with_call(example: Example, one: Alternative, other: ToolCall) -> Example:
    """Return the example as it runs in its world with another call in the place of a look-up."""
    world = World.open(example.world.seed, example.world.servers, example.world.size)
    for step in example.steps[: one.step]:
        for call in step.calls:
            world.call(call.name, call.arguments or {})
    reply = world.fork().call(other.name, other.arguments or {})
    return swap(example, (one.step, one.call), other, reply.text)


def run(example: Example, swapped: Example) -> Rollout:
    """Return the rollout of an example in which the calls of another are made."""
    attempt = Attempt(example)
    for message in demonstration(swapped):
        if message.role == "assistant":
            attempt.answer(message.content)
    return attempt.finish()


def record(said: str, *calls: ToolCall) -> Example:
    """Return a chain about files whose calls are run one after the other."""
    world = World.open(SEED, ("filesystem",), "small")
    steps, digests = [], [world.digest()]
    for call in calls:
        steps.append(Step((call,), 0, (world.call(call.name, call.arguments or {}).text,)))
        digests.append(world.digest())
    return Example(
        id="train-0",
        kind="chain",
        split="train",
        world=WorldRef(SEED, ("filesystem",), "small"),
        turns=(said,),
        steps=tuple(steps),
        edges=(),
        candidates=tuple(SERVERS["filesystem"].tools),
        answers=("Done.",),
        digests=tuple(digests),
        fingerprint=fingerprint(("filesystem",)),
    )


def other_reads(example: Example, one: Alternative) -> Iterator[ToolCall]:
    """Yield reads that the example shows, run as they are, and that are neither its look-up nor an alternative."""
    same = [look_up(example, one), *(each.other for each in example.alternatives)]
    for name in example.candidates:
        tool = TOOLS[name][1]
        if not tool.writes and not tool.required and not is_covered(ToolCall(name, {}), same):
            yield ToolCall(name, {})


def test_an_alternative_is_an_offered_read_that_shows_the_values_taken(
    swappable: list[tuple[Example, Alternative]],
) -> None:
    for example, one in swappable:
        assert one.other.name in example.candidates and not TOOLS[one.other.name][1].writes
        assert not is_covered(one.other, [look_up(example, one)])
        text = with_call(example, one, one.other).steps[one.step].observations[one.call]
        taken = {origin.value for origin in find_taken(example)[one.step, one.call]}
        assert taken and taken <= set(single(json.loads(text)))


def test_with_an_alternative_all_is_derived_and_answered_as_before(
    swappable: list[tuple[Example, Alternative]],
) -> None:
    for example, one in swappable:
        swapped = with_call(example, one, one.other)
        assert list_unresolved_values(swapped) == []
        world = World.open(example.world.seed, example.world.servers, example.world.size)
        for step, digest in zip(swapped.steps, example.digests[1:], strict=True):
            assert tuple(world.call(call.name, call.arguments or {}).text for call in step.calls) == step.observations
            assert world.digest() == digest
        validate(replace(swapped, alternatives=()))


def test_success_accepts_an_alternative_and_the_reward_does_not_change(
    swappable: list[tuple[Example, Alternative]],
) -> None:
    for example, one in swappable:
        rollout = run(example, with_call(example, one, one.other))
        reward = rollout.reward
        assert reward and reward.accepted and is_success(reward) and judge_rollout(example, rollout) == SUCCESS
        assert replace(reward, accepted=False) == score(example.steps, example.edges, rollout.calls)
        assert not is_success(replace(reward, accepted=False))
        plain = replace(example, alternatives=())
        for config in PRESETS.values():
            mine = reward_of(example, rollout, config)
            assert mine.accepted and replace(mine, accepted=False) == reward_of(plain, rollout, config)


LIST, TREE, FIND = (ToolCall(name, {}) for name in ("list_directory", "show_directory_tree", "find_files"))
USE = ToolCall("get_disk_usage", {"directory": "/home/alba/notes"})
BOTH = record("How much room do my notes take?", LIST, TREE, USE)


@pytest.mark.parametrize(
    ("calls", "accepted"),
    [
        ([FIND, TREE, USE], True),
        ([LIST, FIND, USE], True),
        ([LIST, USE], True),  # one call may serve for two look-ups of a step
        ([FIND, USE], True),
        ([LIST, TREE, USE], False),  # as it is stored
        ([TREE, USE], False),
        ([FIND, TREE], False),
        ([FIND, LIST, TREE, USE], False),
        ([USE, FIND, TREE], False),
    ],
)
def test_success_accepts_alternatives_in_every_combination(calls: list[ToolCall], accepted: bool) -> None:
    look, use = replace(BOTH.steps[0], calls=(LIST, TREE)), BOTH.steps[2]
    others = (Alternative(0, 0, FIND), Alternative(0, 1, LIST), Alternative(0, 1, FIND))
    example = replace(BOTH, steps=(look, use), edges=((0, 1),), alternatives=others)
    assert is_accepted(example, [ExecutedCall(call, 3) for call in calls]) is accepted


def test_another_read_is_no_success(swappable: list[tuple[Example, Alternative]]) -> None:
    tried = 0
    for example, one in swappable:
        for other in other_reads(example, one):
            rollout = run(example, with_call(example, one, other))
            assert rollout.reward and not rollout.reward.accepted and judge_rollout(example, rollout) != SUCCESS
            tried += 1
    assert tried > 10


def test_a_look_up_and_its_alternative_are_one_call_too_many(swappable: list[tuple[Example, Alternative]]) -> None:
    for example, one in swappable:
        step = example.steps[one.step]
        both = replace(
            step, calls=(*step.calls, one.other), observations=(*step.observations, step.observations[one.call])
        )
        rollout = run(
            example, replace(example, steps=(*example.steps[: one.step], both, *example.steps[one.step + 1 :]))
        )
        assert rollout.reward and not rollout.reward.accepted


def test_the_oracle_needs_no_alternative(chains: list[Example]) -> None:
    for example in chains:
        reward = oracle(example).reward
        assert reward and reward.total == pytest.approx(1.3) and not reward.accepted
        assert "accepted" not in json.loads(dumps(reward))


def test_alternatives_are_sorted_bounded_and_the_same_each_time(
    chains: list[Example], monkeypatch: pytest.MonkeyPatch
) -> None:
    assert [one.alternatives for one in make_chains()] == [one.alternatives for one in chains]
    ran = []
    monkeypatch.setattr(
        alternatives,
        "show",
        lambda *about, own=alternatives.show: ran.append(about) or own(*about),  # type: ignore[func-returns-value]
    )
    for example in chains:
        ran.clear()
        every = [call for step in example.steps for call in step.calls]
        found = find_alternatives(example, every)
        assert len(ran) <= alternatives.MOST_CALLS
        assert find_alternatives(replace(example, candidates=example.candidates[::-1]), every) == found
        places = [(one.step, one.call) for one in found]
        assert places == sorted(places) and all(places.count(one) <= alternatives.MOST_ALTERNATIVES for one in places)
        assert {*map(dumps, example.alternatives)} <= {*map(dumps, found)}


def test_only_what_is_made_to_look_up_has_alternatives(chains: list[Example]) -> None:
    for example in chains:
        assert find_alternatives(example, ()) == ()
        places = {(one.step, one.call) for one in example.alternatives}
        look_ups = [look_up(example, one) for one in example.alternatives]
        assert {(one.step, one.call) for one in find_alternatives(example, look_ups)} == places


@pytest.mark.parametrize(("condition", "serves"), [("", True), (" But only if its files are more than 1.", False)])
def test_an_alternative_shows_the_number_that_a_condition_is_about(condition: str, serves: bool) -> None:
    home = "/home/alba"
    tree = ToolCall("show_directory_tree", {"directory": home})
    usage = ToolCall("get_disk_usage", {"directory": f"{home}/notes"})
    said = f"How much room does the folder notes of {home} take?{condition}"
    found = find_alternatives(record(said, tree, usage), [tree])
    assert (ToolCall("list_directory", {}) in [one.other for one in found]) is serves


def test_an_alternative_that_shows_something_else_is_rejected(swappable: list[tuple[Example, Alternative]]) -> None:
    for example, one in swappable:
        for other in [*other_reads(example, one), ToolCall("no_such_tool", {})][-2:]:
            text = with_call(example, one, other).steps[one.step].observations[one.call]
            taken = {origin.value for origin in find_taken(example)[one.step, one.call]}
            if not taken <= set(single(json.loads(text))):
                with pytest.raises(Rejected, match="does not show the values taken"):
                    validate(replace(example, alternatives=(replace(one, other=other),)))


def test_mending_drops_the_alternatives_of_what_changes(swappable: list[tuple[Example, Alternative]]) -> None:
    changed = 0
    for example, one in swappable:
        assert apply_edits(example.id, example, as_it_is(example)) == example
        calls = as_it_is(with_call(example, one, one.other)).calls
        try:
            made = apply_edits("new", example, replace(as_it_is(example), calls=calls))
        except Rejected as reason:
            assert "that nobody gave" in str(reason)  # words that a person edits are read more strictly
            continue
        places = {(each.step, each.call) for each in example.alternatives}
        if one.other not in [look_up(example, each) for each in example.alternatives]:
            places -= {(one.step, one.call)}
        assert {(each.step, each.call) for each in made.alternatives} <= places
        validate(made)
        changed += 1
    assert changed
