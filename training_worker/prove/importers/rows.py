"""The rows of a file that others made: JSON lines, a JSON array or Parquet, told apart by how the file begins.

What is in it is untrusted: a row is parsed, bounded in size and depth, and what is none is named with its place.
"""

from __future__ import annotations

import json
import math
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq

from ..chat import depth
from ..trajectory import BadLine, UnreadableData

Row = dict[str, Any]
Passed = Callable[[int], None]
MOST_LINE, MOST_ARRAY = 8_000_000, 400_000_000  # bytes
DEEPEST = 64
PARQUET = b"PAR1"


def nobody(size: int) -> None:
    """Wants to know of no bytes."""


def rows(path: Path, passed: Passed = nobody) -> tuple[str, Iterator[tuple[int, Row | BadLine]]]:
    """What a row is called (line, item, row), and each with its number, from 1, or what is wrong with it.

    `passed` hears of the bytes of each line. Raises UnreadableData and OSError, also on the way.
    """
    with path.open("rb") as file:
        start = file.read(4096).lstrip(b"\xef\xbb\xbf \t\r\n")
    if start.startswith(PARQUET):
        return "row", parquet_rows(path)
    return ("item", array_rows(path)) if start.startswith(b"[") else ("line", line_rows(path, passed))


def line_rows(path: Path, passed: Passed = nobody) -> Iterator[tuple[int, Row | BadLine]]:
    """The rows of JSON lines; blank lines are passed over."""
    with path.open("rb") as file:
        number = 0
        while line := file.readline(MOST_LINE + 1):
            number += 1
            passed(len(line))
            if len(line) > MOST_LINE:
                yield number, BadLine(str(path), number, f"longer than {MOST_LINE:,} bytes; the rest was not read.")
                return
            if line.strip():
                yield number, parsed(path, number, "line", line)


def array_rows(path: Path) -> Iterator[tuple[int, Row | BadLine]]:
    """The rows of a JSON array, which has to fit into memory."""
    if path.stat().st_size > MOST_ARRAY:
        raise UnreadableData(f"{path} is a JSON array of more than {MOST_ARRAY:,} bytes; give it as JSON lines.")
    try:
        found = strict(path.read_bytes())
    except (ValueError, RecursionError) as error:
        raise UnreadableData(f"{path} begins as a JSON array and is none: {one_line(error)}.") from None
    for number, row in enumerate(found, 1):
        yield number, checked(path, number, "item", row)


def parquet_rows(path: Path) -> Iterator[tuple[int, Row | BadLine]]:
    try:
        with pq.ParquetFile(path) as file:
            number = 0
            for batch in file.iter_batches(200):
                for row in batch.to_pylist():
                    number += 1
                    yield number, checked(path, number, "row", as_json(row))
    except (pa.ArrowException, OSError, ValueError) as error:
        raise UnreadableData(f"{path} begins as a Parquet file and is none: {one_line(error)}.") from None


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


def parsed(path: Path, number: int, unit: str, line: bytes) -> Row | BadLine:
    try:
        return checked(path, number, unit, strict(line))
    except (ValueError, RecursionError) as error:
        return BadLine(str(path), number, f"no JSON ({one_line(error)}).", unit)


def checked(path: Path, number: int, unit: str, row: Any) -> Row | BadLine:
    if not isinstance(row, dict):
        return BadLine(str(path), number, "no JSON object.", unit)
    if depth(row) > DEEPEST:
        return BadLine(str(path), number, f"nested deeper than {DEEPEST}.", unit)
    return row


def strict(text: str | bytes) -> Any:
    """A JSON value. Raises ValueError or RecursionError also for what only Python takes: NaN, half a surrogate pair."""
    value = json.loads(text, parse_constant=refuse)
    json.dumps(value, ensure_ascii=False, allow_nan=False).encode()
    return value


def refuse(constant: str) -> None:
    raise ValueError(f"{constant} is no JSON")


def one_line(error: Exception) -> str:
    return (str(error).splitlines() or [type(error).__name__])[0][:200].rstrip(".")
