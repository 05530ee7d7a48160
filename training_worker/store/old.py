"""The legacy rollout format: JSON Lines, `step-000001.jsonl`, with groups of equal size."""

from __future__ import annotations

from pathlib import Path

from ..core.trajectory import Rollout, read_lines
from ..environment.outcomes import outcomes
from ..reward.advantage import advantages
from .record import COMPONENTS, Summary


def read_old(path: Path, group: int) -> list[Summary]:
    """Return the summaries of a step's rollouts; the advantage is the reward minus the mean of the group.

    Raises UnreadableData, FileNotFoundError.
    """
    rollouts = list(read_lines(Rollout, path))
    earned = advantages([one.reward.total if one.reward else None for one in rollouts], group, "none")
    return [
        Summary(
            index=place + 1,
            group=place // group + 1,
            place=place % group + 1,
            example=one.example,
            reward=one.reward.total if one.reward else None,
            components={name: getattr(one.reward, name) if one.reward else None for name in COMPONENTS},
            abstention=bool(one.reward and one.reward.abstention),
            advantage=advantage,
            end=one.end,
            failed_at=one.failed_at,
            tools=tuple(made.call.name for made in one.calls),
            levels=tuple(made.level for made in one.calls),
            outcomes=outcomes(one),
        )
        for place, (one, advantage) in enumerate(zip(rollouts, earned, strict=True))
    ]
