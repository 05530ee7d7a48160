"""What a page derives from a conversation: the sources of values, changes of the world, parts of the reward."""

from __future__ import annotations

import json
from dataclasses import replace
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mcp_servers.world import World
from prove_web.trajectories.alignment import align_calls
from prove_web.trajectories.argument_sources import trace_arguments
from prove_web.trajectories.breakdown import Part
from prove_web.trajectories.conversation import of_example, of_rollout
from prove_web.trajectories.demonstration import build_demonstration_rollout
from prove_web.trajectories.detail import Anatomy, anatomy, budget_line, effects, waterfall
from prove_web.trajectories.edit_diff import side_by_side
from prove_web.trajectories.json_spans import at_places, format_path, iter_json_spans, mark_values
from training_worker.chat.protocol import write_calls
from training_worker.core.trajectory import Example, Rollout, Step, ToolCall, WorldRef
from training_worker.environment.episode import Attempt, oracle
from training_worker.reward import PAPER
from training_worker.reward.provenance import provenance

from .examples import abstention, chain, examples

JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | st.text(max_size=8),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=4), inner, max_size=3),
    max_leaves=12,
)


def attempt(example: Example, *texts: str) -> Rollout:
    running = Attempt(example)
    for text in texts:
        running.answer(text)
    return running.finish()


def clumsy(example: Example) -> Rollout:
    """Make a needless call, then all expected calls but the first, then one with an invented value."""
    calls = [call for step in example.steps for call in step.calls]
    made_up = ToolCall(calls[-1].name, {**(calls[-1].arguments or {}), "note": "MADE-UP-77"})
    texts = [write_calls([ToolCall("no_such_tool", {})]), *(write_calls([call]) for call in calls[1:])]
    return attempt(example, *texts, write_calls([made_up]), *["Done."] * len(example.turns))


def looked_at(example: Example) -> Anatomy:
    rollout = oracle(example)
    return anatomy(of_example(example, rollout.reward), rollout, example)


def test_a_demonstration_as_recorded_is_the_rollout_that_the_oracle_makes_of_it() -> None:
    for example in examples():
        assert replace(
            oracle(example), reward=None, digest="", goal_success=None, acts=()
        ) == build_demonstration_rollout(example)


def test_no_value_of_a_demonstration_is_invented() -> None:
    for example in examples():
        found = trace_arguments(build_demonstration_rollout(example), example)
        assert found.invented == 0
        kinds = {piece.source.kind for each in found.arguments.values() for one in each.values() for piece in one}
        assert kinds <= {"user", "result", "date", "schema"}


def test_as_many_values_are_invented_as_the_rewards_provenance_counts() -> None:
    for example in examples():
        if example.steps:
            rollout = clumsy(example)
            found = trace_arguments(rollout, example)
            assert 1 - found.invented / found.values == pytest.approx(provenance(example, rollout))
            assert found.invented


def test_the_pieces_of_an_argument_are_its_text_and_each_source_is_where_it_says() -> None:
    for example in examples():
        known = looked_at(example)
        by_mark = {piece.mark: piece.text for turn in known.turns for piece in turn.pieces}
        by_mark |= {piece.mark: piece.text for turn in known.turns for call in turn.calls for piece in call.pieces}
        for turn in known.turns:
            assert "".join(piece.text for piece in turn.pieces) in ("", turn.text)
            for call in turn.calls:
                assert {one.name: one.text for one in call.values} == call.typed
                assert json.loads("".join(piece.text for piece in call.pieces) or "0") == (
                    json.loads(call.result) if call.pieces else 0
                )
                for source in (piece.source for one in call.values for piece in one.pieces if piece.source):
                    assert source.anchor in by_mark


