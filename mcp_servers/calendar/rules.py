"""When the calendar refuses: what is over, cancelled, somebody else's, read-only, past or in the way."""

from __future__ import annotations

from collections.abc import Iterable
from datetime import datetime, timedelta

from ..kit import ToolError, minute_text
from .state import Agenda, Calendar, CalendarId, Event, EventId
from .views import organizer_of

FURTHEST = timedelta(days=730)


def live_event(agenda: Agenda, id: EventId) -> Event:
    """The event, which is still to come. Raises ToolError when it is cancelled, declined or over."""
    event = agenda.events[id]
    if event.status == "cancelled":
        raise ToolError("event_cancelled", f"{id} ({event.title}) is cancelled; create a new event instead.")
    if event.status == "declined":
        raise ToolError("event_declined", f"You declined {id} ({event.title}); accept its invitation first.")
    if not agenda.upcoming(event):
        raise ToolError("event_over", f"{id} ({event.title}) has started or is over; only coming events can change.")
    return event


def own_event(agenda: Agenda, id: EventId) -> Event:
    """The event, which is still to come and the user's to change. Raises ToolError otherwise."""
    event = live_event(agenda, id)
    writable(agenda.calendars[event.calendar])
    if event.organizer != agenda.me:
        raise ToolError(
            "not_the_organizer",
            f"{id} is organized by {organizer_of(agenda, event)}; you can only answer its invitation.",
        )
    return event


def writable(calendar: Calendar) -> Calendar:
    """The calendar, which takes changes. Raises ToolError otherwise."""
    if calendar.read_only:
        raise ToolError("read_only_calendar", f"The {calendar.kind} calendar is read-only; use another calendar.")
    return calendar


def require_future(agenda: Agenda, start: datetime) -> None:
    """Raises ToolError when a moment is past or more than two years ahead."""
    if start <= agenda.now:
        raise ToolError("in_the_past", f"It is {minute_text(agenda.now)} now; choose a later time.")
    if start > agenda.now + FURTHEST:
        raise ToolError("too_far_ahead", f"Choose a time before {minute_text(agenda.now + FURTHEST)}.")


def require_free(
    agenda: Agenda, calendar: CalendarId, starts: Iterable[datetime], duration: int, besides: EventId | None = None
) -> None:
    """Raises ToolError when a confirmed event of the calendar, other than `besides`, takes any of these times."""
    for start in starts:
        for other, event in agenda.between(calendar, start, start + timedelta(minutes=duration)):
            if event.id != besides:
                raise ToolError(
                    "meeting_overlaps",
                    f"{event.title} is from {minute_text(other)} to {minute_text(other + event.length)} in that "
                    "calendar; choose another time.",
                )
