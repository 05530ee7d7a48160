"""Extension points of accounts: what the apps above it add to its pages and rules. Each registers as it starts."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

from django.db.models import Expression, QuerySet
from django.dispatch import Signal

from .models import Organisation, Project, User
from .roles import Action

member_notice = Signal()  # a notification to send: `users` (or their ids), `project`, `text` and `url`
account_deleted = Signal()  # an identity is being erased: `user`


@dataclass(frozen=True)
class Revocable:
    """A kind of thing that members create, and that is revoked when its creator loses the permission for it.

    `find` returns the active ones of a member; `revoke` takes one and the reason.
    """

    name: str
    action: Action
    find: Callable[[Organisation, User], QuerySet]
    revoke: Callable[[Any, str], object]


@dataclass(frozen=True)
class PersonalData:
    """A part of the file with a user's data: rows of a user from the given visible projects, and their fields."""

    name: str
    find: Callable[[User, QuerySet[Project]], QuerySet]
    fields: Sequence[str]


revocables: list[Revocable] = []
personal_data: list[PersonalData] = []
section_counts: dict[str, Callable[[], Expression]] = {}  # number beside a section of the navigation, by its page
