"""Share links, and deletions."""

from __future__ import annotations

from datetime import datetime, timedelta

from django.conf import settings
from django.db import models
from django.utils import timezone

from prove_web.accounts.models import Project, User


class ShareQuerySet(models.QuerySet["Share"]):
    def open(self) -> ShareQuerySet:
        """Return links that still work."""
        return self.filter(withdrawn_at=None, expires_at__gt=timezone.now(), project__deleted_at=None)


class Share(models.Model):
    """A link that lets anyone who has it read one page of a project, and nothing else.

    `path` is the page's path below the project, and `query` the stored view. `hash` is that of the secret in the link,
    which is not stored.
    """

    class Kind(models.TextChoices):
        RUN = "run", "Run"
        COMPARISON = "compare", "Comparison"
        TRAJECTORY = "traject", "Trajectory"
        ROLLOUT = "rollout", "Rollout"

    project = models.ForeignKey(Project, models.CASCADE, related_name="shares")
    kind = models.CharField(max_length=8, choices=Kind.choices)
    path = models.CharField(max_length=300)
    query = models.TextField(blank=True)
    title = models.CharField(max_length=200)
    hash = models.CharField(max_length=64, unique=True)
    made_by = models.ForeignKey(User, models.SET_NULL, null=True)
    made_at = models.DateTimeField(auto_now_add=True)
    expires_at = models.DateTimeField()
    withdrawn_at = models.DateTimeField(null=True, blank=True)
    why = models.CharField(max_length=80, blank=True)  # it was withdrawn, unless a user did so
    opened_at = models.DateTimeField(null=True, blank=True)
    opened = models.PositiveIntegerField(default=0)  # how often

    objects = ShareQuerySet.as_manager()

    class Meta:
        ordering = ["-pk"]

    def __str__(self) -> str:
        return self.title

    @property
    def address(self) -> str:
        """The URL of the shared page for the team."""
        return f"{self.project.get_absolute_url()}{self.path}{'?' if self.query else ''}{self.query}"

    @property
    def state(self) -> str:
        if self.withdrawn_at:
            return "withdrawn"
        return "open" if self.expires_at > timezone.now() else "expired"


class DeletionQuerySet(models.QuerySet["Deletion"]):
    def filter_in_trash(self) -> DeletionQuerySet:
        """Return what is in the trash."""
        return self.filter(restored_at=None, purged_at=None)


class Deletion(models.Model):
    """Record that something was moved to the trash; it may have been restored or purged since.

    The record stays even then, so that the `number` of a run or dataset is never reused. A project has none: 0.
    """

    class Kind(models.TextChoices):
        RUN = "run", "Run"
        DATASET = "dataset", "Dataset"
        PROJECT = "project", "Project"

    project = models.ForeignKey(Project, models.CASCADE, related_name="deletions")
    kind = models.CharField(max_length=8, choices=Kind.choices)
    number = models.PositiveIntegerField(default=0)
    name = models.CharField(max_length=80)
    by = models.ForeignKey(User, models.SET_NULL, null=True)
    at = models.DateTimeField()
    restored_at = models.DateTimeField(null=True, blank=True)
    purged_at = models.DateTimeField(null=True, blank=True)

    objects = DeletionQuerySet.as_manager()

    class Meta:
        ordering = ["-at", "-pk"]
        constraints = [
            models.UniqueConstraint(fields=["project", "kind", "number"], name="one_deletion_per_thing"),
        ]
        indexes = [models.Index(fields=["purged_at", "at"])]

    def __str__(self) -> str:
        return f"{self.get_kind_display()} {self.number}" if self.number else self.get_kind_display()

    @property
    def due_at(self) -> datetime:
        """The time from which it may be purged."""
        return self.at + timedelta(days=settings.GRACE_DAYS)

    @property
    def due(self) -> bool:
        return self.due_at <= timezone.now()
