"""Spool of a run's data on disk until the site has it: JSON lines, and the position up to which they were sent.

Lines are {"make": ...} first, then {"points": {...}}, {"held_out": {...}}, {"rollouts": {...}}, {"end": {...}}, each in
the site's format. The site stores data that is sent twice only once, so a lost position costs nothing but time.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

LARGEST = 256 << 20  # bytes of a file
LARGEST_PIECE = 16 << 20  # bytes read at once, plus at most one item
Item = dict[str, Any]


class SpoolFullError(OSError):
    """Error of a spool that has become too large; further items are dropped."""


class Spool:
    def __init__(self, path: Path) -> None:
        self.path, self.mark = path, path.with_suffix(".sent")
        path.parent.mkdir(parents=True, exist_ok=True)
        self.mend()

    def mend(self) -> None:
        """Cut off an incomplete last line, left by a program that died."""
        if self.path.exists():
            data = self.path.read_bytes()
            if end := data.rfind(b"\n") + 1 - len(data):
                with self.path.open("r+b") as file:
                    file.truncate(len(data) + end)

    def append(self, items: Sequence[Item]) -> None:
        """Append items. Raises OSError."""
        if self.size() > LARGEST:
            raise SpoolFullError(f"{self.path} is larger than {LARGEST:,} bytes.")
        with self.path.open("ab") as file:
            file.write(b"".join(json.dumps(item, allow_nan=False).encode() + b"\n" for item in items))

    def size(self) -> int:
        return self.path.stat().st_size if self.path.exists() else 0

    def place(self) -> tuple[int, int | None]:
        """Return how many bytes were sent, and the number of the run."""
        try:
            mark = json.loads(self.mark.read_text("utf-8"))
            return int(mark["sent"]), mark["run"]
        except (OSError, ValueError, KeyError, TypeError):
            return 0, None

    def mark_sent(self, place: int, run: int) -> None:
        partial = self.mark.with_suffix(".partial")
        partial.write_text(json.dumps({"sent": place, "run": run}), "utf-8")
        partial.replace(self.mark)

    def read_unsent(self, most: int) -> tuple[list[Item], int]:
        """Return at most `most` unsent items, fewer if they are large, and the position after them."""
        place, _ = self.place()
        begun = place
        if not self.path.exists():
            return [], place
        found: list[Item] = []
        with self.path.open("rb") as file:
            file.seek(place)
            while len(found) < most and place - begun < LARGEST_PIECE and (line := file.readline()).endswith(b"\n"):
                found.append(json.loads(line))
                place += len(line)
        return found, place
