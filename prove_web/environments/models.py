"""A project's environment, and what is known of servers: checks, versions, third-party servers."""

from __future__ import annotations

from datetime import timedelta

from django.db import models
from django.urls import reverse
from django.utils import timezone

from prove_web.accounts.models import Project, User

OVERDUE = timedelta(minutes=10)  # a check that has not ended by then never will


class Environment(models.Model):
    """Servers that a project's forms and lists offer: all but those switched `off`; with an initial seed and size."""

    project = models.OneToOneField(Project, models.CASCADE, related_name="environment")
    off = models.JSONField(default=list)
    seed = models.BigIntegerField(default=1)
    size = models.CharField(max_length=8, default="default")

    def __str__(self) -> str:
        return "the environment"

    def get_absolute_url(self) -> str:
        return reverse("environments", args=self.project.path)


class ServerCheck(models.Model):
    """A run of a server's invariant checks, with its result (mcp_servers/testing/verify.py) once it has ended.

    The servers are the site's, so a check serves every project.
    """

    server = models.CharField(max_length=40)
    fingerprint = models.CharField(max_length=64)
    asked_at = models.DateTimeField(auto_now_add=True)
    ended_at = models.DateTimeField(null=True)
    ok = models.BooleanField(null=True)
    found = models.JSONField(default=dict)
    error = models.TextField(blank=True)  # why there is no result

    class Meta:
        ordering = ["-id"]
        indexes = [models.Index(fields=["server", "-id"])]

    @property
    def at_work(self) -> bool:
        return self.ended_at is None and timezone.now() - self.asked_at < OVERDUE


class ServerVersion(models.Model):
    """The tools of a server from a time on: `schemas` are the input and output schemas by tool."""

    server = models.CharField(max_length=40)
    fingerprint = models.CharField(max_length=64)
    schemas = models.JSONField()
    seen_at = models.DateTimeField(auto_now_add=True)

    class Meta:
        ordering = ["-id"]
        indexes = [models.Index(fields=["server", "-id"])]


class ThirdParty(models.Model):
    """A third-party MCP server, added to a project by its owner: a command, as a list of words, or a URL."""

    project = models.ForeignKey(Project, models.CASCADE, related_name="third_party")
    name = models.CharField(max_length=40)
    command = models.JSONField(default=list)
    url = models.CharField(max_length=500, blank=True)
    added_by = models.ForeignKey(User, models.SET_NULL, null=True)
    added_at = models.DateTimeField(auto_now_add=True)

    class Meta:
        ordering = ["name"]
        constraints = [models.UniqueConstraint(fields=["project", "name"], name="one_third_party_per_name")]

    def __str__(self) -> str:
        return self.name
