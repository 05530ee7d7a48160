"""Saved calls of a team: saved, renamed, with unique names for each tool."""

from __future__ import annotations

from django.db import IntegrityError, transaction

from prove_web.accounts.models import Organisation, User

from .models import SavedCall, SessionCall

LONGEST = 80
NAMED = f"Enter a name of 1 to {LONGEST} characters."


class NotSaved(ValueError):
    """Error of a call that can't be saved under this name; the message says why and what to do."""


def save(organisation: Organisation, user: User, call: SessionCall, name: str) -> SavedCall:
    """Save a call under a name. Raises NotSaved."""
    if not (name := normalise_call_name(name)):
        raise NotSaved(f"Call not saved. {NAMED}")
    known = {"tool": call.tool, "arguments": call.arguments}
    try:
        with transaction.atomic():
            return SavedCall.objects.create(organisation=organisation, name=name, made_by=user, **known)
    except IntegrityError:
        raise build_duplicate_error(call.tool, name) from None


def rename(saved: SavedCall, name: str) -> str:
    """Rename a saved call. Return its new name. Raises NotSaved."""
    if not (name := normalise_call_name(name)):
        raise NotSaved(f"“{saved.name}” was not renamed. {NAMED}")
    try:
        with transaction.atomic():
            SavedCall.objects.filter(pk=saved.pk).update(name=name)
    except IntegrityError:
        raise build_duplicate_error(saved.tool, name) from None
    return name


def normalise_call_name(name: str) -> str:
    """Normalise a name; empty if it can't be stored."""
    name = " ".join(name.split())
    return name if len(name) <= LONGEST and "\0" not in name else ""


def build_duplicate_error(tool: str, name: str) -> NotSaved:
    return NotSaved(f"A saved call of {tool} named “{name}” already exists. Choose another name.")
