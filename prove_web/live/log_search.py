"""Log search from the end backwards, with a limit on the bytes read per page request."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import BinaryIO

from .log import COLOURS

MOST = 200  # lines per response
BUDGET = 8_000_000  # bytes read per response
BLOCK = 256_000  # bytes per read
AROUND = 60_000  # bytes before and after a line shown in context
LONGEST = 4_000  # characters shown of a line
LEVELS = {
    "": re.compile(""),
    "warning": re.compile("warn|error|critical|fatal|exception|traceback", re.IGNORECASE),
    "error": re.compile("error|critical|fatal|exception|traceback", re.IGNORECASE),
}


@dataclass(frozen=True)
class Line:
    """A line and its byte offset; `pieces` are parts of its text with whether each matched.

    `here` marks the requested line.
    """

    at: int
    pieces: tuple[tuple[str, bool], ...]
    level: str = ""
    here: bool = False


@dataclass(frozen=True)
class LogPage:
    """Lines in log order. `before` is the offset to continue the search from, None at the beginning."""

    lines: tuple[Line, ...]
    before: int | None = None


def seek(path: Path, words: str, level: str = "", before: int | None = None, most: int = MOST) -> LogPage:
    """Return the last lines before the offset `before` that contain the words (ignoring case) at the level or above."""
    sought, of_level = re.compile(re.escape(words), re.IGNORECASE), LEVELS.get(level, LEVELS[""])
    found: list[Line] = []
    try:
        with path.open("rb") as file:
            size = file.seek(0, 2)
            end = size if before is None else min(before, size)
            at = least = end
            for at, raw in iter_lines_backwards(file, end):
                text = clean(raw)
                if sought.search(text) and of_level.search(text):
                    found.append(line(at, text, sought))
                if len(found) == most or end - at >= BUDGET:
                    break
            least = at
    except FileNotFoundError:
        return LogPage(())
    return LogPage(tuple(reversed(found)), least or None)


def read_lines_around(path: Path, at: int, words: str = "") -> LogPage:
    """Return the line at a byte offset with the lines around it."""
    sought = re.compile(re.escape(words), re.IGNORECASE)
    try:
        with path.open("rb") as file:
            size = file.seek(0, 2)
            start = max(0, min(at, size) - AROUND)
            file.seek(start)
            text = file.read(2 * AROUND)
    except FileNotFoundError:
        return LogPage(())
    if start:  # the first line may be cut
        cut = text.find(b"\n") + 1
        start, text = start + cut, text[cut:]
    if start + len(text) < size:  # the last line may be cut
        text = text[: text.rfind(b"\n") + 1] or text
    found = [
        line(start + place, clean(raw), sought, at == start + place) for place, raw in iter_lines_with_offsets(text)
    ]
    return LogPage(tuple(found))


def iter_lines_backwards(file: BinaryIO, end: int) -> Iterator[tuple[int, bytes]]:
    """Yield the lines before an offset in reverse with their offsets; a line longer than BUDGET comes in parts."""
    tail = b""
    while end > 0:
        start = max(0, end - BLOCK)
        file.seek(start)
        block = file.read(end - start) + tail
        cut = block.find(b"\n") + 1 if start else 0
        if start and not cut and len(block) < BUDGET:
            end, tail = start, block
            continue
        yield from reversed(list(iter_lines_with_offsets(block[cut:], start + cut)))
        end, tail = start, block[:cut]


def iter_lines_with_offsets(text: bytes, start: int = 0) -> Iterator[tuple[int, bytes]]:
    """Yield the lines of a log block with their offsets."""
    for raw in re.findall(rb"[^\n]*\n|[^\n]+", text):
        yield start, raw.removesuffix(b"\n")
        start += len(raw)


def clean(raw: bytes) -> str:
    """Return a line as a terminal shows it: without colours, and only the text after the last carriage return."""
    text = COLOURS.sub("", raw.decode(errors="replace")).rstrip("\r")
    return text.rpartition("\r")[2]


def line(at: int, text: str, sought: re.Pattern[str], here: bool = False) -> Line:
    level = next((name for name in ("error", "warning") if LEVELS[name].search(text)), "")
    return Line(at, tuple(pieces(text[:LONGEST], sought)), level, here)


def pieces(text: str, sought: re.Pattern[str]) -> Iterator[tuple[str, bool]]:
    """Yield the text in pieces, each with whether it matched."""
    done = 0
    for hit in sought.finditer(text) if sought.pattern else ():
        if hit.end() > hit.start():
            if hit.start() > done:
                yield text[done : hit.start()], False
            yield hit[0], True
            done = hit.end()
    if done < len(text):
        yield text[done:], False
