"""Shortcut policies, which read no observation, and the share of a dataset's chains that each of them passes.

A policy writes all its calls before the first one runs, and they run in the chain's own world. Data that such a policy
passes teaches nothing about reading observations.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from hashlib import blake2b
from heapq import nsmallest
from itertools import cycle
from statistics import fmean

from mcp_servers.catalogue import TOOLS
from mcp_servers.world import World

from ..chat.protocol import write_calls
from ..chat.schemas import input_schemas
from ..core.trajectory import Example, Json, Rollout, ToolCall
from ..dataflow.provenance import contains_value, word
from ..dataflow.quality import is_target_met, parse
from ..dataflow.resolver import ObservedLeaf, Origin, Path, iterate_leaves, resolve
from ..dataflow.text_statistics import QualityRow
from ..environment.episode import Attempt, Limits
from ..reward.final_state import final_state
from ..reward.success import EQUAL

Place = tuple[int, int, str, Path]
"""A leaf of a ground-truth argument: its step, the call in it, the parameter and the path inside the argument."""
Policy = Callable[[Example], tuple[ToolCall, ...]]
"""A function from an example to all calls of its conversation, in order."""

SAMPLE = 200
CLOSING = "Done."
WORD = re.compile(r"\w+(?:['\u2019-]\w+)*")


@dataclass(frozen=True)
class ShortcutRow(QualityRow):
    """A measure with its target; `value` is in 0..1."""

    value: float = 0.0

    @property
    def meets_target(self) -> bool | None:
        """Whether the target is met; None without a target."""
        return is_target_met(self, self.value)


@dataclass(frozen=True, kw_only=True)
class Shortcuts:
    """Measures of the policies on `chains` chains, and by policy the ids of the examples that it passes."""

    chains: int = 0
    rows: tuple[ShortcutRow, ...] = ()
    passed: dict[str, tuple[str, ...]] = field(default_factory=dict)


SHORTCUT_ROWS: tuple[QualityRow, ...] = (
    QualityRow(
        "call_everything_name",
        "Call everything: name component",
        "Mean of the reward's name component for one call of every shown tool, up to the call limit of a rollout.",
        "share",
        ("<=", 0.25),
    ),
    QualityRow(
        "call_everything",
        "Call everything: passes",
        "Share of chains passed by one call of every shown tool, with arguments made from the schemas.",
        "share",
        ("<=", 0.03),
    ),
    QualityRow(
        "copy_ids",
        "Copy the user's ids: passes",
        "Share of chains passed by the ground truth's calls with the ids that the user spells out, in turn, as ids.",
        "share",
        ("<=", 0.03),
    ),
    QualityRow(
        "replay_twin",
        "Replay another world's ids: passes",
        "Share of chains passed by the ground truth's calls with the ids that the same look-ups show in another world.",
        "share",
        ("<=", 0.03),
    ),
    QualityRow(
        "open_loop",
        "Open loop: passes",
        "Share of chains passed by the ground truth's calls with words of the user for each observed value.",
        "share",
        ("<=", 0.10),
    ),
    QualityRow("call_nothing", "Call nothing: passes", "Share of chains passed without a call.", "share"),
)


def measure_shortcuts(examples: Iterable[Example], most: int = SAMPLE) -> Shortcuts:
    """Return the measures of POLICIES on at most `most` of the chains. Raises StaleExample."""
    sample = draw_sample(examples, most)
    passed: dict[str, list[str]] = {name: [] for name in POLICIES}
    names: list[float] = []
    for example in sample:
        for name, policy in POLICIES.items():
            rollout = run_policy(example, policy)
            if is_passed(example, rollout):
                passed[name].append(example.id)
            if name == "call_everything" and rollout.reward:
                names.append(rollout.reward.name)
    values = {name: len(ids) / max(len(sample), 1) for name, ids in passed.items()}
    values["call_everything_name"] = fmean(names) if names else 0.0
    return Shortcuts(
        chains=len(sample),
        rows=tuple(ShortcutRow(**vars(row), value=values[row.name]) for row in SHORTCUT_ROWS),
        passed={name: tuple(ids) for name, ids in passed.items()},
    )


def draw_sample(examples: Iterable[Example], most: int) -> list[Example]:
    """Return at most `most` of the chains that can run here, each equally likely and independent of their order."""
    chains = (one for one in examples if one.kind == "chain" and not one.source)
    return nsmallest(most, chains, key=lambda one: (blake2b(one.id.encode()).digest(), one.id))


def run_policy(example: Example, policy: Policy) -> Rollout:
    """Return the rollout in which the first assistant turn makes the policy's calls and no later one makes any.

    Raises StaleExample.
    """
    attempt = Attempt(example)
    attempt.answer(write_calls(policy(example)) or CLOSING)
    while not attempt.over:
        attempt.answer(CLOSING)
    return attempt.finish()


def is_passed(example: Example, rollout: Rollout) -> bool:
    """Return whether every ground-truth call was made, in order and with equal arguments, and the final state is equal.

    Further calls do not matter as long as they change nothing.
    """
    reward = rollout.reward
    if reward is None or min(reward.coverage, reward.arguments) < 1 - EQUAL:
        return False
    return final_state(example, rollout) == 1.0


def call_nothing(example: Example) -> tuple[ToolCall, ...]:
    """Make no call."""
    return ()


def call_everything(example: Example) -> tuple[ToolCall, ...]:
    """Call every shown tool once, up to the call limit, with the required arguments made from its schema."""
    text = last_word(example.turns[0])
    tools = list(input_schemas(example).items())[: Limits().calls]
    return tuple(ToolCall(name, fill_object(schema, schema.get("$defs", {}), text)) for name, schema in tools)


def fill_object(schema: Json, definitions: Json, text: str) -> dict[str, Json]:
    """Return an object of a JSON Schema with its required properties."""
    properties = schema.get("properties", {})
    return {name: fill_schema(properties.get(name, {}), definitions, text) for name in schema.get("required", ())}


def fill_schema(schema: Json, definitions: Json, text: str) -> Json:
    """Return a plain value of a JSON Schema: its first choice or example, its least number, or `text`."""
    match schema:
        case {"$ref": str(reference)}:
            return fill_schema(definitions[reference.rsplit("/", 1)[-1]], definitions, text)
        case {"const": value} | {"enum": [value, *_]} | {"examples": [value, *_]}:
            return value
        case {"anyOf": [first, *_]}:
            return fill_schema(first, definitions, text)
        case {"type": "array"}:
            return [fill_schema(schema.get("items", {}), definitions, text)] * max(schema.get("minItems", 1), 1)
        case {"type": "object"}:
            return fill_object(schema, definitions, text)
        case {"type": "boolean"}:
            return False
        case {"type": "integer" | "number"}:
            return schema.get("minimum", 0)
    return text


def copy_ids(example: Example) -> tuple[ToolCall, ...]:
    """Make the ground truth's calls, each id in them replaced by the next one that the user spells out.

    Without such an id, the replacement is the last word of the user turn.
    """
    spelled = cycle(find_spelled_ids(example))
    places = [place for place, _ in list_ids(example)]
    values = {place: next(spelled, last_word(example.turns[example.steps[place[0]].turn])) for place in places}
    return substitute(example, values)


def find_spelled_ids(example: Example) -> list[str]:
    """Return the ids of the ground truth that the user spells out, in the order of the user's words."""
    said = " ".join(example.turns)
    return sorted({id for _, id in list_ids(example) if contains_value(said, id)}, key=lambda id: (word(said, id), id))


