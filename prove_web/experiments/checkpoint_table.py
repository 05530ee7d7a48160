"""The checkpoints of a run as its page lists them: what each scored, what it is for, and what can be done with it."""

from __future__ import annotations

from dataclasses import dataclass

from django.urls import reverse
from django.utils.http import urlencode

from .checkpoints import Checkpoint, checkpoints
from .exports import Export, adapted
from .lineage import begin_here
from .metric_series import number
from .models import Run


@dataclass(frozen=True)
class Shelved:
    """`reward` is its mean on held-out worlds, None where it was not measured; `exports` are the forms it can take."""

    checkpoint: Checkpoint
    reward: float | None
    best: bool
    newest: bool
    evaluate_url: str
    begin_url: str
    exports: tuple[tuple[str, Export], ...]


def shelf(run: Run, found: list[Checkpoint] | None = None) -> list[Shelved]:
    """Newest first. The best is the one that scored highest on held-out worlds, of those that are kept."""
    kept = checkpoints(run.job) if found is None else found
    measured = run.held_out.filter(step__in=[one.step for one in kept]).values_list("step", "metrics__reward")
    rewards = {step: reward for step, reward in measured if number(reward)}
    best = max(rewards, key=lambda step: (rewards[step], -step), default=None)
    return [
        Shelved(
            checkpoint=one,
            reward=rewards.get(one.step),
            best=one.step == best,
            newest=one is kept[0],
            evaluate_url=evaluate_url(run, one),
            begin_url=begin_here(run, one),
            exports=forms(run, one),
        )
        for one in kept
    ]


def evaluate_url(run: Run, checkpoint: Checkpoint) -> str:
    query = urlencode({"run": run.number, "checkpoint": checkpoint.step})
    return f"{reverse('evaluation-new', args=run.project.path)}?{query}"


def forms(run: Run, checkpoint: Checkpoint) -> tuple[tuple[str, Export], ...]:
    """A whole model has one form; an adapter can also be added to the weights of its model."""
    plain = Export(run.job, checkpoint.step)
    if not adapted(checkpoint):
        return (("Model", plain),)
    return (("Adapter", plain), ("Merged model", Export(run.job, checkpoint.step, merged=True)))
