"""Dry run job: one step of a run on a few prompts, as a preview of the run.

Rollouts, reward and update are those of the run itself; only summary numbers are kept.
"""

from __future__ import annotations

import shutil
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from statistics import fmean
from typing import Any

from .job_context import EventLog, JobStopped, Result, parse_int
from .run import settings

SAME = 1e-9  # a group whose rewards differ by less has zero variance, so no learning signal


def work(spec: Mapping[str, Any], folder: Path, tell: EventLog) -> Result:
    """Run a step on `prompts` prompts with the other settings of the specification.

    Raises JobRefusedError and JobStopped.
    """
    tell.progress(0, 0, "loading the policy and the data")
    from ..training.grpo import train

    prompts = parse_int(spec, "prompts", 1)
    config = replace(
        settings(spec, folder),
        max_steps=1,
        checkpoint_every=2,
        zero_variance="keep",
        keep_tokens="none",
        patience=0,
        processes=1,
        sharding="ddp",
    )
    events: list[dict[str, Any]] = []
    shutil.rmtree(config.out, ignore_errors=True)
    tell.progress(0, 1, f"{prompts} prompts, {config.group} rollouts each")
    try:
        trained = train(config, events.append, stop=tell.stop)
    finally:
        shutil.rmtree(config.out, ignore_errors=True)
    if trained.ended == "stopped" and not any(one["event"] == "step" for one in events):
        raise JobStopped
    return figures(events)


def figures(events: Sequence[Mapping[str, Any]]) -> Result:
    """Summarize the step: the mean and range of each group's rewards, and the cost of a rollout.

    groups: [mean, maximum minus minimum] of each scored group | unscored: number of groups without a scored rollout |
    dead: number of zero-variance groups | reward: mean over scored rollouts, null without any | rollouts: their number
    | tokens: mean number of tokens that the policy generated in a rollout | bytes: stored size of a rollout | seconds:
    duration of the whole step | rollout_seconds: duration of its rollouts.
    """
    step = next(one for one in events if one["event"] == "step")
    rollouts = next(one for one in events if one["event"] == "rollouts")
    scored = [[one for one in group["reward"] if one is not None] for group in rollouts["groups"]]
    found = [[fmean(rewards), max(rewards) - min(rewards)] for rewards in scored if rewards]
    tokens = [count for group in rollouts["groups"] for count in group["model_tokens"]]
    return {
        "groups": found,
        "unscored": len(scored) - len(found),
        "dead": sum(spread < SAME for _, spread in found),
        "reward": fmean([one for rewards in scored for one in rewards]) if found else None,
        "rollouts": len(tokens),
        "tokens": fmean(tokens) if tokens else 0.0,
        "bytes": rollouts["bytes"] / max(1, len(tokens)),
        "seconds": step["step_s"],
        "rollout_seconds": step["rollout_s"],
    }
