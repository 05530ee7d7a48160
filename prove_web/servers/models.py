"""Live sessions: a seed and the calls made since. The world itself is rebuilt by replay, so nothing else is stored."""

from __future__ import annotations

from django.db import models
from django.urls import reverse

from prove_web.accounts.models import Project, User


class LiveSession(models.Model):
    """A world that people call tools in: one seed, one or more servers."""

    project = models.ForeignKey(Project, models.CASCADE, related_name="sessions")
    title = models.CharField(max_length=80, blank=True)
    servers = models.JSONField()
    seed = models.BigIntegerField()
    size = models.CharField(max_length=8, default="default")
    fingerprint = models.CharField(max_length=64)  # of the servers' code; with other code the replay may differ
    created_by = models.ForeignKey(User, models.SET_NULL, null=True)
    created_at = models.DateTimeField(auto_now_add=True)

    class Meta:
        ordering = ["-created_at"]

    def __str__(self) -> str:
        return self.title or f"{', '.join(self.servers)} with seed {self.seed}"

    def get_absolute_url(self) -> str:
        return reverse("session", args=[*self.project.path, self.pk])


class SessionCall(models.Model):
    """One call made in a session and what it answered; `position` counts from 1."""

    session = models.ForeignKey(LiveSession, models.CASCADE, related_name="calls")
    position = models.PositiveIntegerField()
    tool = models.CharField(max_length=80)
    arguments = models.JSONField()
    ok = models.BooleanField()
    text = models.TextField()
    made_by = models.ForeignKey(User, models.SET_NULL, null=True)
    made_at = models.DateTimeField(auto_now_add=True)

    class Meta:
        ordering = ["position"]
        constraints = [models.UniqueConstraint(fields=["session", "position"], name="one_call_per_position")]
