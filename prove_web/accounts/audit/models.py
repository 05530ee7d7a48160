"""One entry of the audit log."""

from __future__ import annotations

from typing import Any

from auditlog.models import AbstractLogEntry, LogEntryManager
from django.db import models

from .actor import facts

LONGEST = 1000  # characters of a value, before and after


class EntryManager(LogEntryManager):
    """Writes an entry with the team that it belongs to; what belongs to none is not noted."""

    def log_create(self, instance: Any, force_log: bool = False, **given: Any) -> Any:
        from .registry import REMOVED, did, place  # which registers models, and so comes after them

        where = place(instance, given.pop("organisation", None))
        if where is None:
            return None
        given = {**facts(), **given, "organisation_id": where.organisation, "project_id": where.project}
        given.setdefault("did", did(instance, given["action"], given.get("changes") or {}, given["actor_id"]))
        given["changes"] = {name: [short(one) for one in each] for name, each in (given["changes"] or {}).items()}
        given["url"] = "" if given["action"] == REMOVED else where.url
        return super().log_create(instance, force_log=force_log, **given)


class Entry(AbstractLogEntry):
    """Somebody did something in a team: what, to which thing, and what of it changed.

    `did` is the deed in a word or few; `changes` has before and after by field. Team and project are held to by
    number alone, so that an entry outlives its project.
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
    """A value that is stored: long text is cut."""
    text = value if isinstance(value, str) else str(value)
    return value if len(text) <= LONGEST else f"{text[:LONGEST]}…"
