"""The server object of the video meetings, its parameter types and its tools."""

from __future__ import annotations

from datetime import date, datetime, timedelta
from functools import lru_cache
from heapq import nsmallest
from typing import Annotated, Literal

from pydantic import Field

from ..core import Day, Draw, Minute, ObservedField, Sensitive, Server, ToolError, minute_text
from ..shared.people import EmailAddress
from .seed import seed
from .state import (
    BREAKOUT_SEATS,
    EARLY,
    FURTHEST,
    MOST_MINUTES,
    RETENTION,
    MeetingGuest,
    MeetingSession,
    MeetingSessionId,
    Recording,
    RecordingId,
    Room,
    Studio,
    VideoMeeting,
    VideoMeetingId,
    draw_delay,
    is_weak,
)
from .views import (
    MeetingDetails,
    MeetingLine,
    RecordingDetails,
    RecordingLine,
    TranscriptLine,
    is_stopped,
    meeting_details,
    meeting_line,
    recording_line,
)

server = Server("video_meeting", "Schedule, hold, join and record video meetings.", seed)


TITLES = [
    "all hands", "brand workshop", "candidate interview", "coaching hour", "customer demo", "design critique",
    "exit interview", "feature walkthrough", "fireside chat", "kickoff call", "lessons learned", "one on one",
    "pairing session", "partner call", "portfolio review", "reading circle", "retrospective", "support clinic",
    "town hall", "virtual coffee",
]  # fmt: skip
PASSCODES = [
    "204857", "318264", "427519", "530948", "641703", "759026", "862145", "903671", "176382", "285490", "394716",
    "508237",
]  # fmt: skip

MeetingRef = Annotated[VideoMeetingId, Field(description="Id of a video meeting")]
OwnMeetingRef = Annotated[VideoMeetingId, Field(description="Id of a video meeting you host")]
SessionRef = Annotated[MeetingSessionId, Field(description="Id of the live session of a meeting you host")]
RecordingRef = Annotated[RecordingId, Field(description="Id of a recording of a video meeting")]
GuestRef = Annotated[EmailAddress, Field(description="Id of a person, an e-mail address")]

Title = Annotated[str, Field(max_length=80, pattern=r"\S", description="Title of the meeting", examples=TITLES)]
Start = Annotated[Minute, Field(description="Start, to the minute, such as 2026-03-05T10:00:00Z")]
DURATIONS = [10, 15, 20, 25, 30, 40, 45, 50, 60, 75, 90, 120]
Duration = Annotated[int, Field(ge=5, le=MOST_MINUTES, description="Duration in minutes", examples=DURATIONS)]
NewDuration = Annotated[
    int | None,
    Field(ge=5, le=MOST_MINUTES, description="New duration in minutes, as it is by default", examples=DURATIONS),
]
NewPasscode = Annotated[
    str,
    Field(pattern=r"^[0-9]{6}$", description="Passcode for the guests, 6 digits", examples=PASSCODES),
    Sensitive(),
]
Passcode = Annotated[str, Field(pattern=r"^[0-9]{6}$", description="Passcode of the meeting, 6 digits"), Sensitive()]
MeetingAction = Annotated[Literal["start", "end", "cancel"], Field(description="What to do")]
RecordingAction = Annotated[Literal["start", "stop"], Field(description="What to do")]
RoomTo = Annotated[Room, Field(description="The room to move them to")]

StatusParam = Annotated[
    Literal["scheduled", "live", "ended", "missed", "cancelled"] | None,
    Field(description="Only meetings of this status"),
]
DayParam = Annotated[Day | None, Field(description="Only meetings planned for this day, such as 2026-03-05")]
TitleParam = Annotated[
    str | None, Field(max_length=80, pattern=r"\S", description="Title, or a part of it"), ObservedField("title")
]
Limit = Annotated[
    int | None,
    Field(ge=1, le=50, description="Most rows to return, 5 by default", examples=[1, 2, 3, 4, 6, 8, 10, 15, 20]),
]

ROWS = 5


# Checks that raise errors: the host and status of a meeting, and overlaps in time.


def require_host(studio: Studio, id: VideoMeetingId) -> VideoMeeting:
    """Return the meeting if the user hosts it; otherwise raise ToolError."""
    meeting = studio.meetings[id]
    if meeting.host != studio.me:
        raise ToolError("not_the_host", f"{id} is hosted by {meeting.host}; only the host can do that.")
    return meeting


