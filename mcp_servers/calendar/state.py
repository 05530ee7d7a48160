"""What a calendar service knows: calendars, contacts, events, the rules of series, invitations."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import date, datetime, timedelta
from typing import Literal, NewType

from ..kit import Day, Entity, Minute, State, Table, table
from ..people import EmailAddress, Person, cast
from .recurrence import Frequency, occurrences

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

    @property
    def day(self) -> date | None:
        """The day an event that does not repeat begins on."""
        return self.start.date() if self.series is None else None

    @property
    def words(self) -> tuple[str, ...]:
        """The words of its title, each once."""
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
    events: Table[EventId, Event] = table("EVT", "event", index=("day", "words"))
    series: Table[SeriesId, Series] = table("SER", "series")
    invitations: Table[InvitationId, Invitation] = table("INV", "invitation", index=("event", "invitee"))

    @property
    def me(self) -> EmailAddress:
        """The user."""
        return cast(self.seed, 1)[0].id

    def planned(self, event: Event) -> dict[date, datetime]:
        """The starts of an event by day, in order, without the days that are skipped."""
        if event.series is None:
            return {event.start.date(): event.start}
        rule = self.series[event.series]
        found = occurrences(event.start, rule.frequency, rule.count)
        return {day: start for day, start in found.items() if day not in rule.skipped}

    def upcoming(self, event: Event) -> list[datetime]:
        """The starts of an event that are still to come."""
        return [start for start in self.planned(event).values() if start > self.now]

    def on(self, day: date) -> Iterator[tuple[datetime, Event]]:
        """The confirmed events that begin on a day, each with its start there."""
        for event in self.events.where(day=day, status="confirmed"):
            yield event.start, event
        for rule in self.series:
            event = self.events[rule.event]
            start = occurrences(event.start, rule.frequency, rule.count).get(day)
            if start is not None and event.status == "confirmed" and day not in rule.skipped:
                yield start, event

    def between(self, calendar: CalendarId, start: datetime, end: datetime) -> list[tuple[datetime, Event]]:
        """The confirmed events of a calendar that take any of this time, by start. None exceeds a day."""
        days = range(start.toordinal() - 1, end.toordinal() + 1)
        found = [pair for day in days for pair in self.on(date.fromordinal(day)) if pair[1].calendar == calendar]
        return sorted(
            (pair for pair in found if pair[0] < end and start < pair[0] + pair[1].length),
            key=lambda pair: (pair[0], pair[1].id),
        )


def words_of(text: str) -> tuple[str, ...]:
    """The words of a text in small letters, each once."""
    return tuple(dict.fromkeys(text.casefold().split()))
