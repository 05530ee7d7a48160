"""The rollouts of one step as a Parquet file: typed columns to filter and chart by, and each rollout as JSON.

A rollout's transcript is a column of its own, since scoring again does without it. 64 rollouts make a row group:
siblings compress well together, and one rollout is read with its row group alone.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import fields
from pathlib import Path
from typing import Any

import pyarrow as pa
from pydantic import ValidationError

from ..trajectory import Message, Rollout, adapter
from .kept import COMPONENTS, Kept, Summary, summarise
from .parquet import damaged, reading, row_of, write

ROWS = 64  # of a row group
BESIDE = ("components", "tools", "levels", "terms")  # fields of Summary that are no column of their own type
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
DERIVED = {"calls": pa.int32(), "failed_calls": pa.int32(), "truncated": pa.bool_()}  # for those who read the file
CALLS = {"tools": pa.list_(pa.string()), "levels": pa.list_(pa.int8())}
TERMS = {"terms": pa.map_(pa.string(), pa.float64())}
TEXT = {"record": pa.string(), "transcript": pa.string()}
GRADED = {name: pa.float64() for name in COMPONENTS}
SCHEMA = pa.schema(list({**TYPES, **GRADED, **DERIVED, **CALLS, **TERMS, **TEXT}.items()))
REPEATED = ("example", "end", "failed_at", "tools.list.element")
PLAIN = [one.name for one in fields(Summary) if one.name not in BESIDE]


def write_step(path: Path, rollouts: Sequence[Kept]) -> str:
    """Write the rollouts of a step; the file's SHA-256. Raises OSError."""
    summaries = summarise(rollouts)
    columns: dict[str, list[Any]] = {name: [getattr(one, name) for one in summaries] for name in PLAIN}
    columns |= {name: [one.components[name] for one in summaries] for name in COMPONENTS}
    columns |= {
        "calls": [len(one.levels) for one in summaries],
        "failed_calls": [one.failed_calls for one in summaries],
        "truncated": [one.end == "tokens" for one in summaries],
        "tools": [one.tools for one in summaries],
        "levels": [one.levels for one in summaries],
        "terms": [list(one.terms.items()) for one in summaries],
        "record": [record(one.rollout) for one in rollouts],
        "transcript": [adapter(tuple[Message, ...]).dump_json(one.rollout.transcript) for one in rollouts],
    }
    return write(path, pa.table(columns, SCHEMA), ROWS, REPEATED)


def record(rollout: Rollout) -> bytes:
    """All of a rollout but its transcript."""
    return adapter(Rollout).dump_json(rollout, exclude={"transcript"})


def read_summaries(path: Path) -> list[Summary]:
    """The rollouts of a step in short. Raises DamagedFile, FileNotFoundError."""
    with reading(path) as file:
        known = set(file.schema_arrow.names)
        components = [name for name in COMPONENTS if name in known]
        names = [name for name in (*PLAIN, *CALLS, *TERMS) if name in known]
        rows = file.read(columns=[*names, *components], use_threads=False).to_pylist()
    return [
        Summary(
            **{name: row[name] for name in names if name not in BESIDE},
            tools=tuple(row["tools"]),
            levels=tuple(row["levels"]),
            components={name: row[name] for name in components},
            terms=dict(row.get("terms") or ()),
        )
        for row in rows
    ]


def read_rollout(path: Path, index: int) -> Rollout | None:
    """One rollout of a step, counted from 1; None where there are fewer. Raises DamagedFile, FileNotFoundError."""
    with reading(path) as file:
        row = row_of(file, index - 1, list(TEXT)) if index > 0 else None
    return rollout_of(path, row["record"], row["transcript"]) if row else None


def read_step(path: Path, transcripts: bool = True) -> Iterator[Rollout]:
    """The rollouts of a step in order; without transcripts these are empty, and it is faster.

    Raises DamagedFile, FileNotFoundError.
    """
    with reading(path) as file:
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
        raise damaged(path, f"a rollout in it cannot be read ({error.error_count()} faults)") from error
    return found
