"""The folder of a run: metrics line by line, rollouts step by step, checkpoints, and resuming after a kill.

A checkpoint counts only once its `progress.json` exists, which is written last. Resuming from it removes the metrics
and rollouts of later steps, so that no step is reported twice.
"""

from __future__ import annotations

import json
import os
import shutil
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from ..config.grpo import KeepTokens
from ..core.trajectory import UnreadableData
from ..policy.policy_folder import CARD, write_atomically
from ..rollout.generate import Sample
from ..store.folder import RolloutFolder
from ..store.record import RolloutRecord, Tokens

PROGRESS = "progress.json"
NEWEST_CHECKPOINTS = 2  # checkpoints that stay: the newest ones; the best one stays as well


class RunMismatch(UnreadableData):
    """A folder that holds another run; the message says what differs and what to do."""


@dataclass(frozen=True)
class Checkpoint:
    """A complete checkpoint: its folder, its step, and the progress stored beside the trainer's own state."""

    folder: Path
    step: int
    progress: dict[str, Any]


def with_defaults(known: Mapping[str, Any], defaults: Mapping[str, Any]) -> dict[str, Any]:
    """Return the known settings with defaults for missing ones, at any depth."""
    found = {**defaults, **known}
    for name, default in defaults.items():
        if isinstance(default, Mapping) and isinstance(found[name], Mapping):
            found[name] = with_defaults(found[name], default)
    return found


class RunFolder:
    """The files of a run. `on_stored` gets the summary of each step's rollouts (see store/folder.py)."""

    def __init__(self, path: Path, on_stored: Callable[[dict[str, Any]], None] = lambda event: None):
        self.path, self.on_stored = path, on_stored
        self.metrics = path / "metrics.jsonl"
        self.rollouts = path / "rollouts"
        self.store = RolloutFolder(self.rollouts)
        self.checkpoints = path / "checkpoints"

    def open(self, run: Mapping[str, Any], defaults: Mapping[str, Any] | None = None) -> None:
        """Claim the folder for this run, or check that the same run claimed it. Raises RunMismatch, OSError.

        `defaults` are the values of settings that did not exist when an older run began.
        """
        for folder in (self.path, self.rollouts, self.checkpoints):
            folder.mkdir(parents=True, exist_ok=True)
        card, wanted = self.path / "run.json", json.loads(json.dumps(run))
        known = json.loads(card.read_text(encoding="utf-8")) if card.exists() else wanted
        known = with_defaults(known, {name: value for name, value in dict(defaults or {}).items() if name in wanted})
        if changed := sorted(key for key in {*known, *wanted} if known.get(key) != wanted.get(key)):
            raise RunMismatch(
                f"{self.path} holds a run with a different {', '.join(changed)}. Use a new folder, or delete it."
            )
        write_atomically(card, json.dumps(wanted, indent=2, sort_keys=True) + "\n")

    def newest(self) -> Checkpoint | None:
        """Return the newest complete checkpoint, and remove incomplete ones."""
        for folder in self.checkpoints.glob("checkpoint-*"):
            if not (folder / PROGRESS).is_file():
                shutil.rmtree(folder)
        return next(reversed(self.list_complete()), None)

    def list_complete(self) -> list[Checkpoint]:
        """Return the complete checkpoints, oldest first."""
        found = []
        for file in self.checkpoints.glob(f"checkpoint-*/{PROGRESS}"):
            progress = json.loads(file.read_text(encoding="utf-8"))
            found.append(Checkpoint(file.parent, int(progress["step"]), progress))
        return sorted(found, key=lambda checkpoint: checkpoint.step)

    def complete(self, step: int, progress: Mapping[str, Any]) -> Path:
        """Mark the checkpoint of a step as complete, and remove older ones except the best (see Best.state)."""
        folder = self.checkpoints / f"checkpoint-{step}"
        # a checkpoint is a policy too
        write_atomically(folder / CARD, json.dumps({"made_by": "checkpoint", "step": step}) + "\n")
        write_atomically(folder / PROGRESS, json.dumps({"step": step, **progress}) + "\n")
        for old in self.list_complete()[:-NEWEST_CHECKPOINTS]:
            if old.step != progress.get("best", {}).get("step"):
                (old.folder / PROGRESS).unlink()  # first, so that a half-removed folder counts as incomplete
                shutil.rmtree(old.folder)
        return folder

    def rewind(self, step: int) -> None:
        """Remove metrics and rollouts of later steps, and a line that was truncated by a kill."""
        if self.metrics.exists():
            write_atomically(
                self.metrics, "".join(f"{json.dumps(line)}\n" for line in self.read_metrics() if line["step"] <= step)
            )
        self.store.rewind(step)

    def read_metrics(self) -> Iterable[dict[str, Any]]:
        """Yield the metrics of every step so far, up to a line that was truncated by a kill."""
        for line in self.metrics.read_text(encoding="utf-8").splitlines(keepends=True):
            if not line.endswith("\n"):
                return
            yield json.loads(line)

    def note(self, metrics: Mapping[str, Any]) -> None:
        """Append the metrics of a step as one line, in one write."""
        line = (json.dumps(metrics) + "\n").encode()
        file = os.open(self.metrics, os.O_WRONLY | os.O_APPEND | os.O_CREAT, 0o644)
        try:
            os.write(file, line)
        finally:
            os.close(file)

    def keep_rollouts(
        self,
        step: int,
        samples: Sequence[Sample],
        advantages: Sequence[float | None],
        by_token: Sequence[Sequence[float]],
        group: int,
        *,
        tokens: KeepTokens = "last",
        piece: Callable[[int], str] = str,
    ) -> None:
        """Store the rollouts of a step, in groups of this size, with the advantages that they were trained with.

        `by_token` has those of completion tokens; `piece` returns a token's text. Raises OSError.
        """
        records = [
            RolloutRecord(
                rollout=one.rollout,
                group=place // group + 1,
                advantage=advantage,
                tokens=Tokens(
                    prompt_ids=one.prompt_ids,
                    completion_ids=one.completion_ids,
                    env_mask=one.env_mask,
                    logprobs=one.logprobs,
                    advantages=trained,
                ),
            )
            for place, (one, advantage, trained) in enumerate(zip(samples, advantages, by_token, strict=True))
        ]
        self.on_stored(self.store.store(step, records, tokens, piece))