def test_a_value_of_a_result_is_named_by_its_path_and_one_of_the_user_by_the_turn() -> None:
    steps = (
        Step((ToolCall("list_cards", {}),), 0, ('[{"id":"CRD-1111","of":{"account":"ACC-2222"}}]',)),
        Step((ToolCall("transfer_money", {"source": "ACC-2222", "amount": 7, "to": ["ACC-9"]}),), 1, ("{}",)),
    )
    example = replace(chain(), turns=("Cards?", "Send 7."), steps=steps, edges=((0, 1),), answers=("Here.", "Done."))
    found = trace_arguments(build_demonstration_rollout(example), example)
    said = {name: [p.source.words for p in pieces if p.source] for name, pieces in found.arguments[1].items()}
    assert said["source"] == ["the result of call 1, [0].of.account"]
    assert said["amount"] == ["user turn 2"]
    assert said["to"] == ["invented: neither the user nor a tool gave it"]


def test_a_day_that_is_said_by_the_reference_date_says_so() -> None:
    step = Step((ToolCall("find_free_slots", {"day": "2026-07-12"}),), 0, ("[]",))
    turns = ("It is Tuesday, 7 July 2026. Find a free slot on Sunday.",)
    example = replace(chain(), turns=turns, steps=(step,), edges=(), answers=("Done.",), today="2026-07-07")
    found = trace_arguments(build_demonstration_rollout(example), example)
    source = found.arguments[0]["day"][0].source
    assert source.kind == "date" and source.words == "“Sunday” in user turn 1, by the reference date 2026-07-07"


@given(JSON, st.sampled_from([None, 2]))
def test_json_in_pieces_is_what_json_writes(value: Any, indent: int | None) -> None:
    pieces = list(iter_json_spans(value, indent))
    assert "".join(text for text, _ in pieces) == json.dumps(value, indent=indent, ensure_ascii=False)
    for text, path in pieces:
        if path is not None:
            found = value
            for part in path:
                found = found[part]
            assert json.dumps(found, ensure_ascii=False) == text


@given(st.text(max_size=30), st.lists(st.tuples(st.integers(0, 30), st.integers(0, 30)), max_size=5))
def test_a_text_in_pieces_is_the_text_whatever_is_marked(text: str, places: list[tuple[int, int]]) -> None:
    marks = {place: f"mark-{at}" for at, place in enumerate(places) if place[1] <= len(text)}
    assert "".join(piece.text for piece in at_places(text, marks)) == text


def test_a_result_that_is_no_json_is_one_piece_and_a_path_is_spelled() -> None:
    assert [piece.text for piece in mark_values("it <broke>", {("a",): "x"}, 2)] == ["it <broke>"]
    assert format_path(("accounts", 0, "id")) == "accounts[0].id" and format_path((1, "id")) == "[1].id"


@given(st.lists(st.tuples(st.floats(-1, 1), st.floats(-0.5, 0.5)), min_size=1, max_size=6))
def test_a_waterfall_ends_at_the_sum_of_its_parts_and_stays_in_the_picture(values: list[tuple[float, float]]) -> None:
    parts = [Part(f"part-{at}", value, weight) for at, (value, weight) in enumerate(values)]
    total = sum(part.adds for part in parts)
    drawn = waterfall(parts, total, 1.3, {})
    assert drawn.bars[0].start == 0 and drawn.bars[-1].end == pytest.approx(total)
    for bar, following in zip(drawn.bars, drawn.bars[1:], strict=False):
        assert bar.end == following.start
    for bar in drawn.bars:
        assert 0 <= bar.left <= bar.left + bar.width <= 100.01 and bar.takes == (bar.end < bar.start)


def test_the_waterfall_of_a_real_rollout_ends_at_its_reward_and_names_who_earned_and_lost() -> None:
    for example in examples():
        if not example.steps:
            assert looked_at(example).waterfall is None
            continue
        rollout = clumsy(example)
        known = anatomy(of_rollout(rollout, example), rollout, example)
        assert known.waterfall.bars[-1].end == pytest.approx(rollout.reward.total)
        names = {bar.part.name: bar for bar in known.waterfall.bars}
        assert names["name"].losing == (1,) and 1 not in names["validity"].earning