def require_not_over(studio: Studio, meeting: VideoMeeting) -> VideoMeeting:
    """Return the meeting if it is scheduled or live; otherwise raise ToolError."""
    status = studio.status(meeting)
    if status == "cancelled":
        raise ToolError("meeting_cancelled", f"{meeting.id} is cancelled; schedule a new meeting.")
    if status == "missed":
        raise ToolError("meeting_missed", f"{meeting.id} was never started and is over; schedule a new meeting.")
    if status == "ended":
        ended = minute_text(studio.get_actual_end(meeting))
        raise ToolError("meeting_ended", f"{meeting.id} ended at {ended}; it cannot change.")
    return meeting


def require_live(studio: Studio, meeting: VideoMeeting) -> VideoMeeting:
    """Return the meeting if it is live; otherwise raise ToolError."""
    if studio.status(require_not_over(studio, meeting)) == "scheduled":
        raise ToolError(
            "meeting_not_started", f"{meeting.id} has not started; it is planned for {minute_text(meeting.start)}."
        )
    return meeting


def get_live_meeting(studio: Studio, id: MeetingSessionId) -> VideoMeeting:
    """Return the meeting of this session if it is live; otherwise raise ToolError."""
    return require_not_over(studio, studio.meetings[studio.sessions[id].meeting])


def require_scheduled(studio: Studio, meeting: VideoMeeting) -> VideoMeeting:
    """Return the meeting if it has not begun; otherwise raise ToolError."""
    if studio.status(require_not_over(studio, meeting)) == "live":
        raise ToolError("already_live", f"{meeting.id} is live; it can only be ended.")
    return meeting


def step_out(studio: Studio) -> None:
    """Take the user out of the meeting they joined as a guest; raise ToolError if they host a live one."""
    other = studio.find_current_meeting()
    if other is None:
        return
    if other.host == studio.me:
        raise ToolError("hosting_another", f"You are hosting {other.id} ({other.title}), which is live; end it first.")
    for guest in studio.guests.where(meeting=other.id, person=studio.me):
        studio.guests.change(guest.id, joined=None)


def require_free(studio: Studio, start: datetime, duration: int, besides: VideoMeetingId | None = None) -> None:
    """Raise ToolError for a time that is past, too far ahead or taken by another meeting of the user."""
    if start <= studio.now:
        raise ToolError("in_the_past", f"It is {minute_text(studio.now)} now; choose a later time.")
    if start > studio.now + FURTHEST:
        raise ToolError("too_far_ahead", f"Choose a time until {minute_text(studio.now + FURTHEST)}.")
    end = start + timedelta(minutes=duration)
    for day in range((start - timedelta(days=1)).toordinal(), end.toordinal() + 1):
        for row in studio.meetings.where(day=datetime.fromordinal(day).date(), host=studio.me):
            taken_until = min(row.ended or row.planned_end, row.planned_end)
            if row.id != besides and not row.cancelled and row.start < end and start < taken_until:
                raise ToolError(
                    "meeting_overlaps",
                    f"{row.id} is from {minute_text(row.start)} to {minute_text(taken_until)}; choose another time.",
                )


# Transcripts, drawn from a recording's id and people, so that each read returns the same text.

MOST_LINES = 6
SAYINGS = (
    "Let us begin with the {title}", "I have three points on the {title}", "Could you share your screen",
    "We are behind on this one", "I can take that until Friday", "Who writes the summary", "Thank you all",
    "That is cheaper than I thought", "Can we decide this today", "I would rather wait for the numbers",
    "The customer has asked twice", "We agreed on this last week", "Sounds like a plan", "My part is done",
    "I disagree with the second point", "Let us come back to that later", "We need one more person",
    "The next {title} should be shorter",
)  # fmt: skip


def transcript(studio: Studio, recording: Recording) -> tuple[TranscriptLine, ...]:
    """Return what the host and the guests said in a recording."""
    meeting = studio.meetings[recording.meeting]
    speakers = [meeting.host, *[guest.person for guest in studio.guests.where(meeting=meeting.id)]]
    names = tuple([studio.people[id].name for id in speakers])
    return draw_transcript_lines(
        studio.seed, recording.id, recording.start, studio.get_recording_end(recording), names, meeting.title
    )


@lru_cache(maxsize=1 << 12)
def draw_transcript_lines(
    seed: int, recording: RecordingId, start: datetime, stop: datetime, names: tuple[str, ...], title: str
) -> tuple[TranscriptLine, ...]:
    """Draw up to MOST_LINES lines, at most one a minute, by people of these names, in order of time."""
    draw, minutes = Draw("transcript", seed, recording), int((stop - start).total_seconds()) // 60
    count = min(MOST_LINES, minutes + 1)
    moments = sorted(draw.sample(range(minutes + 1), count))
    return tuple(
        TranscriptLine(
            at=start + timedelta(minutes=moment),
            name=draw.choice(names),
            text=saying.format(title=title),
        )
        for moment, saying in zip(moments, draw.sample(SAYINGS, count), strict=True)
    )


