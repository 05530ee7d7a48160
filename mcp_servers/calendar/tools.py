"""The server object of the calendar, its parameter types and its tools."""

from __future__ import annotations

from collections.abc import Iterable
from datetime import date, datetime, time, timedelta
from itertools import islice
from typing import Annotated, Literal

from pydantic import Field

from ..core import Day, Minute, ObservedField, Server, ToolError, minute_text
from ..shared.people import EmailAddress, Person
from .seed import seed
from .state import (
    Agenda,
    Answer,
    Calendar,
    CalendarId,
    Event,
    EventId,
    Frequency,
    Invitation,
    InvitationId,
    Series,
    SeriesId,
    Status,
    occurrences,
    words_of,
)
from .views import (
    Attendance,
    EventDetails,
    EventLine,
    EventState,
    InvitationAnswer,
    InvitationLine,
    Reminders,
    SeriesView,
    Slot,
    attendees_of,
    details_of,
    line_of,
    organizer_of,
    series_of,
    state_of,
)

server = Server("calendar", "Manage calendars, events, recurring events, invitations and reminders.", seed)


TITLES = [
    "annual dinner", "board lunch", "book club", "car service", "choir concert", "dentist visit", "flat viewing",
    "garden party", "guitar lesson", "museum tour", "piano recital", "school play", "staff breakfast",
    "tax appointment", "team lunch", "theatre evening", "vendor call", "wine tasting", "yoga class", "zoo trip",
]  # fmt: skip
LOCATIONS = [
    "cafe Luna", "city library", "east wing", "garden hall", "office kitchen", "park pavilion", "rooftop", "room 12",
    "room 27", "sports centre", "studio 5", "town hall",
]  # fmt: skip
ROWS = 5

CalendarRef = Annotated[CalendarId, Field(description="Id of one of your calendars")]
EventRef = Annotated[EventId, Field(description="Id of an event")]
SeriesRef = Annotated[SeriesId, Field(description="Id of a series, the rule of a recurring event")]
InvitationRef = Annotated[InvitationId, Field(description="Id of an invitation you got")]
AttendeeRef = Annotated[EmailAddress, Field(description="Id of a contact, an e-mail address")]

Title = Annotated[str, Field(max_length=80, pattern=r"\S", description="Title of the event", examples=TITLES)]
Location = Annotated[
    str | None, Field(max_length=80, pattern=r"\S", description="Where it takes place", examples=LOCATIONS)
]
Start = Annotated[Minute, Field(description="Start, to the minute, such as 2026-03-05T10:00:00Z")]
Duration = Annotated[
    int,
    Field(ge=5, le=480, description="Duration in minutes", examples=[15, 20, 25, 30, 40, 45, 50, 60, 75, 90, 105, 120]),
]
OnDay = Annotated[Day, Field(description="Day, such as 2026-03-05")]
Repeats = Annotated[Frequency, Field(description="How often it repeats")]
Count = Annotated[int, Field(ge=2, le=52, description="How many times", examples=[4, 5, 6, 7, 8, 9, 10, 12])]
Number = Annotated[
    int, Field(ge=1, le=52, description="Which occurrence, 1 for the first", examples=[1, 2, 2, 3, 3, 4, 4, 5, 6])
]
Minutes = Annotated[
    int,
    Field(
        ge=1,
        le=20160,
        description="How many minutes before the start",
        examples=[5, 10, 15, 20, 25, 30, 45, 60, 90, 120, 180, 240, 360, 720],
    ),
]
Response = Annotated[Literal["accept", "decline", "tentative"], Field(description="Your answer")]

Query = Annotated[str, Field(max_length=80, pattern=r"\S", description="Words of the title"), ObservedField("title")]
NameParam = Annotated[
    str | None,
    Field(max_length=60, pattern=r"\S", description="Name of the contact, or a part of it"),
    ObservedField("name"),
]
CalendarParam = Annotated[CalendarId | None, Field(description="Only events of this calendar id")]
AnswerParam = Annotated[
    Literal["pending", "accepted", "declined", "tentative"] | None,
    Field(description="Only invitations with this answer"),
]
Since = Annotated[Day | None, Field(description="First day, such as 2026-03-05; from now on by default")]
Until = Annotated[Day | None, Field(description="Last day, such as 2026-03-05; four weeks by default")]
Limit = Annotated[int, Field(ge=1, le=50, description="Most rows to return", examples=[1, 2, 3, 4, 6, 8, 10, 15, 20])]


