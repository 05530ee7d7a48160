"""Preview of a file to import: its first rows after conversion, and the suggested options."""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from django import forms
from django.http import QueryDict

from training_worker.core.trajectory import BadLine, UnreadableData
from training_worker.datasets.importers.columns import FIELDS, format_calls, guess_mapping
from training_worker.datasets.importers.reader import (
    COLUMNS,
    OURS,
    TITLES,
    Fault,
    ManifestRow,
    ParsedRow,
    ReadOptions,
    SkippedRow,
    format_of,
    outcome,
)
from training_worker.datasets.importers.sample import first_rows
from training_worker.datasets.rollout_dataset import DatasetRollout

from .filters import SPLITS
from .uploads import HEAD, Upload
from .versions import LONGEST

COLUMN = "column_"
SEEN = 4_000  # characters of a cell on the page


@dataclass(frozen=True)
class PreviewRow:
    """A row of the preview: what it becomes, or why it is skipped; `about` is its first user turn or its start."""

    number: int
    what: str
    about: str
    tools: int = 0
    calls: str = ""
    why: str = ""


@dataclass(frozen=True)
class Sample:
    """First rows of the file. `problem` says why there are none."""

    unit: str = "row"
    rows: list[tuple[int, Any]] = field(default_factory=list)
    problem: str = ""

    @property
    def first(self) -> dict[str, Any]:
        return next((row for _, row in self.rows if not isinstance(row, BadLine)), {})


def sample(upload: Upload) -> Sample:
    """Return the first rows of an upload; a child process reads them once."""
    try:
        unit, rows = first_rows(upload.content, upload.folder / HEAD)
    except (UnreadableData, OSError) as why:
        return Sample(problem=str(why).replace(str(upload.content), "The file").replace(str(upload.folder), ""))
    return Sample(unit, rows) if rows else Sample(problem="The file has no rows.")


class Import(forms.Form):
    """Options for reading a file; for a table, the mapping of its columns."""

    name = forms.CharField(max_length=LONGEST, required=False, help_text="Default: “Dataset” and its number.")
    format = forms.ChoiceField(choices=list(TITLES.items()), label="Format")
    split = forms.ChoiceField(
        choices=[("", "As set by the file or format"), *SPLITS], required=False, help_text="Benchmarks are held out."
    )
    keep_good = forms.BooleanField(
        required=False,
        label="Skip invalid rows",
        help_text="If off, an invalid row stops the import. A report lists the invalid rows.",
    )

    def __init__(self, columns: list[str], data: QueryDict | None = None, **kwargs: Any):
        super().__init__(data, **kwargs)
        guesses = guess_mapping(columns)
        for name, help in FIELDS.items():
            self.fields[COLUMN + name] = forms.ChoiceField(
                label=name.capitalize(),
                required=False,
                choices=[("", "None"), *((column, column) for column in columns)],
                initial=guesses.get(name, ""),
                help_text=help,
            )

    @property
    def table(self) -> bool:
        return self["format"].value() == COLUMNS

    @property
    def of_columns(self) -> list[Any]:
        return [self[COLUMN + name] for name in FIELDS]

    @property
    def plain(self) -> list[Any]:
        return [self[name] for name in ("name", "format", "split", "keep_good")]

    def clean(self) -> dict[str, Any]:
        if self.cleaned_data.get("format") == COLUMNS and not {"messages", "query"} & set(self.mapped):
            raise forms.ValidationError("Map a column to the user message or to the whole conversation.")
        return self.cleaned_data

    @property
    def mapped(self) -> dict[str, str]:
        found = {name: self.cleaned_data.get(COLUMN + name) for name in FIELDS}
        return {name: column for name, column in found.items() if column}

    @property
    def options(self) -> ReadOptions:
        format = self.cleaned_data["format"]
        return ReadOptions(format, self.mapped if format == COLUMNS else {}, self.cleaned_data["split"] or None)


def suggest_options(upload: Upload, first: dict[str, Any]) -> dict[str, Any]:
    """Return the initial values of the form."""
    return {"name": Path(upload.name).stem[:LONGEST], "format": format_of(first, upload.name) if first else OURS}


def preview_rows(found: Sample, options: ReadOptions) -> list[PreviewRow]:
    return [preview_line(outcome(row, number, found.unit, options), number) for number, row in found.rows]


def preview_line(one: Fault | SkippedRow | ParsedRow | ManifestRow, number: int) -> PreviewRow:
    match one:
        case Fault():
            return PreviewRow(number, "bad", one.start, why=one.reason)
        case SkippedRow():
            return PreviewRow(number, "left out", "", why=one.reason)
        case ManifestRow():
            return PreviewRow(number, "end", "Digest of the lines above")
    example = one.example
    what = "attempt" if isinstance(one.made, DatasetRollout) else example.kind.replace("_", " ")
    why = "" if one.same_code else "created on servers that behaved differently: runs cannot use it"
    calls = format_calls(example.steps)[:SEEN]
    return PreviewRow(number, what, example.turns[0][:SEEN], len(example.candidates), calls, why)


def holds_attempts(found: Sample) -> bool:
    """Return whether the first valid row is a rollout."""
    read = (outcome(row, number, found.unit, ReadOptions(OURS)) for number, row in found.rows)
    return next((isinstance(one.made, DatasetRollout) for one in read if isinstance(one, ParsedRow)), False)
