"""The first rows of an import file, read once by a child process and cached in a folder."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from ...core import sandbox
from ...core.trajectory import BadLine, UnreadableData
from .rows import DECODER, Row

SAMPLE, REFUSED = "sample.json", "refused.txt"
FIRST = 20  # rows
LARGEST = 2 << 20  # JSON characters of all rows together; the first row alone may have more
Line = tuple[int, Row | None, str]  # number, and the row or the reason why it is invalid


def serialize_sample(unit: str, lines: Sequence[Line]) -> str:
    return json.dumps({"unit": unit, "lines": lines})


def first_rows(path: Path, folder: Path) -> tuple[str, list[tuple[int, Row | BadLine]]]:
    """Return a row's unit and the first rows of a file, cached in the folder. Raises UnreadableData, OSError."""
    sample, refused = folder / SAMPLE, folder / REFUSED
    if refused.is_file():
        raise UnreadableData(refused.read_text("utf-8"))
    if not sample.is_file():
        folder.mkdir(parents=True, exist_ok=True)
        try:
            sandbox.run(DECODER, ["sample", str(path.absolute()), str(folder.absolute())])
        except UnreadableData as why:
            refused.write_text(str(why), "utf-8")
            raise
    found: Any = json.loads(sample.read_bytes())
    unit = str(found["unit"])
    return unit, [
        (number, BadLine(str(path), number, why, unit) if row is None else row) for number, row, why in found["lines"]
    ]
