"""Audit log of a team: an entry for each launch, stop, label, deletion, role change, invitation and token.

Changes of the models in registry.py are logged automatically, by django-auditlog. For other actions there is `note`.
The actor, the request id and the IP address are those of the current request, unless `override_actor` overrides them.
Direct queries (`update`, `bulk_create`) are not detected, and need a `note`.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from auditlog import get_logentry_model

from .actor import ACTING, ActorOverride

NOTED = 3  # auditlog's number for an action without a change of a registered row


def note(actor: Any, action: str, subject: Any, organisation: Any, **details: Any) -> None:
    """Log that a user did something to a thing, as one word such as "stopped"; at most one query.

    `actor` None means the user of the current request. `details` are plain values without secrets; those that are
    pairs, (before, after), are shown as changes.
    """
    changes = {name: list(each) for name, each in details.items() if isinstance(each, tuple) and len(each) == 2}
    rest = {name: each for name, each in details.items() if name not in changes}
    with override_actor(actor, **rest):
        get_logentry_model().objects.log_create(
            subject, force_log=True, action=NOTED, did=action, changes=changes or None, organisation=organisation
        )


@contextmanager
def override_actor(actor: Any = None, **details: Any) -> Iterator[None]:
    """Log what happens inside as an action of this user, with these details in addition to the outer ones."""
    around = ACTING.get()
    token = ACTING.set(ActorOverride(actor or around.actor, {**around.details, **details}))
    try:
        yield
    finally:
        ACTING.reset(token)
