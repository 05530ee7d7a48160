"""Command for other trackers' files, to be run in a child process: their libraries are large and the files untrusted.

`python -m training_worker.trackers read FORMAT PATH ROOM` prints runs as JSON lines; a zip is unpacked into the folder
ROOM. `write FORMAT FOLDER` reads one run from standard input and writes it to FOLDER. An error is one line on standard
error, with status 2.
"""

from __future__ import annotations

import logging
import sys
from importlib import import_module
from pathlib import Path

from ..core import sandbox
from .safe_zip import is_zip, unpack
from .tracked_run import NotRead, from_json

PACKAGES = {"tensorboard": "tensorboard", "mlflow": "mlflow-skinny", "wandb": "wandb"}
MOST_MEMORY = 4 << 30  # bytes
LARGEST_FILE = 1 << 30  # bytes of any file that it writes, including standard output


def main(do: str, name: str, path: str, room: str = "") -> int:
    return sandbox.decode(lambda: work(do, name, Path(path), room), memory=MOST_MEMORY, largest_file=LARGEST_FILE)


def work(do: str, name: str, path: Path, room: str) -> None:
    """Read or write runs in a tracker's format. Raises NotRead."""
    logging.disable(logging.CRITICAL)
    try:
        format = import_module(f".{name}", __package__)
    except ModuleNotFoundError as error:
        raise NotRead(f"{error.name} is not installed: install {PACKAGES[name]} as requirements.txt pins it.") from None
    if do == "write":
        format.write(from_json(sys.stdin.read()), path)
        return
    if is_zip(path):
        unpack(path, Path(room))
        path = Path(room)
    for run in format.read(path):
        print(run.as_json())


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
