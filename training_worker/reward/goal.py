"""Goal success: whether a rollout did exactly what the user wanted and reported the required facts; reads are free."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator
from functools import cache, lru_cache

from mcp_servers.catalogue import TOOLS

from ..core.trajectory import Example, Rollout, ToolCall
from ..dataflow.quality import Value, find_catalogue_values, find_schema_values, find_values, parse
from ..dataflow.resolver import iterate_leaves
from ..dataflow.speech import find_said
from .acts import split_turns
from .final_state import final_state
from .state_diff import TRUTH_CACHE_SIZE, ExampleKey, list_successful_calls

Fact = tuple[str, str, Value]  # tool, name of the field, value


def reaches_goal(example: Example, rollout: Rollout) -> bool:
    """Return whether a rollout of an example with built-in servers reaches its goal.

    Conditions: it ends with an answer; all servers are in the ground truth's final state; each tool has as many
    accepted writes as in the ground truth, also if writes undo each other; and the text that ends each user turn states
    the facts required there. Read-only calls are free. If no call is required, the conditions are no write and a final
    text; otherwise at least one call must be accepted.

    Limits: it misses facts in forms that `find_said` does not know, such as a rounded amount or a day without its year,
    and facts stated next to a call or in another turn. Two wrong writes of right tools that cancel each other pass.
    """
    turns, accepted = split_turns(rollout), list_successful_calls(rollout.calls)
    due = count_writes(call for step in example.steps for call in step.calls)
    if rollout.end != "answered" or not turns or not turns[-1].text.strip() or count_writes(accepted) != due:
        return False
    if example.abstains:
        return True
    said = all(
        states(turn.text, fact, example.today)
        for turn, facts in zip(turns, find_due_facts(example), strict=False)
        for fact in facts
    )
    return bool(accepted) and said and final_state(example, rollout) == 1.0


def count_writes(calls: Iterable[ToolCall]) -> Counter[str]:
    """Count the calls of each writing tool."""
    return Counter(call.name for call in calls if TOOLS[call.name][1].writes)


def find_due_facts(example: Example) -> tuple[tuple[Fact, ...], ...]:
    """Return the required facts of each user turn: observed values that the ground truth's answer states and that no
    user turn contains.

    Only observations of the turn's own steps count, without trivial values and values listed in the tool's schemas.
    """
    return find_facts_by_key(ExampleKey(example))


@lru_cache(maxsize=TRUTH_CACHE_SIZE)
def find_facts_by_key(key: ExampleKey) -> tuple[tuple[Fact, ...], ...]:
    example, found = key.example, []
    for turn, answer in enumerate(example.answers):
        said, facts = " ".join(example.turns[: turn + 1]), dict[Value, Fact]()
        for fact in find_observed(example, turn):
            if fact[2] not in facts and states(answer, fact, example.today) and not states(said, fact, example.today):
                facts[fact[2]] = fact
        found.append(tuple(facts.values()))
    return tuple(found)


def find_observed(example: Example, turn: int) -> Iterator[Fact]:
    """Yield the non-trivial values in the observations of a user turn's steps."""
    steps = (step for step in example.steps if step.turn == turn)
    for call, observation in (pair for step in steps for pair in zip(step.calls, step.observations, strict=False)):
        for path, leaf in iterate_leaves(parse(observation)):
            name = next((key for key in reversed(path) if isinstance(key, str)), "")
            yield from ((call.name, name, one) for one in find_values(leaf) if one not in find_listed(call.name))


@cache
def find_listed(tool: str) -> frozenset[Value]:
    """Return the values listed in the schemas of a tool, such as every status."""
    return find_catalogue_values(tool) | frozenset(find_schema_values(TOOLS[tool][1].output_schema))


def states(text: str, fact: Fact, today: str) -> bool:
    """Return whether a text states a fact, verbatim or as people say it."""
    return find_said(*fact, text, today) is not None


def goal_success(rollouts: Iterable[Rollout]) -> float | None:
    """Return the share of these rollouts that reach their goal; None if it is known for none of them."""
    known = [rollout.goal_success for rollout in rollouts if rollout.goal_success is not None]
    return sum(known) / len(known) if known else None