# Tools for live meetings: start, end, join, move people between rooms.


@server.write(destructive=True, idempotent=True)
def run_video_meeting(studio: Studio, meeting: OwnMeetingRef, action: MeetingAction) -> MeetingDetails:
    """Start, end or cancel a video meeting you host."""
    row = require_host(studio, meeting)
    if action == "start":
        row = begin_meeting(studio, row)
    elif action == "end":
        require_live(studio, row)
        row = finish_meeting(studio, row)
    else:
        require_scheduled(studio, row)
        row = studio.meetings.change(meeting, cancelled=True)
    return meeting_details(studio, row)


def begin_meeting(studio: Studio, meeting: VideoMeeting) -> VideoMeeting:
    require_scheduled(studio, meeting)
    if studio.now < meeting.start - EARLY:
        raise ToolError(
            "too_early", f"{meeting.id} can be started from {minute_text(meeting.start - EARLY)} on; wait until then."
        )
    step_out(studio)
    session = MeetingSession(id=studio.sessions.new_id(), meeting=meeting.id, title=meeting.title)
    studio.sessions.put(session)
    return studio.meetings.change(meeting.id, started=studio.now)


def finish_meeting(studio: Studio, meeting: VideoMeeting) -> VideoMeeting:
    """End the meeting and its running recording now."""
    recording = studio.find_running_recording(meeting.id)
    if recording is not None:
        studio.recordings.change(recording.id, stop=studio.now)
    return studio.meetings.change(meeting.id, ended=studio.now)


@server.write(idempotent=True)
def join_video_meeting(studio: Studio, meeting: MeetingRef, passcode: Passcode) -> MeetingDetails:
    """Join a live video meeting of somebody else with its passcode."""
    row = studio.meetings[meeting]
    if row.host == studio.me:
        raise ToolError("own_meeting", f"You host {meeting}; start it instead of joining it.")
    require_live(studio, row)
    guest = studio.guest(meeting, studio.me)
    if guest is None:
        raise ToolError("not_invited", f"You are not invited to {meeting}; ask {row.host} for an invitation.")
    if guest.joined is not None:
        raise ToolError("already_joined", f"You are in {meeting} already; nothing is left to do.")
    if passcode != row.passcode:
        raise ToolError("wrong_passcode", f"This is not the passcode of {meeting}; ask for the right one.")
    step_out(studio)
    studio.guests.change(guest.id, joined=studio.now)
    return meeting_details(studio, row)


@server.write(idempotent=True)
def move_participant(studio: Studio, session: SessionRef, person: GuestRef, room: RoomTo) -> MeetingDetails:
    """Move a guest of your live video meeting to another room."""
    meeting, name = get_live_meeting(studio, session), studio.people[person].name
    guest = studio.guest(meeting.id, person)
    if guest is None:
        raise ToolError("not_invited", f"{name} is not a guest of {meeting.id}; invite them first.")
    here = studio.room_in(meeting, guest)
    if here is None:
        raise ToolError("not_there_yet", f"{name} has not come to {meeting.id} yet; wait for them.")
    if here == room:
        raise ToolError("already_there", f"{name} is in the {room} already; choose another room.")
    if room.startswith("breakout"):
        there = [one for one in studio.guests.where(meeting=meeting.id) if studio.room_in(meeting, one) == room]
        if len(there) >= BREAKOUT_SEATS:
            raise ToolError("room_full", f"The room {room} has {BREAKOUT_SEATS} seats, all taken; choose another room.")
    studio.guests.change(guest.id, room=room)
    return meeting_details(studio, meeting)


# Tools for planned meetings: find, schedule and reschedule them, invite people.


@server.read()
def list_video_meetings(
    studio: Studio,
    status: StatusParam = None,
    day: DayParam = None,
    title: TitleParam = None,
    limit: Limit = None,
) -> tuple[MeetingLine, ...]:
    """List video meetings, those nearest to now first."""
    wanted = (title or "").casefold()
    rows = list_day_meetings(studio, day)
    if wanted:
        rows = [row for row in rows if wanted in row.title.casefold()]
    if status is not None:
        rows = [row for row in rows if studio.status(row) == status]
    nearest = nsmallest(limit or ROWS, rows, key=lambda row: (abs(row.start - studio.now), row.id))
    return tuple(meeting_line(studio, row) for row in nearest)


def list_day_meetings(studio: Studio, day: date | None) -> list[VideoMeeting]:
    return list(studio.meetings) if day is None else studio.meetings.where(day=day)


