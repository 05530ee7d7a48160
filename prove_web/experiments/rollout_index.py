"""Database index of a run's rollouts: one row per file and one per group, as reported by the worker.

A row per rollout would be 90,000 for a run of the paper's size; a row per group is 5,600 with the same content. The
database narrows the groups, and the matching rollouts are read from the group's row.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from statistics import fmean
from typing import Any

from mcp_servers.catalogue import TOOLS
from training_worker.environment.outcomes import OUTCOMES, list_uncalled_tools

from .models import RolloutGroup, Run, StepRollouts

FILE = ("file", "digest", "bytes", "tokens", "tokens_digest")
LISTS = ("reward", "advantage", "end", "failed_calls", "model_tokens", "tools")
OUTCOME_KEY = "outcomes"  # per call; older workers do not report it
UNTRIED = "untried"
NONE_OFFERED = ""  # stands for any called name that is not a tool
Counts = dict[str, list[int]]  # by tool, in the order of OUTCOMES


def record_rollouts(run: Run, by_step: Mapping[int, Mapping[str, Any]]) -> None:
    """Replace the index of these steps' rollouts with what the worker reported."""
    if not by_step:
        return
    RolloutGroup.objects.filter(run=run, step__in=list(by_step)).delete()
    needed = needed_by(run, {group["example"] for event in by_step.values() for group in event["groups"]})
    groups = {step: [with_untried(group, needed) for group in event["groups"]] for step, event in by_step.items()}
    StepRollouts.objects.bulk_create(
        [
            StepRollouts(
                run=run, step=step, outcomes=count_outcomes(groups[step]), **{name: event[name] for name in FILE}
            )
            for step, event in by_step.items()
        ],
        update_conflicts=True,
        unique_fields=["run", "step"],
        update_fields=(*FILE, "outcomes"),
    )
    RolloutGroup.objects.bulk_create(row(run, step, group) for step, event in groups.items() for group in event)


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
        tools=join_names(name for names in group["tools"] for name in names),
        ends=join_names(group["end"]),
        rollouts={name: group[name] for name in (*LISTS, OUTCOME_KEY, UNTRIED) if name in group},
    )


def needed_by(run: Run, examples: Iterable[str]) -> dict[str, tuple[str, ...]]:
    """Return the tools in each example's ground truth; deleted examples are missing."""
    found = run.conversations.filter(example__in=set(examples)).values_list("example", "tools")
    return {example: tuple(filter(None, tools.split(","))) for example, tools in found}


def with_untried(group: Mapping[str, Any], needed: Mapping[str, tuple[str, ...]]) -> dict[str, Any]:
    """Return a reported group with the tools that each scored rollout needed but never called."""
    if OUTCOME_KEY not in group:
        return dict(group)
    wanted = needed.get(group["example"], ())
    members = zip(group["reward"], group["tools"], strict=True)
    return {
        **group,
        UNTRIED: [[] if reward is None else list(list_uncalled_tools(wanted, names)) for reward, names in members],
    }


def count_outcomes(groups: Sequence[Mapping[str, Any]]) -> Counts | None:
    """Return the outcome counts of a step's calls by tool; None if the worker did not report outcomes."""
    found: Counts = {}
    for group in groups:
        if OUTCOME_KEY not in group:
            return None
        for tools, words, left in zip(group["tools"], group[OUTCOME_KEY], group[UNTRIED], strict=True):
            pairs = zip(tools, words, strict=True) if words else ()  # rollouts without a reward have no outcomes
            for tool, word in (*pairs, *((tool, "untried") for tool in left)):
                name = tool if tool in TOOLS else NONE_OFFERED
                found.setdefault(name, [0] * len(OUTCOMES))[OUTCOMES.index(word)] += 1
    return found


def join_names(names: Any) -> str:
    """Return distinct names as comma-delimited text in which each can be matched exactly."""
    found = sorted({str(name).replace(",", " ") for name in names})
    return f",{','.join(found)}," if found else ""
