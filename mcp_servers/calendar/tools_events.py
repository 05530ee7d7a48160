"""Tools that change events: make, move, rename, cancel, remind."""

from __future__ import annotations

from datetime import timedelta

from ..kit import ToolError, minute_text
from .parameters import CalendarRef, Duration, EventRef, Location, Minutes, Start, Title
from .recurrence import occurrences
from .rules import live_event, own_event, require_free, require_future, writable
from .server import server
from .state import Agenda, Event
from .views import EventState, Reminders, state_of

MOST_REMINDERS = 5


@server.write(idempotent=True)
def create_event(
    agenda: Agenda, calendar: CalendarRef, title: Title, start: Start, duration: Duration, location: Location = None
) -> EventState:
    """Create an event in a calendar."""
    writable(agenda.calendars[calendar])
    require_future(agenda, start)
    require_free(agenda, calendar, [start], duration)
    event = Event(
        id=agenda.events.new_id(),
        calendar=calendar,
        title=title,
        start=start,
        duration=duration,
        status="confirmed",
        organizer=agenda.me,
        location=location,
    )
    return state_of(agenda.events.put(event))


@server.write(idempotent=True)
def reschedule_event(agenda: Agenda, event: EventRef, start: Start) -> EventState:
    """Move an event. Attendees have to answer again."""
    row = own_event(agenda, event)
    require_future(agenda, start)
    if row.start <= agenda.now:
        raise ToolError("series_begun", f"{event} has begun; skip single occurrences, or cancel it and create another.")
    if row.start == start:
        raise ToolError("unchanged", f"{event} already starts at {minute_text(start)}; choose another time.")
    starts = [start]
    if row.series is not None:
        rule = agenda.series.change(row.series, skipped=())
        starts = list(occurrences(start, rule.frequency, rule.count).values())
    require_free(agenda, row.calendar, starts, row.duration, besides=event)
    for invitation in agenda.invitations.where(event=event):
        agenda.invitations.change(invitation.id, answer="pending", expires=start)
    return state_of(agenda.events.change(event, start=start))


@server.write(idempotent=True)
def rename_event(agenda: Agenda, event: EventRef, title: Title) -> EventState:
    """Give an event another title."""
    row = own_event(agenda, event)
    if row.title == title:
        raise ToolError("unchanged", f"{event} already has the title {title}; choose another one.")
    return state_of(agenda.events.change(event, title=title))


@server.write(destructive=True, idempotent=True)
def cancel_event(agenda: Agenda, event: EventRef) -> EventState:
    """Cancel an event for good, with all its occurrences and open invitations."""
    own_event(agenda, event)
    for invitation in agenda.invitations.where(event=event, answer="pending"):
        agenda.invitations.change(invitation.id, answer="withdrawn")
    return state_of(agenda.events.change(event, status="cancelled", reminders=()))


@server.write(idempotent=True)
def set_reminder(agenda: Agenda, event: EventRef, minutes: Minutes) -> Reminders:
    """Set a reminder before an event starts."""
    row = live_event(agenda, event)
    if minutes in row.reminders:
        raise ToolError("reminder_exists", f"{event} has that reminder already; choose another time before it.")
    if len(row.reminders) >= MOST_REMINDERS:
        raise ToolError(
            "too_many_reminders", f"{event} has {MOST_REMINDERS} reminders, which is as many as it can have."
        )
    start = agenda.upcoming(row)[0]
    if start - timedelta(minutes=minutes) <= agenda.now:
        raise ToolError(
            "reminder_too_late", f"{event} starts at {minute_text(start)}; that reminder would be in the past."
        )
    row = agenda.events.change(event, reminders=tuple(sorted((*row.reminders, minutes))))
    return Reminders(id=row.id, title=row.title, reminders=row.reminders)
