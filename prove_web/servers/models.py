"""Live sessions: a seed and the calls made since. The world itself is rebuilt by replay, so nothing else is stored."""

from __future__ import annotations

from django.db import models
from django.urls import reverse

from prove_web.accounts.models import Organisation, Project, User


class Source(models.TextChoices):
    """Who opened a session, and calls in it."""

    HAND = "hand", "by hand"
    FORK = "fork", "fork"
    TRAJECTORY = "trajectory", "trajectory"
    MCP = "mcp", "MCP client"
    SYNTHESIS = "synthesis", "synthesis"
    ROLLOUT = "rollout", "rollout"


class LiveSession(models.Model):
    """A world that people call tools in: one seed, one or more servers.

    A fork knows its `parent` and after how many of its calls it left it; what starts again left it at 0.
    """

    project = models.ForeignKey(Project, models.CASCADE, related_name="sessions")
    title = models.CharField(max_length=80, blank=True)
    servers = models.JSONField()
    seed = models.BigIntegerField()
    size = models.CharField(max_length=8, default="default")
    fingerprint = models.CharField(max_length=64)  # of the servers' code; with other code the replay may differ
    created_by = models.ForeignKey(User, models.SET_NULL, null=True)
    created_at = models.DateTimeField(auto_now_add=True)
    source = models.CharField(max_length=10, choices=Source.choices, default=Source.HAND)
    parent = models.ForeignKey("self", models.SET_NULL, null=True, blank=True, related_name="forks")
    parent_at = models.PositiveIntegerField(default=0)

    class Meta:
        ordering = ["-created_at"]
        indexes = [models.Index(fields=["project", "-created_at"])]

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
    took_us = models.PositiveIntegerField(null=True)  # microseconds that the server took to answer

    class Meta:
        ordering = ["position"]
        constraints = [models.UniqueConstraint(fields=["session", "position"], name="one_call_per_position")]


class SavedCall(models.Model):
    """A tool with arguments that a team keeps under a name, to be called again in any of its sessions."""

    organisation = models.ForeignKey(Organisation, models.CASCADE, related_name="saved_calls")
    name = models.CharField(max_length=80)
    tool = models.CharField(max_length=80)
    arguments = models.JSONField()
    made_by = models.ForeignKey(User, models.SET_NULL, null=True)
    made_at = models.DateTimeField(auto_now_add=True)

    class Meta:
        ordering = ["name"]
        constraints = [models.UniqueConstraint(fields=["organisation", "tool", "name"], name="one_saved_call_per_name")]

    def __str__(self) -> str:
        return self.name
