"""A file of any known format, row by row: what each makes, or why it makes nothing. Nothing is kept in memory."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from pathlib import Path
from typing import Any

from ..curation.rollout_dataset import Collected
from ..trajectory import BadLine, Example, Split, dumps
from . import bfcl, columns, studio_export
from .archive import rows_of
from .conversation import BadRow, Convert, LeftOut, example_of
from .formats import FORMATS
from .rows import Passed, Row, nobody

OURS, COLUMNS = "ours", "columns"
TITLES = {
    OURS: "Exported from here",
    **{name: one.title for name, one in FORMATS.items()},
    COLUMNS: "A table: say which column is what",
}
MOST_LISTED = 800  # characters of the names of all calls
NO_ANSWERS = "a BFCL question without its ground_truth; import it with manage.py import_data, beside its answers"


@dataclass(frozen=True)
class Fault:
    """A row that makes nothing: its place, why, and how it begins."""

    number: int
    unit: str
    reason: str
    start: str = ""


@dataclass(frozen=True)
class Left:
    """A row that is as it should be and is not wanted."""

    number: int
    reason: str


@dataclass(frozen=True)
class ParsedRow:
    """What a row makes; `same_code` is False for one made with other code of its servers."""

    number: int
    made: Example | Collected
    same_code: bool = True

    @property
    def example(self) -> Example:
        return self.made.example if isinstance(self.made, Collected) else self.made


@dataclass(frozen=True)
class ManifestRow:
    """The last line of an export of ours."""

    content: str


@dataclass(frozen=True)
class ReadOptions:
    """How to read a file: its format, for a table which column is what, and the split, if not the format's own.

    `attempts` says which of the two a file of ours holds; None takes both.
    """

    format: str
    mapped: Mapping[str, str] = field(default_factory=dict)
    split: Split | None = None
    attempts: bool | None = None


def read(
    files: Sequence[Path], asked: ReadOptions, passed: Passed = nobody
) -> Iterator[Fault | Left | ParsedRow | ManifestRow]:
    """Every row of these files; `passed` hears of the bytes of lines. Raises UnreadableData, OSError."""
    for file in files:
        unit, found = rows_of(file, passed)
        for number, row in found:
            yield outcome(row, number, unit, asked)


def outcome(row: Row | BadLine, number: int, unit: str, asked: ReadOptions) -> Fault | Left | ParsedRow | ManifestRow:
    if isinstance(row, BadLine):
        return Fault(number, unit, row.reason)
    try:
        if asked.format == OURS:
            return own(row, number, asked)
        return ParsedRow(number, fits(example_of(converter(row, asked)(row), asked.format, asked.split)))
    except LeftOut as reason:
        return Left(number, str(reason))
    except BadRow as reason:
        return Fault(number, unit, f"{reason}.", start_of(row))


def own(row: Row, number: int, asked: ReadOptions) -> ParsedRow | ManifestRow:
    """A line of ours. Raises BadRow."""
    if studio_export.is_manifest(row):
        return ManifestRow(str(row[studio_export.MANIFEST].get("content", "")))
    made = studio_export.read(row)
    if asked.attempts is not None and isinstance(made, Collected) != asked.attempts:
        raise BadRow("attempts and demonstrations do not go into one data set; the first good row said which it holds")
    if asked.split and isinstance(made, Example):
        made = replace(made, split=asked.split)
    require_text(made)
    return ParsedRow(number, made, studio_export.replayed(fits(made.example if isinstance(made, Collected) else made)))


def converter(row: Row, asked: ReadOptions) -> Convert:
    if asked.format == COLUMNS:
        return partial(columns.convert, mapped=asked.mapped)
    if asked.format == "bfcl":
        if "ground_truth" in row:
            return partial(bfcl.convert, answers={str(row.get("id")): row})
        if "irrelevance" not in str(row.get("id")):
            raise BadRow(NO_ANSWERS)
    return FORMATS[asked.format].convert


def fits(example: Example) -> Example:
    """The example, if it can be listed and stored. Raises BadRow."""
    called = [call.name for step in example.steps for call in step.calls]
    if odd := next((name for name in called if "," in name), None):
        raise BadRow(f"it calls {odd[:60]!r}, and the name of a tool has no comma")
    names = ",".join(called)
    if len(names) > MOST_LISTED:
        raise BadRow(f"the names of its calls have {len(names):,} characters; {MOST_LISTED} is the most")
    require_text(example)
    return example


def require_text(made: Example | Collected) -> None:
    """Raises BadRow for what no database takes as text."""
    if "\\u0000" in dumps(made):
        raise BadRow("it has a character, NUL, that no text has")


def start_of(row: Row) -> str:
    return json.dumps(row, ensure_ascii=False, default=str)[:200]


def format_of(row: Row, name: str = "") -> str:
    """The format that a row seems to have."""
    known = set(row)
    if {"world", "turns", "steps"} <= known or {"example", "rollout"} <= known or "record" in known:
        return OURS
    if "question" in known and ("function" in known or "involved_classes" in known):
        return "bfcl"
    if "correct_answer" in known or "chosen_response" in known:
        return "when2call"
    if {"messages", "tools"} <= known:
        return "openai"
    return "xlam-irrelevance" if {"query", "tools", "answers"} <= known and "irrelevance" in name else COLUMNS


def of_columns(row: Row) -> dict[str, Any]:
    """The columns of a row, for a table's mapping."""
    return {"columns": list(row), "guessed": columns.guessed(list(row))}
