"""Parquet files that appear whole or not at all, and that say so when they are not whole any more."""

from __future__ import annotations

import hashlib
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq

from ..trajectory import UnreadableData


class DamagedFile(UnreadableData):
    """A file of the store that cannot be read; the message names the file, not where it lies."""


def write(path: Path, table: pa.Table, rows: int, dictionary: Sequence[str] = ()) -> str:
    """Write a table with so many rows in a row group; its SHA-256. Equal tables give equal bytes. Raises OSError."""
    sink = pa.BufferOutputStream()
    pq.write_table(
        table,
        sink,
        row_group_size=rows,
        compression="zstd",
        use_dictionary=list(dictionary),
        write_statistics=False,
        write_page_checksum=True,
    )
    data = sink.getvalue().to_pybytes()
    partial = path.with_name(path.name + ".partial")
    try:
        partial.write_bytes(data)
        partial.replace(path)
    finally:
        partial.unlink(missing_ok=True)
    return hashlib.sha256(data).hexdigest()


@contextmanager
def reading(path: Path) -> Iterator[pq.ParquetFile]:
    """The open file. Raises DamagedFile, FileNotFoundError."""
    try:
        with pq.ParquetFile(path, page_checksum_verification=True) as file:
            yield file
    except FileNotFoundError:
        raise
    except (pa.ArrowException, OSError) as error:
        raise damaged(path, str(error)) from error


def damaged(path: Path, why: str) -> DamagedFile:
    size = path.stat().st_size if path.exists() else 0
    reason = why.replace(str(path), path.name).strip().splitlines()[0][:200] if why.strip() else "not readable"
    return DamagedFile(
        f"The file {path.name} ({size:,} bytes) is damaged or was cut short: {reason}. "
        "Put back a copy of it; other steps are not affected."
    )


def row_of(file: pq.ParquetFile, index: int, columns: Sequence[str]) -> dict[str, Any] | None:
    """One row, counted from 0, without reading the row groups before and after it; None past the end."""
    for number in range(file.metadata.num_row_groups):
        rows = file.metadata.row_group(number).num_rows
        if index < rows:
            found = file.read_row_group(number, columns=list(columns)).slice(index, 1).to_pylist()
            return dict(found[0])
        index -= rows
    return None
