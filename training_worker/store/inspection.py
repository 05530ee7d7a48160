"""The command `python -m training_worker.store.inspection FILE`, which decodes a remote machine's rollout file.

The size of a Parquet file does not limit its unpacked size, so the whole file is decoded once, under limits, before any
other process opens it.
"""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

from ..core import sandbox
from ..core.trajectory import UnreadableData
from . import steps, tokens
from .folder import step_of
from .parquet import open_parquet

INSPECTION = "training_worker.store.inspection"
MOST_BYTES = 256 << 20  # of all columns, decoded
BATCH = 16  # rows
MEMORY = 1 << 30  # bytes, so that BATCH rows of any file this size can be decoded


def require_decodable(path: Path) -> None:
    """Decode the file in a child process. Raises UnreadableData if it is damaged, too large or not a rollout file."""
    sandbox.run(INSPECTION, [str(path.absolute())])


def decode(path: Path) -> None:
    """Decode every column, a few rows in memory at a time. Raises UnreadableData, MemoryError."""
    known = {field.name: field.type for field in (*steps.SCHEMA, *tokens.SCHEMA)}
    size = 0
    with open_parquet(path) as file:
        for field in file.schema_arrow:
            if known.get(field.name) != field.type:
                raise UnreadableData(f"Its column {field.name[:80]!r} ({field.type}) is not one of a rollout file.")
        for batch in file.iter_batches(BATCH, use_threads=False):
            size += batch.nbytes
            if size > MOST_BYTES:
                raise UnreadableData(f"It unpacks to more than {MOST_BYTES:,} bytes, the limit for a step's rollouts.")


def is_rollouts(name: str) -> bool:
    """Return whether a file of a job's results contains rollouts or their tokens."""
    file: Any = Path(name)
    return file.parent.name == "rollouts" and file.suffix == ".parquet" and step_of(file.name) is not None


if __name__ == "__main__":
    sys.exit(sandbox.decode(lambda: decode(Path(sys.argv[1])), memory=MEMORY))
