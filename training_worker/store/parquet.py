"""Parquet files with atomic writes and detection of damage."""

from __future__ import annotations

import hashlib
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq

from ..core.trajectory import UnreadableData

MOST_ROWS, MOST_COLUMNS = 65_536, 200
MOST_BYTES = 1 << 30  # of all columns, as declared in the file


class DamagedFile(UnreadableData):
    """A stored file that cannot be read; the message has the file's name but not its path."""


def write(path: Path, table: pa.Table, rows: int, dictionary: Sequence[str] = ()) -> str:
    """Write a table with `rows` rows per row group and return the SHA-256. Equal tables give equal bytes.

    Raises OSError.
    """
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
def open_parquet(path: Path) -> Iterator[pq.ParquetFile]:
    """Open a file for reading. Raises DamagedFile, FileNotFoundError."""
    try:
        with pq.ParquetFile(path, page_checksum_verification=True) as file:
            require_bounded(path, file.metadata)
            yield file
    except (FileNotFoundError, MemoryError):
        raise
    except (pa.ArrowException, OSError) as error:
        raise build_damage_error(path, str(error)) from error


def require_bounded(path: Path, metadata: Any) -> None:
    """Raise DamagedFile for a file whose declared size is larger than any step's.

    Files from other machines with a false declaration are rejected on arrival (inspection.py).
    """
    size = sum(metadata.row_group(number).total_byte_size for number in range(metadata.num_row_groups))
    if metadata.num_rows > MOST_ROWS or metadata.num_columns > MOST_COLUMNS or size > MOST_BYTES:
        declared = f"{metadata.num_rows:,} rows, {metadata.num_columns:,} columns and {size:,} bytes"
        most = f"{MOST_ROWS:,}, {MOST_COLUMNS:,} and {MOST_BYTES:,}"
        raise build_damage_error(path, f"it declares {declared}; the limits are {most}")


def build_damage_error(path: Path, why: str) -> DamagedFile:
    size = path.stat().st_size if path.exists() else 0
    reason = why.replace(str(path), path.name).strip().splitlines()[0][:200] if why.strip() else "not readable"
    return DamagedFile(
        f"The file {path.name} ({size:,} bytes) is damaged or truncated: {reason}. "
        "Restore a copy of it; other steps are not affected."
    )


def row_of(file: pq.ParquetFile, index: int, columns: Sequence[str]) -> dict[str, Any] | None:
    """Read one row, counted from 0, without reading other row groups; None past the end."""
    for number in range(file.metadata.num_row_groups):
        rows = file.metadata.row_group(number).num_rows
        if index < rows:
            found = file.read_row_group(number, columns=list(columns)).slice(index, 1).to_pylist()
            return dict(found[0])
        index -= rows
    return None
