"""Connect tokens: shown once at creation, found by their hash, valid while their creator has the permission."""

from __future__ import annotations

import secrets
from datetime import timedelta
from hashlib import sha256
from typing import TYPE_CHECKING

from django.apps import apps
from django.db.models import Q
from django.utils import timezone

from prove_web.accounts import audit
from prove_web.accounts.models import User
from prove_web.accounts.permissions import Action, has_permission
from prove_web.accounts.second_factor import needs_second_factor

from .models import ConnectToken, LiveSession

if TYPE_CHECKING:
    from prove_web.api.models import ApiToken

BYTES = 32
NOTED = timedelta(minutes=1)  # precision of `used_at`, so that a busy client does not cause a write per call
LONGEST = 80
MOST = 50  # active tokens of a session


class NotIssued(ValueError):
    """Error of a token that can't be created; the message says what to do."""


def create_token(session: LiveSession, user: User, name: str, writes: bool, made_with: ApiToken | None = None) -> str:
    """Create a token and return its text. Raises NotIssued."""
    name = " ".join(name.replace("\0", "").split())
    if not name or len(name) > LONGEST:
        raise NotIssued(f"Enter a name of 1 to {LONGEST} characters.")
    if session.tokens.filter(revoked_at=None).count() >= MOST:
        raise NotIssued(f"A session has at most {MOST} tokens. Revoke unused tokens.")
    return issue(session, user, name, writes, made_with)[1]


def issue(
    session: LiveSession, user: User, name: str, writes: bool, made_with: ApiToken | None = None
) -> tuple[ConnectToken, str]:
    """Create a token of this session. Return it and its text, which is not stored."""
    text = secrets.token_urlsafe(BYTES)
    who = {"made_by": user, "made_with": made_with}
    made = ConnectToken.objects.create(session=session, hash=hash_token(text), name=name, writes=writes, **who)
    return made, text


def hash_token(text: str) -> str:
    """Return the token's hash; a plain hash is enough, because the text is random and long."""
    return sha256(text.encode()).hexdigest()


def authenticate_session_token(text: str) -> ConnectToken | None:
    """Return the token of this text and record its use; None if it is revoked or its creator may not call tools."""
    related = ("session__project__organisation", "made_by")
    api_tokens = apps.get_model("api", "ApiToken")._default_manager
    good = Q(made_with=None) | Q(made_with__in=api_tokens.filter_valid())
    found = ConnectToken.objects.filter(good, hash=hash_token(text), revoked_at=None).select_related(*related).first()
    if (
        found is None
        or not found.made_by.is_active
        or not has_permission(found.made_by, Action.ANNOTATE, found.session.project)
    ):
        return None
    if needs_second_factor(found.made_by, found.session.project.organisation):
        return None
    now = timezone.now()
    stale = ConnectToken.objects.filter(Q(used_at=None) | Q(used_at__lt=now - NOTED), pk=found.pk)
    if found.used_at is None or found.used_at < now - NOTED:
        stale.update(used_at=now)
    return found


def revoke(token: ConnectToken) -> None:
    """Revoke a token; it stays in the list."""
    if ConnectToken.objects.filter(pk=token.pk, revoked_at=None).update(revoked_at=timezone.now()):
        audit.note(None, "revoked", token, token.session.project.organisation)
