"""Invariants of the calendar: they hold in every state that a session can reach."""

from __future__ import annotations

from itertools import pairwise

from .state import Agenda, occurrences
from .tools import server


@server.invariant
def confirmed_events_do_not_overlap(agenda: Agenda) -> bool:
    """In no calendar do two confirmed events, or occurrences of them, take place at one time."""
    taken = sorted(
        (event.calendar, start, start + event.length)
        for event in agenda.events
        if event.status == "confirmed"
        for start in agenda.map_starts_by_day(event).values()
    )
    return all(a[0] != b[0] or a[2] <= b[1] for a, b in pairwise(taken))


@server.invariant
def everybody_is_known(agenda: Agenda) -> bool:
    """Organizers and guests are the user or contacts; no organizer is a guest of the same event."""
    known = {agenda.me, *(row.id for row in agenda.contacts)}
    return all(row.organizer is None or row.organizer in known for row in agenda.events) and all(
        row.invitee in known and row.event in agenda.events and row.invitee != agenda.events[row.event].organizer
        for row in agenda.invitations
    )


@server.invariant
def nobody_is_invited_twice(agenda: Agenda) -> bool:
    """For each event and person there is one invitation at most."""
    pairs = [(row.event, row.invitee) for row in agenda.invitations]
    return len(set(pairs)) == len(pairs)


@server.invariant
def invitations_expire_before_the_end(agenda: Agenda) -> bool:
    """An invitation expires no later than its event starts for the last time."""
    for row in agenda.invitations:
        event = agenda.events[row.event]
        rule = None if event.series is None else agenda.series[event.series]
        last = event.start if rule is None else max(occurrences(event.start, rule.frequency, rule.count).values())
        if row.expires > last:
            return False
    return True


@server.invariant
def answers_decide_what_the_user_attends(agenda: Agenda) -> bool:
    """An event of somebody else is confirmed if the user accepted, declined if declined, else tentative."""
    outcome = {"accepted": "confirmed", "declined": "declined", "pending": "tentative", "tentative": "tentative"}
    rows = agenda.invitations.where(invitee=agenda.me)
    answered = {row.event: outcome.get(row.answer) for row in rows}
    others = [row for row in agenda.events if row.organizer not in (None, agenda.me)]
    return len(others) == len(rows) and all(answered.get(row.id) == row.status for row in others)


@server.invariant
def occurrences_lie_within_their_series(agenda: Agenda) -> bool:
    """A series and its event know each other, and the days left out are some, not all, of those the rule gives."""
    for rule in agenda.series:
        event = agenda.events[rule.event]
        days = occurrences(event.start, rule.frequency, rule.count)
        if event.series != rule.id or not set(rule.skipped) < set(days):
            return False
        if len(days) != rule.count or list(rule.skipped) != sorted(set(rule.skipped)):
            return False
    return all(row.series is None or agenda.series[row.series].event == row.id for row in agenda.events)


@server.invariant
def reminders_come_before_the_start(agenda: Agenda) -> bool:
    """Reminders lie before the start of an event that takes place, each at a time of its own."""
    return all(
        all(before < after for before, after in pairwise((0, *row.reminders)))
        and (not row.reminders or row.status in ("confirmed", "tentative"))
        for row in agenda.events
    )


@server.invariant
def cancelled_events_have_no_open_invitations(agenda: Agenda) -> bool:
    """Invitations of cancelled events wait for no answer, and only these are withdrawn."""
    return all(
        row.answer != ("pending" if agenda.events[row.event].status == "cancelled" else "withdrawn")
        for row in agenda.invitations
    )


@server.invariant
def read_only_calendars_stay_as_they_are(agenda: Agenda) -> bool:
    """Events of a read-only calendar are confirmed, belong to nobody, and nobody is invited to them."""
    public = [row for row in agenda.events if agenda.calendars[row.calendar].read_only]
    return all(
        row.status == "confirmed" and row.organizer is None and not agenda.invitations.where(event=row.id)
        for row in public
    ) and len(public) == sum(row.organizer is None for row in agenda.events)
