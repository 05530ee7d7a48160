"""One step's metrics: its rollouts', where its time went, and what the machine did meanwhile."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from ..prove.trajectory import Example
from .machine import Machine
from .metrics import Metrics, batch_metrics, dead_share, written
from .sampler import Conversation, Sample

Attempts = Callable[[Example], Conversation]


class StepMeter:
    """Where a step's time goes and what the machine does meanwhile; the attempts of a batch tell their own seconds."""

    def __init__(self) -> None:
        self.machine = Machine()
        self.attempts: list[Conversation] = []

    def watching(self, attempt: Attempts) -> Attempts:
        """The same attempts, remembered until the next batch."""
        self.attempts.clear()

        def made(example: Example) -> Conversation:
            self.attempts.append(attempt(example))
            return self.attempts[-1]

        return made

    def rolled(self, samples: Sequence[Sample], group: int, seconds: float) -> Metrics:
        """The metrics of a batch whose rollouts took so many seconds."""
        groups = [samples[i : i + group] for i in range(0, len(samples), group)]
        environment, reward = (
            sum(getattr(one, name, 0.0) for one in self.attempts) for name in ("environment_s", "reward_s")
        )
        generation = max(0.0, seconds - environment - reward)
        return {
            **batch_metrics(samples, group),
            "rollout_s": seconds,
            "generation_s": generation,
            "environment_s": environment,
            "reward_s": reward,
            "dead_s": seconds * dead_share(groups, written),
            "tokens_per_s": sum(len(one.completion_ids) for one in samples) / seconds,
            "generated_per_s": sum(map(written, samples)) / generation if generation else 0.0,
        }

    def stepped(self, batch: Metrics, seconds: float, elapsed: float) -> Metrics:
        """The metrics of the step with that batch: all of the batch's and those of time and machine."""
        outside = batch["environment_s"] + batch["reward_s"]
        times = {"step_s": seconds, "update_s": seconds - batch["rollout_s"], "elapsed_s": elapsed}
        shares = {"environment_share": outside / seconds, "total_per_s": batch["tokens"] / seconds}
        return {**batch, **times, **shares, **self.machine.reading()}
