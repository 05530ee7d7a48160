"""Live sessions as a topic of sockets."""

from __future__ import annotations

from typing import Any

from prove_web.live.hooks import Topic, topics

from .models import LiveSession, SessionCall


def read_state(session: str) -> dict[str, Any] | None:
    """Return the session's number of calls, its fault injection, and the newest restart of it, if any.

    None if it no longer exists.
    """
    again = LiveSession.objects.filter(parent=session, parent_at=0).order_by("-pk").values_list("pk", flat=True)
    calls = SessionCall.objects.filter(session=session).order_by("-position").values_list("position", flat=True)
    for faults in LiveSession.objects.filter(pk=session).values_list("faults", flat=True):
        return {"calls": calls.first() or 0, "faults": faults, "again": again.first()}
    return None


topics["session"] = Topic("projects__sessions", read_state)
