"""Seeded world of the video meetings: one is live or about to begin, others are past or planned."""

from __future__ import annotations

from dataclasses import dataclass, field
from datetime import date, datetime, timedelta
from typing import Any, NamedTuple, TypeVar

from ..core import Draw, derive_row_id
from ..shared.people import EmailAddress, cast, get_start_time
from .state import PLANS, RETENTION, MeetingGuest, MeetingSession, Recording, Studio, VideoMeeting, draw_delay, is_weak

# The titles of seeded meetings.

TOPICS = (
    "billing", "brand", "churn", "cloud", "compliance", "content", "conversion", "delivery", "feedback", "forecast",
    "incident", "inventory", "kitchen", "marketing", "onboarding", "partner", "payroll", "platform", "pricing",
    "privacy", "recruiting", "roadmap", "storage", "strategy", "supplier", "support", "translation", "warehouse",
)  # fmt: skip
FORMS = (
    "briefing call", "catch-up", "check-in", "deep dive", "dry run", "handover", "huddle", "interview", "jam session",
    "panel", "progress call", "rehearsal", "round table", "status call", "stand-up", "walkthrough", "webinar",
)  # fmt: skip
TITLES = tuple(f"{topic} {form}" for topic in TOPICS for form in FORMS)


Id = TypeVar("Id", bound=str)
DURATIONS = (20, 30, 30, 45, 45, 60)
HOURS = range(10, 18)


class Size(NamedTuple):
    """How many meetings a world has; `days` is how far they reach into the past and the future."""

    people: int
    own_ahead: int
    own_past: int
    own_old: int
    others_ahead: int
    others_past: int
    days: int


SIZES = {
    "small": Size(5, 0, 1, 0, 0, 0, days=7),
    "default": Size(20, 14, 14, 4, 12, 14, days=25),
    "large": Size(120, 260, 80, 260, 220, 260, days=200),
}


