"""What the calendar does and refuses, checked through its own tools in one small world."""

from __future__ import annotations

from datetime import datetime, timedelta
from typing import Any

import pytest
from calling import do, refused

from mcp_servers.calendar import server
from mcp_servers.calendar.state import Agenda, Calendar, Event, Invitation, occurrences
from mcp_servers.core import Session, minute_text
from mcp_servers.core.times import parse_instant


@pytest.fixture
def agenda() -> Session[Agenda]:
    return server.open(7, "small")


def ahead(session: Session[Agenda], days: int, hour: int = 22) -> str:
    """A moment so many days from now; no seeded event takes place at ten in the evening."""
    return minute_text(session.state.now.replace(hour=hour, minute=0) + timedelta(days=days))


def day(session: Session[Agenda], days: int) -> str:
    return ahead(session, days)[:10]


def later(session: Session[Agenda], **delta: int) -> None:
    """Let time pass: a write so much later, far from everything else."""
    plan = {"title": "town fair", "start": ahead(session, 400), "duration": 5}
    reply = session.call(
        "create_event", {"calendar": calendar(session).id, **plan}, now=session.state.now + timedelta(**delta)
    )
    assert reply.ok


def calendar(session: Session[Agenda], read_only: bool = False) -> Calendar:
    return next(row for row in session.state.calendars if row.read_only == read_only)


def own(session: Session[Agenda]) -> Event:
    """A single event that the user organizes."""
    me = session.state.me
    return next(row for row in session.state.events if row.organizer == me and row.series is None)


def invited(session: Session[Agenda]) -> Invitation:
    """An invitation of the user that can still be answered."""
    rows = session.state.invitations.where(invitee=session.state.me)
    return next(row for row in rows if row.expires > session.state.now)


def created(session: Session[Agenda], days: int = 3, title: str = "team lunch", duration: int = 60) -> str:
    start = ahead(session, days)
    made = do(session, "create_event", calendar=calendar(session).id, title=title, start=start, duration=duration)
    return str(made["id"])


def repeated(session: Session[Agenda], frequency: str = "daily", count: int = 4) -> Any:
    start = ahead(session, 2)
    return do(
        session,
        "create_recurring_event",
        title="yoga class",
        start=start,
        duration=30,
        frequency=frequency,
        count=count,
    )


def test_an_event_is_made_found_moved_renamed_and_cancelled(agenda: Session[Agenda]) -> None:
    event = created(agenda)
    assert [row["id"] for row in do(agenda, "search_events", query="LUNCH team")] == [event]
    assert do(agenda, "reschedule_event", event=event, start=ahead(agenda, 4))["start"] == ahead(agenda, 4)
    assert do(agenda, "rename_event", event=event, title="board lunch")["title"] == "board lunch"
    assert do(agenda, "search_events", query="team lunch") == []
    assert do(agenda, "cancel_event", event=event)["status"] == "cancelled"
    assert do(agenda, "search_events", query="board lunch") == []
    assert do(agenda, "get_event", event=event)["status"] == "cancelled"


def test_an_invited_contact_attends_until_removed(agenda: Session[Agenda]) -> None:
    cal = do(agenda, "list_calendars")[0]["id"]
    start = ahead(agenda, 3)
    event = do(agenda, "create_event", calendar=cal, title="book club", start=start, duration=60)["id"]
    contact = do(agenda, "find_contacts")[0]
    seen = do(agenda, "invite_attendee", event=event, attendee=contact["id"])["attendees"]
    assert seen == [{"id": contact["id"], "name": contact["name"], "answer": "pending"}]
    assert do(agenda, "get_event", event=event)["attendees"] == seen
    assert refused(agenda, "invite_attendee", event=event, attendee=contact["id"]) == "already_invited"
    assert do(agenda, "remove_attendee", event=event, attendee=contact["id"])["attendees"] == []
    assert refused(agenda, "remove_attendee", event=event, attendee=contact["id"]) == "not_invited"


def test_an_accepted_invitation_is_listed_and_can_be_reminded_of(agenda: Session[Agenda]) -> None:
    row = invited(agenda)
    title = agenda.state.events[row.event].title
    assert title not in [line["title"] for line in do(agenda, "list_events", limit=50)]
    answer = do(agenda, "respond_to_invitation", invitation=row.id, response="accept")
    assert title in [line["title"] for line in do(agenda, "list_events", limit=50)]
    assert do(agenda, "set_reminder", event=answer["event"], minutes=30)["reminders"] == [30]
    assert do(agenda, "get_event", event=answer["event"])["reminders"] == [30]
    do(agenda, "respond_to_invitation", invitation=row.id, response="decline")
    assert do(agenda, "get_event", event=answer["event"])["reminders"] == []
    assert refused(agenda, "set_reminder", event=answer["event"], minutes=30) == "event_declined"