@server.read()
def get_video_meeting(studio: Studio, meeting: MeetingRef) -> MeetingDetails:
    """Get a video meeting with its guests, their rooms and its recordings."""
    return meeting_details(studio, studio.meetings[meeting])


@server.write(idempotent=True)
def schedule_video_meeting(
    studio: Studio, title: Title, start: Start, duration: Duration, new_passcode: NewPasscode
) -> MeetingDetails:
    """Schedule a video meeting with you as its host."""
    require_free(studio, start, duration)
    if is_weak(new_passcode):
        raise ToolError("weak_passcode", "This passcode is too easy to guess; avoid digits in a row and mirrored ones.")
    row = VideoMeeting(
        id=studio.meetings.new_id(),
        title=title,
        host=studio.me,
        start=start,
        duration=duration,
        capacity=studio.plan,
        passcode=new_passcode,
    )
    return meeting_details(studio, studio.meetings.put(row))


@server.write(idempotent=True)
def reschedule_video_meeting(
    studio: Studio, meeting: OwnMeetingRef, start: Start, duration: NewDuration = None
) -> MeetingDetails:
    """Give a video meeting you host another time."""
    row = require_scheduled(studio, require_host(studio, meeting))
    length = duration or row.duration
    if (start, length) == (row.start, row.duration):
        raise ToolError("time_unchanged", f"{meeting} is planned for that time already; choose another one.")
    require_free(studio, start, length, besides=meeting)
    return meeting_details(studio, studio.meetings.change(meeting, start=start, duration=length))


@server.write(idempotent=True)
def invite_to_video_meeting(studio: Studio, meeting: OwnMeetingRef, person: GuestRef) -> MeetingDetails:
    """Invite somebody to a video meeting you host."""
    row = require_not_over(studio, require_host(studio, meeting))
    if person == studio.me:
        raise ToolError("own_meeting", "You are the host and need no invitation; invite somebody else.")
    name = studio.people[person].name
    if studio.guest(meeting, person):
        raise ToolError("already_invited", f"{name} is invited to {meeting} already; invite somebody else.")
    if len(studio.guests.where(meeting=meeting)) + 1 >= row.capacity:
        raise ToolError(
            "capacity_reached", f"{meeting} has room for {row.capacity} people with the host; nobody else fits in."
        )
    delay = draw_delay(studio.seed, meeting, person)
    guest = MeetingGuest(id=studio.guests.new_id(), meeting=meeting, person=person, delay=delay)
    studio.guests.put(guest)
    return meeting_details(studio, row)


# Tools for recordings: make them and read their transcripts.


@server.write(idempotent=True)
def record_video_meeting(studio: Studio, session: SessionRef, action: RecordingAction) -> RecordingLine:
    """Start or stop the recording of a live video meeting you host."""
    meeting = get_live_meeting(studio, session)
    running = studio.find_running_recording(meeting.id)
    if action == "stop":
        if running is None:
            raise ToolError("not_recording", f"Nothing is being recorded in {meeting.id}; start a recording first.")
        return recording_line(studio, studio.recordings.change(running.id, stop=studio.now))
    if running is not None:
        raise ToolError("already_recording", f"{running.id} is being recorded in {meeting.id}; stop it first.")
    recording = Recording(
        id=studio.recordings.new_id(),
        meeting=meeting.id,
        title=meeting.title,
        start=studio.now,
        expires=studio.now + RETENTION,
    )
    return recording_line(studio, studio.recordings.put(recording))


@server.read()
def get_meeting_recording(studio: Studio, recording: RecordingRef) -> RecordingDetails:
    """Get a recording with its transcript, unless it has expired."""
    row = studio.recordings[recording]
    if row.expires <= studio.now:
        raise ToolError("recording_expired", f"{recording} expired at {minute_text(row.expires)}; it cannot be read.")
    if not is_stopped(studio, row):
        raise ToolError("still_recording", f"{recording} is still being made; stop it or wait until the meeting ends.")
    stop = studio.get_recording_end(row)
    return RecordingDetails.from_row(
        row, stop=stop, minutes=int((stop - row.start).total_seconds()) // 60, transcript=transcript(studio, row)
    )


@server.known_by_heart
def passcodes(studio: Studio) -> dict[tuple[str, str], str]:
    """Return what the user knows: the passcodes of the meetings they host or are invited to."""
    invited = [row.meeting for row in studio.guests.where(person=studio.me)]
    rows = [*studio.meetings.where(host=studio.me), *(studio.meetings[id] for id in invited)]
    return {(row.id, "passcode"): row.passcode for row in rows}
