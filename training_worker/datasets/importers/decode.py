"""The command `python -m training_worker.datasets.importers.decode DO FILE [FOLDER]`, which decodes an untrusted file.

`rows` prints the rows of a Parquet file as JSON Lines, `unpack` unpacks a compressed file into FOLDER, and `sample`
writes the first rows of any file to FOLDER/sample.json, all under limits on memory, time and size. Errors are one line
on standard error, with status 2. It is called by rows.py, archive.py and sample.py.
"""

from __future__ import annotations

import json
import math
import sys
from collections.abc import Iterator
from itertools import islice
from pathlib import Path
from typing import Any

from ...core import sandbox
from ...core.trajectory import BadLine, UnreadableData
from .archive import unpack_into
from .rows import MOST_COLUMNS, MOST_PLAIN, Row, one_line, wrong_columns
from .sample import FIRST, LARGEST, SAMPLE, Line, serialize_sample

BATCH = 50  # rows decoded at a time
MOST_GROUP = 256 << 20  # bytes of a row group, as declared in the file
MOST_LEAVES = 4 * MOST_COLUMNS  # Parquet leaf columns, nested ones counted one by one
PREVIEW_MEMORY, PREVIEW_SECONDS = 1 << 30, 20


def main(do: str, file: str, folder: str = "") -> int:
    """Run the command and return the exit status."""
    path = Path(file)
    if do == "rows":
        return sandbox.decode(lambda: print_rows(path), seconds=600)
    if do == "unpack":
        return sandbox.decode(lambda: unpack_into(path, Path(folder), head=False), seconds=600)
    return sandbox.decode(
        lambda: write_sample(path, Path(folder)), PREVIEW_MEMORY, PREVIEW_SECONDS, largest_file=64 << 20
    )


def print_rows(path: Path) -> None:
    for row in read_parquet_rows(path):
        print(json.dumps(row, ensure_ascii=False, allow_nan=False))


def read_parquet_rows(path: Path) -> Iterator[Row]:
    """Yield the rows of a Parquet file, a few in memory at a time. Raises UnreadableData, MemoryError."""
    import pyarrow as pa
    import pyarrow.parquet as pq

    pa.set_cpu_count(1)
    try:
        with pq.ParquetFile(path, buffer_size=1 << 20, pre_buffer=False) as file:
            require_small(file.metadata)
            if wrong := wrong_columns(file.schema_arrow.names):
                raise UnreadableData(f"{wrong[0].upper()}{wrong[1:]}")
            for batch in file.iter_batches(BATCH, use_threads=False):
                for row in batch.to_pylist():
                    yield as_json(row)
    except MemoryError:
        raise
    except (pa.ArrowException, OSError, ValueError) as error:
        raise UnreadableData(f"The Parquet file is invalid or truncated: {one_line(error)}.") from None


def require_small(metadata: Any) -> None:
    """Raise UnreadableData for a file whose declared size exceeds the limits.

    A file that declares a false size runs into the limits of the child process.
    """
    groups = [metadata.row_group(place).total_byte_size for place in range(metadata.num_row_groups)]
    if sum(groups) > MOST_PLAIN or max(groups, default=0) > MOST_GROUP:
        raise UnreadableData(
            f"Its row groups unpack to {sum(groups):,} bytes, the largest to {max(groups):,}; "
            f"the limits are {MOST_PLAIN:,} and {MOST_GROUP:,}. Use smaller row groups, or split the file."
        )
    if metadata.num_columns > MOST_LEAVES:
        raise UnreadableData(
            f"It has {metadata.num_columns:,} columns, nested ones included; the limit is {MOST_LEAVES:,}. "
            "Remove the columns that you don't need."
        )


def as_json(value: Any) -> Any:
    """Return a column value as JSON: NaN and infinity as null, dates and decimals as text, bytes decoded as UTF-8."""
    if isinstance(value, dict):
        return {str(name): as_json(part) for name, part in value.items()}
    if isinstance(value, list | tuple):
        return [as_json(part) for part in value]
    if isinstance(value, float):
        return value if math.isfinite(value) else None
    if isinstance(value, bytes):
        return value.decode("utf-8", "replace")
    return value if value is None or isinstance(value, str | int | bool) else str(value)


def write_sample(path: Path, folder: Path) -> None:
    """Write the first rows of a file, up to a total size."""
    from .archive import plain_files, rows_of

    unit, found = rows_of(plain_files(path, folder, head=True)[0])
    lines, size = list[Line](), 0
    for number, row in islice(found, FIRST):
        line: Line = (number, None, row.reason) if isinstance(row, BadLine) else (number, row, "")
        size += len(json.dumps(line))
        if lines and size > LARGEST:
            break
        lines.append(line)
    (folder / SAMPLE).write_text(serialize_sample(unit, lines), "utf-8")


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
