"""What the operations of more than one room tell."""

from __future__ import annotations

from datetime import datetime
from typing import Any
from uuid import UUID

from ninja import Schema
from pydantic import ConfigDict

ADVANTAGE = (
    "What the update trained the rollout with: of all its tokens alike where credit is rollout (plain GRPO), or the "
    "sum over the tokens at which its group parts where credit is branch, the default."
)


class Fault(Schema):
    where: str
    error: str


class Refusal(Schema):
    """What is the case, where, and what to do."""

    error: str
    where: str
    do: str
    faults: list[Fault] = []


class Strict(Schema):
    """A body in which nothing is overlooked."""

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
    """Who did it, as long as the account is there."""
    return user.get_username() if user else None
