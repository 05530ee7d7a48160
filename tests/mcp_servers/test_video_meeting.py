"""What the video meetings do and refuse, checked through their own tools in small worlds."""

from __future__ import annotations

from collections.abc import Callable
from datetime import datetime, timedelta
from typing import Any

import pytest
from calling import change_state, check_refusals, do, find_row, refused, small_worlds

from mcp_servers.core import Session, minute_text
from mcp_servers.core.times import parse_instant
from mcp_servers.video_meeting import server
from mcp_servers.video_meeting.state import Studio, VideoMeeting

Test = Callable[[Studio, VideoMeeting], bool]
CODE = "204857"


def world(test: Test, size: str = "small") -> tuple[Session[Studio], VideoMeeting]:
    """A fresh session in the first world that has such a meeting, and the meeting."""
    return find_row(server, "meetings", test, size)


def own_live(studio: Studio, row: VideoMeeting) -> bool:
    return row.host == studio.me and studio.status(row) == "live"


def own_soon(studio: Studio, row: VideoMeeting) -> bool:
    return (
        row.host == studio.me and studio.status(row) == "scheduled" and row.start - studio.now < timedelta(minutes=15)
    )


def joinable(studio: Studio, row: VideoMeeting) -> bool:
    """A live meeting of somebody else that the user may join right away."""
    invited = studio.guest(row.id, studio.me) is not None
    return invited and row.host != studio.me and studio.status(row) == "live" and studio.find_current_meeting() is None


def coming(studio: Studio, row: VideoMeeting) -> bool:
    return row.host != studio.me and studio.status(row) == "scheduled" and studio.guest(row.id, studio.me) is not None


def at(session: Session[Studio], **delta: int) -> str:
    return minute_text(session.state.now + timedelta(**delta))


def later(session: Session[Studio], **delta: int) -> datetime:
    return session.state.now + timedelta(**delta)


def planned(session: Session[Studio], start: str, duration: int = 30, title: str = "town hall") -> str:
    made = do(session, "schedule_video_meeting", title=title, start=start, duration=duration, new_passcode=CODE)
    return str(made["id"])


def session_of(session: Session[Studio], meeting: str) -> str:
    """The live session of a meeting, as its host sees it."""
    return str(do(session, "get_video_meeting", meeting=meeting)["session"]["id"])


def uninvited(session: Session[Studio], meeting: str) -> list[str]:
    state = session.state
    return [row.id for row in state.people if row.id != state.me and state.guest(meeting, row.id) is None]


@pytest.fixture
def calm() -> Session[Studio]:
    """A session whose user is in no meeting."""
    return world(own_soon)[0]


def test_a_meeting_is_planned_held_recorded_and_read_again(calm: Session[Studio]) -> None:
    meeting = planned(calm, at(calm, hours=3))
    guest = uninvited(calm, meeting)[0]
    seen = do(calm, "invite_to_video_meeting", meeting=meeting, person=guest)
    name = calm.state.people[guest].name
    assert seen["guests"] == [{"id": guest, "name": name}]
    begin = later(calm, hours=3)
    live = do(calm, "run_video_meeting", now=begin, meeting=meeting, action="start")
    assert (live["status"], live["started"]) == ("live", at(calm, minutes=-1))
    steer = live["session"]["id"]
    recording = do(calm, "record_video_meeting", session=steer, action="start")
    assert "stop" not in recording
    assert refused(calm, "record_video_meeting", session=steer, action="start") == "already_recording"
    assert refused(calm, "get_meeting_recording", recording=recording["id"]) == "still_recording"
    stopped = do(calm, "record_video_meeting", now=later(calm, minutes=9), session=steer, action="stop")
    assert stopped["stop"] == at(calm, minutes=-1)
    assert refused(calm, "record_video_meeting", session=steer, action="stop") == "not_recording"
    read = do(calm, "get_meeting_recording", recording=recording["id"])
    assert (read["meeting"], read["minutes"], read["title"]) == (meeting, 10, "town hall")
    assert {line["name"] for line in read["transcript"]} <= {name, calm.state.people[calm.state.me].name}
    assert [line["at"] for line in read["transcript"]] == sorted(line["at"] for line in read["transcript"])
    assert len(read["transcript"]) == 6 and read["start"] <= read["transcript"][0]["at"]
    assert read["transcript"][-1]["at"] <= read["stop"]
    ended = do(calm, "run_video_meeting", meeting=meeting, action="end")
    assert "session" not in ended
    assert refused(calm, "record_video_meeting", session=steer, action="start") == "meeting_ended"
    assert (ended["status"], ended["ended"]) == ("ended", at(calm, minutes=-1))
    assert [row["id"] for row in do(calm, "get_video_meeting", meeting=meeting)["recordings"]] == [recording["id"]]
    assert (
        refused(calm, "get_meeting_recording", now=later(calm, days=30), recording=recording["id"])
        == "recording_expired"
    )


