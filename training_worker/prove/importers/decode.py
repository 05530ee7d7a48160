"""`python -m training_worker.prove.importers.decode DO FILE [FOLDER]`: decode a stranger's file under limits.

`rows` prints the rows of a Parquet file as JSON lines, `unpack` unpacks a packed file into FOLDER, and `sample` writes
the first rows of any file to FOLDER/sample.json. Problems are one line on standard error, with status 2. Parents are
rows.py, archive.py and sample.py.
"""

from __future__ import annotations

import json
import math
import sys
from collections.abc import Iterator
from itertools import islice
from pathlib import Path
from typing import Any

from ... import sandbox
from ..trajectory import BadLine, UnreadableData
from .archive import unpack_into
from .rows import MOST_COLUMNS, MOST_PLAIN, Row, one_line, wrong_columns
from .sample import FIRST, LARGEST, SAMPLE, Line, written

BATCH = 50  # rows decoded at a time
MOST_GROUP = 256 << 20  # bytes of a row group, as its file says
MOST_LEAVES = 4 * MOST_COLUMNS  # columns of Parquet, those inside of others counted one by one
PREVIEW_MEMORY, PREVIEW_SECONDS = 1 << 30, 20


def main(do: str, file: str, folder: str = "") -> int:
    """The exit status."""
    path = Path(file)
    if do == "rows":
        return sandbox.decode(lambda: print_rows(path), seconds=600)
    if do == "unpack":
        return sandbox.decode(lambda: unpack_into(path, Path(folder), head=False), seconds=600)
    return sandbox.decode(
        lambda: write_sample(path, Path(folder)), PREVIEW_MEMORY, PREVIEW_SECONDS, largest_file=64 << 20
    )


def print_rows(path: Path) -> None:
    for row in decoded(path):
        print(json.dumps(row, ensure_ascii=False, allow_nan=False))


def decoded(path: Path) -> Iterator[Row]:
    """The rows of a Parquet file, a few in memory at a time. Raises UnreadableData, MemoryError."""
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
        raise UnreadableData(f"It begins as Parquet and is none, or was cut short: {one_line(error)}.") from None


def require_small(metadata: Any) -> None:
    """Raise UnreadableData for a file that says itself that it unpacks to more than is read; one that lies meets the
    child's limits."""
    groups = [metadata.row_group(place).total_byte_size for place in range(metadata.num_row_groups)]
    if sum(groups) > MOST_PLAIN or max(groups, default=0) > MOST_GROUP:
        raise UnreadableData(
            f"Its row groups unpack to {sum(groups):,} bytes, the largest to {max(groups):,}; "
            f"{MOST_PLAIN:,} and {MOST_GROUP:,} are the most. Write it with smaller row groups, or in parts."
        )
    if metadata.num_columns > MOST_LEAVES:
        raise UnreadableData(
            f"It has {metadata.num_columns:,} columns, those inside of others included, and {MOST_LEAVES:,} are the "
            "most. Leave out those that you don't need."
        )


def as_json(value: Any) -> Any:
    """A value of a column as JSON has it: no number is null, a date or a decimal its text, bytes the text they are."""
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
    """Write the first rows of a file, as many as are small enough together."""
    from .archive import plain_files, rows_of

    unit, found = rows_of(plain_files(path, folder, head=True)[0])
    lines, size = list[Line](), 0
    for number, row in islice(found, FIRST):
        line: Line = (number, None, row.reason) if isinstance(row, BadLine) else (number, row, "")
        size += len(json.dumps(line))
        if lines and size > LARGEST:
            break
        lines.append(line)
    (folder / SAMPLE).write_text(written(unit, lines), "utf-8")


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
