"""Source of every argument value of a conversation: the user, a result, a schema, the reference date, or none.

The rule of the reward's provenance (training_worker/reward/provenance.py) decides which values are invented.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

from training_worker.core.trajectory import Example, ExecutedCall, Rollout
from training_worker.dataflow.provenance import is_grounded, place
from training_worker.dataflow.speech import find_said
from training_worker.reward.provenance import convert_integral_float, find_schema_scalars, in_schema, is_in, said_before

from .json_spans import Path, Piece, Source, format_path, iter_json_spans, merge_plain_pieces

INVENTED = Source("invented", "invented: neither the user nor a tool gave it")
Key = tuple[str, Any]


@dataclass
class ArgumentSources:
    """Arguments with the sources of their values.

    `arguments` are by call (from 0) and name. `said` are the spans of user turns (from 1) and `results` the paths in
    results of calls (from 0) that values came from, each with the id of its mark.
    """

    arguments: dict[int, dict[str, tuple[Piece, ...]]] = field(default_factory=dict)
    said: dict[int, dict[tuple[int, int], str]] = field(default_factory=dict)
    results: dict[int, dict[Path, str]] = field(default_factory=dict)
    invented: int = 0
    values: int = 0


def trace_arguments(
    rollout: Rollout, example: Example, fed: Mapping[int, Iterable[int]] | None = None, side: str = ""
) -> ArgumentSources:
    """Return every value of every call with its source.

    `fed` names the calls whose results are known to have fed a call. `side` is the prefix of mark ids on a page with
    several conversations.
    """
    return Trace(rollout, example, fed or {}, side).all()


class Trace:
    """Search for the sources of one rollout's values."""

    def __init__(self, rollout: Rollout, example: Example, fed: Mapping[int, Iterable[int]], side: str):
        self.rollout, self.example, self.fed, self.side = rollout, example, fed, side
        self.texts = said_before(rollout)
        self.found = ArgumentSources()
        self.leaves = [leaf_paths(made.observation) for made in rollout.calls]

    def all(self) -> ArgumentSources:
        for position, made in enumerate(self.rollout.calls):
            given = (made.call.arguments or {}).items()
            self.found.arguments[position] = {name: self.pieces(position, made, name, value) for name, value in given}
        return self.found

    def pieces(self, position: int, made: ExecutedCall, name: str, value: Any) -> tuple[Piece, ...]:
        if isinstance(value, str) and not is_json(value):
            return (Piece(value, self.source(position, made, name, value)),)
        try:
            parts = list(iter_json_spans(value, 2))
        except RecursionError:
            return (Piece(str(value)),)
        return tuple(merge_plain_pieces(self.piece(position, made, name, text, path, value) for text, path in parts))

    def piece(self, position: int, made: ExecutedCall, name: str, text: str, path: Path | None, value: Any) -> Piece:
        if path is None:
            return Piece(text)
        for part in path:
            value = value[part]
        return Piece(text, self.source(position, made, name, value))

    def source(self, position: int, made: ExecutedCall, name: str, value: Any) -> Source | None:
        """Return the source; None for booleans, null, and empty lists and objects, which need none."""
        if value is None or isinstance(value, bool | dict | list):
            return None
        self.found.values += 1
        value = convert_integral_float(value)
        texts = self.texts[made.turn] if made.turn < len(self.texts) else self.texts[-1]
        known = is_in(value, self.schema_values(made.call.name))
        if find_said(made.call.name, name, value, texts, self.example.today):
            found = self.from_words(made, name, value) or self.from_results(position, made.turn, value)
            return found or Source("shown", "shown before the call")
        if known:
            return Source("schema", f"the schema of {made.call.name}: an enum value or default")
        self.found.invented += 1
        return INVENTED

    def schema_values(self, tool: str) -> frozenset[Any]:
        if not self.example.source:
            return in_schema(tool, self.example.enums_stripped)
        own = [one.parameters for one in self.example.tools if one.name == tool]
        return frozenset(
            value for schema in own for value in find_schema_scalars(schema, False) if not isinstance(value, bool)
        )

    def from_words(self, made: ExecutedCall, name: str, value: Any) -> Source | None:
        """Return the source in what the user or the system said before this assistant turn, or None."""
        today, number, assistant = self.example.today, 0, 0
        for message in self.rollout.transcript:
            assistant += message.role == "assistant"
            if assistant > made.turn:
                break
            number += message.role == "user"
            if message.role == "system" and place(value, message.content, today):
                return Source("system", "the system prompt")
            at = find_said(made.call.name, name, value, message.content, today) if message.role == "user" else None
            if at:
                marks = self.found.said.setdefault(number, {})
                mark = marks.setdefault(at, f"{self.side}turn-{number}-value-{len(marks) + 1}")
                said = message.content[slice(*at)]
                if not place(value, message.content, today):
                    return Source("user", f"“{said}” in user turn {number}", mark)
                if place(value, message.content):
                    return Source("user", f"user turn {number}", mark)
                return Source("date", f"“{said}” in user turn {number}, by the reference date {today}", mark)
        return None

    def from_results(self, position: int, turn: int, value: Any) -> Source | None:
        """Return the first earlier result with the value, preferring results that are known to have fed the call."""
        feeding = set(self.fed.get(position, ()))
        earlier = [at for at, made in enumerate(self.rollout.calls[:position]) if made.turn < turn]
        for at in sorted(earlier, key=lambda one: one not in feeding):
            if (path := self.leaves[at].get(key(value))) is not None:
                marks = self.found.results.setdefault(at, {})
                mark = marks.setdefault(path, f"{self.side}call-{at + 1}-value-{len(marks) + 1}")
                return Source("result", f"the result of call {at + 1}{', ' * bool(path)}{format_path(path)}", mark)
            if is_grounded(value, self.rollout.calls[at].observation, self.example.today):
                return Source("result", f"the result of call {at + 1}", f"{self.side}call-{at + 1}")
        return None


def key(value: Any) -> Key:
    """Return the key of a value in `leaf_paths`, which distinguishes 1 from "1"."""
    return ("text" if isinstance(value, str) else "number", convert_integral_float(value))


def leaf_paths(text: str) -> dict[Key, Path]:
    """Return the first path of each scalar in a JSON result; nothing for other texts."""
    found: dict[Key, Path] = {}
    try:
        for leaf, path in iter_leaves_with_paths(json.loads(text)):
            found.setdefault(key(leaf), path)
    except (ValueError, RecursionError):
        return {}
    return found


def iter_leaves_with_paths(value: Any, path: Path = ()) -> Iterator[tuple[Any, Path]]:
    if isinstance(value, dict | list):
        for name, part in value.items() if isinstance(value, dict) else enumerate(value):
            yield from iter_leaves_with_paths(part, (*path, name))
    elif value is not None and not isinstance(value, bool):
        yield value, path


def is_json(text: str) -> bool:
    try:
        json.loads(text)
    except (ValueError, RecursionError):
        return False
    return True
