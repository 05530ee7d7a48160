"""Invariants of the video meetings: they hold in every state that a session can reach."""

from __future__ import annotations

import re
from collections import Counter
from itertools import pairwise

from .state import BREAKOUT_SEATS, EARLY, OVERTIME, RETENTION, Studio, is_weak
from .tools import server


@server.invariant
def own_meetings_do_not_overlap(studio: Studio) -> bool:
    """The user's meetings that are not cancelled do not overlap, unless one ended early."""
    spans = sorted(
        (row.start, min(row.planned_end, row.ended or row.planned_end))
        for row in studio.meetings
        if row.host == studio.me and not row.cancelled and (row.ended or row.planned_end) > row.start
    )
    return all(early[1] <= late[0] for early, late in pairwise(spans))


@server.invariant
def guests_fit_into_their_meeting(studio: Studio) -> bool:
    """Guests are people, each invited once and not by themselves; with the host they are within the capacity."""
    pairs = [(row.meeting, row.person) for row in studio.guests]
    counts = Counter(meeting for meeting, _ in pairs)
    return (
        len(dict.fromkeys(pairs)) == len(pairs)
        and all(person in studio.people and studio.meetings[meeting].host != person for meeting, person in pairs)
        and all(count + 1 <= studio.meetings[meeting].capacity for meeting, count in counts.items())
    )


@server.invariant
def the_user_is_in_one_meeting_at_a_time(studio: Studio) -> bool:
    """The user hosts or attends at most one live meeting."""
    hosted = [row for row in studio.meetings.where(host=studio.me) if studio.status(row) == "live"]
    joined = [row for row in studio.guests.where(person=studio.me) if studio.room(row)]
    return len(hosted) + len(joined) <= 1


@server.invariant
def meetings_begin_before_they_end(studio: Studio) -> bool:
    """Only meetings of the user that are not cancelled record a start and an end, both within the allowed times."""
    for row in studio.meetings:
        if (row.host != studio.me or row.cancelled) and (row.started or row.ended):
            return False
        if row.started and not row.start - EARLY <= row.started <= min(row.planned_end, studio.now):
            return False
        if row.ended and not (row.started and row.started <= row.ended <= min(row.planned_end + OVERTIME, studio.now)):
            return False
    return True


@server.invariant
def what_was_started_has_a_session(studio: Studio) -> bool:
    """Every meeting the user started has one session, named like it, and no other meeting has any."""
    sessions = [(row.meeting, row.title) for row in studio.sessions]
    started = [(row.id, row.title) for row in studio.meetings if row.started]
    return len(sessions) == len(started) and dict(sessions) == dict(started)


@server.invariant
def recordings_lie_within_their_meeting(studio: Studio) -> bool:
    """A recording begins and stops while its meeting is live, and expires thirty days after it began."""
    for row in studio.recordings:
        meeting = studio.meetings[row.meeting]
        begun = studio.get_actual_start(meeting)
        if begun is None or not begun <= row.start <= studio.get_recording_end(row) <= studio.get_actual_end(meeting):
            return False
        if row.start > studio.now or row.expires != row.start + RETENTION or row.title != meeting.title:
            return False
    return True


@server.invariant
def one_recording_runs_at_a_time(studio: Studio) -> bool:
    """The recordings of a meeting follow each other, and one whose meeting was ended by its host has a stop."""
    rows = sorted((row.meeting, row.start, studio.get_recording_end(row)) for row in studio.recordings)
    return all(early[0] != late[0] or early[2] <= late[1] for early, late in pairwise(rows)) and all(
        row.stop is not None or studio.meetings[row.meeting].ended is None for row in studio.recordings
    )


@server.invariant
def breakout_rooms_have_seats(studio: Studio) -> bool:
    """No breakout room of a live meeting has more people than seats."""
    counts = Counter((row.meeting, studio.room(row)) for row in studio.guests if row.room)
    return all(count <= BREAKOUT_SEATS for (_, room), count in counts.items() if room and room.startswith("breakout"))


@server.invariant
def only_who_came_is_in_a_room(studio: Studio) -> bool:
    """Guests of the user are moved after they came; the user joins meetings of others while they are live."""
    for row in studio.guests:
        meeting = studio.meetings[row.meeting]
        if row.room is not None:
            waited = None if row.delay is None or meeting.started is None else studio.now - meeting.started
            if waited is None or waited.total_seconds() < (row.delay or 0) * 60:
                return False
        if row.joined is not None and not (
            row.person == studio.me != meeting.host and meeting.start <= row.joined < studio.get_actual_end(meeting)
        ):
            return False
    return True


@server.invariant
def passcodes_are_six_digits(studio: Studio) -> bool:
    """Every meeting has a passcode of six digits that are not easy to guess."""
    return all(re.fullmatch("[0-9]{6}", row.passcode) and not is_weak(row.passcode) for row in studio.meetings)
