"""The Parquet file of one step's rollouts: typed columns for filters and charts, and each rollout as JSON.

A rollout's transcript has its own column, because re-scoring does not need it. A row group has 64 rollouts: rollouts of
a group compress well together, and reading one rollout reads only its row group.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import fields
from pathlib import Path
from typing import Any

import pyarrow as pa
from pydantic import ValidationError

from ..core.trajectory import Message, Rollout, adapter
from ..environment.outcomes import Outcome, outcomes
from .parquet import build_damage_error, open_parquet, row_of, write
from .record import COMPONENTS, RolloutRecord, Summary, summarise

ROWS = 64  # of a row group
# fields of Summary that are not stored as a plain column
BESIDE = (
    "components",
    "tools",
    "levels",
    "terms",
    "outcomes",
)
TYPES = {
    "index": pa.int32(),
    "group": pa.int32(),
    "place": pa.int32(),
    "example": pa.string(),
    "reward": pa.float64(),
    "abstention": pa.bool_(),
    "advantage": pa.float64(),
    "end": pa.string(),
    "failed_at": pa.string(),
    "prompt_tokens": pa.int32(),
    "model_tokens": pa.int32(),
    "completion_tokens": pa.int32(),
    "seconds": pa.float64(),
}
DERIVED = {"calls": pa.int32(), "failed_calls": pa.int32(), "truncated": pa.bool_()}  # for external readers of the file
CALLS = {"tools": pa.list_(pa.string()), "levels": pa.list_(pa.int8()), "outcomes": pa.list_(pa.string())}
TERMS = {"terms": pa.map_(pa.string(), pa.float64())}
TEXT = {"record": pa.string(), "transcript": pa.string()}
GRADED = {name: pa.float64() for name in COMPONENTS}
SHORT = pa.schema(list({**TYPES, **GRADED, **DERIVED, **CALLS, **TERMS}.items()))
SCHEMA = pa.schema([*SHORT, *TEXT.items()])
REPEATED = ("example", "end", "failed_at", "tools.list.element", "outcomes.list.element")
PLAIN = [one.name for one in fields(Summary) if one.name not in BESIDE]


def write_step(path: Path, rollouts: Sequence[RolloutRecord]) -> str:
    """Write the rollouts of a step and return the file's SHA-256. Raises OSError."""
    columns = columns_of(summarise(rollouts)) | {
        "record": [record(one.rollout) for one in rollouts],
        "transcript": [adapter(tuple[Message, ...]).dump_json(one.rollout.transcript) for one in rollouts],
    }
    return write(path, pa.table(columns, SCHEMA), ROWS, REPEATED)


def columns_of(summaries: Sequence[Summary]) -> dict[str, list[Any]]:
    """Return the columns of SHORT for these summaries."""
    columns: dict[str, list[Any]] = {name: [getattr(one, name) for one in summaries] for name in PLAIN}
    columns |= {name: [one.components[name] for one in summaries] for name in COMPONENTS}
    return columns | {
        "calls": [len(one.levels) for one in summaries],
        "failed_calls": [one.failed_calls for one in summaries],
        "truncated": [one.end == "tokens" for one in summaries],
        "tools": [one.tools for one in summaries],
        "levels": [one.levels for one in summaries],
        "outcomes": [one.outcomes for one in summaries],
        "terms": [list(one.terms.items()) for one in summaries],
    }


def record(rollout: Rollout) -> bytes:
    """Return a rollout as JSON without its transcript."""
    return adapter(Rollout).dump_json(rollout, exclude={"transcript"})


def read_summaries(path: Path) -> list[Summary]:
    """Return the summaries of a step's rollouts. Raises DamagedFile, FileNotFoundError."""
    return [summary_of(row) for row in read_short(path).to_pylist()]


def read_short(path: Path, names: Sequence[str] = SHORT.names) -> pa.Table:
    """Read some columns of a step; an older file may lack some of them. Raises DamagedFile, FileNotFoundError."""
    with open_parquet(path) as file:
        known = set(file.schema_arrow.names)
        return file.read(columns=[name for name in names if name in known], use_threads=False)


def summary_of(row: Mapping[str, Any]) -> Summary:
    outcomes = row.get("outcomes")
    return Summary(
        **{name: row[name] for name in PLAIN if name in row},
        tools=tuple(row["tools"]),
        levels=tuple(row["levels"]),
        components={name: row[name] for name in COMPONENTS if name in row},
        terms=dict(row.get("terms") or ()),
        outcomes=None if outcomes is None else tuple(outcomes),
    )


def read_outcomes(path: Path) -> list[tuple[Outcome, ...]]:
    """Return the outcomes of the calls of each rollout of a step, computed from the rollouts if the file has none.

    Raises DamagedFile, FileNotFoundError.
    """
    table = read_short(path, ["outcomes"])
    if table.column_names:
        return [tuple(each) for each in table["outcomes"].to_pylist()]
    return [outcomes(rollout) for rollout in read_step(path, transcripts=False)]


def read_span(path: Path, first: int, count: int) -> list[Rollout]:
    """Return `count` rollouts starting at `first`, counted from 1, without their transcripts.

    Only their row groups are read. Raises DamagedFile, FileNotFoundError.
    """
    found: list[Rollout] = []
    with open_parquet(path) as file:
        before = 0
        for number in range(file.metadata.num_row_groups):
            rows = file.metadata.row_group(number).num_rows
            start, end = max(first - 1 - before, 0), min(first - 1 + count - before, rows)
            if start < end:
                records = file.read_row_group(number, columns=["record"])["record"].slice(start, end - start)
                found += [rollout_of(path, one, "[]") for one in records.to_pylist()]
            before += rows
    return found


def read_rollout(path: Path, index: int) -> Rollout | None:
    """Return one rollout of a step, counted from 1; None past the end. Raises DamagedFile, FileNotFoundError."""
    with open_parquet(path) as file:
        row = row_of(file, index - 1, list(TEXT)) if index > 0 else None
    return rollout_of(path, row["record"], row["transcript"]) if row else None


def read_step(path: Path, transcripts: bool = True) -> Iterator[Rollout]:
    """Yield the rollouts of a step in order; without transcripts, which are then empty, it is faster.

    Raises DamagedFile, FileNotFoundError.
    """
    with open_parquet(path) as file:
        for number in range(file.metadata.num_row_groups):
            table = file.read_row_group(number, columns=list(TEXT) if transcripts else ["record"])
            records = table["record"].to_pylist()
            spoken = table["transcript"].to_pylist() if transcripts else ["[]"] * len(records)
            for one, said in zip(records, spoken, strict=True):
                yield rollout_of(path, one, said)


def rollout_of(path: Path, record: str, transcript: str) -> Rollout:
    try:
        found: Rollout = adapter(Rollout).validate_json(f'{record[:-1]},"transcript":{transcript}}}')
    except ValidationError as error:
        raise build_damage_error(path, f"a rollout in it cannot be read ({error.error_count()} errors)") from error
    return found
