"""Share links: made once and shown once, found by their hash, good until they expire or are withdrawn."""

from __future__ import annotations

import secrets
from datetime import timedelta
from hashlib import sha256

from django.db.models import F
from django.utils import timezone

from prove_web.accounts import audit
from prove_web.accounts.models import Project, User
from prove_web.accounts.permissions import Action, can

from .models import Share
from .share_scope import SharedPage

BYTES = 32
DAYS = {1: "1 day", 7: "7 days", 30: "30 days", 90: "90 days"}
USUAL = 30
MOST = 500  # links of a project that are open


class ShareLinkError(ValueError):
    """A link that is not made; the message says why and what to do."""


def make(project: Project, user: User, shown: SharedPage, days: int) -> tuple[Share, str]:
    """A new link that somebody asked for, and its secret. Raises NotMade."""
    if days not in DAYS:
        raise ShareLinkError(f"Choose when the link expires: {', '.join(DAYS.values())}.")
    if Share.objects.open().filter(project=project).count() >= MOST:
        raise ShareLinkError(f"A project has at most {MOST} open links. Withdraw unneeded ones.")
    return issue(project, user, shown, days)


def issue(project: Project, user: User, shown: SharedPage, days: int = USUAL) -> tuple[Share, str]:
    """A new link to a thing, and its secret, which is kept nowhere."""
    secret = secrets.token_urlsafe(BYTES)
    made = Share.objects.create(
        project=project,
        kind=shown.kind,
        path=shown.path,
        query=shown.query,
        title=shown.title[:200],
        hash=hashed(secret),
        made_by=user,
        expires_at=timezone.now() + timedelta(days=days),
    )
    return made, secret


def hashed(secret: str) -> str:
    """A plain hash is enough: the secret is random and long."""
    return sha256(secret.encode()).hexdigest()


def admitted(secret: str) -> Share | None:
    """The link of this secret, as long as it lets somebody in and its maker may share what is in this project."""
    related = ("project__organisation", "made_by")
    found = Share.objects.open().filter(hash=hashed(secret)).select_related(*related).first()
    if found is None or found.made_by is None or not found.made_by.is_active:
        return None
    return found if can(found.made_by, Action.LAUNCH, found.project) else None


def count(share: Share) -> None:
    """That it was opened once more."""
    Share.objects.filter(pk=share.pk).update(opened=F("opened") + 1, opened_at=timezone.now())


def withdraw(share: Share, why: str = "") -> None:
    """Let nobody in by it any more; it stays in the list, with `why` where it was nobody's choice."""
    if Share.objects.filter(pk=share.pk, withdrawn_at=None).update(withdrawn_at=timezone.now(), why=why):
        audit.note(None, "withdrew", share, share.project.organisation)
