"""Locations and names of the models a run may start from, and of a run's own policies. No model is opened here."""

from __future__ import annotations

import json
import os
import re
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

SHIPPED = Path(__file__).parents[1] / "policy" / "warm"  # the small policy that comes with the product
ROOTS = "PROVE_MODELS"  # folders, separated by colons; by default `models` in the data folder
CONFIG, CARD = "config.json", "card.json"
LEFT = (CONFIG, "adapter_config.json")  # a policy saved by a run has one of them, and the card
BEST = "best"  # the name of a run's best checkpoint
OF_RUN = re.compile(r"run:([0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12})(?:/(checkpoint-\d{1,9}|best))?")


def model_roots(data: Path) -> list[Path]:
    """Return the folders that contain models; `data` is the data folder."""
    given = os.environ.get(ROOTS, "")
    return [Path(root).expanduser() for root in given.split(":") if root] or [data / "models"]


@contextmanager
def add_root(folder: Path) -> Iterator[None]:
    """Add a model folder for this process within the context."""
    before = os.environ.get(ROOTS)
    os.environ[ROOTS] = ":".join(filter(None, [before, str(folder)]))
    try:
        yield
    finally:
        if before is None:
            del os.environ[ROOTS]
        else:
            os.environ[ROOTS] = before


def model_folders(data: Path) -> dict[str, Path]:
    """Return the models by name, their path below a root, one or two folders deep; links out of a root are ignored."""
    found: dict[str, Path] = {}
    for root in model_roots(data):
        for config in sorted([*root.glob(f"*/{CONFIG}"), *root.glob(f"*/*/{CONFIG}")]):
            if config.resolve().is_relative_to(root.resolve()):
                found.setdefault(str(config.parent.relative_to(root)), config.parent)
    return found


def left_by(job: Path, checkpoint: str | None = None) -> Path | None:
    """Return the folder of the policy that a run's job saved, or of one of its checkpoints, which may be BEST.

    None if there is none.
    """
    if checkpoint == BEST:
        return best_of(job)
    folder = job / "out" / (f"checkpoints/{checkpoint}" if checkpoint else "policy")
    complete = (folder / CARD).is_file() and any((folder / name).is_file() for name in LEFT)
    return folder if complete else None


def best_of(job: Path) -> Path | None:
    """Return the checkpoint of a run's job with the highest held-out reward; None if no checkpoint was evaluated."""
    rewards = held_out(job / "out" / "held-out.jsonl")
    for step in sorted(rewards, key=lambda step: (-rewards[step], step)):
        if folder := left_by(job, f"checkpoint-{step}"):
            return folder
    return None


def held_out(measured: Path) -> dict[int, float]:
    """Return the held-out reward by step; invalid lines, which another machine may send, are skipped."""
    found: dict[int, float] = {}
    for text in measured.read_text("utf-8", "replace").splitlines() if measured.is_file() else ():
        try:
            line = json.loads(text)
            step, reward = line["step"], line["reward"]
        except (ValueError, KeyError, TypeError, RecursionError):
            continue
        if isinstance(step, int) and isinstance(reward, int | float):
            found[step] = reward
    return found
