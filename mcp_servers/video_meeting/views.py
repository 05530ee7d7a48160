"""Result types and serializers for meetings and recordings, without passcodes."""

from __future__ import annotations

from ..core import Entity, Minute
from ..shared.people import EmailAddress
from .state import (
    MeetingGuest,
    MeetingSession,
    Recording,
    RecordingId,
    Room,
    Status,
    Studio,
    VideoMeeting,
    VideoMeetingId,
)


class MeetingLine(Entity):
    """A meeting in a list."""

    __label__ = "the video meeting {title}"
    id: VideoMeetingId
    title: str
    start: Minute
    duration: int
    status: Status
    host: EmailAddress


class Guest(Entity):
    """Somebody invited to a meeting, and the room they are in while it is live."""

    __label__ = "{name}"
    id: EmailAddress
    name: str
    room: Room | None = None


class RecordingLine(Entity):
    """A recording in a list; one that goes on has no stop."""

    __label__ = "the recording of {title}"
    id: RecordingId
    title: str
    start: Minute
    stop: Minute | None = None
    expires: Minute


class MeetingDetails(Entity):
    """Everything about a meeting, with its session while the user hosts it; `capacity` counts the host too."""

    __label__ = "the video meeting {title}"
    id: VideoMeetingId
    title: str
    start: Minute
    duration: int
    status: Status
    host: EmailAddress
    capacity: int
    guests: tuple[Guest, ...]
    started: Minute | None = None
    ended: Minute | None = None
    session: MeetingSession | None = None
    recordings: tuple[RecordingLine, ...] | None = None


class TranscriptLine(Entity):
    """What somebody said in a recording."""

    at: Minute
    name: str
    text: str


class RecordingDetails(Entity):
    """A recording with what was said in it."""

    __label__ = "the recording of {title}"
    id: RecordingId
    meeting: VideoMeetingId
    title: str
    start: Minute
    stop: Minute
    minutes: int
    expires: Minute
    transcript: tuple[TranscriptLine, ...]


def meeting_line(studio: Studio, row: VideoMeeting) -> MeetingLine:
    return MeetingLine.from_row(row, status=studio.status(row))


def guest_of(studio: Studio, meeting: VideoMeeting, row: MeetingGuest, status: Status) -> Guest:
    room = studio.room_in(meeting, row) if status == "live" else None
    return Guest(id=row.person, name=studio.people[row.person].name, room=room)


def is_stopped(studio: Studio, row: Recording) -> bool:
    return studio.get_recording_end(row) <= studio.now


def recording_line(studio: Studio, row: Recording) -> RecordingLine:
    until = studio.get_recording_end(row)
    stop = until if until <= studio.now else None
    return RecordingLine.from_row(row, stop=stop)


def meeting_details(studio: Studio, row: VideoMeeting) -> MeetingDetails:
    status = studio.status(row)
    return MeetingDetails.from_row(
        row,
        status=status,
        guests=tuple([guest_of(studio, row, guest, status) for guest in studio.guests.where(meeting=row.id)]),
        started=studio.get_actual_start(row),
        ended=studio.get_actual_end(row) if status == "ended" else None,
        session=next(iter(studio.sessions.where(meeting=row.id)), None) if status == "live" else None,
        recordings=tuple([recording_line(studio, one) for one in studio.recordings.where(meeting=row.id)]) or None,
    )
