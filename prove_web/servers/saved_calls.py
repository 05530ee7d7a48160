"""Calls that a team keeps under names: kept, renamed, each name once for a tool."""

from __future__ import annotations

from django.db import IntegrityError, transaction

from prove_web.accounts.models import Organisation, User

from .models import SavedCall, SessionCall

LONGEST = 80
NAMED = f"Enter a name of 1 to {LONGEST} characters."


class NotSaved(ValueError):
    """A call that is not kept under this name; the message says why and what to do."""


def save(organisation: Organisation, user: User, call: SessionCall, name: str) -> SavedCall:
    """Raises NotSaved."""
    if not (name := tidy(name)):
        raise NotSaved(f"Call not saved. {NAMED}")
    known = {"tool": call.tool, "arguments": call.arguments}
    try:
        with transaction.atomic():
            return SavedCall.objects.create(organisation=organisation, name=name, made_by=user, **known)
    except IntegrityError:
        raise taken(call.tool, name) from None


def rename(saved: SavedCall, name: str) -> str:
    """The name that it has now. Raises NotSaved."""
    if not (name := tidy(name)):
        raise NotSaved(f"“{saved.name}” was not renamed. {NAMED}")
    try:
        with transaction.atomic():
            SavedCall.objects.filter(pk=saved.pk).update(name=name)
    except IntegrityError:
        raise taken(saved.tool, name) from None
    return name


def tidy(name: str) -> str:
    """The name that was given; empty for none that can be kept."""
    name = " ".join(name.split())
    return name if len(name) <= LONGEST and "\0" not in name else ""


def taken(tool: str, name: str) -> NotSaved:
    return NotSaved(f"A saved call of {tool} named “{name}” already exists. Choose another name.")
