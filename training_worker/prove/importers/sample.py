"""The first rows of a file that is to be imported: read once, by a child process, and kept beside the file."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from ... import sandbox
from ..trajectory import BadLine, UnreadableData
from .rows import DECODER, Row

SAMPLE, REFUSED = "sample.json", "refused.txt"
FIRST = 20  # rows
LARGEST = 2 << 20  # characters of JSON of all rows together; the first may have more by itself
Line = tuple[int, Row | None, str]  # its number, and the row or why it is none


def written(unit: str, lines: Sequence[Line]) -> str:
    return json.dumps({"unit": unit, "lines": lines})


def first_rows(path: Path, folder: Path) -> tuple[str, list[tuple[int, Row | BadLine]]]:
    """What a row of the file is called, and the first ones; the folder keeps them. Raises UnreadableData, OSError."""
    kept, refused = folder / SAMPLE, folder / REFUSED
    if refused.is_file():
        raise UnreadableData(refused.read_text("utf-8"))
    if not kept.is_file():
        folder.mkdir(parents=True, exist_ok=True)
        try:
            sandbox.run(DECODER, ["sample", str(path.absolute()), str(folder.absolute())])
        except UnreadableData as why:
            refused.write_text(str(why), "utf-8")
            raise
    found: Any = json.loads(kept.read_bytes())
    unit = str(found["unit"])
    return unit, [
        (number, BadLine(str(path), number, why, unit) if row is None else row) for number, row, why in found["lines"]
    ]
