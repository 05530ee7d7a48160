"""Entries of the audit log."""

from __future__ import annotations

from typing import Any

from auditlog.models import AbstractLogEntry, LogEntryManager
from django.db import models

from .actor import facts

LONGEST = 1000  # characters of a value, before and after


class EntryManager(LogEntryManager):
    """Manager that writes an entry with its team; actions outside any team are not logged."""

    def log_create(self, instance: Any, force_log: bool = False, **given: Any) -> Any:
        from .registry import REMOVED, describe_action, place  # it registers models, so it is imported after them

        where = place(instance, given.pop("organisation", None))
        if where is None:
            return None
        given = {**facts(), **given, "organisation_id": where.organisation, "project_id": where.project}
        given.setdefault(
            "did", describe_action(instance, given["action"], given.get("changes") or {}, given["actor_id"])
        )
        given["changes"] = {name: [short(one) for one in each] for name, each in (given["changes"] or {}).items()}
        given["url"] = "" if given["action"] == REMOVED else where.url
        return super().log_create(instance, force_log=force_log, **given)


class Entry(AbstractLogEntry):
    """An action in a team: what was done to which thing, and what changed.

    `did` is the action in a word or few; `changes` has before and after by field. Team and project are referenced by
    number only, so that an entry outlives its project.
    """

    organisation = models.ForeignKey("accounts.Organisation", models.DO_NOTHING, db_constraint=False, related_name="+")
    project = models.ForeignKey("accounts.Project", models.DO_NOTHING, null=True, db_constraint=False, related_name="+")
    did = models.CharField(max_length=40)
    url = models.CharField(max_length=300, blank=True)

    objects = EntryManager()

    class Meta:
        ordering = ["-pk"]
        indexes = [
            models.Index(fields=["organisation", "-id"], name="entry_newest"),
            models.Index(fields=["organisation", "did"], name="entry_by_deed"),
        ]


def short(value: Any) -> Any:
    """Return a value for storage: long text is cut."""
    text = value if isinstance(value, str) else str(value)
    return value if len(text) <= LONGEST else f"{text[:LONGEST]}…"
