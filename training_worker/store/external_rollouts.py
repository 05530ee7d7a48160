"""Rollouts logged by external programs: they have no example of ours and reward components of their own."""

from __future__ import annotations

import hashlib
import re
import unicodedata
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from statistics import fmean

from ..core.trajectory import End, ExecutedCall, Message, Reward, Rollout
from .record import ELSEWHERE, RolloutRecord
from .steps import read_step, read_summaries

NO_REWARD = "No reward was logged for this rollout."
NAME = re.compile(r"[A-Za-z0-9_.:@%+-]{1,80}")  # of an example, valid in URLs and searches
LONGEST_WORDS = 48  # characters of a prompt that its name contains


@dataclass(frozen=True, kw_only=True)
class Attempt:
    """One completion of a prompt. `parts` are its reward components; `tokens` is the number of generated tokens."""

    transcript: Sequence[Message]
    calls: Sequence[ExecutedCall] = ()
    reward: float | None = None
    parts: Mapping[str, float] = field(default_factory=dict)
    advantage: float | None = None
    end: End = "answered"
    tokens: int | None = None
    error: str = ""


@dataclass(frozen=True, kw_only=True)
class ExternalGroup:
    """One prompt with its group of completions; `name` is the same in every step that uses the prompt."""

    prompt: Sequence[Message]
    attempts: Sequence[Attempt]
    name: str = ""


def build_records(groups: Sequence[ExternalGroup], first: int = 1) -> list[RolloutRecord]:
    """Return the rollout records of a step in the given order; their groups are numbered from `first`."""
    return [
        build_record(one, number, group, advantage)
        for number, group in enumerate(groups, first)
        for one, advantage in zip(group.attempts, advantages(group.attempts), strict=True)
    ]


def build_record(one: Attempt, number: int, group: ExternalGroup, advantage: float | None) -> RolloutRecord:
    scored = one.reward is not None
    rollout = Rollout(
        example=group.name or name_of(group.prompt),
        transcript=(*group.prompt, *one.transcript),
        calls=tuple(one.calls),
        end=one.end,
        reward=Reward(total=one.reward, form=ELSEWHERE, terms=dict(one.parts)) if one.reward is not None else None,
        failed_at=None if scored else "infrastructure",
        error=one.error if scored else one.error or NO_REWARD,
    )
    return RolloutRecord(rollout=rollout, group=number, advantage=advantage, tokens=None, model_tokens=one.tokens)


def read_records_before(file: Path, first: int) -> list[RolloutRecord]:
    """Return the records of a file's groups before `first`. Raises DamagedFile, FileNotFoundError."""
    return [
        RolloutRecord(
            rollout=rollout, group=one.group, advantage=one.advantage, tokens=None, model_tokens=one.model_tokens
        )
        for rollout, one in zip(read_step(file), read_summaries(file), strict=True)
        if one.group < first
    ]


def advantages(attempts: Sequence[Attempt]) -> list[float | None]:
    """Return the logged advantages; if there are none, each reward minus the mean of its group."""
    logged, rewards = [one.advantage for one in attempts], [one.reward for one in attempts if one.reward is not None]
    if any(each is not None for each in logged) or len(rewards) < len(attempts):
        return logged
    mean = fmean(rewards)
    return [reward - mean for reward in rewards]


def name_of(prompt: Sequence[Message]) -> str:
    """Return a name for a prompt: the first words of its last message, and a hash that makes it unique."""
    text = prompt[-1].content if prompt else ""
    known = unicodedata.normalize("NFKD", text[: 2 * LONGEST_WORDS]).encode("ascii", "ignore").decode().lower()
    words = re.sub(r"[^a-z0-9]+", "-", known)[:LONGEST_WORDS].strip("-") or "prompt"
    joined = "\0".join(f"{each.role}\0{each.content}" for each in prompt)
    return f"{words}-{hashlib.sha256(joined.encode('utf-8', 'replace')).hexdigest()[:8]}"