def replay_twin(example: Example) -> tuple[ToolCall, ...]:
    """Make the ground truth's calls with the ids of a twin world, that of the next seed.

    Each id from an observation is replaced by the one at the same path in the result of the same look-up there, or
    without one by the last word of the user turn.
    """
    where = example.world
    twin = World.open(where.seed + 1, where.servers, where.size)
    ids = {place for place, _ in list_ids(example)}
    leaves = {place: leaf for place, _, leaf in list_observed(example) if place in ids}
    results: dict[tuple[int, int], Json] = {}
    values: dict[Place, Json] = {}
    calls: list[ToolCall] = []
    for at, nth, call in list_calls(example):
        for place in (place for place in leaves if place[:2] == (at, nth)):
            found = find_part(results[leaves[place].step, leaves[place].call], leaves[place].path)
            if isinstance(found, str):
                values[place] = found
            else:
                values[place] = last_word(example.turns[example.steps[at].turn])
        calls.append(replace_leaves(call, at, nth, values))
        results[at, nth] = parse(twin.call(call.name, calls[-1].arguments or {}).text)
    return tuple(calls)


def open_loop(example: Example) -> tuple[ToolCall, ...]:
    """Make the ground truth's calls with each observed value replaced by a guess from the user's words."""
    return substitute(
        example, {place: guess_value(example, origin, leaf) for place, origin, leaf in list_observed(example)}
    )


