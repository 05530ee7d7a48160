"""Tools on recordings: make them, and read what was said."""

from __future__ import annotations

from ..kit import ToolError, minute_text
from .parameters import RecordingAction, RecordingRef, SessionRef
from .rules import steered
from .server import server
from .state import KEPT, Recording, Studio
from .transcripts import transcript
from .views import RecordingDetails, RecordingLine, recording_line, stopped


@server.write(idempotent=True)
def record_video_meeting(studio: Studio, session: SessionRef, action: RecordingAction) -> RecordingLine:
    """Start or stop the recording of a live video meeting you host."""
    meeting = steered(studio, session)
    running = studio.running(meeting.id)
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
        expires=studio.now + KEPT,
    )
    return recording_line(studio, studio.recordings.put(recording))


@server.read()
def get_meeting_recording(studio: Studio, recording: RecordingRef) -> RecordingDetails:
    """Get a recording with its transcript, unless it has expired."""
    row = studio.recordings[recording]
    if row.expires <= studio.now:
        raise ToolError("recording_expired", f"{recording} expired at {minute_text(row.expires)}; it cannot be read.")
    if not stopped(studio, row):
        raise ToolError("still_recording", f"{recording} is still being made; stop it or wait until the meeting ends.")
    stop = studio.until(row)
    return RecordingDetails(
        id=row.id,
        meeting=row.meeting,
        title=row.title,
        start=row.start,
        stop=stop,
        minutes=int((stop - row.start).total_seconds()) // 60,
        expires=row.expires,
        transcript=transcript(studio, row),
    )


@server.known_by_heart
def passcodes(studio: Studio) -> dict[tuple[str, str], str]:
    """The user knows the passcodes of the meetings they host or were invited to."""
    invited = [row.meeting for row in studio.guests.where(person=studio.me)]
    rows = [*studio.meetings.where(host=studio.me), *(studio.meetings[id] for id in invited)]
    return {(row.id, "passcode"): row.passcode for row in rows}
