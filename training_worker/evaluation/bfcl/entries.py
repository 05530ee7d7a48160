"""BFCL's entries as its process returns them: the user's turns, the tools, and the ground truth."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from ...core.trajectory import Json, ToolCall

FUNCTIONS = "<functions>"


@dataclass(frozen=True, kw_only=True)
class Entry:
    """One entry. `held_out` maps a turn to the functions that are offered from it on; the user says nothing there."""

    id: str
    category: str
    turns: tuple[tuple[str, ...], ...]
    classes: tuple[str, ...]
    held_out: Mapping[int, tuple[str, ...]]
    truth: tuple[tuple[ToolCall, ...], ...]


@dataclass(frozen=True, kw_only=True)
class Suite:
    """All entries, the functions of each class, and BFCL's own texts and limits."""

    version: str
    steps: int
    system: str
    more_tools: str
    more_prompt: str
    hint: str
    functions: Mapping[str, tuple[dict[str, Json], ...]]
    entries: Mapping[str, Entry]

    def list_initial_functions(self, entry: Entry) -> list[dict[str, Json]]:
        """Return the functions offered from the start; only their descriptions name the language (`hint`)."""
        missing = {name for names in entry.held_out.values() for name in names}
        documents = [one for name in entry.classes for one in self.functions[name] if one["name"] not in missing]
        return [{**one, "description": one["description"] + self.hint} for one in documents]

    def list_added_functions(self, entry: Entry, turn: int) -> list[dict[str, Json]]:
        """Return the functions added at a turn."""
        documents = {one["name"]: one for name in entry.classes for one in self.functions[name]}
        return [documents[name] for name in entry.held_out.get(turn, ())]

    def system_text(self, functions: list[dict[str, Json]]) -> str:
        return self.system.replace(FUNCTIONS, json.dumps(functions, indent=4))

    def more_text(self, functions: list[dict[str, Json]]) -> str:
        return self.more_prompt.replace(FUNCTIONS, str(functions))


def suite_of(data: Mapping[str, Any]) -> Suite:
    """Parse the process's reply to `items`."""
    entries = [entry_of(one) for one in data["entries"]]
    texts = {name: str(data[name]) for name in ("version", "system", "more_tools", "more_prompt", "hint")}
    functions = {name: tuple(documents) for name, documents in data["functions"].items()}
    return Suite(**texts, steps=int(data["steps"]), functions=functions, entries={one.id: one for one in entries})


def entry_of(data: Mapping[str, Any]) -> Entry:
    return Entry(
        id=data["id"],
        category=data["category"],
        turns=tuple(tuple(turn) for turn in data["turns"]),
        classes=tuple(data["classes"]),
        held_out={int(turn): tuple(names) for turn, names in data["held_out"].items()},
        truth=tuple(tuple(ToolCall(name, arguments) for name, arguments in turn) for turn in data["truth"]),
    )
