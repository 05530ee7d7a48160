"""Schemas shared by several groups of operations."""

from __future__ import annotations

from datetime import datetime
from typing import Any
from uuid import UUID

from ninja import Schema
from pydantic import ConfigDict

ADVANTAGE = (
    "The rollout's advantage in the update. With credit `rollout` (plain GRPO) it applies to every token; with credit "
    "`branch` (the default) it is the sum over the tokens where its group diverges."
)


class Fault(Schema):
    where: str
    error: str


class Refusal(Schema):
    """An error: what happened, where, and what to do."""

    error: str
    where: str
    do: str
    faults: list[Fault] = []


class StrictSchema(Schema):
    """A body that rejects unknown fields."""

    model_config = ConfigDict(extra="forbid")


class JobOut(Schema):
    id: UUID
    kind: str
    title: str
    state: str
    line: str
    done: float
    total: float
    seconds_left: float | None
    error: str
    attempt: int
    stop: str
    priority: int
    by: str | None
    created_at: datetime
    started_at: datetime | None
    ended_at: datetime | None

    @staticmethod
    def resolve_by(job: Any) -> str | None:
        return username(job.created_by)


def username(user: Any) -> str | None:
    """Return the user's name while the account exists."""
    return user.get_username() if user else None
