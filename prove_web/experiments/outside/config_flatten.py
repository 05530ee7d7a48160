"""Flattened settings of an external run, so that tables can show, sort, search and group by them.

Names are lower case with dots, as in a search: `model.size`, `optimizer/lr`.
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
MOST = 500  # settings per run
STRANGE = re.compile(r"[^\w./-]+")
INTEGER = re.compile(r"-?[0-9]{1,15}")
NUMBER = re.compile(r"[-+]?([0-9]{1,30}(\.[0-9]{0,30})?|\.[0-9]{1,30})([eE][-+]?[0-9]{1,3})?")


@dataclass(frozen=True)
class ConfigEntry:
    """A setting; `text` is the logged value, truncated if long; `number` is its value if it is a finite number."""

    name: str
    text: str
    number: float | None


def flatten_config(config: Mapping[str, Any]) -> list[ConfigEntry]:
    """Return the first MOST settings with a value; of settings with the same flattened name, the first."""
    found: dict[str, ConfigEntry] = {}
    for name, value in settings(config).items():
        short = normalise_name(name)
        if short and value is not None and short not in found and len(found) < MOST:
            found[short] = ConfigEntry(short, format_setting(value)[:LONGEST_TEXT], number(value))
    return list(found.values())


def normalise_name(name: str) -> str:
    """Return the name as columns and searches write it."""
    return STRANGE.sub("_", name.strip()).lower()[:LONGEST_NAME].rstrip(".")


def format_setting(value: Any) -> str:
    if isinstance(value, bool):
        return "yes" if value else "no"
    return value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)


def number(value: Any) -> float | None:
    """Return the numeric value; text that spells a number counts, because some trackers store all values as text."""
    if isinstance(value, bool) or not isinstance(value, int | float | str):
        return None
    if isinstance(value, str) and not NUMBER.fullmatch(value):
        return None
    try:
        found = float(value)
    except OverflowError:
        return None
    return found if math.isfinite(found) and abs(found) < 1e300 else None


def choose_number_or_text(text: str, number: float | None) -> str | int | float:
    """Return the number if the text is its canonical form, otherwise the text: `4.10` may be a version."""
    if number is None:
        return text
    if INTEGER.fullmatch(text) and str(int(text)) == text:
        return int(text)
    return number if text == repr(number) else text


def build_setting_rows(run: int, config: Mapping[str, Any], row: Any) -> Iterator[Any]:
    """Yield an unsaved `row` of the settings table for each setting."""
    return (row(run_id=run, name=one.name, text=one.text, number=one.number) for one in flatten_config(config))
