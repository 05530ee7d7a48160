"""Summaries of the rollouts of a run's final held-out evaluation.

The files lie in the folder of the run's job, so only a machine that shares the worker's data folder can read them.
"""

from __future__ import annotations

import json
from dataclasses import dataclass
from functools import lru_cache
from itertools import islice
from pathlib import Path
from typing import Literal

from prove_web.experiments.defaults import DEFAULTS
from prove_web.experiments.models import Run
from training_worker.core.trajectory import Rollout, UnreadableData, loads, read_lines
from training_worker.reward.success import is_success

Side = Literal["before", "after"]
Mode = Literal["sampled", "greedy"]
Call = tuple[str, str]  # tool name and canonical JSON of the arguments
NAME = "rollouts.jsonl"
LARGEST = 256_000_000  # bytes; larger files are not read for a page
FILES = 48  # file summaries cached in memory


class RolloutsUnavailable(Exception):
    """Error for held-out rollouts that cannot be read here; says why and what to do."""


@dataclass(frozen=True)
class Short:
    """Summary of one rollout; `line` is its line in the file, from 0.

    `total` is None where it was not scored, and `goal_success` where it was not measured.
    """

    example: str
    line: int
    total: float | None
    success: bool
    goal_success: bool | None
    calls: tuple[Call, ...]


def path_of(run: Run, side: Side, mode: Mode) -> Path:
    return run.job.out / "evaluations" / f"{side}-{mode}" / NAME


def shorts(run: Run, side: Side, mode: Mode) -> tuple[Short, ...]:
    """Return the summaries in file order, where rollouts of one example are adjacent. Raises RolloutsUnavailable."""
    path = path_of(run, side, mode)
    try:
        about = path.stat()
    except OSError:
        raise RolloutsUnavailable(why_missing(run)) from None
    if about.st_size > LARGEST:
        raise RolloutsUnavailable(
            f"The held-out rollouts of run {run.number} are {about.st_size / 1e6:.0f} MB; the limit of this page is "
            f"{LARGEST / 1e6:.0f} MB. Evaluate both runs on a benchmark instead."
        )
    try:
        return read(path, about.st_mtime_ns, about.st_size)
    except (OSError, UnreadableData, ValueError) as error:
        raise RolloutsUnavailable(
            f"The held-out rollouts of run {run.number} cannot be read: the file may be damaged."
        ) from error


def why_missing(run: Run) -> str:
    if not run.job.ended:
        return f"Run {run.number} has not ended; its held-out evaluation runs at the end."
    if not run.config.get("held_out", DEFAULTS["held_out"]):
        return f"Run {run.number} has no held-out rollouts: its held-out evaluation is turned off."
    return (
        f"The held-out rollouts of run {run.number} are not in this machine's data folder: it ended before its "
        "evaluation, or its worker uses another folder. Evaluate both runs on a benchmark instead."
    )


@lru_cache(FILES)
def read(path: Path, written: int, size: int) -> tuple[Short, ...]:
    return tuple(short(at, rollout) for at, rollout in enumerate(read_lines(Rollout, path)))


def short(line: int, rollout: Rollout) -> Short:
    reward = rollout.reward
    return Short(
        rollout.example,
        line,
        reward.total if reward else None,
        bool(reward and is_success(reward)),
        rollout.goal_success,
        calls_of(rollout),
    )


def calls_of(rollout: Rollout) -> tuple[Call, ...]:
    return tuple((made.call.name, json.dumps(made.call.arguments, sort_keys=True)) for made in rollout.calls)


def rollout_at(run: Run, side: Side, mode: Mode, line: int) -> Rollout:
    """Load the rollout at one line of the file. Raises RolloutsUnavailable."""
    path = path_of(run, side, mode)
    try:
        with path.open("rb") as file:
            return loads(Rollout, next(islice(file, line, None), b""))
    except OSError:
        raise RolloutsUnavailable(why_missing(run)) from None
    except ValueError as error:
        raise RolloutsUnavailable(f"The rollout at line {line + 1} of run {run.number} cannot be read.") from error
