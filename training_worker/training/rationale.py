"""Rationales in demonstrations: before a call, the name of each object whose id comes from an earlier result.

A small model finds the row of a list more reliably when it has just written the row's name (ReAct, Yao et al. 2023,
arXiv:2210.03629): `"design session" (INV-2715)`, then the call with INV-2715. The reward reads only calls.
"""

from __future__ import annotations

import json
import re
from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from ..core.trajectory import Example

WORDS = 5  # the most words of a name; more would not help to find it
DATE = re.compile(r"\d{4}-\d\d-\d\d")
MARKUP = re.compile(r'["<{]')  # a text with these could look like a call, and is not repeated


@dataclass(frozen=True)
class Row:
    """An object in a tool's result: its id, its texts, and the texts that other objects of its list have too."""

    id: str
    texts: tuple[str, ...]
    shared: frozenset[str] = frozenset()

    def names(self) -> list[str]:
        """Return short texts that distinguish the object in its list, or all of them if none does."""
        names = [shorten(text) for text in self.texts]
        return [name for name in names if name not in self.shared] or names

    def choose_name(self, said: str) -> str:
        """Return the name that occurs in what was said, or else the first."""
        names, said = self.names(), said.lower()
        return next((name for name in names if name.lower() in said), names[0])


def shorten(text: str) -> str:
    return " ".join(text.split()[:WORDS])


def find_lists(result: str) -> Iterator[list[Row]]:
    """Yield the lists of objects with ids in a tool's result, outermost first; a single object is a list of one."""
    try:
        left: list[Any] = [json.loads(result)]
    except ValueError:
        return
    while left:
        value = left.pop(0)
        things = value if isinstance(value, list) else [value]
        members = [thing for thing in things if isinstance(thing, dict)]
        left += [part for thing in members for part in thing.values() if isinstance(part, dict | list)]
        found = [(thing["id"], texts_of(thing)) for thing in members if is_plain(thing.get("id"))]
        if found:
            count = Counter(name for _, texts in found for name in {shorten(text) for text in texts})
            shared = frozenset(name for name, things in count.items() if things > 1)
            yield [Row(id, texts, shared) for id, texts in found]


def texts_of(thing: Mapping[str, Any]) -> tuple[str, ...]:
    """Return the texts that could name an object: neither its id nor dates."""
    return tuple(text for key, text in thing.items() if key != "id" and is_plain(text) and not DATE.match(text))


def is_plain(value: Any) -> bool:
    return isinstance(value, str) and bool(value.strip()) and not MARKUP.search(value)


def find_references(example: Example, at: int) -> dict[str, str]:
    """Return the ids, with names, that a step's calls take from earlier results and the user did not say."""
    step = example.steps[at]
    said = "\n".join(example.turns[: step.turn + 1])
    rows: dict[str, Row] = {}
    for result in (text for earlier in example.steps[:at] for text in earlier.observations):
        for things in find_lists(result):
            for row in things:
                if row.texts and (len(things) > 1 or row.id not in rows):
                    rows[row.id] = row
    ids = (value for call in step.calls for value in strings(call.arguments) if value in rows and value not in said)
    return {id: rows[id].choose_name(example.turns[step.turn]) for id in ids}


def list_names(example: Example) -> list[str]:
    """Return the names of all objects whose ids the calls take from results."""
    return [name for at in range(len(example.steps)) for name in find_references(example, at).values()]


def rationales(example: Example) -> list[str]:
    """Return the text before the calls of each step: the names and ids they take; "" where there are none."""
    references = (find_references(example, at) for at in range(len(example.steps)))
    return [", ".join(f'"{name}" ({id})' for id, name in found.items()) for found in references]


def strings(value: Any) -> Iterator[str]:
    """Yield the texts among arguments, in order."""
    match value:
        case str():
            yield value
        case dict():
            yield from strings([*value.values()])
        case list():
            for part in value:
                yield from strings(part)
