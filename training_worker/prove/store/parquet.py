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

MOST_ROWS, MOST_COLUMNS = 65_536, 200
MOST_BYTES = 1 << 30  # of all columns, as the file says


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
            require_bounded(path, file.metadata)
            yield file
    except (FileNotFoundError, MemoryError):
        raise
    except (pa.ArrowException, OSError) as error:
        raise damaged(path, str(error)) from error


def require_bounded(path: Path, metadata: Any) -> None:
    """Raise DamagedFile for a file that says itself that it holds more than any step does.

    One that lies is found when it arrives (inspection.py).
    """
    size = sum(metadata.row_group(number).total_byte_size for number in range(metadata.num_row_groups))
    if metadata.num_rows > MOST_ROWS or metadata.num_columns > MOST_COLUMNS or size > MOST_BYTES:
        told = f"{metadata.num_rows:,} rows, {metadata.num_columns:,} columns and {size:,} bytes"
        most = f"{MOST_ROWS:,}, {MOST_COLUMNS:,} and {MOST_BYTES:,}"
        raise damaged(path, f"it says that it has {told}, where {most} are the most")


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
