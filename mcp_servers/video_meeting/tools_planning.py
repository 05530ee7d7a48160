"""Tools on meetings to come: find, schedule and move them, invite people."""

from __future__ import annotations

from datetime import date
from heapq import nsmallest

from ..kit import ToolError
from .parameters import (
    ROWS,
    AskedDay,
    AskedStatus,
    AskedTitle,
    Duration,
    GuestRef,
    Limit,
    MeetingRef,
    NewDuration,
    NewPasscode,
    OwnMeetingRef,
    Start,
    Title,
)
from .rules import hosted, require_free, require_not_over, require_scheduled
from .server import server
from .state import MeetingGuest, Studio, VideoMeeting, draw_delay, is_weak
from .views import MeetingDetails, MeetingLine, meeting_details, meeting_line


@server.read()
def list_video_meetings(
    studio: Studio,
    status: AskedStatus = None,
    day: AskedDay = None,
    title: AskedTitle = None,
    limit: Limit = None,
) -> tuple[MeetingLine, ...]:
    """List video meetings, those nearest to now first."""
    wanted = (title or "").casefold()
    rows = planned(studio, day)
    if wanted:
        rows = [row for row in rows if wanted in row.title.casefold()]
    if status is not None:
        rows = [row for row in rows if studio.status(row) == status]
    nearest = nsmallest(limit or ROWS, rows, key=lambda row: (abs(row.start - studio.now), row.id))
    return tuple(meeting_line(studio, row) for row in nearest)


def planned(studio: Studio, day: date | None) -> list[VideoMeeting]:
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
    row = require_scheduled(studio, hosted(studio, meeting))
    length = duration or row.duration
    if (start, length) == (row.start, row.duration):
        raise ToolError("time_unchanged", f"{meeting} is planned for that time already; choose another one.")
    require_free(studio, start, length, besides=meeting)
    return meeting_details(studio, studio.meetings.change(meeting, start=start, duration=length))


@server.write(idempotent=True)
def invite_to_video_meeting(studio: Studio, meeting: OwnMeetingRef, person: GuestRef) -> MeetingDetails:
    """Invite somebody to a video meeting you host."""
    row = require_not_over(studio, hosted(studio, meeting))
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
