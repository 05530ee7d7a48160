"""The settings of a run trained elsewhere, laid flat, so that tables can show, sort, find and group by them.

A setting is known by its name with dots in small letters, as a search can write it: `model.size`, `optimizer/lr`.
"""

from __future__ import annotations

import json
import math
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from .limits import settings

LONGEST_NAME, LONGEST_TEXT = 72, 200
MOST = 500  # settings of a run
STRANGE = re.compile(r"[^\w./-]+")
WHOLE = re.compile(r"-?[0-9]{1,15}")
NUMBER = re.compile(r"[-+]?([0-9]{1,30}(\.[0-9]{0,30})?|\.[0-9]{1,30})([eE][-+]?[0-9]{1,3})?")


@dataclass(frozen=True)
class ConfigEntry:
    """`text` is the value as it was told, cut where it is long; `number` is what it is where it is a finite one."""

    name: str
    text: str
    number: float | None


def flattened(config: Mapping[str, Any]) -> list[ConfigEntry]:
    """The first MOST settings that have a value; of two that come to one name, the first."""
    found: dict[str, ConfigEntry] = {}
    for name, value in settings(config).items():
        short = called(name)
        if short and value is not None and short not in found and len(found) < MOST:
            found[short] = ConfigEntry(short, worded(value)[:LONGEST_TEXT], number(value))
    return list(found.values())


def called(name: str) -> str:
    """A name as columns and searches write it."""
    return STRANGE.sub("_", name.strip()).lower()[:LONGEST_NAME].rstrip(".")


def worded(value: Any) -> str:
    if isinstance(value, bool):
        return "yes" if value else "no"
    return value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)


def number(value: Any) -> float | None:
    """What a value counts as: trackers that keep all as text mean the number that it spells."""
    if isinstance(value, bool) or not isinstance(value, int | float | str):
        return None
    if isinstance(value, str) and not NUMBER.fullmatch(value):
        return None
    try:
        found = float(value)
    except OverflowError:
        return None
    return found if math.isfinite(found) and abs(found) < 1e300 else None


def plain(text: str, number: float | None) -> str | int | float:
    """The number where the text spells it as we would, otherwise the text: `4.10` is a version and stays one."""
    if number is None:
        return text
    if WHOLE.fullmatch(text) and str(int(text)) == text:
        return int(text)
    return number if text == repr(number) else text


def rows(run: int, config: Mapping[str, Any], row: Any) -> Iterator[Any]:
    """A `row` of the table of settings for each, not stored yet."""
    return (row(run_id=run, name=one.name, text=one.text, number=one.number) for one in flattened(config))
