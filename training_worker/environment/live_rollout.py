"""One rollout of the current step, written to a file after each turn so that a run can be watched live."""

from __future__ import annotations

from dataclasses import dataclass, replace
from pathlib import Path

from pydantic import ValidationError

from ..core.trajectory import Rollout, dumps, loads
from .episode import cut

NAME = "watched.json"
LONGEST = 4_000  # characters of one text; longer ones are cut with a visible mark
LARGEST = 1_000_000  # bytes; a larger rollout is not written


@dataclass(frozen=True)
class LiveRollout:
    """The rollout so far; `over` if it has ended, `index` its number in the stored step, from 1, once it is stored."""

    step: int
    rollout: Rollout
    over: bool = False
    index: int | None = None


def write(folder: Path, watched: LiveRollout) -> None:
    """Replace the previous live rollout atomically. Raises OSError."""
    text = dumps(replace(watched, rollout=shorten_rollout(watched.rollout))).encode()
    if len(text) > LARGEST:
        return
    partial = folder / f"{NAME}.partial"
    partial.write_bytes(text)
    partial.replace(folder / NAME)


def read(folder: Path) -> LiveRollout | None:
    """Return the current or the last rollout; None if there is none or the file cannot be read."""
    try:
        with (folder / NAME).open("rb") as file:
            return loads(LiveRollout, file.read(LARGEST + 1))
    except (OSError, ValidationError):
        return None


def shorten_rollout(rollout: Rollout) -> Rollout:
    said = tuple(replace(one, content=cut(one.content, LONGEST)) for one in rollout.transcript)
    calls = tuple(replace(one, observation=cut(one.observation, LONGEST)) for one in rollout.calls)
    return replace(rollout, transcript=said, calls=calls)
