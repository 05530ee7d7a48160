"""The folder of a run's rollouts: one file per step, and the tokens of the steps that the run is configured to keep.

Older runs have JSON Lines, `step-000001.jsonl`, which can be read as well.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from pathlib import Path
from typing import Any, Protocol

from ..config.grpo import KeepTokens
from ..core.trajectory import Rollout, file_digest, read_lines
from .record import RolloutRecord, Summary
from .steps import read_rollout, read_step, read_summaries, write_step
from .tokens import write_tokens

NAMES = re.compile(r"(step|tokens)-(\d+)\.(parquet|jsonl)")
OLD = ".jsonl"


def step_name(step: int) -> str:
    return f"step-{step:06d}.parquet"


def tokens_name(step: int) -> str:
    return f"tokens-{step:06d}.parquet"


def step_of(name: str) -> int | None:
    """Return the step that a stored file belongs to; None for any other file."""
    found = NAMES.fullmatch(name)
    return int(found[2]) if found else None


class RolloutFolder:
    """The rollouts of one run on this machine."""

    def __init__(self, path: Path):
        self.path = path

    def store(
        self,
        step: int,
        rollouts: Sequence[RolloutRecord],
        tokens: KeepTokens = "last",
        piece: Callable[[int], str] = str,
    ) -> dict[str, Any]:
        """Store the rollouts of a step, replacing earlier ones; return `describe(step)`. Raises OSError."""
        write_step(self.path / step_name(step), rollouts)
        if tokens != "none":
            write_tokens(self.path / tokens_name(step), rollouts, piece)
        if tokens == "last":
            for file in self.path.glob("tokens-*.parquet"):
                if step_of(file.name) != step:
                    file.unlink()
        return self.describe(step)

    def rewind(self, step: int) -> None:
        """Delete the rollouts of later steps and partially written files."""
        for file in self.path.iterdir():
            number = step_of(file.name)
            if file.name.endswith(".partial") or (number is not None and number > step):
                file.unlink()

    def describe(self, step: int) -> dict[str, Any]:
        """Return the event data of a step: its file with digest and size, and a summary of each group without texts.

        Raises DamagedFile, FileNotFoundError.
        """
        file, tokens = self.path / step_name(step), self.path / tokens_name(step)
        return {
            "step": step,
            "file": file.name,
            "digest": file_digest(file),
            "bytes": file.stat().st_size,
            "tokens": tokens.name if tokens.is_file() else "",
            "tokens_digest": file_digest(tokens) if tokens.is_file() else "",
            "groups": [describe_group(members) for members in group_summaries(read_summaries(file))],
        }

    def steps(self) -> list[int]:
        """Return the steps whose rollouts are stored here."""
        numbers = {step_of(file.name) for file in self.path.glob("step-*")}
        return sorted(number for number in numbers if number is not None)

    def file(self, step: int) -> Path:
        """Return the file of a step. Raises FileNotFoundError."""
        for file in (self.path / step_name(step), self.path / f"step-{step:06d}{OLD}"):
            if file.is_file():
                return file
        raise FileNotFoundError(f"There is no rollout file of step {step} in {self.path}.")


class Files(Protocol):
    """A source of step files: a local folder, or a remote storage with a local cache."""

    def file(self, step: int) -> Path: ...


def read_rollouts(store: Files, steps: Iterable[int], transcripts: bool = False) -> Iterator[Rollout]:
    """Yield the rollouts of these steps in order; without transcripts, which are then empty, it is faster.

    Raises UnreadableData, FileNotFoundError.
    """
    for step in steps:
        file = store.file(step)
        yield from read_lines(Rollout, file) if file.suffix == OLD else read_step(file, transcripts)


def read_one(store: Files, step: int, index: int) -> Rollout | None:
    """Return one rollout of a step, counted from 1; None past the end. Raises UnreadableData, FileNotFoundError."""
    file = store.file(step)
    if file.suffix == OLD:
        return next((one for place, one in enumerate(read_lines(Rollout, file), 1) if place == index), None)
    return read_rollout(file, index)


def group_summaries(summaries: Sequence[Summary]) -> list[list[Summary]]:
    """Return the rollouts of a step by group, in order."""
    found: dict[int, list[Summary]] = {}
    for one in summaries:
        found.setdefault(one.group, []).append(one)
    return list(found.values())


def describe_group(members: Sequence[Summary]) -> dict[str, Any]:
    """Return the summary of a group, with one list per property of its consecutive rollouts."""
    return {
        "number": members[0].group,
        "first": members[0].index,
        "example": members[0].example,
        "reward": [one.reward for one in members],
        "advantage": [one.advantage for one in members],
        "end": [one.end for one in members],
        "failed_calls": [one.failed_calls for one in members],
        "model_tokens": [one.model_tokens for one in members],
        "tools": [list(one.tools) for one in members],
        "outcomes": [list(one.outcomes or ()) for one in members],
    }
