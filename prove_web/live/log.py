"""The tail of a job's log for its page."""

from __future__ import annotations

import re
from pathlib import Path

LINES = 400
BYTES = 200_000
COLOURS = re.compile(r"\x1b\[[0-9;?]*[A-Za-z]")


def tail(path: Path) -> str:
    """Return the last lines; empty for a missing log, as before a job's first start."""
    try:
        with path.open("rb") as file:
            size = file.seek(0, 2)
            file.seek(max(0, size - BYTES))
            text = file.read().decode(errors="replace")
    except FileNotFoundError:
        return ""
    lines = text.splitlines()
    if size > BYTES:
        lines = lines[1:] or lines  # the first line may be cut, but is kept if it is the only one
    return COLOURS.sub("", "\n".join(lines[-LINES:]))
