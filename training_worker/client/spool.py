"""What a program has told of its run, kept on disk until the site has it: JSON lines, and how far they were sent.

Lines are {"make": ...} first, then {"points": {...}}, {"held_out": {...}}, {"rollouts": {...}}, {"end": {...}}, each as
the site takes it.
Whatever is sent twice is stored once, so a place that was not written down costs time and nothing else.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

LARGEST = 256 << 20  # bytes of a file
LARGEST_PIECE = 16 << 20  # bytes read at once, and at most one item more
Item = dict[str, Any]


class Full(OSError):
    """The file has become too large; what comes is left out."""


class Spool:
    def __init__(self, path: Path) -> None:
        self.path, self.mark = path, path.with_suffix(".sent")
        path.parent.mkdir(parents=True, exist_ok=True)
        self.mend()

    def mend(self) -> None:
        """Take off the end what a program that died has not finished writing."""
        if self.path.exists():
            whole = self.path.read_bytes()
            if end := whole.rfind(b"\n") + 1 - len(whole):
                with self.path.open("r+b") as file:
                    file.truncate(len(whole) + end)

    def append(self, items: Sequence[Item]) -> None:
        """Raises OSError."""
        if self.size() > LARGEST:
            raise Full(f"{self.path} is larger than {LARGEST:,} bytes.")
        with self.path.open("ab") as file:
            file.write(b"".join(json.dumps(item, allow_nan=False).encode() + b"\n" for item in items))

    def size(self) -> int:
        return self.path.stat().st_size if self.path.exists() else 0

    def place(self) -> tuple[int, int | None]:
        """How many bytes were sent, and the number of the run."""
        try:
            told = json.loads(self.mark.read_text("utf-8"))
            return int(told["sent"]), told["run"]
        except (OSError, ValueError, KeyError, TypeError):
            return 0, None

    def sent(self, place: int, run: int) -> None:
        partial = self.mark.with_suffix(".partial")
        partial.write_text(json.dumps({"sent": place, "run": run}), "utf-8")
        partial.replace(self.mark)

    def waiting(self, most: int) -> tuple[list[Item], int]:
        """At most so many of the items that were not sent, fewer where they are large, and the place behind them."""
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