def test_an_invitation_is_answered_in_time_and_only_by_whom_it_is_for(agenda: Session[Agenda]) -> None:
    row = invited(agenda)
    foreign = next(one for one in agenda.state.invitations if one.invitee != agenda.state.me)
    assert refused(agenda, "respond_to_invitation", invitation=foreign.id, response="accept") == "not_your_invitation"
    do(agenda, "respond_to_invitation", invitation=row.id, response="tentative")
    assert refused(agenda, "respond_to_invitation", invitation=row.id, response="tentative") == "already_answered"
    later(agenda, days=60)
    assert refused(agenda, "respond_to_invitation", invitation=row.id, response="accept") == "invitation_expired"


def test_an_invitation_to_a_taken_time_cannot_be_accepted(agenda: Session[Agenda]) -> None:
    row = invited(agenda)
    meeting = agenda.state.events[row.event]
    start = minute_text(meeting.start)
    do(agenda, "create_event", calendar=meeting.calendar, title="board lunch", start=start, duration=5)
    assert refused(agenda, "respond_to_invitation", invitation=row.id, response="accept") == "meeting_overlaps"
    do(agenda, "respond_to_invitation", invitation=row.id, response="decline")


def test_only_the_organizer_changes_an_event(agenda: Session[Agenda]) -> None:
    meeting = do(agenda, "respond_to_invitation", invitation=invited(agenda).id, response="accept")["event"]
    contact = next(iter(agenda.state.contacts)).id
    assert refused(agenda, "cancel_event", event=meeting) == "not_the_organizer"
    assert refused(agenda, "rename_event", event=meeting, title="zoo trip") == "not_the_organizer"
    assert refused(agenda, "invite_attendee", event=meeting, attendee=contact) == "not_the_organizer"


def test_events_that_touch_do_not_overlap_but_a_minute_more_does(agenda: Session[Agenda]) -> None:
    event, cal = created(agenda, duration=60), calendar(agenda).id
    after = ahead(agenda, 3, hour=23)
    do(agenda, "create_event", calendar=cal, title="zoo trip", start=after, duration=30)
    before = minute_text(parse_instant(after) - timedelta(minutes=90))
    one_more = {"calendar": cal, "title": "wine tasting", "start": before}
    assert refused(agenda, "create_event", **one_more, duration=31) == "meeting_overlaps"
    do(agenda, "create_event", **one_more, duration=30)
    assert refused(agenda, "reschedule_event", event=event, start=before) == "meeting_overlaps"


def test_an_event_past_midnight_is_in_the_way_on_both_days(agenda: Session[Agenda]) -> None:
    cal = calendar(agenda).id
    late = {"calendar": cal, "title": "garden party", "start": ahead(agenda, 2, hour=23), "duration": 120}
    do(agenda, "create_event", **late)
    early = {"calendar": cal, "title": "zoo trip", "start": ahead(agenda, 3, hour=0), "duration": 30}
    assert refused(agenda, "create_event", **early) == "meeting_overlaps"


def test_nothing_is_planned_in_the_past_or_years_ahead_or_in_a_read_only_calendar(agenda: Session[Agenda]) -> None:
    plan = {"calendar": calendar(agenda).id, "title": "zoo trip", "duration": 30}
    assert refused(agenda, "create_event", **plan, start=ahead(agenda, -1)) == "in_the_past"
    assert refused(agenda, "create_event", **plan, start="9999-12-31T23:59:00Z") == "too_far_ahead"
    plan["calendar"] = calendar(agenda, read_only=True).id
    assert refused(agenda, "create_event", **plan, start=ahead(agenda, 1)) == "read_only_calendar"
    holiday = next(row for row in agenda.state.events if row.calendar == plan["calendar"])
    assert refused(agenda, "cancel_event", event=holiday.id) == "read_only_calendar"


def test_an_event_that_is_over_stays_as_it_was(agenda: Session[Agenda]) -> None:
    event = created(agenda, days=1)
    later(agenda, days=2)
    assert refused(agenda, "reschedule_event", event=event, start=ahead(agenda, 5)) == "event_over"
    assert refused(agenda, "cancel_event", event=event) == "event_over"
    assert refused(agenda, "set_reminder", event=event, minutes=5) == "event_over"


def test_a_cancelled_event_refuses_every_change_and_waits_for_no_answer(agenda: Session[Agenda]) -> None:
    event, contact = created(agenda), next(iter(agenda.state.contacts)).id
    do(agenda, "invite_attendee", event=event, attendee=contact)
    do(agenda, "cancel_event", event=event)
    assert do(agenda, "get_event", event=event)["attendees"][0]["answer"] == "withdrawn"
    for tool, arguments in {
        "cancel_event": {},
        "rename_event": {"title": "zoo trip"},
        "reschedule_event": {"start": ahead(agenda, 5)},
        "invite_attendee": {"attendee": contact},
        "remove_attendee": {"attendee": contact},
        "set_reminder": {"minutes": 5},
    }.items():
        assert refused(agenda, tool, event=event, **arguments) == "event_cancelled"


def test_attendees_answer_again_when_an_event_moves(agenda: Session[Agenda]) -> None:
    event = own(agenda).id
    do(agenda, "reschedule_event", event=event, start=ahead(agenda, 5))
    answers = [row["answer"] for row in do(agenda, "get_event", event=event)["attendees"]]
    assert answers and all(answer == "pending" for answer in answers)


