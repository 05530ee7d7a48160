"""One conversation of the step under way, written down as its turns end, for whoever watches a run."""

from __future__ import annotations

from dataclasses import dataclass, replace
from pathlib import Path

from pydantic import ValidationError

from .rollout import cut
from .trajectory import Rollout, dumps, loads

NAME = "watched.json"
LONGEST = 4_000  # characters of one text; longer ones are cut with a visible mark
LARGEST = 1_000_000  # bytes; what is longer still is not written


@dataclass(frozen=True)
class Watched:
    """The rollout as far as it has come; `over` when it has ended, `index` once it is kept with its step, from 1."""

    step: int
    rollout: Rollout
    over: bool = False
    index: int | None = None


def write(folder: Path, watched: Watched) -> None:
    """Put it in place of the one before, whole or not at all. Raises OSError."""
    text = dumps(replace(watched, rollout=shortened(watched.rollout))).encode()
    if len(text) > LARGEST:
        return
    partial = folder / f"{NAME}.partial"
    partial.write_bytes(text)
    partial.replace(folder / NAME)


def read(folder: Path) -> Watched | None:
    """What is being done or was done last; None before there is anything, or when it cannot be read."""
    try:
        with (folder / NAME).open("rb") as file:
            return loads(Watched, file.read(LARGEST + 1))
    except (OSError, ValidationError):
        return None


def shortened(rollout: Rollout) -> Rollout:
    said = tuple(replace(one, content=cut(one.content, LONGEST)) for one in rollout.transcript)
    calls = tuple(replace(one, observation=cut(one.observation, LONGEST)) for one in rollout.calls)
    return replace(rollout, transcript=said, calls=calls)
