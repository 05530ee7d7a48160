"""Streaming readers for external files: JSON Lines, a JSON array, a table or Parquet, one row in memory at a time.

The content is untrusted: a row is parsed under limits on size, depth, values and columns, and an invalid row is
reported with its position. A child process (decode.py) decodes Parquet, because its unpacked size is unknown.
"""

from __future__ import annotations

import csv
import json
import re
from collections.abc import Callable, Collection, Iterator
from pathlib import Path
from typing import Any, TextIO

from ...chat.protocol import depth
from ...core import sandbox
from ...core.trajectory import BadLine, UnreadableData

Row = dict[str, Any]
Passed = Callable[[int], None]
MOST_LINE = 8_000_000  # bytes of a line, or characters of an item or a table's row
MOST_PLAIN = 4 << 30  # bytes of all rows
MOST_VALUES = 100_000  # of a row, including nested values
MOST_COLUMNS, LONGEST_COLUMN = 500, 200  # of a table, and characters of a column's name
DEEPEST = 64
PARQUET = b"PAR1"
DECODER = "training_worker.datasets.importers.decode"
START, PIECE = 4096, 1 << 16  # bytes for the file type, and characters of an array read at a time
SPACE = re.compile(r"[ \t\r\n]*")


def ignore_byte_count(size: int) -> None:
    """Ignore the number of bytes; the default callback."""


def read_rows(path: Path, passed: Passed = ignore_byte_count) -> tuple[str, Iterator[tuple[int, Row | BadLine]]]:
    """Return the unit of a row (line, item, row), and the numbered rows, from 1, with a BadLine for an invalid one.

    `passed` gets the bytes of each line. Raises UnreadableData and OSError, also during iteration.
    """
    with path.open("rb") as file:
        start = file.read(START).lstrip(b"\xef\xbb\xbf \t\r\n")
    if start.startswith(PARQUET):
        return "row", parquet_rows(path)
    return ("item", array_rows(path)) if start.startswith(b"[") else ("line", line_rows(path, passed))


def line_rows(path: Path, passed: Passed = ignore_byte_count) -> Iterator[tuple[int, Row | BadLine]]:
    """Yield the rows of JSON Lines; blank lines are skipped."""
    with path.open("rb") as file:
        number = 0
        while line := file.readline(MOST_LINE + 1):
            number += 1
            passed(len(line))
            if len(line) > MOST_LINE:
                yield number, BadLine(str(path), number, f"longer than {MOST_LINE:,} bytes; the rest was not read.")
                return
            if line.strip():
                yield number, parse_line(path, number, "line", line)


def array_rows(path: Path) -> Iterator[tuple[int, Row | BadLine]]:
    """Yield the items of a JSON array. Raises UnreadableData."""
    decoder, number = json.JSONDecoder(parse_constant=refuse), 0
    try:
        with path.open(encoding="utf-8-sig") as file:
            text = file.read(START)
            at = after_space(text, 0) + 1  # after the bracket
            while True:
                try:
                    at = after_space(text, at)
                    if text[at : at + 1] == "]" and not number:
                        following = at
                    else:
                        value, end = decoder.raw_decode(text, at)
                        following = after_space(text, end)
                        if text[following : following + 1] not in (",", "]"):
                            raise ValueError(f"no comma or bracket after item {number + 1}")
                        number += 1
                        yield number, item(path, number, value)
                except ValueError as error:
                    text, at = read_more_text(file, text[at:], error), 0
                    continue
                if text[following] == "]":
                    if (text[following + 1 :] + file.read(PIECE)).strip(" \t\r\n"):
                        raise UnreadableData(f"{path} has text after its JSON array.")
                    return
                at = following + 1
    except UnicodeDecodeError as error:
        raise UnreadableData(f"{path} is not UTF-8 text: {one_line(error)}.") from None
    except (ValueError, RecursionError) as error:
        raise UnreadableData(f"{path} is not a valid JSON array: {one_line(error)}.") from None


def item(path: Path, number: int, value: Any) -> Row | BadLine:
    try:
        require_text(value)
    except (ValueError, RecursionError) as error:
        return BadLine(str(path), number, f"not valid JSON ({one_line(error)}).", "item")
    return check_row(path, number, "item", value)


def after_space(text: str, at: int) -> int:
    found = SPACE.match(text, at)
    return found.end() if found else at


def read_more_text(file: TextIO, text: str, error: ValueError) -> str:
    """Return the partial item with as much text again. Raises the error at the end of the file or for a long item."""
    if len(text) > MOST_LINE:
        raise ValueError(f"an item of more than {MOST_LINE:,} characters, or {one_line(error)}")
    piece = file.read(max(PIECE, len(text)))
    if not piece:
        raise error
    return text + piece


