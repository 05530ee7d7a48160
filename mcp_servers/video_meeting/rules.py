"""When the video meetings refuse: whose meeting it is, what state it is in, and what is in the way."""

from __future__ import annotations

from datetime import datetime, timedelta

from ..kit import ToolError, minute_text
from .state import FURTHEST, MeetingSessionId, Studio, VideoMeeting, VideoMeetingId


def hosted(studio: Studio, id: VideoMeetingId) -> VideoMeeting:
    """The meeting, which the user hosts. Raises ToolError otherwise."""
    meeting = studio.meetings[id]
    if meeting.host != studio.me:
        raise ToolError("not_the_host", f"{id} is hosted by {meeting.host}; only the host can do that.")
    return meeting


def require_not_over(studio: Studio, meeting: VideoMeeting) -> VideoMeeting:
    """The meeting, which is scheduled or live. Raises ToolError otherwise."""
    status = studio.status(meeting)
    if status == "cancelled":
        raise ToolError("meeting_cancelled", f"{meeting.id} is cancelled; schedule a new meeting.")
    if status == "missed":
        raise ToolError("meeting_missed", f"{meeting.id} was never started and is over; schedule a new meeting.")
    if status == "ended":
        raise ToolError(
            "meeting_ended", f"{meeting.id} ended at {minute_text(studio.over(meeting))}; it cannot change."
        )
    return meeting


def require_live(studio: Studio, meeting: VideoMeeting) -> VideoMeeting:
    """The meeting, which is live. Raises ToolError otherwise."""
    if studio.status(require_not_over(studio, meeting)) == "scheduled":
        raise ToolError(
            "meeting_not_started", f"{meeting.id} has not started; it is planned for {minute_text(meeting.start)}."
        )
    return meeting


def steered(studio: Studio, id: MeetingSessionId) -> VideoMeeting:
    """The meeting of this session, which is live. Raises ToolError otherwise."""
    return require_not_over(studio, studio.meetings[studio.sessions[id].meeting])


def require_scheduled(studio: Studio, meeting: VideoMeeting) -> VideoMeeting:
    """The meeting, which has not begun. Raises ToolError otherwise."""
    if studio.status(require_not_over(studio, meeting)) == "live":
        raise ToolError("already_live", f"{meeting.id} is live; it can only be ended.")
    return meeting


def step_out(studio: Studio) -> None:
    """The user leaves the meeting joined as a guest. Raises ToolError when hosting a live one."""
    other = studio.attended()
    if other is None:
        return
    if other.host == studio.me:
        raise ToolError("hosting_another", f"You are hosting {other.id} ({other.title}), which is live; end it first.")
    for guest in studio.guests.where(meeting=other.id, person=studio.me):
        studio.guests.change(guest.id, joined=None)


def require_free(studio: Studio, start: datetime, duration: int, besides: VideoMeetingId | None = None) -> None:
    """Raises ToolError for a time that is past, too far ahead or taken by another meeting of the user."""
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
