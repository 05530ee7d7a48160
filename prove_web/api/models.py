"""API tokens, with which programs act as the user who created them."""

from __future__ import annotations

from django.db import models
from django.utils import timezone

from prove_web.accounts.models import Organisation, Project, User
from prove_web.accounts.roles import Action


class ApiTokenQuerySet(models.QuerySet["ApiToken"]):
    def filter_valid(self) -> ApiTokenQuerySet:
        """Return valid tokens: neither revoked nor expired."""
        later = models.Q(expires_at=None) | models.Q(expires_at__gt=timezone.now())
        return self.filter(later, revoked_at=None)


class ApiToken(models.Model):
    """Token that a program sends instead of a password. Only its hash is stored.

    `scopes` are its permissions, each a value of accounts.roles.Action; a token never exceeds the role of its user.
    With a `project` it is limited to that project, otherwise it is valid for the whole organisation.
    """

    user = models.ForeignKey(User, models.CASCADE, related_name="api_tokens")
    organisation = models.ForeignKey(Organisation, models.CASCADE, related_name="api_tokens")
    project = models.ForeignKey(Project, models.CASCADE, null=True, blank=True, related_name="api_tokens")
    name = models.CharField(max_length=80)
    scopes = models.JSONField(default=list)
    hash = models.CharField(max_length=64, unique=True)
    created_at = models.DateTimeField(auto_now_add=True)
    used_at = models.DateTimeField(null=True, blank=True)
    expires_at = models.DateTimeField(null=True, blank=True)
    revoked_at = models.DateTimeField(null=True, blank=True)

    objects = ApiTokenQuerySet.as_manager()

    class Meta:
        ordering = ["-created_at", "-pk"]

    def __str__(self) -> str:
        return self.name

    def covers(self, action: Action) -> bool:
        return action.value in self.scopes

    @property
    def expired(self) -> bool:
        return self.expires_at is not None and self.expires_at <= timezone.now()
