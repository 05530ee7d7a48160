"""State of a calendar service: calendars, contacts, events, recurrence rules of series, invitations."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from datetime import date, datetime, timedelta
from functools import cached_property, lru_cache
from types import MappingProxyType
from typing import Literal, NewType

from dateutil.rrule import DAILY, MONTHLY, WEEKLY, rrule

from ..core import Day, Entity, Minute, State, Table, table
from ..shared.people import EmailAddress, Person, cast

Frequency = Literal["daily", "weekly", "monthly"]
FREQUENCIES = {"daily": DAILY, "weekly": WEEKLY, "monthly": MONTHLY}


@lru_cache(maxsize=4096)
def occurrences(
    start: datetime, frequency: Frequency, count: int, skipped: tuple[date, ...] = ()
) -> Mapping[date, datetime]:
    """Return the starts of a series by day, in order, without the skipped days.

    Monthly on the 31st leaves out the months without one (RFC 5545).
    """
    starts = rrule(FREQUENCIES[frequency], dtstart=start, count=count)
    return MappingProxyType({day: moment for moment in starts if (day := moment.date()) not in skipped})


CalendarId = NewType("CalendarId", str)
EventId = NewType("EventId", str)
SeriesId = NewType("SeriesId", str)
InvitationId = NewType("InvitationId", str)

Status = Literal["confirmed", "tentative", "declined", "cancelled"]
Answer = Literal["pending", "accepted", "declined", "tentative", "withdrawn"]

ONE_DAY = timedelta(days=1)


class Calendar(Entity):
    """A place for events; nobody plans in a read-only one."""

    __label__ = "the {kind} calendar"
    id: CalendarId
    kind: str
    read_only: bool


class Event(Entity):
    """Something planned, once or, with a series, repeatedly; `start` is then its first one. Minutes throughout.

    An event of somebody else is tentative until the user accepts its invitation; a public one has no organizer.
    """

    __label__ = "the event {title}"
    id: EventId
    calendar: CalendarId
    title: str
    start: Minute
    duration: int
    status: Status
    organizer: EmailAddress | None = None
    location: str | None = None
    reminders: tuple[int, ...] = ()
    series: SeriesId | None = None

    @property
    def length(self) -> timedelta:
        return timedelta(minutes=self.duration)

    @cached_property
    def day(self) -> date | tuple[()]:
        """The day a confirmed event begins on, if it does not repeat."""
        return self.start.date() if self.series is None and self.status == "confirmed" else ()

    @property
    def repeats_in(self) -> CalendarId | tuple[()]:
        """The calendar of a confirmed event, if it repeats."""
        return () if self.series is None or self.status != "confirmed" else self.calendar

    @cached_property
    def words(self) -> tuple[str, ...]:
        """The distinct words of the title."""
        return words_of(self.title)


class Series(Entity):
    """The rule by which an event repeats, and the days of it that are left out."""

    id: SeriesId
    event: EventId
    frequency: Frequency
    count: int
    skipped: tuple[Day, ...] = ()


class Invitation(Entity):
    """Somebody is asked to an event, and may answer until the invitation expires."""

    id: InvitationId
    event: EventId
    invitee: EmailAddress
    answer: Answer
    expires: Minute


class Agenda(State):
    """Everything one user has in the calendar service."""

    calendars: Table[CalendarId, Calendar] = table("CAL", "calendar")
    contacts: Table[EmailAddress, Person] = table("CON", "contact")
    events: Table[EventId, Event] = table("EVT", "event", index=("day", "repeats_in", "words"))
    series: Table[SeriesId, Series] = table("SER", "series")
    invitations: Table[InvitationId, Invitation] = table("INV", "invitation", index=("event", "invitee"))

    @property
    def me(self) -> EmailAddress:
        """The user's email address."""
        return cast(self.seed, 1)[0].id

    def map_starts_by_day(self, event: Event) -> Mapping[date, datetime]:
        """Return the starts of an event by day, in order, without the skipped days."""
        if event.series is None:
            return {event.start.date(): event.start}
        rule = self.series[event.series]
        return occurrences(event.start, rule.frequency, rule.count, rule.skipped)

    def list_upcoming_starts(self, event: Event) -> list[datetime]:
        """Return the starts of an event that are still to come."""
        return [start for start in self.map_starts_by_day(event).values() if start > self.now]

    def timetable(self, calendars: tuple[CalendarId, ...], first: date, last: date) -> Iterator[tuple[datetime, Event]]:
        """Yield the confirmed events of the calendars that begin on these days, by start."""
        repeating = [event for calendar in calendars for event in self.events.where(repeats_in=calendar)]
        planned = [(event, self.map_starts_by_day(event)) for event in repeating]
        for day in map(date.fromordinal, range(first.toordinal(), last.toordinal() + 1)):
            found = [(event.start, event) for event in self.events.where(day=day) if event.calendar in calendars]
            found += [(starts[day], event) for event, starts in planned if day in starts]
            found.sort(key=lambda pair: (pair[0], pair[1].id))
            yield from found

    def list_events_between(self, calendar: CalendarId, start: datetime, end: datetime) -> list[tuple[datetime, Event]]:
        """Return the confirmed events of a calendar that overlap this period, by start. No event exceeds a day."""
        found = self.timetable((calendar,), start.date() - ONE_DAY, end.date())
        return [pair for pair in found if pair[0] < end and start < pair[0] + pair[1].length]


def words_of(text: str) -> tuple[str, ...]:
    """Return the distinct words of a text in lowercase."""
    return tuple(dict.fromkeys(text.casefold().split()))
