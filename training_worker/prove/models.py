"""Where the models lie that a run may start from, and how what a run left is named. Nothing of them is opened here."""

from __future__ import annotations

import json
import os
import re
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

ROOTS = "PROVE_MODELS"  # folders, separated by colons; by default `models` in the data folder
CONFIG, CARD = "config.json", "card.json"
LEFT = (CONFIG, "adapter_config.json")  # one of them is in what a run left, beside the card
BEST = "best"  # of a run's checkpoints
OF_RUN = re.compile(r"run:([0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12})(?:/(checkpoint-\d{1,9}|best))?")


def model_roots(data: Path) -> list[Path]:
    """The folders that hold models; `data` is the data folder."""
    given = os.environ.get(ROOTS, "")
    return [Path(root).expanduser() for root in given.split(":") if root] or [data / "models"]


@contextmanager
def add_root(folder: Path) -> Iterator[None]:
    """Let this process read models from one more folder."""
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
    """The models by name, which is their path under a root, one or two folders deep; none leads out of its root."""
    found: dict[str, Path] = {}
    for root in model_roots(data):
        for config in sorted([*root.glob(f"*/{CONFIG}"), *root.glob(f"*/*/{CONFIG}")]):
            if config.resolve().is_relative_to(root.resolve()):
                found.setdefault(str(config.parent.relative_to(root)), config.parent)
    return found


def left_by(job: Path, checkpoint: str | None = None) -> Path | None:
    """The folder of the policy that a run's job left, or of one of its checkpoints, which may be called BEST.

    None where there is none.
    """
    if checkpoint == BEST:
        return best_of(job)
    folder = job / "out" / (f"checkpoints/{checkpoint}" if checkpoint else "policy")
    whole = (folder / CARD).is_file() and any((folder / name).is_file() for name in LEFT)
    return folder if whole else None


def best_of(job: Path) -> Path | None:
    """The kept checkpoint of a run's job with the highest reward on held-out worlds; None where none was measured."""
    rewards = held_out(job / "out" / "held-out.jsonl")
    for step in sorted(rewards, key=lambda step: (-rewards[step], step)):
        if folder := left_by(job, f"checkpoint-{step}"):
            return folder
    return None


def held_out(measured: Path) -> dict[int, float]:
    """The held-out reward by step; lines that say something else, as another machine may send, are left out."""
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
