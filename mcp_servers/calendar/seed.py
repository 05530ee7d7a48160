"""Initial state of the calendar: contacts, events, series and invitations."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from datetime import datetime, timedelta

from ..core import Draw
from ..shared.people import EmailAddress, cast, get_start_time
from .state import (
    ONE_DAY,
    Agenda,
    Answer,
    Calendar,
    CalendarId,
    Event,
    EventId,
    Frequency,
    Invitation,
    Series,
    SeriesId,
    Status,
    occurrences,
)

TOPICS = (
    "budget", "client", "data", "design", "finance", "hiring", "launch", "market", "press", "product", "project",
    "quality", "safety", "sales", "security", "sprint",
)  # fmt: skip
FORMS = ("briefing", "check", "demo", "forum", "meeting", "planning", "review", "session", "sync", "training", "update")
TITLES = tuple(f"{topic} {form}" for topic in TOPICS for form in FORMS)
HOLIDAYS = ("spring holiday", "labour day", "founders day", "harvest day", "winter holiday", "unity day")
PLACES = ("room 1", "room 2", "room 3", "main hall", "lab", "video call")
SLOT_HOURS = (8, 10, 12, 14, 16, 18)
LENGTHS = ((0, 30), (0, 45), (0, 60), (0, 90), (0, 120), (30, 30), (30, 60), (30, 90))


@dataclass(frozen=True)
class Size:
    """How many of each a world begins with; `days` is how far its events reach into the future and the past."""

    contacts: int
    calendars: tuple[str, ...]
    events: int
    past: int
    series: int
    invited: int
    holidays: int
    days: int


SIZES = {
    "small": Size(5, ("work", "personal"), 4, 0, 1, 2, 1, 12),
    "default": Size(20, ("work", "personal", "family"), 34, 8, 5, 8, 5, 42),
    "large": Size(250, ("work", "personal", "family", "team"), 1500, 350, 50, 100, 12, 182),
}


@dataclass
class Planner:
    """Puts events into a new world, no two of a calendar into one slot of two hours."""

    agenda: Agenda
    draw: Draw
    size: Size
    titles: list[str]
    contacts: tuple[EmailAddress, ...]
    taken: dict[tuple[CalendarId, datetime], None] = field(default_factory=dict)

    def title(self) -> str:
        """Return the next title; no title repeats before all have been used."""
        title = self.titles.pop(0)
        self.titles.append(title)
        return title

    def moment(self, first: int, last: int) -> datetime:
        """Return the start of a slot on a weekday, `first` to `last` days from now."""
        while True:
            day = self.agenda.now + timedelta(days=self.draw.integer(first, last))
            if day.weekday() < 5:
                return day.replace(hour=self.draw.choice(SLOT_HOURS))

    def take_free_slot(self, calendar: CalendarId, first: int, last: int) -> datetime:
        """Return a free slot of the calendar and mark it as taken."""
        slot = self.moment(first, last)
        while (calendar, slot) in self.taken:
            slot = self.moment(first, last)
        self.taken[calendar, slot] = None
        return slot

    def event(self, calendar: CalendarId, slot: datetime, organizer: EmailAddress, series: SeriesId | None) -> Event:
        minute, duration = self.draw.choice(LENGTHS)
        return Event(
            id=self.agenda.events.new_id(),
            calendar=calendar,
            title=self.title(),
            start=slot.replace(minute=minute),
            duration=duration,
            status="confirmed",
            organizer=organizer,
            location=self.draw.choice(PLACES) if self.draw.chance(0.6) else None,
            series=series,
        )

    def invite(self, event: EventId, invitee: EmailAddress, answer: Answer, expires: datetime) -> None:
        table = self.agenda.invitations
        table.put(Invitation(id=table.new_id(), event=event, invitee=invitee, answer=answer, expires=expires))


def seed(seed: int, size: str) -> Agenda:
    """Return the calendar of a seed; sizes are small, default and large."""
    draw, plan = Draw("calendar", seed), SIZES[size]
    agenda = Agenda(seed, get_start_time(seed))
    if size == "large":
        agenda.events.width = agenda.invitations.width = 6
    for person in cast(seed, plan.contacts + 1)[1:]:
        agenda.contacts.put(person)
    titles = draw.sample(TITLES, plan.events + plan.past + plan.series + plan.invited)
    planner = Planner(agenda, draw, plan, titles, tuple(row.id for row in agenda.contacts))
    own = [
        agenda.calendars.put(Calendar(id=agenda.calendars.new_id(), kind=kind, read_only=False)).id
        for kind in plan.calendars
    ]
    add_holidays(planner)
    for _ in range(plan.series):
        add_series(planner, draw.choice(own))
    for place in range(plan.events + plan.past):
        add_event(planner, draw.choice(own), past=place >= plan.events)
    for place in range(plan.invited):
        add_invitation(planner, own[0], settled=size != "small" and place % 2 == 1)
    return agenda


def add_holidays(planner: Planner) -> None:
    """Add a read-only calendar with public holidays, each on a different day."""
    agenda, days = planner.agenda, planner.size.days
    calendar = agenda.calendars.put(Calendar(id=agenda.calendars.new_id(), kind="holidays", read_only=True))
    offsets = planner.draw.sample(range(days // 2, 2 * days), planner.size.holidays)
    for place, offset in enumerate(sorted(offsets)):
        agenda.events.put(
            Event(
                id=agenda.events.new_id(),
                calendar=calendar.id,
                title=HOLIDAYS[(place + agenda.seed) % len(HOLIDAYS)],
                start=agenda.now.replace(hour=0) + timedelta(days=offset),
                duration=1440,
                status="confirmed",
            )
        )


def add_series(planner: Planner, calendar: CalendarId) -> None:
    """Add an event that starts in the coming days and repeats for some weeks or months."""
    agenda, draw = planner.agenda, planner.draw
    frequency: Frequency = draw.choose_weighted(("weekly", "monthly"), (4, 1))
    count = draw.integer(4, 10)
    slot, clash = agenda.now, True
    while clash:
        slot = planner.moment(1, max(7, planner.size.days // 3))
        slots = occurrences(slot, frequency, count).values()
        clash = any((calendar, one) in planner.taken for one in slots)
    planner.taken |= {(calendar, one): None for one in occurrences(slot, frequency, count).values()}
    id = agenda.series.new_id()
    event = agenda.events.put(planner.event(calendar, slot, agenda.me, id))
    agenda.series.put(Series(id=id, event=event.id, frequency=frequency, count=count))
    invite_some(planner, event)


def add_event(planner: Planner, calendar: CalendarId, past: bool) -> None:
    """Add an event of the user with some of the contacts."""
    agenda, days = planner.agenda, planner.size.days
    slot = planner.take_free_slot(calendar, -days, -1) if past else planner.take_free_slot(calendar, 1, days)
    invite_some(planner, agenda.events.put(planner.event(calendar, slot, agenda.me, None)))


def invite_some(planner: Planner, event: Event) -> None:
    """Invite one to four contacts to an event; most of them have answered."""
    draw = planner.draw
    for contact in draw.sample(planner.contacts, draw.choose_weighted((1, 2, 3, 4), (2, 4, 3, 1))):
        answer: Answer = draw.choose_weighted(("pending", "accepted", "declined", "tentative"), (4, 4, 1, 1))
        planner.invite(event.id, contact, answer, event.start)


def add_invitation(planner: Planner, calendar: CalendarId, settled: bool) -> None:
    """Add another person's event that the user is invited to and may have answered; one in eight has expired."""
    agenda, draw = planner.agenda, planner.draw
    accepted = settled and draw.chance(0.5)
    days = (2, planner.size.days)
    slot = planner.take_free_slot(calendar, *days) if accepted else planner.moment(*days)
    event = planner.event(calendar, slot, draw.choice(planner.contacts), None)
    answer: Answer = "accepted" if accepted else "declined" if settled else "pending"
    status: Status = "confirmed" if accepted else "declined" if settled else "tentative"
    agenda.events.put(replace(event, status=status))
    expires = agenda.now - 2 * ONE_DAY if draw.chance(0.125) else event.start - ONE_DAY
    planner.invite(event.id, agenda.me, answer, expires.replace(hour=18, minute=0))
