"""Tools that look: calendars, contacts, events."""

from __future__ import annotations

from datetime import date, datetime, time, timedelta
from itertools import islice

from ..kit import ToolError
from ..people import Person
from .parameters import ROWS, AskedCalendar, AskedName, EventRef, Limit, Query, Since, Until
from .server import server
from .state import Agenda, Calendar, words_of
from .views import EventDetails, EventLine, details_of

USUAL_DAYS, MOST_DAYS = 28, 366


@server.read()
def list_calendars(agenda: Agenda) -> tuple[Calendar, ...]:
    """List your calendars."""
    return tuple(agenda.calendars)


@server.read()
def find_contacts(agenda: Agenda, name: AskedName = None, limit: Limit = ROWS) -> tuple[Person, ...]:
    """Find the contacts you can invite, all or by name."""
    wanted = (name or "").strip().casefold()
    return tuple(islice((row for row in agenda.contacts if wanted in row.name.casefold()), limit))


@server.read()
def list_events(
    agenda: Agenda, calendar: AskedCalendar = None, since: Since = None, until: Until = None, limit: Limit = ROWS
) -> tuple[EventLine, ...]:
    """List events by start, from now on unless told otherwise."""
    if calendar is not None:
        agenda.calendars[calendar]
    first = since or agenda.now.date()
    last = until or date.fromordinal(min(first.toordinal() + USUAL_DAYS - 1, date.max.toordinal()))
    if last < first:
        raise ToolError("invalid_period", f"{last} is before {first}; give a first day that comes before the last.")
    if last - first > timedelta(days=MOST_DAYS):
        raise ToolError("period_too_long", f"A list covers up to {MOST_DAYS} days; choose days closer together.")
    earliest = agenda.now if since is None else datetime.combine(first, time())
    calendars = tuple(row.id for row in agenda.calendars if calendar in (None, row.id))
    found = (pair for pair in agenda.timetable(calendars, first, last) if pair[0] >= earliest)
    return tuple(
        EventLine(id=event.id, title=event.title, start=start, duration=event.duration, series=event.series)
        for start, event in islice(found, limit)
    )


@server.read()
def search_events(agenda: Agenda, query: Query, limit: Limit = ROWS) -> tuple[EventLine, ...]:
    """Search events, past ones too, by words of the title."""
    first, *rest = words_of(query)
    found = agenda.events.where(words=first, status="confirmed")
    rows = [row for row in found if all(word in row.words for word in rest)]
    rows.sort(key=lambda row: (row.start, row.id))
    return tuple(
        EventLine(id=row.id, title=row.title, start=row.start, duration=row.duration, series=row.series)
        for row in rows[:limit]
    )


@server.read()
def get_event(agenda: Agenda, event: EventRef) -> EventDetails:
    """Get everything about one event: attendees, place, reminders, series."""
    return details_of(agenda, agenda.events[event])
