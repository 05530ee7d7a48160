"""Descriptions of entities in users' words: attributes or a superlative that fit only one row of a result."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from typing import Any, Literal

from mcp_servers.core.phrases import EntityPhrases, Phrases, slots

from ..dataflow.speech import forms

OPAQUE = re.compile(r"[A-Z]{2,6}-?\d[\w-]*|[A-Z0-9]{6}")
NAMED = frozenset({"EmailAddress"})  # types whose names are clear without the look-up's context
LONGEST = 60  # characters of a field that users say
fields_of = cache(slots)  # cached, since a server has few names for an entity
Kind = Literal["attributes", "superlative", "only", "comparison"]


@dataclass(frozen=True)
class Description:
    """Words that identify one row; `fields` are the fields whose values they use."""

    text: str
    kind: Kind
    fields: tuple[str, ...] = ()


def descriptions(
    phrases: Phrases, id_type: str, row: Mapping[str, Any], rows: Sequence[Mapping[str, Any]], today: str = ""
) -> list[Description]:
    """Return the ways to describe one of the rows that fit no other row; `rows` are all rows of an observation.

    Days are said relative to `today` (an ISO date), or in full where it is "".
    """
    said = phrases.entities.get(id_type)
    if said is None:
        return []
    found = [*attributes(phrases, said, row, rows, today), *superlatives(said, row, rows)]
    if len(rows) == 1:
        found.append(Description(f"the {said.noun[0]}", "only"))
    return found


def are_said(
    chosen: Description,
    phrases: Phrases,
    id_type: str,
    row: Mapping[str, Any],
    rows: Sequence[Mapping[str, Any]],
    today: str = "",
) -> bool:
    """Return whether the words of a description are among the ways to describe one of the rows."""
    said = phrases.entities.get(id_type)
    if said is None:
        return False
    if chosen.kind == "attributes":
        return any(attributes(phrases, said, row, rows, today, chosen.text))
    if chosen.kind == "superlative":
        return any(one.text == chosen.text for one in superlatives(said, row, rows))
    return chosen.kind == "only" and len(rows) == 1 and chosen.text == f"the {said.noun[0]}"


def attributes(
    phrases: Phrases,
    said: EntityPhrases,
    row: Mapping[str, Any],
    rows: Sequence[Mapping[str, Any]],
    today: str,
    wanted: str = "",
) -> Iterator[Description]:
    """Yield the names whose fields have these values, as users say them, in no other row; only `wanted`, if given."""
    words = dict[str, str]()
    for template in said.names:
        names = fields_of(template)
        for name in names:
            if name not in words:
                words[name] = word(phrases, row, name, today)
        if not all(words[name] for name in names):
            continue
        text = template.format(**words)
        if (not wanted or text == wanted) and is_alone(row, rows, names):
            yield Description(text, "attributes", names)


def is_alone(row: Mapping[str, Any], rows: Sequence[Mapping[str, Any]], names: Sequence[str]) -> bool:
    """Return whether no other row has the same values in all of some fields."""
    others = [one for one in rows if one is not row]
    for name in names:
        value = row.get(name)
        others = [one for one in others if have_same_wording(one.get(name), value)]
    return not others


def word(phrases: Phrases, row: Mapping[str, Any], name: str, today: str) -> str:
    """Return the words for a field of a row in a description; "" where users would not say it."""
    value = row.get(name)
    if value is None or isinstance(value, bool | dict) or (isinstance(value, str) and OPAQUE.fullmatch(value)):
        return ""
    ways = forms(phrases, name, value, today, str(row.get("currency") or ""))
    if not ways or len(ways[0]) > LONGEST or "\n" in ways[0]:
        return ""
    return ways[0]


def have_same_wording(one: Any, other: Any) -> bool:
    """Return whether users would say two values the same way."""
    if isinstance(one, str) and isinstance(other, str):
        return one.casefold() == other.casefold() or other.casefold() in one.casefold()
    return bool(one == other)


def superlatives(
    said: EntityPhrases, row: Mapping[str, Any], rows: Sequence[Mapping[str, Any]]
) -> Iterator[Description]:
    """Yield the superlatives that name this row and no other."""
    if len(rows) < 2:
        return
    for named, best in ((said.most, max), (said.least, min), (said.first, min), (said.last, max)):
        for field, phrases in named.items():
            value = row.get(field)
            if not isinstance(value, int | float | str) or isinstance(value, bool):
                continue
            values = [one.get(field) for one in rows]
            if not all(type(one) is type(value) for one in values):
                continue
            if value == best(values) and values.count(value) == 1:  # type: ignore[type-var]
                yield from (Description(phrase, "superlative", (field,)) for phrase in phrases)
