"""Machines that an organisation enrolled as workers of its own, and which workers are to take no more jobs."""

from __future__ import annotations

from django.db import models
from django.utils import timezone
from django.utils.text import slugify

from prove_web.accounts.models import Organisation, User


class Enrolment(models.Model):
    """What lets one machine do training jobs of an organisation: a token, of which the hash is kept."""

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
        """What its heartbeats and jobs call it."""
        return f"training@{slugify(self.name) or 'machine'}-{self.pk}"

    @property
    def good(self) -> bool:
        return self.revoked_at is None and self.expires_at > timezone.now()


class Drained(models.Model):
    """A worker that finishes what it is at and takes no more, started anew or not, until somebody ends it.

    `worker` is what its heartbeats call it; one of the site's own has no enrolment.
    """

    worker = models.CharField(max_length=200, unique=True)
    enrolment = models.OneToOneField(Enrolment, models.CASCADE, null=True, blank=True, related_name="drained")
    since = models.DateTimeField(auto_now_add=True)

    def __str__(self) -> str:
        return self.worker