def test_a_guest_comes_waits_and_is_moved() -> None:
    session, meeting = world(
        lambda studio, row: (
            own_live(studio, row) and len([g for g in studio.guests.where(meeting=row.id) if studio.room(g)]) > 1
        )
    )
    first, second = [row for row in session.state.guests.where(meeting=meeting.id) if session.state.room(row)][:2]
    rooms = {row["id"]: row.get("room") for row in do(session, "get_video_meeting", meeting=meeting.id)["guests"]}
    assert rooms[first.person] == rooms[second.person] == "waiting room"
    steer = session_of(session, meeting.id)
    move: dict[str, Any] = {"session": steer, "person": first.person}
    assert refused(session, "move_participant", **move, room="waiting room") == "already_there"
    moved = do(session, "move_participant", **move, room="main room")
    assert {row["id"]: row.get("room") for row in moved["guests"]}[first.person] == "main room"
    assert refused(session, "move_participant", **move, room="main room") == "already_there"
    do(session, "move_participant", **move, room="breakout 1")
    do(session, "move_participant", session=steer, person=second.person, room="breakout 1")
    do(session, "move_participant", **move, room="waiting room")


def test_a_breakout_room_has_two_seats() -> None:
    session, meeting = world(
        lambda studio, row: (
            own_live(studio, row) and len([g for g in studio.guests.where(meeting=row.id) if studio.room(g)]) > 2
        )
    )
    here = [row.person for row in session.state.guests.where(meeting=meeting.id) if session.state.room(row)][:3]
    steer = session_of(session, meeting.id)
    for person in here[:2]:
        do(session, "move_participant", session=steer, person=person, room="breakout 2")
    last: dict[str, Any] = {"session": steer, "person": here[2]}
    assert refused(session, "move_participant", **last, room="breakout 2") == "room_full"
    do(session, "move_participant", **last, room="breakout 3")
    do(session, "move_participant", **last, room="main room")


def test_guests_come_some_minutes_after_the_beginning_or_never() -> None:
    for wanted in (5, None):
        session, meeting = world(
            lambda studio, row: own_soon(studio, row) and bool(studio.guests.where(meeting=row.id))
        )
        guest = session.state.guests.where(meeting=meeting.id)[0]
        change_state(session, lambda studio, id=guest.id, wanted=wanted: studio.guests.change(id, delay=wanted))
        begun = session.state.now
        live = do(session, "run_video_meeting", meeting=meeting.id, action="start")
        move: dict[str, Any] = {"session": live["session"]["id"], "person": guest.person, "room": "main room"}
        assert refused(session, "move_participant", now=begun + timedelta(minutes=4), **move) == "not_there_yet"
        if wanted is None:
            assert refused(session, "move_participant", now=begun + timedelta(minutes=20), **move) == "not_there_yet"
        else:
            do(session, "move_participant", now=begun + timedelta(minutes=5), **move)


def test_only_who_is_invited_is_moved_and_only_while_live(calm: Session[Studio]) -> None:
    meeting = planned(calm, at(calm, hours=3))
    person = uninvited(calm, meeting)[0]
    live = do(calm, "run_video_meeting", now=later(calm, hours=3), meeting=meeting, action="start")
    move: dict[str, Any] = {"session": live["session"]["id"], "person": person, "room": "main room"}
    assert refused(calm, "move_participant", **move) == "not_invited"
    assert refused(calm, "move_participant", **{**move, "person": calm.state.me}) == "not_invited"
    do(calm, "run_video_meeting", meeting=meeting, action="end")
    assert refused(calm, "move_participant", **move) == "meeting_ended"


