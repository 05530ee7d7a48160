"""Share links: shown once at creation, found by their hash, valid until they expire or are withdrawn."""

from __future__ import annotations

import secrets
from datetime import timedelta
from hashlib import sha256

from django.db.models import F
from django.utils import timezone

from prove_web.accounts import audit
from prove_web.accounts.models import Project, User
from prove_web.accounts.permissions import Action, has_permission

from .models import Share
from .share_scope import SharedPage

BYTES = 32
DAYS = {1: "1 day", 7: "7 days", 30: "30 days", 90: "90 days"}
USUAL = 30
MOST = 500  # open links of a project


class ShareLinkError(ValueError):
    """Error of a link that can't be created; the message says why and what to do."""


def make(project: Project, user: User, page: SharedPage, days: int) -> tuple[Share, str]:
    """Create a link and return it with its secret. Raises ShareLinkError."""
    if days not in DAYS:
        raise ShareLinkError(f"Choose when the link expires: {', '.join(DAYS.values())}.")
    if Share.objects.open().filter(project=project).count() >= MOST:
        raise ShareLinkError(f"A project has at most {MOST} open links. Withdraw unneeded ones.")
    return issue(project, user, page, days)


def issue(project: Project, user: User, page: SharedPage, days: int = USUAL) -> tuple[Share, str]:
    """Create a link without checks. Return it and its secret, which is not stored."""
    secret = secrets.token_urlsafe(BYTES)
    made = Share.objects.create(
        project=project,
        kind=page.kind,
        path=page.path,
        query=page.query,
        title=page.title[:200],
        hash=hash_secret(secret),
        made_by=user,
        expires_at=timezone.now() + timedelta(days=days),
    )
    return made, secret


def hash_secret(secret: str) -> str:
    """Return the secret's hash; a plain hash is enough, because the secret is random and long."""
    return sha256(secret.encode()).hexdigest()


def find_open_share(secret: str) -> Share | None:
    """Return the link of this secret, if it is open and its creator may still share pages of the project."""
    related = ("project__organisation", "made_by")
    found = Share.objects.open().filter(hash=hash_secret(secret)).select_related(*related).first()
    if found is None or found.made_by is None or not found.made_by.is_active:
        return None
    return found if has_permission(found.made_by, Action.LAUNCH, found.project) else None


def count(share: Share) -> None:
    """Record that the link was opened."""
    Share.objects.filter(pk=share.pk).update(opened=F("opened") + 1, opened_at=timezone.now())


def withdraw(share: Share, why: str = "") -> None:
    """Withdraw a link; it stays in the list, with `why` if no user withdrew it."""
    if Share.objects.filter(pk=share.pk, withdrawn_at=None).update(withdrawn_at=timezone.now(), why=why):
        audit.note(None, "withdrew", share, share.project.organisation)
