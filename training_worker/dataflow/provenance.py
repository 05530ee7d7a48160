"""Provenance of values: whether a text contains a value, as a person says it or as in the JSON of a tool result."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Sequence
from datetime import date, datetime
from typing import Any

from mcp_servers.core.times import DATE_TIME, parse_instant, read_day

from ..core.trajectory import Step


def is_grounded(value: Any, said: str, today: str = "") -> bool:
    """Return whether a text contains a value, as a user says it or as in the JSON of a tool result."""
    return place(value, said, today) is not None


def place(value: Any, said: str, today: str = "") -> tuple[int, int] | None:
    """Return the start and the exclusive end of a value's first occurrence in a text; None if there is none."""
    for way, anywhere in iter_value_forms(value, today):
        at = said.find(way) if anywhere else word(said, way)
        if at >= 0:
            return at, at + len(way)
    instant = instant_of(value)
    spans = (found.span() for found in DATE_TIME.finditer(said)) if instant else ()
    return next((span for span in spans if instant_of(said[slice(*span)]) == instant), None)


def instant_of(value: Any) -> datetime | None:
    """Return the UTC instant of an RFC 3339 date-time with any offset; None for any other value."""
    try:
        return parse_instant(value) if isinstance(value, str) else None
    except ValueError:
        return None


def value_edges(
    turns: Sequence[str], steps: Sequence[Step], today: str = "", names: Callable[[str, Any], bool] = lambda *_: True
) -> Iterator[tuple[int, int]]:
    """Yield pairs of steps: the second uses a value that the first returned and that no user turn so far contains.

    `names` decides by tool and value whether a value counts.
    """
    for later, step in enumerate(steps):
        said = " ".join(turns[: step.turn + 1])
        for call in step.calls:
            for value in single(call.arguments or {}):
                if names(call.name, value) and not is_grounded(value, said, today):
                    givers = (at for at in range(later) if is_grounded(value, " ".join(steps[at].observations)))
                    yield from ((at, later) for at in [next(givers, None)] if at is not None)


def iter_value_forms(value: Any, today: str) -> Iterator[tuple[str, bool]]:
    """Yield the forms of a value, each with whether it may occur anywhere and not only as separate words."""
    yield verbalize(value), False
    yield json.dumps(value, ensure_ascii=False), isinstance(value, str)
    for way in ways_to_say(value, today):
        yield way, False


def single(value: Any) -> Iterator[Any]:
    """Yield the scalar values in lists and objects."""
    if isinstance(value, list | dict):
        for part in value.values() if isinstance(value, dict) else value:
            yield from single(part)
    else:
        yield value


def contains_value(text: str, value: str) -> bool:
    """Return whether a text contains a value as separate words: CRD-4653 does not contain 4."""
    return word(text, value) >= 0


def word(text: str, value: str) -> int:
    """Return the position of a value's first occurrence as separate words; -1 if there is none.

    It must not be adjacent to a letter, digit or underscore, nor follow one with only a hyphen between.
    """
    at, length = text.find(value), len(value)
    while at >= 0:
        before, end = text[at - 2 : at] if at > 1 else text[:at], at + length
        joined = is_word(before[-1:]) or (before[1:] == "-" and is_word(before[0]))
        if not joined and not is_word(text[end : end + 1]):
            return at
        at = text.find(value, at + 1)
    return -1


def is_word(character: str) -> bool:
    return character.isalnum() or character == "_"


def verbalize(value: Any) -> str:
    if isinstance(value, list):
        return " and ".join(map(verbalize, value))
    if isinstance(value, bool):
        return "yes" if value else "no"
    return str(value)


def ways_to_say(value: Any, today: str) -> tuple[str, ...]:
    """Return how a person may say a date such as 2026-03-05 or a date-time such as 2026-03-05T14:00:00Z.

    The forms are the date written out and, if the user said which day `today` is, relative to it. Times are whole
    minutes in UTC, the clock of every world. Empty for any other value.
    """
    instant = instant_of(value)
    if instant and not (instant.second or instant.microsecond):
        day, time = instant.date(), f" at {instant.hour}:{instant:%M}"
    elif is_date(value):
        day, time = date.fromisoformat(value), ""
    else:
        return ()
    ways = [f"{day.day} {day:%B %Y}"]
    if today:
        away = (day - date.fromisoformat(today)).days
        ways += {0: ["today"], 1: ["tomorrow"]}.get(away, [])
        ways += [f"{day:%A}"] if 1 < away < 7 else []
    return tuple(f"{way}{time}" for way in ways)


def is_date(value: Any) -> bool:
    try:
        return isinstance(value, str) and bool(read_day(value))
    except ValueError:
        return False
