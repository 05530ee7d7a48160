"""The index of a run's rollouts in the database: a row for each file, and one for each group, told by the worker.

A row per rollout would be 90,000 for a run of the paper's size. One per group is 5,600, and says the same: the database
narrows down the groups, and which of their rollouts are meant is read off the row.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from statistics import fmean
from typing import Any

from mcp_servers.catalogue import TOOLS
from training_worker.prove.outcomes import OUTCOMES, untried

from .models import RolloutGroup, Run, StepRollouts

FILE = ("file", "digest", "bytes", "tokens", "tokens_digest")
ELSEWHERE = {("rollouts", "groups"), ("items", "items")}  # of events
LISTS = ("reward", "advantage", "end", "failed_calls", "model_tokens", "tools")
TOLD = "outcomes"  # of each call; a worker of before does not tell it
UNTRIED = "untried"
NONE_OFFERED = ""  # stands for whatever a call named that is no tool
Counts = dict[str, list[int]]  # by tool, in the order of OUTCOMES


def record_rollouts(run: Run, kept: Mapping[int, Mapping[str, Any]]) -> None:
    """What is told of the rollouts of these steps, in place of what was told of them before."""
    if not kept:
        return
    RolloutGroup.objects.filter(run=run, step__in=list(kept)).delete()
    needed = needed_by(run, {group["example"] for told in kept.values() for group in told["groups"]})
    groups = {step: [with_untried(group, needed) for group in told["groups"]] for step, told in kept.items()}
    StepRollouts.objects.bulk_create(
        [
            StepRollouts(run=run, step=step, outcomes=counted(groups[step]), **{name: told[name] for name in FILE})
            for step, told in kept.items()
        ],
        update_conflicts=True,
        unique_fields=["run", "step"],
        update_fields=(*FILE, "outcomes"),
    )
    RolloutGroup.objects.bulk_create(row(run, step, group) for step, told in groups.items() for group in told)


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
        rollouts={name: group[name] for name in (*LISTS, TOLD, UNTRIED) if name in group},
    )


def needed_by(run: Run, examples: Iterable[str]) -> dict[str, tuple[str, ...]]:
    """The tools that the ground truth of each example names; an example that is gone is missing."""
    found = run.conversations.filter(example__in=set(examples)).values_list("example", "tools")
    return {example: tuple(filter(None, tools.split(","))) for example, tools in found}


def with_untried(group: Mapping[str, Any], needed: Mapping[str, tuple[str, ...]]) -> dict[str, Any]:
    """A group as it is told, and of each rollout that has a reward the tools that it needed and never called."""
    if TOLD not in group:
        return dict(group)
    wanted = needed.get(group["example"], ())
    members = zip(group["reward"], group["tools"], strict=True)
    return {**group, UNTRIED: [[] if reward is None else list(untried(wanted, names)) for reward, names in members]}


def counted(groups: Sequence[Mapping[str, Any]]) -> Counts | None:
    """What became of the calls of a step, by tool of the catalogue; None where it was not told."""
    found: Counts = {}
    for group in groups:
        if TOLD not in group:
            return None
        for tools, words, left in zip(group["tools"], group[TOLD], group[UNTRIED], strict=True):
            pairs = zip(tools, words, strict=True) if words else ()  # of what has no reward, nothing is said
            for tool, word in (*pairs, *((tool, "untried") for tool in left)):
                name = tool if tool in TOOLS else NONE_OFFERED
                found.setdefault(name, [0] * len(OUTCOMES))[OUTCOMES.index(word)] += 1
    return found


def listed(names: Any) -> str:
    """Different names as text in which each is found whole, between commas."""
    found = sorted({str(name).replace(",", " ") for name in names})
    return f",{','.join(found)}," if found else ""


def slim(event: Mapping[str, Any]) -> dict[str, Any]:
    """What an event says, without what tables of their own hold of it."""
    data: dict[str, Any] = event["data"]
    return {name: value for name, value in data.items() if (event["kind"], name) not in ELSEWHERE}