def test_free_slots_are_what_working_hours_leave_and_a_new_event_takes_one(agenda: Session[Agenda]) -> None:
    cal, on = calendar(agenda).id, day(agenda, 40)
    free = {"calendar": cal, "day": on, "duration": 60}
    assert do(agenda, "find_free_slots", **free) == [{"start": f"{on}T08:00:00Z", "end": f"{on}T20:00:00Z"}]
    do(agenda, "create_event", calendar=cal, title="zoo trip", start=f"{on}T09:00:00Z", duration=90)
    assert do(agenda, "find_free_slots", **free) == [
        {"start": f"{on}T08:00:00Z", "end": f"{on}T09:00:00Z"},
        {"start": f"{on}T10:30:00Z", "end": f"{on}T20:00:00Z"},
    ]
    assert len(do(agenda, "find_free_slots", **free | {"duration": 61})) == 1
    assert refused(agenda, "find_free_slots", **free | {"day": day(agenda, -1)}) == "in_the_past"


def test_a_series_is_listed_each_time_it_takes_place_but_not_when_skipped(agenda: Session[Agenda]) -> None:
    made = repeated(agenda, count=4)
    days = [day(agenda, 2 + number) for number in range(4)]

    def listed() -> list[str]:
        rows = do(agenda, "list_events", limit=50)
        return [row["start"][:10] for row in rows if row.get("series") == made["id"]]

    assert listed() == days
    assert do(agenda, "skip_occurrence", series=made["id"], number=2)["skipped"] == [days[1]]
    assert listed() == [days[0], *days[2:]]
    assert refused(agenda, "skip_occurrence", series=made["id"], number=2) == "already_skipped"
    assert refused(agenda, "skip_occurrence", series=made["id"], number=5) == "no_such_occurrence"


def test_a_skipped_occurrence_leaves_its_time_free(agenda: Session[Agenda]) -> None:
    made, cal = repeated(agenda), calendar(agenda).id
    plan = {"calendar": cal, "title": "zoo trip", "start": ahead(agenda, 3), "duration": 30}
    assert refused(agenda, "create_event", **plan) == "meeting_overlaps"
    do(agenda, "skip_occurrence", series=made["id"], number=2)
    do(agenda, "create_event", **plan)
    back = ahead(agenda, 2, hour=21)
    do(agenda, "reschedule_event", event=made["event"], start=back)
    assert refused(agenda, "reschedule_event", event=made["event"], start=ahead(agenda, 2)) == "meeting_overlaps"


def test_a_series_keeps_one_occurrence_and_its_past(agenda: Session[Agenda]) -> None:
    made = repeated(agenda, count=3)
    later(agenda, days=3)
    skip = {"series": made["id"]}
    assert refused(agenda, "skip_occurrence", **skip, number=1) == "in_the_past"
    assert refused(agenda, "reschedule_event", event=made["event"], start=ahead(agenda, 9)) == "series_begun"
    do(agenda, "skip_occurrence", **skip, number=3)
    assert refused(agenda, "skip_occurrence", **skip, number=2) == "last_occurrence"
    do(agenda, "cancel_event", event=made["event"])
    assert refused(agenda, "skip_occurrence", **skip, number=2) == "event_cancelled"


def test_a_monthly_series_on_the_31st_leaves_out_shorter_months() -> None:
    days = list(occurrences(datetime(2026, 1, 31, 9), "monthly", 4))
    assert [one.month for one in days] == [1, 3, 5, 7] and {one.day for one in days} == {31}


def test_reminders_are_sorted_different_and_still_to_come(agenda: Session[Agenda]) -> None:
    event = created(agenda, days=1)
    do(agenda, "set_reminder", event=event, minutes=60)
    assert do(agenda, "set_reminder", event=event, minutes=15)["reminders"] == [15, 60]
    assert refused(agenda, "set_reminder", event=event, minutes=15) == "reminder_exists"
    assert refused(agenda, "set_reminder", event=event, minutes=5000) == "reminder_too_late"
    for minutes in (5, 10, 20):
        do(agenda, "set_reminder", event=event, minutes=minutes)
    assert refused(agenda, "set_reminder", event=event, minutes=30) == "too_many_reminders"


def test_a_list_covers_the_requested_days(agenda: Session[Agenda]) -> None:
    event = created(agenda, days=40)
    assert event not in [row["id"] for row in do(agenda, "list_events", limit=50)]
    period = {"since": day(agenda, 40), "until": day(agenda, 40)}
    assert [row["id"] for row in do(agenda, "list_events", **period, calendar=calendar(agenda).id)] == [event]
    assert do(agenda, "list_events", **period, calendar=calendar(agenda, read_only=True).id) == []
    assert refused(agenda, "list_events", since=day(agenda, 3), until=day(agenda, 2)) == "invalid_period"
    assert refused(agenda, "list_events", since="0001-01-01", until="9999-12-31") == "period_too_long"
    assert do(agenda, "list_events", since="9999-12-31") == []