# Checks that raise ToolError: events over, cancelled or of others; read-only calendars; past or occupied times.

FURTHEST = timedelta(days=730)


def live_event(agenda: Agenda, id: EventId) -> Event:
    """Return the event, if it is still to come. Raises ToolError when it is cancelled, declined or over."""
    event = agenda.events[id]
    if event.status == "cancelled":
        raise ToolError("event_cancelled", f"{id} ({event.title}) is cancelled; create a new event instead.")
    if event.status == "declined":
        raise ToolError("event_declined", f"You declined {id} ({event.title}); accept its invitation first.")
    if not agenda.list_upcoming_starts(event):
        raise ToolError("event_over", f"{id} ({event.title}) has started or is over; only coming events can change.")
    return event


def own_event(agenda: Agenda, id: EventId) -> Event:
    """Return the event, if it is still to come and the user may change it. Raises ToolError otherwise."""
    event = live_event(agenda, id)
    writable(agenda.calendars[event.calendar])
    if event.organizer != agenda.me:
        raise ToolError(
            "not_the_organizer",
            f"{id} is organized by {organizer_of(agenda, event)}; you can only answer its invitation.",
        )
    return event


def writable(calendar: Calendar) -> Calendar:
    """Return the calendar, if it can be changed. Raises ToolError when it is read-only."""
    if calendar.read_only:
        raise ToolError("read_only_calendar", f"The {calendar.kind} calendar is read-only; use another calendar.")
    return calendar


def require_future(agenda: Agenda, start: datetime) -> None:
    """Raise ToolError when a moment is past or more than two years ahead."""
    if start <= agenda.now:
        raise ToolError("in_the_past", f"It is {minute_text(agenda.now)} now; choose a later time.")
    if start > agenda.now + FURTHEST:
        raise ToolError("too_far_ahead", f"Choose a time before {minute_text(agenda.now + FURTHEST)}.")


def require_free(
    agenda: Agenda, calendar: CalendarId, starts: Iterable[datetime], duration: int, besides: EventId | None = None
) -> None:
    """Raise ToolError when a confirmed event of the calendar, other than `besides`, overlaps any of these times."""
    for start in starts:
        for other, event in agenda.list_events_between(calendar, start, start + timedelta(minutes=duration)):
            if event.id != besides:
                raise ToolError(
                    "meeting_overlaps",
                    f"{event.title} is from {minute_text(other)} to {minute_text(other + event.length)} in that "
                    "calendar; choose another time.",
                )


# Read tools: calendars, contacts, events.

USUAL_DAYS, MOST_DAYS = 28, 366


@server.read()
def list_calendars(agenda: Agenda) -> tuple[Calendar, ...]:
    """List your calendars."""
    return tuple(agenda.calendars)


@server.read()
def find_contacts(agenda: Agenda, name: NameParam = None, limit: Limit = ROWS) -> tuple[Person, ...]:
    """Find the contacts you can invite, all or by name."""
    wanted = (name or "").strip().casefold()
    return tuple(islice((row for row in agenda.contacts if wanted in row.name.casefold()), limit))


