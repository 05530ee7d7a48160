"""Tools on who comes: the user's guests, and the invitations the user got."""

from __future__ import annotations

from ..kit import ToolError, minute_text
from .parameters import ROWS, AskedAnswer, AttendeeRef, EventRef, InvitationRef, Limit, Response
from .rules import own_event, require_free
from .server import server
from .state import Agenda, Answer, Event, Invitation, Status
from .views import Attendance, InvitationAnswer, InvitationLine, attendees_of, line_of

OUTCOMES: dict[str, tuple[Answer, Status]] = {
    "accept": ("accepted", "confirmed"),
    "decline": ("declined", "declined"),
    "tentative": ("tentative", "tentative"),
}


@server.write(idempotent=True)
def invite_attendee(agenda: Agenda, event: EventRef, attendee: AttendeeRef) -> Attendance:
    """Invite a contact to your event."""
    row, person = own_event(agenda, event), agenda.contacts[attendee]
    if agenda.invitations.where(event=event, invitee=attendee):
        raise ToolError("already_invited", f"{person.name} is invited to {event} already; invite somebody else.")
    agenda.invitations.put(
        Invitation(
            id=agenda.invitations.new_id(),
            event=event,
            invitee=attendee,
            answer="pending",
            expires=agenda.upcoming(row)[0],
        )
    )
    return attendance(agenda, row)


@server.write(idempotent=True)
def remove_attendee(agenda: Agenda, event: EventRef, attendee: AttendeeRef) -> Attendance:
    """Remove an attendee from your event."""
    row, person = own_event(agenda, event), agenda.contacts[attendee]
    found = agenda.invitations.where(event=event, invitee=attendee)
    if not found:
        raise ToolError("not_invited", f"{person.name} is not invited to {event}; get_event tells who is.")
    agenda.invitations.remove(found[0].id)
    return attendance(agenda, row)


def attendance(agenda: Agenda, event: Event) -> Attendance:
    return Attendance(id=event.id, title=event.title, attendees=attendees_of(agenda, event))


@server.read()
def list_invitations(agenda: Agenda, answer: AskedAnswer = None, limit: Limit = ROWS) -> tuple[InvitationLine, ...]:
    """List the invitations you got, by start."""
    rows = [row for row in agenda.invitations.where(invitee=agenda.me) if answer in (None, row.answer)]
    rows.sort(key=lambda row: (agenda.events[row.event].start, row.id))
    return tuple(line_of(agenda, row) for row in rows[:limit])


@server.write(idempotent=True)
def respond_to_invitation(agenda: Agenda, invitation: InvitationRef, response: Response) -> InvitationAnswer:
    """Answer an invitation you got."""
    row = agenda.invitations[invitation]
    event, (answer, status) = agenda.events[row.event], OUTCOMES[response]
    if row.invitee != agenda.me:
        raise ToolError("not_your_invitation", f"{invitation} is not for you; list_invitations shows yours.")
    if row.expires <= agenda.now:
        raise ToolError("invitation_expired", f"{invitation} expired at {minute_text(row.expires)}; ask for a new one.")
    if row.answer == answer:
        raise ToolError("already_answered", f"Your answer to {invitation} is {answer} already; give another one.")
    if status == "confirmed":
        require_free(agenda, event.calendar, [event.start], event.duration)
    reminders = () if status == "declined" else event.reminders
    agenda.events.change(event.id, status=status, reminders=reminders)
    agenda.invitations.change(invitation, answer=answer)
    return InvitationAnswer(id=row.id, event=event.id, meeting=event.title, start=event.start, answer=answer)