def guess_value(example: Example, origin: Origin, leaf: ObservedLeaf) -> Json:
    """Return the longest name or label of an entity that the user says, else the last word of the user turn.

    A value that is not a text becomes a plain value of the parameter's schema.
    """
    step = example.steps[origin.step]
    if not isinstance(origin.value, str):
        schema = input_schemas(example)[step.calls[origin.call].name]
        return fill_schema(schema["properties"].get(origin.parameter, {}), schema.get("$defs", {}), "")
    said = " ".join(example.turns).lower()
    labels = (origin.description, *list_labels(parse(example.steps[leaf.step].observations[leaf.call]), leaf.path))
    known = [label for label in labels if label and contains_value(said, label.lower())]
    return max(known, key=len, default=last_word(example.turns[step.turn]))


def list_labels(observation: Json, path: Path) -> list[str]:
    """Return the texts of the row of an observation that contains the leaf at this path."""
    inside = (find_part(observation, path[:length]) for length in range(len(path) - 1, -1, -1))
    row = next((part for part in inside if isinstance(part, dict)), {})
    return [value for value in row.values() if isinstance(value, str)]


def find_part(value: Json, path: Path) -> Json:
    """Return the part of a JSON value at a path; None where there is none."""
    for key in path:
        fits = isinstance(value, dict) and key in value
        if not fits and not (isinstance(value, list) and isinstance(key, int) and key < len(value)):
            return None
        value = value[key]
    return value


def last_word(text: str) -> str:
    """Return the last word of a text; "" where it has none."""
    words: list[str] = WORD.findall(text)
    return words[-1] if words else ""


def list_calls(example: Example) -> Iterator[tuple[int, int, ToolCall]]:
    """Yield the ground-truth calls with their step and their number in it."""
    for at, step in enumerate(example.steps):
        for nth, call in enumerate(step.calls):
            yield at, nth, call


def list_ids(example: Example) -> Iterator[tuple[Place, str]]:
    """Yield the ids in ground-truth arguments, including addresses and paths, each with its place."""
    for at, nth, call in list_calls(example):
        for name in TOOLS[call.name][1].ids:
            for path, value in iterate_leaves((call.arguments or {}).get(name)):
                if isinstance(value, str) and value:
                    yield (at, nth, name, path), value


def list_observed(example: Example) -> Iterator[tuple[Place, Origin, ObservedLeaf]]:
    """Yield the place of each observed ground-truth value, its origin and its leaf in the observation."""
    for one in resolve(example):
        if one.kind == "observation" and isinstance(one.where, ObservedLeaf):
            yield (one.step, one.call, one.parameter, one.path), one, one.where


def substitute(example: Example, values: Mapping[Place, Json]) -> tuple[ToolCall, ...]:
    """Return the ground-truth calls with other values at some places."""
    return tuple(replace_leaves(call, at, nth, values) for at, nth, call in list_calls(example))


def replace_leaves(call: ToolCall, step: int, number: int, values: Mapping[Place, Json]) -> ToolCall:
    """Return a call with other values at some places."""
    arguments = call.arguments or {}
    changed = {name: replace_parts(value, (step, number, name, ()), values) for name, value in arguments.items()}
    return ToolCall(call.name, changed)


def replace_parts(value: Json, place: Place, values: Mapping[Place, Json]) -> Json:
    """Return a JSON value that begins at a place, with other values for some of its leaves."""
    step, number, name, path = place
    if isinstance(value, dict):
        return {key: replace_parts(part, (step, number, name, (*path, key)), values) for key, part in value.items()}
    if isinstance(value, list):
        return [replace_parts(part, (step, number, name, (*path, at)), values) for at, part in enumerate(value)]
    return values.get(place, value)


POLICIES: dict[str, Policy] = {
    "call_everything": call_everything,
    "copy_ids": copy_ids,
    "replay_twin": replay_twin,
    "open_loop": open_loop,
    "call_nothing": call_nothing,
}
