"""Machines that an organisation enrolled as workers, and draining workers."""

from __future__ import annotations

from django.db import models
from django.utils import timezone
from django.utils.text import slugify

from prove_web.accounts.models import Organisation, User


class Enrolment(models.Model):
    """The right of one machine to run an organisation's training jobs; only the token's hash is stored."""

    organisation = models.ForeignKey(Organisation, models.CASCADE, related_name="enrolments")
    name = models.CharField(max_length=40)
    hash = models.CharField(max_length=64, unique=True)
    made_by = models.ForeignKey(User, models.CASCADE, related_name="+")
    made_at = models.DateTimeField(auto_now_add=True)
    expires_at = models.DateTimeField()
    revoked_at = models.DateTimeField(null=True, blank=True)
    joined_at = models.DateTimeField(null=True, blank=True)

    class Meta:
        ordering = ["-made_at"]

    def __str__(self) -> str:
        return self.name

    @property
    def worker(self) -> str:
        """Return the worker name in heartbeats and jobs."""
        return f"training@{slugify(self.name) or 'machine'}-{self.pk}"

    @property
    def good(self) -> bool:
        return self.revoked_at is None and self.expires_at > timezone.now()


class Drained(models.Model):
    """A worker that finishes its jobs and takes no new ones until resumed, also after a restart.

    `worker` is its heartbeat name; the site's own workers have no enrolment.
    """

    worker = models.CharField(max_length=200, unique=True)
    enrolment = models.OneToOneField(Enrolment, models.CASCADE, null=True, blank=True, related_name="drained")
    since = models.DateTimeField(auto_now_add=True)

    def __str__(self) -> str:
        return self.worker