def test_a_meeting_starts_from_a_quarter_of_an_hour_before_its_time(calm: Session[Studio]) -> None:
    begin = later(calm, hours=3)
    meeting = planned(calm, minute_text(begin), duration=20)
    early = begin - timedelta(minutes=16)
    assert refused(calm, "run_video_meeting", now=early, meeting=meeting, action="start") == "too_early"
    assert refused(calm, "run_video_meeting", now=early, meeting=meeting, action="end") == "meeting_not_started"
    fork = calm.fork()
    do(calm, "run_video_meeting", now=begin - timedelta(minutes=15), meeting=meeting, action="start")
    assert refused(calm, "run_video_meeting", meeting=meeting, action="start") == "already_live"
    assert refused(calm, "run_video_meeting", meeting=meeting, action="cancel") == "already_live"
    assert refused(calm, "reschedule_video_meeting", meeting=meeting, start=at(calm, days=4)) == "already_live"
    over = begin + timedelta(minutes=35)
    assert refused(calm, "run_video_meeting", now=over, meeting=meeting, action="end") == "meeting_ended"
    assert (
        do(calm, "run_video_meeting", now=over - timedelta(minutes=1), meeting=meeting, action="end")["status"]
        == "ended"
    )
    missed = begin + timedelta(minutes=20)
    assert refused(fork, "run_video_meeting", now=missed, meeting=meeting, action="start") == "meeting_missed"
    do(fork, "run_video_meeting", now=missed - timedelta(minutes=1), meeting=meeting, action="start")


def test_a_recording_stops_when_its_meeting_ends() -> None:
    session, meeting = world(own_live)
    steer = session_of(session, meeting.id)
    recording = do(session, "record_video_meeting", session=steer, action="start")["id"]
    fork = session.fork()
    do(session, "run_video_meeting", now=later(session, minutes=5), meeting=meeting.id, action="end")
    read = do(session, "get_meeting_recording", recording=recording)
    assert read["minutes"] == 6
    expires = parse_instant(read["expires"])
    assert expires - parse_instant(read["start"]) == timedelta(days=30)
    do(session, "get_meeting_recording", now=expires - timedelta(minutes=1), recording=recording)
    assert refused(session, "get_meeting_recording", now=expires, recording=recording) == "recording_expired"
    over = meeting.planned_end + timedelta(minutes=15)
    last = over - timedelta(minutes=1)
    assert refused(fork, "get_meeting_recording", now=last, recording=recording) == "still_recording"
    assert do(fork, "get_meeting_recording", now=over, recording=recording)["stop"] == minute_text(over)
    assert refused(fork, "record_video_meeting", now=over, session=steer, action="stop") == "meeting_ended"


def test_a_cancelled_meeting_stays_cancelled_and_leaves_its_time_free(calm: Session[Studio]) -> None:
    start = at(calm, days=3)
    meeting = planned(calm, start)
    assert (
        refused(calm, "schedule_video_meeting", title="x", start=start, duration=5, new_passcode=CODE)
        == "meeting_overlaps"
    )
    assert do(calm, "run_video_meeting", meeting=meeting, action="cancel")["status"] == "cancelled"
    for tool, more in (
        ("run_video_meeting", {"action": "start"}),
        ("run_video_meeting", {"action": "cancel"}),
        ("reschedule_video_meeting", {"start": at(calm, days=5)}),
        ("invite_to_video_meeting", {"person": calm.state.me}),
    ):
        assert refused(calm, tool, meeting=meeting, **more) == "meeting_cancelled"
    planned(calm, start)


def test_own_meetings_do_not_overlap(calm: Session[Studio]) -> None:
    begin = later(calm, days=3).replace(hour=20, minute=0)

    def spoken(minutes: int) -> str:
        return minute_text(begin + timedelta(minutes=minutes))

    meeting, other = planned(calm, spoken(0)), planned(calm, spoken(60))
    new: dict[str, Any] = {"title": "x", "new_passcode": CODE}
    for start, duration in ((29, 5), (-4, 5), (10, 5), (-10, 100)):
        call = {**new, "start": spoken(start), "duration": duration}
        assert refused(calm, "schedule_video_meeting", **call) == "meeting_overlaps"
    planned(calm, spoken(30), duration=30)
    planned(calm, spoken(-5), duration=5)
    assert refused(calm, "reschedule_video_meeting", meeting=meeting, start=spoken(45)) == "meeting_overlaps"
    assert (
        refused(calm, "reschedule_video_meeting", meeting=meeting, start=spoken(0), duration=31) == "meeting_overlaps"
    )
    do(calm, "reschedule_video_meeting", meeting=other, start=spoken(70))
    assert do(calm, "reschedule_video_meeting", meeting=other, start=spoken(80), duration=45)["duration"] == 45
    late = do(calm, "schedule_video_meeting", **new, start=f"{begin:%Y-%m-%d}T23:30:00Z", duration=120)
    assert late["duration"] == 120
    night = f"{begin + timedelta(days=1):%Y-%m-%d}T01:00:00Z"
    assert refused(calm, "schedule_video_meeting", **new, start=night, duration=30) == "meeting_overlaps"


