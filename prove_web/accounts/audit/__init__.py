"""Who did what in a team: an entry for each launch, stop, label, deletion, change of role, invitation and token.

Changes of the models in registry.py are noted by themselves, by django-auditlog. For what is no such change there is
`note`. The actor, the request's number and the address it came from are those of the request at hand; `acting` says
otherwise. What is written with a query of its own (`update`, `bulk_create`) is not seen, and takes a `note`.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from auditlog import get_logentry_model

from .actor import ACTING, Acting

NOTED = 3  # auditlog's number for what changes no row that it watches


def note(actor: Any, action: str, subject: Any, organisation: Any, **details: Any) -> None:
    """Write down that a person did something to a thing, in one word such as "stopped"; at most one query.

    `actor` None means whoever the request at hand is of. `details` are plain values, and hold no secrets; those that
    are pairs, (before, after), are shown as changes.
    """
    changes = {name: list(each) for name, each in details.items() if isinstance(each, tuple) and len(each) == 2}
    rest = {name: each for name, each in details.items() if name not in changes}
    with acting(actor, **rest):
        get_logentry_model().objects.log_create(
            subject, force_log=True, action=NOTED, did=action, changes=changes or None, organisation=organisation
        )


@contextmanager
def acting(actor: Any = None, **details: Any) -> Iterator[None]:
    """What is noted in here is the doing of this person, and has these details beside those around it."""
    around = ACTING.get()
    token = ACTING.set(Acting(actor or around.actor, {**around.details, **details}))
    try:
        yield
    finally:
        ACTING.reset(token)
