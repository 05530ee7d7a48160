"""The index of a run's rollouts in the database: a row for each file, and one for each group, told by the worker.

A row per rollout would be 90,000 for a run of the paper's size. One per group is 5,600, and says the same: the database
narrows down the groups, and which of their rollouts are meant is read off the row.
"""

from __future__ import annotations

from collections.abc import Mapping
from statistics import fmean
from typing import Any

from .models import RolloutGroup, Run, StepRollouts

FILE = ("file", "digest", "bytes", "tokens", "tokens_digest")
ELSEWHERE = {("rollouts", "groups"), ("items", "items")}  # of events
LISTS = ("reward", "advantage", "end", "failed_calls", "model_tokens", "tools")


def record_rollouts(run: Run, kept: Mapping[int, Mapping[str, Any]]) -> None:
    """What is told of the rollouts of these steps, in place of what was told of them before."""
    if not kept:
        return
    RolloutGroup.objects.filter(run=run, step__in=list(kept)).delete()
    StepRollouts.objects.bulk_create(
        [StepRollouts(run=run, step=step, **{name: told[name] for name in FILE}) for step, told in kept.items()],
        update_conflicts=True,
        unique_fields=["run", "step"],
        update_fields=FILE,
    )
    RolloutGroup.objects.bulk_create(row(run, step, group) for step, told in kept.items() for group in told["groups"])


def row(run: Run, step: int, group: Mapping[str, Any]) -> RolloutGroup:
    rewards = [reward for reward in group["reward"] if reward is not None]
    return RolloutGroup(
        run=run,
        step=step,
        number=group["number"],
        first=group["first"],
        example=group["example"][:80],
        size=len(group["reward"]),
        low=min(rewards, default=None),
        high=max(rewards, default=None),
        mean=fmean(rewards) if rewards else None,
        tools=listed(name for names in group["tools"] for name in names),
        ends=listed(group["end"]),
        rollouts={name: group[name] for name in LISTS},
    )


def listed(names: Any) -> str:
    """Different names as text in which each is found whole, between commas."""
    found = sorted({str(name).replace(",", " ") for name in names})
    return f",{','.join(found)}," if found else ""


def slim(event: Mapping[str, Any]) -> dict[str, Any]:
    """What an event says, without what tables of their own hold of it."""
    data: dict[str, Any] = event["data"]
    return {name: value for name, value in data.items() if (event["kind"], name) not in ELSEWHERE}