def csv_rows(path: Path) -> Iterator[tuple[int, Row | BadLine]]:
    """Yield the rows of comma-, semicolon- or tab-separated text with a header, numbered by their last line.

    Raises UnreadableData.
    """
    csv.field_size_limit(MOST_LINE)
    try:
        with path.open(encoding="utf-8-sig", newline="") as file:
            first = file.readline(MOST_LINE)
            file.seek(0)
            lines = TableLineReader(file)
            reader = csv.reader(lines, delimiter=max(",;\t", key=first.count), strict=True)
            header = next(reader, [])
            if len(header) < 2 or len(set(header)) < len(header):
                raise UnreadableData(
                    "It is neither JSON nor a table: its first line must name at least two columns, each once."
                )
            if wrong := wrong_columns(header):
                raise UnreadableData(f"{wrong[0].upper()}{wrong[1:]}")
            lines.read = 0
            for cells in reader:
                lines.read = 0
                if len(cells) == len(header):
                    yield (
                        reader.line_num,
                        check_row(path, reader.line_num, "line", dict(zip(header, cells, strict=True))),
                    )
                elif cells:
                    reason = f"{len(cells)} cells, but the header has {len(header)}."
                    yield reader.line_num, BadLine(str(path), reader.line_num, reason)
    except UnicodeDecodeError as error:
        raise UnreadableData(f"It is not UTF-8 text (byte {error.start:,}). Save it as UTF-8.") from None
    except csv.Error as error:
        raise UnreadableData(f"It is not a valid table: {one_line(error)}.") from None


class TableLineReader:
    """An iterator over the lines of a table; `read` counts the characters of the current row. Raises UnreadableData."""

    def __init__(self, file: TextIO):
        self.file, self.read = file, 0

    def __iter__(self) -> TableLineReader:
        return self

    def __next__(self) -> str:
        line = self.file.readline(MOST_LINE + 1)
        self.read += len(line)
        if self.read > MOST_LINE:
            raise UnreadableData(f"A row of the table has more than {MOST_LINE:,} characters, which is the limit.")
        if not line:
            raise StopIteration
        return line


def parquet_rows(path: Path) -> Iterator[tuple[int, Row | BadLine]]:
    """Yield the rows of a Parquet file, decoded by a child process. Raises UnreadableData."""
    try:
        yield from decoded_here(path) if sandbox.inside else decoded_by_a_child(path)
    except UnreadableData as why:
        raise UnreadableData(f"{path}: {why}") from None


def decoded_here(path: Path) -> Iterator[tuple[int, Row | BadLine]]:
    from .decode import read_parquet_rows

    for number, row in enumerate(read_parquet_rows(path), 1):
        yield number, check_row(path, number, "row", row)


def decoded_by_a_child(path: Path) -> Iterator[tuple[int, Row | BadLine]]:
    size = 0
    for number, line in enumerate(sandbox.stream_lines(DECODER, ["rows", str(path.absolute())], MOST_LINE + 1), 1):
        size += len(line)
        if size > MOST_PLAIN:
            raise UnreadableData(f"Its rows unpack to more than {MOST_PLAIN:,} bytes, the limit. Split the file.")
        yield number, parse_line(path, number, "row", line)


def parse_line(path: Path, number: int, unit: str, line: bytes) -> Row | BadLine:
    try:
        return check_row(path, number, unit, parse_strict_json(line))
    except (ValueError, RecursionError) as error:
        return BadLine(str(path), number, f"not valid JSON ({one_line(error)}).", unit)


def check_row(path: Path, number: int, unit: str, row: Any) -> Row | BadLine:
    if not isinstance(row, dict):
        return BadLine(str(path), number, "not a JSON object.", unit)
    if wrong := wrong_columns(row):
        return BadLine(str(path), number, wrong, unit)
    if count_values(row) > MOST_VALUES:
        return BadLine(str(path), number, f"it has more than {MOST_VALUES:,} values.", unit)
    if depth(row) > DEEPEST:
        return BadLine(str(path), number, f"nested deeper than {DEEPEST} levels.", unit)
    return row


def wrong_columns(names: Collection[str]) -> str:
    """Return why these column names are too many or too long; "" if they are not."""
    if len(names) > MOST_COLUMNS:
        return f"{len(names):,} columns; the limit is {MOST_COLUMNS:,}. Remove the columns that you don't need."
    if longest := next((name for name in names if len(name) > LONGEST_COLUMN), ""):
        return f"a column name that starts with {longest[:40]!r} has more than {LONGEST_COLUMN} characters."
    return ""


def count_values(value: Any) -> int:
    """Count the values in lists and objects, at any depth."""
    count, waiting = 0, [value]
    while waiting and count <= MOST_VALUES:
        one = waiting.pop()
        parts = one.values() if isinstance(one, dict) else one if isinstance(one, list) else ()
        count += len(parts)
        waiting += [part for part in parts if isinstance(part, dict | list)]
    return count


def parse_strict_json(text: str | bytes) -> Any:
    """Parse a JSON value. Raises ValueError or RecursionError, also for NaN and lone surrogates."""
    value = json.loads(text, parse_constant=refuse)
    require_text(value)
    return value


def require_text(value: Any) -> None:
    """Raise ValueError for lone surrogates and for numbers that JSON does not have."""
    json.dumps(value, ensure_ascii=False, allow_nan=False).encode()


def refuse(constant: str) -> None:
    raise ValueError(f"{constant} is not JSON")


def one_line(error: Exception) -> str:
    return (str(error).splitlines() or [type(error).__name__])[0][:200].rstrip(".")