@server.read()
def list_events(
    agenda: Agenda, calendar: CalendarParam = None, since: Since = None, until: Until = None, limit: Limit = ROWS
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
    return tuple(EventLine.from_row(event, start=start) for start, event in islice(found, limit))


@server.read()
def search_events(agenda: Agenda, query: Query, limit: Limit = ROWS) -> tuple[EventLine, ...]:
    """Search events, past ones too, by words of the title."""
    first, *rest = words_of(query)
    found = agenda.events.where(words=first, status="confirmed")
    rows = [row for row in found if all(word in row.words for word in rest)]
    rows.sort(key=lambda row: (row.start, row.id))
    return tuple(EventLine.from_row(row) for row in rows[:limit])


@server.read()
def get_event(agenda: Agenda, event: EventRef) -> EventDetails:
    """Get everything about one event: attendees, place, reminders, series."""
    return details_of(agenda, agenda.events[event])


# Tools that change events: create, reschedule, rename, cancel, set reminders.

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
    start = agenda.list_upcoming_starts(row)[0]
    if start - timedelta(minutes=minutes) <= agenda.now:
        raise ToolError(
            "reminder_too_late", f"{event} starts at {minute_text(start)}; that reminder would be in the past."
        )
    row = agenda.events.change(event, reminders=tuple(sorted((*row.reminders, minutes))))
    return Reminders.from_row(row)


# Tools for attendees of the user's events, and for invitations to the user.

OUTCOMES: dict[str, tuple[Answer, Status]] = {
    "accept": ("accepted", "confirmed"),
    "decline": ("declined", "declined"),
    "tentative": ("tentative", "tentative"),
}


@server.write(idempotent=True)
def invite_attendee(agenda: Agenda, event: EventRef, attendee: AttendeeRef) -> Attendance:
    """Invite a contact to your event."""
    row, person = own_event(agenda, event), agenda.contacts[attendee]
    if agenda.invitations.where(event=event, invitee=attendee):
        raise ToolError("already_invited", f"{person.name} is invited to {event} already; invite somebody else.")
    agenda.invitations.put(
        Invitation(
            id=agenda.invitations.new_id(),
            event=event,
            invitee=attendee,
            answer="pending",
            expires=agenda.list_upcoming_starts(row)[0],
        )
    )
    return attendance(agenda, row)


@server.write(idempotent=True)
def remove_attendee(agenda: Agenda, event: EventRef, attendee: AttendeeRef) -> Attendance:
    """Remove an attendee from your event."""
    row, person = own_event(agenda, event), agenda.contacts[attendee]
    found = agenda.invitations.where(event=event, invitee=attendee)
    if not found:
        raise ToolError("not_invited", f"{person.name} is not invited to {event}; get_event tells who is.")
    agenda.invitations.remove(found[0].id)
    return attendance(agenda, row)


def attendance(agenda: Agenda, event: Event) -> Attendance:
    return Attendance(id=event.id, title=event.title, attendees=attendees_of(agenda, event))


@server.read()
def list_invitations(agenda: Agenda, answer: AnswerParam = None, limit: Limit = ROWS) -> tuple[InvitationLine, ...]:
    """List the invitations you got, by start."""
    rows = [row for row in agenda.invitations.where(invitee=agenda.me) if answer in (None, row.answer)]
    rows.sort(key=lambda row: (agenda.events[row.event].start, row.id))
    return tuple(line_of(agenda, row) for row in rows[:limit])


@server.write(idempotent=True)
def respond_to_invitation(agenda: Agenda, invitation: InvitationRef, response: Response) -> InvitationAnswer:
    """Answer an invitation you got."""
    row = agenda.invitations[invitation]
    event, (answer, status) = agenda.events[row.event], OUTCOMES[response]
    if row.invitee != agenda.me:
        raise ToolError("not_your_invitation", f"{invitation} is not for you; list_invitations shows yours.")
    if row.expires <= agenda.now:
        raise ToolError("invitation_expired", f"{invitation} expired at {minute_text(row.expires)}; ask for a new one.")
    if row.answer == answer:
        raise ToolError("already_answered", f"Your answer to {invitation} is {answer} already; give another one.")
    if status == "confirmed":
        require_free(agenda, event.calendar, [event.start], event.duration)
    reminders = () if status == "declined" else event.reminders
    agenda.events.change(event.id, status=status, reminders=reminders)
    agenda.invitations.change(invitation, answer=answer)
    return InvitationAnswer(id=row.id, event=event.id, meeting=event.title, start=event.start, answer=answer)


# Tools for free slots and recurring events.

OPENING, CLOSING = time(8), time(20)


@server.read()
def find_free_slots(agenda: Agenda, calendar: CalendarRef, day: OnDay, duration: Duration) -> tuple[Slot, ...]:
    """Find a day's free time in a calendar, from 8:00 to 20:00."""
    agenda.calendars[calendar]
    closing = datetime.combine(day, CLOSING)
    require_future(agenda, closing)
    free_from, gaps = max(datetime.combine(day, OPENING), agenda.now + timedelta(minutes=1)), []
    for start, event in agenda.list_events_between(calendar, free_from, closing):
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
    if agenda.list_upcoming_starts(event) == [start]:
        raise ToolError("last_occurrence", f"Nothing else is left of {series}; use cancel_event to cancel it.")
    return series_of(agenda, agenda.series.change(series, skipped=tuple(sorted((*rule.skipped, day)))))
