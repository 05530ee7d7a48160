"""Tools on meetings that take place: start, end, join, move people between rooms."""

from __future__ import annotations

from ..kit import ToolError, minute_text
from .parameters import GuestRef, MeetingAction, MeetingRef, OwnMeetingRef, Passcode, RoomTo, SessionRef
from .rules import hosted, require_live, require_scheduled, steered, step_out
from .server import server
from .state import BREAKOUT_SEATS, EARLY, MeetingSession, Studio, VideoMeeting
from .views import MeetingDetails, meeting_details


@server.write(destructive=True, idempotent=True)
def run_video_meeting(studio: Studio, meeting: OwnMeetingRef, action: MeetingAction) -> MeetingDetails:
    """Start, end or cancel a video meeting you host."""
    row = hosted(studio, meeting)
    if action == "start":
        row = started(studio, row)
    elif action == "end":
        require_live(studio, row)
        row = ended(studio, row)
    else:
        require_scheduled(studio, row)
        row = studio.meetings.change(meeting, cancelled=True)
    return meeting_details(studio, row)


def started(studio: Studio, meeting: VideoMeeting) -> VideoMeeting:
    require_scheduled(studio, meeting)
    if studio.now < meeting.start - EARLY:
        raise ToolError(
            "too_early", f"{meeting.id} can be started from {minute_text(meeting.start - EARLY)} on; wait until then."
        )
    step_out(studio)
    session = MeetingSession(id=studio.sessions.new_id(), meeting=meeting.id, title=meeting.title)
    studio.sessions.put(session)
    return studio.meetings.change(meeting.id, started=studio.now)


def ended(studio: Studio, meeting: VideoMeeting) -> VideoMeeting:
    """The meeting and its recording stop now."""
    recording = studio.running(meeting.id)
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
    meeting, name = steered(studio, session), studio.people[person].name
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
