"""State of the video meetings: meetings, their guests and the rooms they are in, sessions and recordings."""

from __future__ import annotations

from datetime import date, datetime, timedelta
from functools import cached_property, lru_cache
from typing import Literal, NewType

from ..core import Draw, Entity, Minute, State, Table, table
from ..shared.people import EmailAddress, Person, cast

VideoMeetingId = NewType("VideoMeetingId", str)
MeetingSessionId = NewType("MeetingSessionId", str)
MeetingGuestId = NewType("MeetingGuestId", str)
RecordingId = NewType("RecordingId", str)

Room = Literal["waiting room", "main room", "breakout 1", "breakout 2", "breakout 3"]
Status = Literal["scheduled", "live", "ended", "missed", "cancelled"]

EARLY = timedelta(minutes=15)
OVERTIME = timedelta(minutes=15)
FURTHEST = timedelta(days=365)
RETENTION = timedelta(days=30)
MOST_MINUTES = 240
LONGEST = timedelta(minutes=MOST_MINUTES) + OVERTIME
BREAKOUT_SEATS = 2
PLANS = (4, 5, 6)
DELAYS = (0, 0, 1, 1, 2, 3, 5, 8, None)


class VideoMeeting(Entity):
    """A meeting as planned, and when its host began and ended it; one of somebody else begins as planned."""

    __label__ = "the video meeting {title}"
    id: VideoMeetingId
    title: str
    host: EmailAddress
    start: Minute
    duration: int
    capacity: int
    passcode: str
    started: Minute | None = None
    ended: Minute | None = None
    cancelled: bool = False

    @cached_property
    def planned_end(self) -> datetime:
        return self.start + timedelta(minutes=self.duration)

    @property
    def day(self) -> date:
        """The day it is planned for."""
        return self.start.date()


class MeetingSession(Entity):
    """A meeting of the user that was started: what its host steers while it is live."""

    __label__ = "the live session of {title}"
    id: MeetingSessionId
    meeting: VideoMeetingId
    title: str


class MeetingGuest(Entity):
    """Somebody invited to a meeting.

    To a meeting of the user a guest comes `delay` minutes after it began, or never (None), and waits until moved to a
    room. As a guest the user has `joined`, and is let in `delay` minutes later.
    """

    id: MeetingGuestId
    meeting: VideoMeetingId
    person: EmailAddress
    delay: int | None = None
    room: Room | None = None
    joined: Minute | None = None


class Recording(Entity):
    """What was recorded of a meeting; without a stop it goes on until the meeting ends."""

    __label__ = "the recording of {title}"
    id: RecordingId
    meeting: VideoMeetingId
    title: str
    start: Minute
    stop: Minute | None = None
    expires: Minute


@lru_cache(maxsize=1 << 14)
def draw_delay(seed: int, meeting: VideoMeetingId, person: EmailAddress) -> int | None:
    """Return how many minutes after its beginning somebody comes to a meeting, or None if never."""
    return Draw("delay", seed, meeting, person).choice(DELAYS)


def is_weak(passcode: str) -> bool:
    """Return whether a passcode is easy to guess: a palindrome, or consecutive digits."""
    return passcode == passcode[::-1] or passcode in "0123456789876543210"


@lru_cache(maxsize=1 << 12)
def draw_plan(seed: int) -> int:
    """Return how many people the user's meetings in a world have room for."""
    return Draw("video plan", seed).choice(PLANS)


class Studio(State):
    """The video meetings the user hosts, is invited to or could ask to be invited to."""

    people: Table[EmailAddress, Person] = table("", "person")
    meetings: Table[VideoMeetingId, VideoMeeting] = table("VMTG", "video meeting", index=("host", "day"))
    sessions: Table[MeetingSessionId, MeetingSession] = table("VSES", "session", index=("meeting",))
    guests: Table[MeetingGuestId, MeetingGuest] = table("VGST", "guest", index=("meeting", "person"))
    recordings: Table[RecordingId, Recording] = table("VREC", "recording", index=("meeting",))

    @property
    def me(self) -> EmailAddress:
        """The user's id."""
        return cast(self.seed, 1)[0].id

    @property
    def plan(self) -> int:
        """How many people the user's meetings have room for, the user included."""
        return draw_plan(self.seed)

    def get_actual_start(self, meeting: VideoMeeting) -> datetime | None:
        """Return when a meeting began, or None if it has not; those of others begin as planned."""
        if meeting.cancelled:
            return None
        if meeting.host != self.me:
            return meeting.start if meeting.start <= self.now else None
        return meeting.started

    def get_actual_end(self, meeting: VideoMeeting) -> datetime:
        """Return when a meeting ended, or when it ends if nobody ends it earlier."""
        if meeting.ended is not None:
            return meeting.ended
        return meeting.planned_end + OVERTIME if meeting.host == self.me else meeting.planned_end

    def status(self, meeting: VideoMeeting) -> Status:
        if meeting.cancelled:
            return "cancelled"
        if self.get_actual_start(meeting) is None:
            return "scheduled" if self.now < meeting.planned_end else "missed"
        return "live" if self.now < self.get_actual_end(meeting) else "ended"

    def guest(self, meeting: VideoMeetingId, person: EmailAddress) -> MeetingGuest | None:
        found = self.guests.where(meeting=meeting, person=person)
        return found[0] if found else None

    def room(self, guest: MeetingGuest) -> Room | None:
        """Return where a guest is now, or None if the meeting is not live or the guest is not there."""
        meeting = self.meetings[guest.meeting]
        return self.room_in(meeting, guest) if self.status(meeting) == "live" else None

    def room_in(self, meeting: VideoMeeting, guest: MeetingGuest) -> Room | None:
        """Return where a guest of a live meeting is now, or None if the guest is not there."""
        me = self.me
        if meeting.host != me:
            return self.room_of_user(guest) if guest.person == me else "main room"
        if guest.room is not None or guest.delay is None or meeting.started is None:
            return guest.room
        return "waiting room" if self.now >= meeting.started + timedelta(minutes=guest.delay) else None

    def room_of_user(self, guest: MeetingGuest) -> Room | None:
        """Return where the user is in a live meeting of somebody else, or None if the user has not joined."""
        if guest.joined is None:
            return None
        let_in = guest.joined + timedelta(minutes=guest.delay or 0)
        return "main room" if self.now >= let_in else "waiting room"

    def find_current_meeting(self) -> VideoMeeting | None:
        """Return the live meeting that the user is in as host or guest, if there is one."""
        me, days = self.me, dict.fromkeys([(self.now - LONGEST).date(), (self.now + EARLY).date()])
        hosted = [row for day in days for row in self.meetings.where(day=day, host=me)]
        joined = [self.meetings[row.meeting] for row in self.guests.where(person=me) if row.joined is not None]
        return next((row for row in [*hosted, *joined] if self.status(row) == "live"), None)

    def find_running_recording(self, meeting: VideoMeetingId) -> Recording | None:
        """Return the recording that is in progress in a live meeting, if there is one."""
        if self.status(self.meetings[meeting]) != "live":
            return None
        return next((row for row in self.recordings.where(meeting=meeting) if row.stop is None), None)

    def get_recording_end(self, recording: Recording) -> datetime:
        """Return when a recording stopped, or when it stops at the latest."""
        return recording.stop or self.get_actual_end(self.meetings[recording.meeting])
