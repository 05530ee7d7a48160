"""Views of events, series and invitations in tool results: short rows in lists, full details of one event."""

from __future__ import annotations

from ..core import Day, Entity, Minute
from ..shared.people import EmailAddress
from .state import (
    Agenda,
    Answer,
    CalendarId,
    Event,
    EventId,
    Frequency,
    Invitation,
    InvitationId,
    Series,
    SeriesId,
    Status,
)


class EventLine(Entity):
    """An event in a list; one that repeats has a line for each time."""

    __label__ = "the event {title}"
    id: EventId
    title: str
    start: Minute
    duration: int
    series: SeriesId | None = None


class EventState(Entity):
    """An event after a change."""

    __label__ = "the event {title}"
    id: EventId
    title: str
    start: Minute
    duration: int
    status: Status
    location: str | None = None


class Attendee(Entity):
    """Somebody asked to an event, and the answer so far."""

    __label__ = "{name}"
    id: EmailAddress
    name: str
    answer: Answer


class EventDetails(Entity):
    """Everything about an event; reminders are in minutes before its start."""

    __label__ = "the event {title}"
    id: EventId
    title: str
    start: Minute
    duration: int
    status: Status
    calendar: CalendarId
    attendees: tuple[Attendee, ...]
    reminders: tuple[int, ...]
    organizer: str | None = None
    location: str | None = None
    series: SeriesId | None = None
    frequency: Frequency | None = None
    count: int | None = None
    skipped: tuple[Day, ...] | None = None


class Attendance(Entity):
    """Who is asked to an event."""

    __label__ = "the event {title}"
    id: EventId
    title: str
    attendees: tuple[Attendee, ...]


class Reminders(Entity):
    """The reminders of an event, in minutes before its start."""

    __label__ = "the event {title}"
    id: EventId
    title: str
    reminders: tuple[int, ...]


class SeriesView(Entity):
    """An event that repeats, and its rule; `next` is when it takes place next."""

    __label__ = "the series {title}"
    id: SeriesId
    event: EventId
    title: str
    next: Minute
    frequency: Frequency
    count: int
    skipped: tuple[Day, ...]


class InvitationLine(Entity):
    """An invitation of the user in a list."""

    __label__ = "the invitation to the {meeting}"
    id: InvitationId
    meeting: str
    organizer: str
    start: Minute
    expires: Minute
    answer: Answer


class InvitationAnswer(Entity):
    """An invitation after the user's answer."""

    __label__ = "the invitation to the {meeting}"
    id: InvitationId
    event: EventId
    meeting: str
    start: Minute
    answer: Answer


class Slot(Entity):
    """Free time."""

    start: Minute
    end: Minute


def state_of(event: Event) -> EventState:
    return EventState.from_row(event)


def attendees_of(agenda: Agenda, event: Event) -> tuple[Attendee, ...]:
    """Return the contacts invited to an event, in the order of invitation; the user is not included."""
    me = agenda.me
    rows = [row for row in agenda.invitations.where(event=event.id) if row.invitee != me]
    return tuple(Attendee(id=row.invitee, name=agenda.contacts[row.invitee].name, answer=row.answer) for row in rows)


def details_of(agenda: Agenda, event: Event) -> EventDetails:
    rule = None if event.series is None else agenda.series[event.series]
    return EventDetails.from_row(
        event,
        attendees=attendees_of(agenda, event),
        organizer=organizer_of(agenda, event),
        frequency=rule.frequency if rule else None,
        count=rule.count if rule else None,
        skipped=rule.skipped if rule else None,
    )


def organizer_of(agenda: Agenda, event: Event) -> str | None:
    """Return the organizer's name, "you" for the user, or None for a public event."""
    if event.organizer is None:
        return None
    return "you" if event.organizer == agenda.me else agenda.contacts[event.organizer].name


def series_of(agenda: Agenda, rule: Series) -> SeriesView:
    event = agenda.events[rule.event]
    return SeriesView.from_row(rule, event=event.id, title=event.title, next=agenda.list_upcoming_starts(event)[0])


def line_of(agenda: Agenda, row: Invitation) -> InvitationLine:
    event = agenda.events[row.event]
    return InvitationLine.from_row(
        row, meeting=event.title, organizer=organizer_of(agenda, event) or "", start=event.start
    )
