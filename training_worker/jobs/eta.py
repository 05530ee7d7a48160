"""Remaining time of a run, estimated from its steps and evaluations so far."""

from __future__ import annotations

from collections import deque
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from ..config.grpo import GRPORun
from ..config.sft import SupervisedRun


@dataclass
class RunProgress:
    """Progress of a run and its pace.

    `final` counts the rollouts to be evaluated after training, `watched` those of each evaluation during training.
    """

    config: GRPORun | SupervisedRun
    every: int
    watched: int
    final: int
    step: int = 0
    trained: float = 0.0  # seconds, over all attempts
    evaluated: float = 0.0  # seconds, in this attempt
    rollouts: int = 0
    recent: deque[float] = field(default_factory=lambda: deque(maxlen=10))
    a_rollout: float | None = None  # seconds

    def record_step(self, line: Mapping[str, Any]) -> None:
        self.step, self.trained = line["step"], line["elapsed_s"]
        self.recent.append(line["step_s"])
        if self.rollouts:
            return
        if isinstance(self.config, GRPORun):  # nothing was evaluated yet; a training rollout takes about as long
            self.a_rollout = line["rollout_s"] / (self.config.prompts * self.config.group)
        elif not self.final:
            self.a_rollout = 0.0

    def add_evaluated_rollouts(self, rollouts: int, seconds: float, final: bool) -> None:
        self.rollouts, self.evaluated = self.rollouts + rollouts, self.evaluated + seconds
        self.a_rollout = self.evaluated / self.rollouts
        if final:
            self.final -= rollouts

    def describe_progress(self, line: str, training: bool = True) -> dict[str, Any]:
        """Return the data of a progress event; done and total are in seconds."""
        done, left = self.trained + self.evaluated, self.estimate_seconds_left(training)
        return {"done": done, "total": done + left if left else 0, "line": line, "seconds_left": left}

    def estimate_seconds_left(self, training: bool = True) -> float | None:
        """Return the remaining seconds; None as long as nothing is known."""
        if self.a_rollout is None or (training and not self.recent):
            return None
        seconds, watches = self.training_left() if training else (0.0, 0)
        return seconds + (watches * self.watched + self.final) * self.a_rollout

    def training_left(self) -> tuple[float, int]:
        """Return the remaining seconds of training, by the limit that comes first, and the number of evaluations."""
        a_step = sum(self.recent) / len(self.recent)
        seconds = (self.config.max_steps - self.step) * a_step
        if self.config.minutes is not None:
            seconds = min(seconds, 60 * self.config.minutes - self.trained)
        seconds = max(0.0, seconds)
        last = self.step + int(seconds / a_step)
        return seconds, last // self.every - self.step // self.every if self.every else 0
