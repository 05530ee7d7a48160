"""API tokens: shown once at creation, found by their hash, valid while their user is a member."""

from __future__ import annotations

import secrets
from collections.abc import Iterable
from datetime import timedelta
from hashlib import sha256

from django.utils import timezone

from prove_web.accounts import audit
from prove_web.accounts.models import Organisation, Project, User
from prove_web.accounts.roles import Action

from .models import ApiToken

PREFIX = "prove_"  # recognized by scanners of published code
BYTES = 32
NOTED = timedelta(minutes=1)  # precision of `used_at`, so that a busy program does not cause a write per call
MOST = 100  # valid tokens of one user in one organisation


class TooMany(Exception):
    """Error if a user has the maximum number of tokens; the message says what to do."""


def issue(
    user: User,
    organisation: Organisation,
    name: str,
    scopes: Iterable[str],
    project: Project | None = None,
    days: int | None = None,
) -> tuple[ApiToken, str]:
    """Create a token, valid for `days` or until it is revoked. Return it and its text, which is not stored.

    Raises TooMany.
    """
    if ApiToken.objects.filter_valid().filter(user=user, organisation=organisation).count() >= MOST:
        raise TooMany(f"The limit is {MOST} tokens per user and team. Revoke unused tokens first.")
    text = PREFIX + secrets.token_urlsafe(BYTES)
    made = ApiToken.objects.create(
        user=user,
        organisation=organisation,
        project=project,
        name=name,
        scopes=[action.value for action in Action if action.value in {Action.VIEW.value, *scopes}],
        hash=hash_token(text),
        expires_at=timezone.now() + timedelta(days=days) if days else None,
    )
    return made, text


def hash_token(text: str) -> str:
    """Return the text's hash; a plain hash is enough, because the text is random and long."""
    return sha256(text.encode()).hexdigest()


def authenticate_api_token(text: str) -> ApiToken | None:
    """Return the token of this text and record its use; None if it is revoked or expired, or its user has left."""
    related = ("user", "organisation", "project")
    found = ApiToken.objects.filter_valid().filter(hash=hash_token(text)).select_related(*related).first()
    if found is None or not found.user.is_active:
        return None
    if not found.organisation.memberships.filter(user=found.user).exists():
        return None
    now = timezone.now()
    if found.used_at is None or found.used_at < now - NOTED:
        ApiToken.objects.filter(pk=found.pk).update(used_at=now)
    return found


def revoke(token: ApiToken) -> None:
    """Revoke a token; it stays in the list."""
    if ApiToken.objects.filter(pk=token.pk, revoked_at=None).update(revoked_at=timezone.now()):
        audit.note(None, "revoked", token, token.organisation)
