"""Tools on time: free slots, and events that repeat."""

from __future__ import annotations

from datetime import datetime, time, timedelta

from ..kit import ToolError, minute_text
from .parameters import CalendarRef, Count, Duration, Number, OnDay, Repeats, SeriesRef, Start, Title
from .recurrence import occurrences
from .rules import own_event, require_free, require_future
from .server import server
from .state import Agenda, Event, Series
from .views import SeriesView, Slot, series_of

OPENING, CLOSING = time(8), time(20)


@server.read()
def find_free_slots(agenda: Agenda, calendar: CalendarRef, day: OnDay, duration: Duration) -> tuple[Slot, ...]:
    """Find a day's free time in a calendar, from 8:00 to 20:00."""
    agenda.calendars[calendar]
    closing = datetime.combine(day, CLOSING)
    require_future(agenda, closing)
    free_from, gaps = max(datetime.combine(day, OPENING), agenda.now + timedelta(minutes=1)), []
    for start, event in agenda.between(calendar, free_from, closing):
        gaps.append((free_from, start))
        free_from = max(free_from, start + event.length)
    gaps.append((free_from, closing))
    shortest = timedelta(minutes=duration)
    return tuple(Slot(start=start, end=end) for start, end in gaps if end - start >= shortest)


@server.write(idempotent=True)
def create_recurring_event(
    agenda: Agenda, title: Title, start: Start, duration: Duration, frequency: Repeats, count: Count
) -> SeriesView:
    """Create an event that repeats, in your first calendar."""
    calendar = next(row for row in agenda.calendars if not row.read_only)
    require_future(agenda, start)
    require_free(agenda, calendar.id, occurrences(start, frequency, count).values(), duration)
    id = agenda.series.new_id()
    event = agenda.events.put(
        Event(
            id=agenda.events.new_id(),
            calendar=calendar.id,
            title=title,
            start=start,
            duration=duration,
            status="confirmed",
            organizer=agenda.me,
            series=id,
        )
    )
    rule = agenda.series.put(Series(id=id, event=event.id, frequency=frequency, count=count))
    return series_of(agenda, rule)


@server.write(destructive=True, idempotent=True)
def skip_occurrence(agenda: Agenda, series: SeriesRef, number: Number) -> SeriesView:
    """Skip one occurrence of a recurring event."""
    rule = agenda.series[series]
    event = own_event(agenda, rule.event)
    days = list(occurrences(event.start, rule.frequency, rule.count).items())
    if number > len(days):
        raise ToolError("no_such_occurrence", f"{series} has {len(days)} occurrences; choose one of these.")
    day, start = days[number - 1]
    if day in rule.skipped:
        raise ToolError("already_skipped", f"Occurrence {number} on {day} is skipped already; choose another one.")
    if start <= agenda.now:
        raise ToolError("in_the_past", f"Occurrence {number} was at {minute_text(start)}; choose one still to come.")
    if agenda.upcoming(event) == [start]:
        raise ToolError("last_occurrence", f"Nothing else is left of {series}; use cancel_event to cancel it.")
    return series_of(agenda, agenda.series.change(series, skipped=tuple(sorted((*rule.skipped, day)))))
