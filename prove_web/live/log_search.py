"""Lines of a log that are sought, from its end backwards, reading no more at once than a page may wait for."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import BinaryIO

from .log import COLOURS

MOST = 200  # lines of one answer
BUDGET = 8_000_000  # bytes read for one answer
BLOCK = 256_000  # bytes read at once
AROUND = 60_000  # bytes before and after a line that is looked at in its place
LONGEST = 4_000  # characters of a line that are shown
LEVELS = {
    "": re.compile(""),
    "warning": re.compile("warn|error|critical|fatal|exception|traceback", re.IGNORECASE),
    "error": re.compile("error|critical|fatal|exception|traceback", re.IGNORECASE),
}


@dataclass(frozen=True)
class Line:
    """A line and the byte it begins at; `pieces` are its text with whether each was sought. `here` marks one line."""

    at: int
    pieces: tuple[tuple[str, bool], ...]
    level: str = ""
    here: bool = False


@dataclass(frozen=True)
class LogPage:
    """Lines in the order of the log. `before` is where to seek on, None once the beginning was reached."""

    lines: tuple[Line, ...]
    before: int | None = None


def seek(path: Path, words: str, level: str = "", before: int | None = None, most: int = MOST) -> LogPage:
    """The last lines before the byte `before` that hold the words, in any case, and are of a level or above it."""
    sought, of_level = re.compile(re.escape(words), re.IGNORECASE), LEVELS.get(level, LEVELS[""])
    found: list[Line] = []
    try:
        with path.open("rb") as file:
            size = file.seek(0, 2)
            end = size if before is None else min(before, size)
            at = least = end
            for at, raw in backwards(file, end):
                text = clean(raw)
                if sought.search(text) and of_level.search(text):
                    found.append(line(at, text, sought))
                if len(found) == most or end - at >= BUDGET:
                    break
            least = at
    except FileNotFoundError:
        return LogPage(())
    return LogPage(tuple(reversed(found)), least or None)


def around(path: Path, at: int, words: str = "") -> LogPage:
    """The line that begins at a byte, with those about it."""
    sought = re.compile(re.escape(words), re.IGNORECASE)
    try:
        with path.open("rb") as file:
            size = file.seek(0, 2)
            start = max(0, min(at, size) - AROUND)
            file.seek(start)
            text = file.read(2 * AROUND)
    except FileNotFoundError:
        return LogPage(())
    if start:  # the first one may be cut
        cut = text.find(b"\n") + 1
        start, text = start + cut, text[cut:]
    if start + len(text) < size:  # and so may be the last
        text = text[: text.rfind(b"\n") + 1] or text
    found = [line(start + place, clean(raw), sought, at == start + place) for place, raw in placed(text)]
    return LogPage(tuple(found))


def backwards(file: BinaryIO, end: int) -> Iterator[tuple[int, bytes]]:
    """The lines before a byte, the last one first, each with where it begins; one longer than BUDGET comes in parts."""
    tail = b""
    while end > 0:
        start = max(0, end - BLOCK)
        file.seek(start)
        block = file.read(end - start) + tail
        cut = block.find(b"\n") + 1 if start else 0
        if start and not cut and len(block) < BUDGET:
            end, tail = start, block
            continue
        yield from reversed(list(placed(block[cut:], start + cut)))
        end, tail = start, block[:cut]


def placed(text: bytes, start: int = 0) -> Iterator[tuple[int, bytes]]:
    """The lines of a piece of the log, each with where it begins."""
    for raw in re.findall(rb"[^\n]*\n|[^\n]+", text):
        yield start, raw.removesuffix(b"\n")
        start += len(raw)


def clean(raw: bytes) -> str:
    """A line as it stood in a terminal: without colours, and only what was written last over its beginning."""
    text = COLOURS.sub("", raw.decode(errors="replace")).rstrip("\r")
    return text.rpartition("\r")[2]


def line(at: int, text: str, sought: re.Pattern[str], here: bool = False) -> Line:
    level = next((name for name in ("error", "warning") if LEVELS[name].search(text)), "")
    return Line(at, tuple(pieces(text[:LONGEST], sought)), level, here)


def pieces(text: str, sought: re.Pattern[str]) -> Iterator[tuple[str, bool]]:
    """The text in pieces, each with whether it is what was sought."""
    done = 0
    for hit in sought.finditer(text) if sought.pattern else ():
        if hit.end() > hit.start():
            if hit.start() > done:
                yield text[done : hit.start()], False
            yield hit[0], True
            done = hit.end()
    if done < len(text):
        yield text[done:], False