def test_what_calls_add_is_the_sum_of_their_ledgers() -> None:
    for example in examples():
        if example.steps:
            rollout = clumsy(example)
            known = anatomy(of_rollout(rollout, example), rollout, example)
            points = sum(call.points for turn in known.turns for call in turn.calls)
            assert points == pytest.approx(rollout.reward.total)


@pytest.mark.parametrize(("used", "beyond", "cost"), [(0, 0, 0.0), (6, 0, 0.0), (7, 1, 0.0125), (10, 4, 0.05)])
def test_the_budget_line_says_where_the_penalty_begins(used: int, beyond: int, cost: float) -> None:
    line = budget_line(used, 4, PAPER)
    assert (line.due, line.limit, line.beyond) == (4, 6, beyond) and line.cost == pytest.approx(cost)
    assert len([slot for slot in line.slots if slot.used]) == used and len(line.slots) == max(6, used)
    assert [slot.kind for slot in line.slots][:7] == (["due"] * 4 + ["slack"] * 2 + ["beyond"])[: max(6, min(used, 7))]


def test_nothing_has_a_budget_where_nothing_is_due_or_another_form_counts() -> None:
    assert budget_line(0, 0, PAPER) is None and budget_line(3, 3, replace(PAPER, form="graduated")) is None


def test_the_ground_truth_lies_beside_what_was_called_with_each_call_once() -> None:
    for example in examples():
        if not example.steps:
            continue
        for rollout in (oracle(example), clumsy(example)):
            found = align_calls(example, rollout, rollout.reward)
            assert [line.step for line in found.lines if line.step] == [at + 1 for at in range(len(example.steps))]
            numbers = sorted(call.number for line in found.lines for call in line.called)
            assert numbers == [at + 1 for at in range(len(rollout.calls))]
            assert found.missed == len(rollout.reward.missed_steps)
            assert {(edge.earlier - 1, edge.later - 1) for edge in found.edges} == set(example.edges)
        assert all(line.state == "done" for line in align_calls(example, oracle(example), oracle(example).reward).lines)


def test_what_a_call_changed_is_the_difference_of_its_worlds() -> None:
    for example in examples():
        found = effects(build_demonstration_rollout(example), example)
        assert not found.otherwise and not found.why
        where = example.world
        world = World.open(where.seed, where.servers, where.size)
        for position, made in enumerate(build_demonstration_rollout(example).calls):
            before = world.digest()
            world.call(made.call.name, made.call.arguments)
            assert bool(found.changes[position]) == (world.digest() != before)


def test_a_world_that_is_gone_or_of_other_code_has_no_changes_and_says_why() -> None:
    gone = replace(chain(), world=WorldRef(0, ("steam_engine",)))
    old = replace(chain(), fingerprint="0" * 16)
    assert "Missing server: steam_engine" in effects(build_demonstration_rollout(gone), gone).why
    assert (
        "differently" in effects(build_demonstration_rollout(old), old).why
        and not effects(build_demonstration_rollout(old), old).changes
    )


def test_a_reply_that_is_another_one_now_is_marked() -> None:
    first = replace(chain().steps[0], observations=("something else",))
    example = replace(chain(), steps=(first, *chain().steps[1:]))
    known = anatomy(of_example(example), build_demonstration_rollout(example), example)
    assert next(call.otherwise for turn in known.turns for call in turn.calls) is True


def test_an_edited_conversation_lies_beside_the_old_one() -> None:
    example = chain()
    assert {pair.state for pair in side_by_side(example, example)} == {"same"}
    other = replace(example, turns=(f"{example.turns[0]} Please.", *example.turns[1:]), steps=example.steps[:-1])
    pairs = list(side_by_side(example, other))
    assert [pair.state for pair in pairs if pair.state != "same"] == ["changed", "removed"]
    changed = next(pair for pair in pairs if pair.state == "changed")
    assert "".join(text for text, _ in changed.new) == other.turns[0]
    assert "".join(text for text, differs in changed.new if differs).strip() == "Please."


def test_an_abstention_has_nothing_to_take_apart() -> None:
    known = looked_at(abstention())
    assert (known.waterfall, known.budget, known.ledger, known.values) == (None, None, None, 0)