def test_a_time_has_to_lie_ahead_but_not_too_far(calm: Session[Studio]) -> None:
    new: dict[str, Any] = {"title": "x", "duration": 30, "new_passcode": CODE}
    assert refused(calm, "schedule_video_meeting", **new, start=at(calm)) == "in_the_past"
    assert refused(calm, "schedule_video_meeting", **new, start=at(calm, days=365, minutes=1)) == "too_far_ahead"
    meeting = do(calm, "schedule_video_meeting", **new, start=at(calm, days=365))
    same = meeting["start"]
    assert refused(calm, "reschedule_video_meeting", meeting=meeting["id"], start=same) == "time_unchanged"
    assert refused(calm, "reschedule_video_meeting", meeting=meeting["id"], start=at(calm)) == "in_the_past"
    assert do(calm, "reschedule_video_meeting", meeting=meeting["id"], start=same, duration=10)["duration"] == 10


def test_a_weak_passcode_is_refused(calm: Session[Studio]) -> None:
    new: dict[str, Any] = {"title": "x", "duration": 30, "start": at(calm, days=2)}
    easy = ("123456", "987654", "123321", "777777")
    refusals = [("schedule_video_meeting", {**new, "new_passcode": code}, "weak_passcode") for code in easy]
    check_refusals(calm, refusals)


def test_a_meeting_ended_early_leaves_its_time_free() -> None:
    session, meeting = world(own_live)
    start = at(session, minutes=10)
    new: dict[str, Any] = {"title": "x", "duration": 10, "start": start, "new_passcode": CODE}
    assert refused(session, "schedule_video_meeting", **new) == "meeting_overlaps"
    do(session, "run_video_meeting", meeting=meeting.id, action="end")
    do(session, "schedule_video_meeting", **new)


def test_nobody_is_invited_twice_or_beyond_the_capacity(calm: Session[Studio]) -> None:
    meeting = planned(calm, at(calm, hours=3))
    people = uninvited(calm, meeting)
    assert refused(calm, "invite_to_video_meeting", meeting=meeting, person=calm.state.me) == "own_meeting"
    assert refused(calm, "invite_to_video_meeting", meeting=meeting, person="nobody") == "not_found"
    session = next(one for one in small_worlds(server, "default") if not one.state.find_current_meeting())
    meeting = planned(session, at(session, days=60))
    people = uninvited(session, meeting)
    capacity = do(session, "get_video_meeting", meeting=meeting)["capacity"]
    for person in people[: capacity - 1]:
        do(session, "invite_to_video_meeting", meeting=meeting, person=person)
    assert refused(session, "invite_to_video_meeting", meeting=meeting, person=people[0]) == "already_invited"
    assert refused(session, "invite_to_video_meeting", meeting=meeting, person=people[capacity]) == "capacity_reached"


def test_only_the_host_runs_a_meeting() -> None:
    session, meeting = world(joinable)
    for tool, more in (
        ("run_video_meeting", {"action": "end"}),
        ("reschedule_video_meeting", {"start": at(session, days=2)}),
        ("invite_to_video_meeting", {"person": session.state.me}),
    ):
        assert refused(session, tool, meeting=meeting.id, **more) == "not_the_host"


def test_the_user_joins_with_the_passcode_and_waits_to_be_let_in() -> None:
    session, meeting = world(
        lambda studio, row: joinable(studio, row) and (studio.guest(row.id, studio.me).delay or 0) == 2
    )
    known = server.known(session.state)
    wrong = "000001" if meeting.passcode != "000001" else "000002"
    assert refused(session, "join_video_meeting", meeting=meeting.id, passcode=wrong) == "wrong_passcode"
    joined = session.state.now
    call = {"meeting": meeting.id, "passcode": known[meeting.id, "passcode"]}
    room = {row["id"]: row.get("room") for row in do(session, "join_video_meeting", **call)["guests"]}
    assert room.pop(session.state.me) == "waiting room" and set(room.values()) <= {"main room"}
    assert refused(session, "join_video_meeting", **call) == "already_joined"
    for minutes, where in ((1, "waiting room"), (2, "main room")):
        seen = do(session, "get_video_meeting", now=joined + timedelta(minutes=minutes), meeting=meeting.id)
        assert {row["id"]: row.get("room") for row in seen["guests"]}[session.state.me] == where
    assert refused(session, "join_video_meeting", now=meeting.planned_end, **call) == "meeting_ended"


