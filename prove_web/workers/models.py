"""Machines that an organisation enrolled as workers of its own."""

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
