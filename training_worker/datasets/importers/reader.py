"""A streaming reader for files of all known formats: each row becomes an example or rollout, or a reason why not."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from pathlib import Path
from typing import Any

from ...core.trajectory import BadLine, Example, Split, dumps
from ..rollout_dataset import DatasetRollout
from . import bfcl, columns, studio_export
from .archive import rows_of
from .conversation import BadRow, Convert, LeftOut, example_of
from .formats import FORMATS
from .rows import Passed, Row, ignore_byte_count

OURS, COLUMNS = "ours", "columns"
TITLES = {
    OURS: "PROVE Studio export",
    **{name: one.title for name, one in FORMATS.items()},
    COLUMNS: "Table with a column mapping",
}
MOST_LISTED = 800  # characters of the comma-separated names of all calls
NO_ANSWERS = "a BFCL question without its ground_truth; import it with manage.py import_data, next to its answers"


@dataclass(frozen=True)
class Fault:
    """An invalid row: its number, the reason, and how it begins."""

    number: int
    unit: str
    reason: str
    start: str = ""


@dataclass(frozen=True)
class SkippedRow:
    """A valid row that is not imported."""

    number: int
    reason: str


@dataclass(frozen=True)
class ParsedRow:
    """The example or rollout of a row; `same_code` is False if it was made with other server code."""

    number: int
    made: Example | DatasetRollout
    same_code: bool = True

    @property
    def example(self) -> Example:
        return self.made.example if isinstance(self.made, DatasetRollout) else self.made


@dataclass(frozen=True)
class ManifestRow:
    """The last line of a PROVE Studio export."""

    content: str


@dataclass(frozen=True)
class ReadOptions:
    """The options for reading a file: format, column mapping for a table, and a split that overrides the format's.

    `attempts` says whether our own export must have rollouts or demonstrations; None accepts both.
    """

    format: str
    mapped: Mapping[str, str] = field(default_factory=dict)
    split: Split | None = None
    attempts: bool | None = None


def read(
    files: Sequence[Path], options: ReadOptions, passed: Passed = ignore_byte_count
) -> Iterator[Fault | SkippedRow | ParsedRow | ManifestRow]:
    """Yield the result of each row of these files; `passed` gets the bytes of lines. Raises UnreadableData, OSError."""
    for file in files:
        unit, found = rows_of(file, passed)
        for number, row in found:
            yield outcome(row, number, unit, options)


def outcome(
    row: Row | BadLine, number: int, unit: str, options: ReadOptions
) -> Fault | SkippedRow | ParsedRow | ManifestRow:
    if isinstance(row, BadLine):
        return Fault(number, unit, row.reason)
    try:
        if options.format == OURS:
            return parse_export_row(row, number, options)
        return ParsedRow(
            number, require_storable(example_of(converter(row, options)(row), options.format, options.split))
        )
    except LeftOut as reason:
        return SkippedRow(number, str(reason))
    except BadRow as reason:
        return Fault(number, unit, f"{reason}.", start_of(row))


def parse_export_row(row: Row, number: int, options: ReadOptions) -> ParsedRow | ManifestRow:
    """Parse a line of our own export. Raises BadRow."""
    if studio_export.is_manifest(row):
        return ManifestRow(str(row[studio_export.MANIFEST].get("content", "")))
    made = studio_export.read(row)
    if options.attempts is not None and isinstance(made, DatasetRollout) != options.attempts:
        raise BadRow("a dataset has either rollouts or demonstrations; its first valid row is of the other kind")
    if options.split and isinstance(made, Example):
        made = replace(made, split=options.split)
    require_text(made)
    return ParsedRow(
        number,
        made,
        studio_export.check_replay(require_storable(made.example if isinstance(made, DatasetRollout) else made)),
    )


def converter(row: Row, options: ReadOptions) -> Convert:
    if options.format == COLUMNS:
        return partial(columns.convert, mapped=options.mapped)
    if options.format == "bfcl":
        if "ground_truth" in row:
            return partial(bfcl.convert, answers={str(row.get("id")): row})
        if "irrelevance" not in str(row.get("id")):
            raise BadRow(NO_ANSWERS)
    return FORMATS[options.format].convert


def require_storable(example: Example) -> Example:
    """Return the example if it can be listed and stored. Raises BadRow."""
    called = [call.name for step in example.steps for call in step.calls]
    if odd := next((name for name in called if "," in name), None):
        raise BadRow(f"it calls {odd[:60]!r}, but a tool name cannot have a comma")
    names = ",".join(called)
    if len(names) > MOST_LISTED:
        raise BadRow(f"the names of its calls have {len(names):,} characters; the limit is {MOST_LISTED}")
    require_text(example)
    return example


def require_text(made: Example | DatasetRollout) -> None:
    """Raise BadRow for text that no database can store."""
    if "\\u0000" in dumps(made):
        raise BadRow("it contains a NUL character")


def start_of(row: Row) -> str:
    return json.dumps(row, ensure_ascii=False, default=str)[:200]


def format_of(row: Row, name: str = "") -> str:
    """Guess the format of a row."""
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
    """Return the columns of a row and their guessed mapping."""
    return {"columns": list(row), "guessed": columns.guess_mapping(list(row))}