def test_joining_another_meeting_leaves_the_first() -> None:
    session, first = world(
        lambda studio, row: joinable(studio, row) and sum(joinable(studio, one) for one in studio.meetings) > 1
    )
    second = next(row for row in session.state.meetings if joinable(session.state, row) and row.id != first.id)
    for meeting in (first, second):
        do(session, "join_video_meeting", meeting=meeting.id, passcode=meeting.passcode)
    assert session.state.find_current_meeting().id == second.id
    do(session, "join_video_meeting", meeting=first.id, passcode=first.passcode)
    own = next(row for row in session.state.meetings if own_soon(session.state, row))
    do(session, "run_video_meeting", meeting=own.id, action="start")
    assert session.state.find_current_meeting().id == own.id
    call = {"meeting": first.id, "passcode": first.passcode}
    assert refused(session, "join_video_meeting", **call) == "hosting_another"
    do(session, "run_video_meeting", meeting=own.id, action="end")
    do(session, "join_video_meeting", **call)


def test_one_own_meeting_is_live_at_a_time() -> None:
    session, meeting = world(own_live)
    start = meeting.planned_end + timedelta(minutes=1)
    other = planned(session, minute_text(start), duration=5)
    assert refused(session, "run_video_meeting", now=start, meeting=other, action="start") == "hosting_another"
    do(session, "run_video_meeting", now=start, meeting=meeting.id, action="end")
    do(session, "run_video_meeting", meeting=other, action="start")


def test_the_user_knows_the_passcodes_of_own_meetings_and_invitations(calm: Session[Studio]) -> None:
    meeting = planned(calm, at(calm, days=2))
    known = server.known(calm.state)
    assert known[meeting, "passcode"] == CODE
    invited = [row.meeting for row in calm.state.guests.where(person=calm.state.me)]
    assert invited and all((id, "passcode") in known for id in invited)


def test_a_meeting_is_joined_when_it_is_live_by_who_is_invited() -> None:
    session, meeting = world(coming)
    call = {"meeting": meeting.id, "passcode": meeting.passcode}
    assert refused(session, "join_video_meeting", **call) == "meeting_not_started"
    session, own = world(own_live)
    assert refused(session, "join_video_meeting", meeting=own.id, passcode=own.passcode) == "own_meeting"
    session, strange = world(
        lambda studio, row: (
            row.host != studio.me and studio.status(row) == "live" and studio.guest(row.id, studio.me) is None
        ),
        "default",
    )
    call = {"meeting": strange.id, "passcode": strange.passcode}
    assert refused(session, "join_video_meeting", **call) == "not_invited"
    assert (strange.id, "passcode") not in server.known(session.state)


def test_old_recordings_have_expired_and_newer_ones_are_read() -> None:
    for wanted in (True, False):
        session, meeting = world(
            lambda studio, row, wanted=wanted: any(
                (one.expires <= studio.now) == wanted for one in studio.recordings.where(meeting=row.id)
            )
        )
        recording = session.state.recordings.where(meeting=meeting.id)[0].id
        if wanted:
            assert refused(session, "get_meeting_recording", recording=recording) == "recording_expired"
        else:
            first = do(session, "get_meeting_recording", recording=recording)
            assert first == do(session, "get_meeting_recording", recording=recording) and first["transcript"]


def test_meetings_are_listed_by_nearness_day_title_and_status() -> None:
    session = server.open(4, "default")
    now = session.state.now
    every = do(session, "list_video_meetings", limit=50)
    away = [abs(parse_instant(row["start"]) - now) for row in every]
    assert away == sorted(away) and len(do(session, "list_video_meetings")) == 5
    day = every[20]["start"][:10]
    found = do(session, "list_video_meetings", day=day, limit=50)
    assert every[20] in found and {row["start"][:10] for row in found} == {day}
    title = every[3]["title"]
    assert every[3] in do(session, "list_video_meetings", title=title.upper()[:-1], limit=50)
    for status in ("scheduled", "live", "ended", "missed", "cancelled"):
        rows = do(session, "list_video_meetings", status=status, limit=50)
        assert rows and {row["status"] for row in rows} == {status}
    assert do(session, "list_video_meetings", day=day, status="live") == [
        row for row in found if row["status"] == "live"
    ]


def test_no_result_tells_a_passcode() -> None:
    session, meeting = world(own_live)
    assert "passcode" not in do(session, "get_video_meeting", meeting=meeting.id)