@dataclass
class Planner:
    """Puts meetings into a new world; no two of the user's begin in one hour, and none lasts longer."""

    studio: Studio
    draw: Draw
    titles: list[str]
    codes: dict[EmailAddress, str]
    hosts: list[EmailAddress]
    taken: dict[tuple[date, int], None] = field(default_factory=dict)

    def moment(self, first: int, last: int, own: bool) -> datetime:
        """Return a full hour from `first` to `last` days from now; an own one is not taken by another own meeting."""
        while True:
            day = self.studio.now + timedelta(days=self.draw.integer(first, last))
            hour = self.draw.choice(HOURS)
            if not own or (day.date(), hour) not in self.taken:
                if own:
                    self.taken[day.date(), hour] = None
                return day.replace(hour=hour)

    def meeting(self, host: EmailAddress, start: datetime, duration: int, **more: Any) -> VideoMeeting:
        table, own = self.studio.meetings, host == self.studio.me
        title = self.titles[len(table) % len(self.titles)]
        meeting = table.put(
            VideoMeeting(
                id=derive_row_id(table, f"{host}/{start}"),
                title=title,
                host=host,
                start=start,
                duration=duration,
                capacity=self.studio.plan if own else self.draw.choice(PLANS) + 4,
                passcode=self.codes[host],
                **more,
            )
        )
        if meeting.started:
            id = derive_row_id(self.studio.sessions, meeting.id)
            self.studio.sessions.put(MeetingSession(id=id, meeting=meeting.id, title=title))
        return meeting

    def invite_people(self, meeting: VideoMeeting, with_user: bool = True, least: int = 1) -> None:
        """Invite people to a meeting; if somebody else hosts it and `with_user` is set, the user is invited first."""
        own = meeting.host == self.studio.me
        others = [row.id for row in self.studio.people if row.id not in (self.studio.me, meeting.host)]
        invited = self.draw.sample(others, self.draw.integer(least, min(5, meeting.capacity - 2)))
        if not own and with_user:
            invited.insert(0, self.studio.me)
        for person in invited:
            delay = draw_delay(self.studio.seed, meeting.id, person) if own else None
            if person == self.studio.me:
                delay = self.draw.integer(0, 3)
            id = derive_row_id(self.studio.guests, f"{meeting.id}/{person}")
            self.studio.guests.put(MeetingGuest(id=id, meeting=meeting.id, person=person, delay=delay))

    def record(self, meeting: VideoMeeting, start: datetime, end: datetime) -> None:
        """Add a recording of some minutes between two moments."""
        length = int((end - start).total_seconds()) // 60
        first = self.draw.integer(0, length // 2)
        begun = start + timedelta(minutes=first)
        self.studio.recordings.put(
            Recording(
                id=derive_row_id(self.studio.recordings, meeting.id),
                meeting=meeting.id,
                title=meeting.title,
                start=begun,
                stop=begun + timedelta(minutes=self.draw.integer(1, length - first)),
                expires=begun + RETENTION,
            )
        )


def seed(seed: int, size: str) -> Studio:
    """Return the video meetings of this seed; `size` is small, default or large."""
    studio, draw, scale = Studio(seed, get_start_time(seed)), Draw("video_meeting", seed, size), SIZES[size]
    if size == "large":
        studio.guests.width = studio.meetings.width = 6
    for person in cast(seed, scale.people):
        studio.people.put(person)
    codes = {row.id: draw_code(draw) for row in studio.people}
    hosts = draw.sample(list(codes)[1:], scale.people // 3)
    planner = Planner(studio, draw, draw.shuffle_items(TITLES), codes, hosts)
    put_present(planner)
    for place in range(scale.own_past + scale.own_old):
        put_own_past(planner, scale.days, old=place >= scale.own_past or (size == "small" and draw.chance(0.4)))
    for place in range(scale.own_ahead):
        start = planner.moment(0, scale.days, own=True)
        planner.invite_people(planner.meeting(studio.me, start, draw.choice(DURATIONS), cancelled=place % 8 == 7))
    for place in range(scale.others_past + scale.others_ahead):
        put_others(planner, scale.days, past=place < scale.others_past)
    return studio


def draw_code(draw: Draw) -> str:
    """Return a passcode that is not easy to guess."""
    while True:
        code = f"{draw.integer(0, 999_999):06d}"
        if not is_weak(code):
            return code


def put_present(planner: Planner) -> None:
    """Add the meetings of this hour: the user hosts a live one, or a coming one and can join some of others."""
    studio, draw = planner.studio, planner.draw
    if draw.chance(0.45):
        start, others = studio.now - timedelta(minutes=draw.integer(5, 10)), [draw.integer(4, 15)]
        planner.invite_people(planner.meeting(studio.me, start, draw.integer(40, 55), started=start), least=2)
    else:
        start, others = studio.now + timedelta(minutes=draw.integer(5, 12)), [-draw.integer(1, 8) for _ in range(3)]
        planner.invite_people(planner.meeting(studio.me, start, draw.integer(20, 45)))
    for minutes in others:
        start = studio.now + timedelta(minutes=minutes)
        planner.invite_people(planner.meeting(draw.choice(planner.hosts), start, draw.integer(35, 60)))
    if len(studio.people) > 10:
        start = studio.now - timedelta(minutes=draw.integer(9, 15))
        planner.invite_people(planner.meeting(draw.choice(planner.hosts), start, draw.integer(35, 60)), with_user=False)


def put_own_past(planner: Planner, days: int, old: bool) -> None:
    """Add a past meeting of the user, usually recorded, sometimes missed; recordings of old ones have expired."""
    studio, draw = planner.studio, planner.draw
    start = planner.moment(-(days + 60), -31, own=True) if old else planner.moment(-min(days, 25), -1, own=True)
    duration = draw.choice(DURATIONS)
    if not old and draw.chance(0.15):
        planner.invite_people(planner.meeting(studio.me, start, duration))
        return
    begun = start + timedelta(minutes=draw.integer(0, 4))
    ended = start + timedelta(minutes=duration + draw.integer(-8, 10))
    meeting = planner.meeting(studio.me, start, duration, started=begun, ended=ended)
    planner.invite_people(meeting)
    if old or draw.chance(0.8):
        planner.record(meeting, begun, ended)


def put_others(planner: Planner, days: int, past: bool) -> None:
    """Add a meeting of somebody else that the user is invited to; half of the past ones were recorded."""
    draw = planner.draw
    host = draw.choice(planner.hosts)
    start = planner.moment(-days, -1, own=False) if past else planner.moment(0, days, own=False)
    meeting = planner.meeting(host, start, draw.choice(DURATIONS))
    planner.invite_people(meeting)
    if past and draw.chance(0.5):
        planner.record(meeting, start, meeting.planned_end)
