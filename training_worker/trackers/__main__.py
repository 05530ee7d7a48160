"""`python -m training_worker.trackers read FORMAT PATH` prints runs as JSON lines; `write FORMAT FOLDER` reads one.

It is a child of whoever wants that: the libraries of others are large, and what they read was made by strangers.
Problems are one line on standard error, with status 2.
"""

from __future__ import annotations

import logging
import resource
import sys
from importlib import import_module
from pathlib import Path

from .kept import NotRead, from_json

PACKAGES = {"tensorboard": "tensorboard", "mlflow": "mlflow-skinny", "wandb": "wandb"}
MOST_MEMORY = 4 << 30  # bytes
LARGEST_FILE = 1 << 30  # bytes of any file that it writes, what it prints among them


def main(do: str, name: str, path: str) -> int:
    resource.setrlimit(resource.RLIMIT_AS, (MOST_MEMORY, MOST_MEMORY))
    resource.setrlimit(resource.RLIMIT_FSIZE, (LARGEST_FILE, LARGEST_FILE))
    logging.disable(logging.CRITICAL)
    try:
        format = import_module(f".{name}", __package__)
    except ModuleNotFoundError as error:
        missing = str(error.name)
        print(f"{missing} is not installed: install {PACKAGES[name]} as requirements.txt pins it.", file=sys.stderr)
        return 2
    try:
        if do == "write":
            format.write(from_json(sys.stdin.read()), Path(path))
            return 0
        for run in format.read(Path(path)):
            print(run.as_json())
    except NotRead as why:
        print(why, file=sys.stderr)
        return 2
    return 0


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
