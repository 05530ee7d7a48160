"""Live sessions: a seed and the calls since. A replay rebuilds the world, so nothing else is stored."""

from __future__ import annotations

from typing import Any

from django.db import models
from django.urls import reverse

from prove_web.accounts.models import Organisation, Project, User
from prove_web.core.ordered_json import OrderedJSONField


class Source(models.TextChoices):
    """Source of a session, and of its calls."""

    HAND = "hand", "manual"
    FORK = "fork", "fork"
    TRAJECTORY = "trajectory", "trajectory"
    MCP = "mcp", "MCP client"
    SYNTHESIS = "synthesis", "synthesis"
    ROLLOUT = "rollout", "rollout"


class LiveSession(models.Model):
    """A world in which users call tools: one seed, one or more servers.

    A fork has its `parent` and the number of the parent's calls that it starts with; a reset has 0.
    """

    project = models.ForeignKey(Project, models.CASCADE, related_name="sessions")
    title = models.CharField(max_length=80, blank=True)
    servers = models.JSONField()
    seed = models.BigIntegerField()
    size = models.CharField(max_length=8, default="default")
    fingerprint = models.CharField(max_length=64)  # of the servers' behaviour; with another one the replay may differ
    opening = models.CharField(max_length=32, blank=True)  # digest of the world before the first call; "" until then
    created_by = models.ForeignKey(User, models.SET_NULL, null=True)
    created_at = models.DateTimeField(auto_now_add=True)
    source = models.CharField(max_length=10, choices=Source.choices, default=Source.HAND)
    faults = models.CharField(max_length=100, blank=True)  # for the next calls, as mcp_servers.faults writes them
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
    """A call in a session and its result; `position` counts from 1."""

    session = models.ForeignKey(LiveSession, models.CASCADE, related_name="calls")
    position = models.PositiveIntegerField()
    tool = models.CharField(max_length=80)
    arguments: Any = OrderedJSONField()
    ok = models.BooleanField()
    text = models.TextField()
    made_by = models.ForeignKey(User, models.SET_NULL, null=True)
    made_at = models.DateTimeField(auto_now_add=True)
    took_us = models.PositiveIntegerField(null=True)  # response time of the server in microseconds
    source = models.CharField(max_length=10, choices=Source.choices, default=Source.HAND)
    client = models.CharField(max_length=80, blank=True)  # the MCP client that made the call
    faults = models.CharField(max_length=100, blank=True)  # of the session at that time: a replay draws from them again

    class Meta:
        ordering = ["position"]
        constraints = [models.UniqueConstraint(fields=["session", "position"], name="one_call_per_position")]


class ConnectToken(models.Model):
    """Token of an MCP client for one session, valid while its creator has the permission; only its hash is stored.

    A token that was created with an API token becomes invalid together with it.
    """

    session = models.ForeignKey(LiveSession, models.CASCADE, related_name="tokens")
    hash = models.CharField(max_length=64, unique=True)
    name = models.CharField(max_length=80)
    writes = models.BooleanField(default=True)  # False: only read-only tools may be called
    made_by = models.ForeignKey(User, models.CASCADE)
    made_with = models.ForeignKey("api.ApiToken", models.CASCADE, null=True, related_name="connect_tokens")
    made_at = models.DateTimeField(auto_now_add=True)
    used_at = models.DateTimeField(null=True)
    revoked_at = models.DateTimeField(null=True)

    class Meta:
        ordering = ["-made_at", "-pk"]

    def __str__(self) -> str:
        return self.name


class SavedCall(models.Model):
    """A named call with arguments that a team saved, to repeat in any of its sessions."""

    organisation = models.ForeignKey(Organisation, models.CASCADE, related_name="saved_calls")
    name = models.CharField(max_length=80)
    tool = models.CharField(max_length=80)
    arguments: Any = OrderedJSONField()
    made_by = models.ForeignKey(User, models.SET_NULL, null=True)
    made_at = models.DateTimeField(auto_now_add=True)

    class Meta:
        ordering = ["name"]
        constraints = [models.UniqueConstraint(fields=["organisation", "tool", "name"], name="one_saved_call_per_name")]

    def __str__(self) -> str:
        return self.name
