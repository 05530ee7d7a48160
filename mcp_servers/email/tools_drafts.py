"""Tools on drafts, messages that are written now and sent later."""

from __future__ import annotations

from ..kit import ToolError
from .parameters import ROWS, Body, DraftRef, Limit, NewRecipient, Recipient, Subject
from .sending import post, receipt, require_body, require_recipient
from .server import server
from .state import Draft, DraftId, DraftView, Mail, SentMessage, view_draft


@server.write()
def create_draft(mail: Mail, to: Recipient, subject: Subject, body: Body) -> DraftView:
    """Save a new draft without sending it."""
    recipient = require_recipient(mail, to)
    draft = Draft(id=mail.drafts.new_id(), to=to, name=recipient.name, subject=subject, body=body)
    return view_draft(mail.drafts.put(draft))


@server.read()
def list_drafts(mail: Mail, limit: Limit = None) -> tuple[DraftView, ...]:
    """List the drafts that are not sent yet, newest first."""
    unsent = [row for row in mail.drafts if row.status == "open"]
    return tuple(view_draft(row) for row in unsent[::-1][: limit or ROWS])


def require_unsent(mail: Mail, draft: DraftId) -> Draft:
    row = mail.drafts[draft]
    if row.status == "sent":
        raise ToolError("draft_already_sent", f"{draft} went out as {row.message}; create a new draft instead.")
    return row


@server.write(idempotent=True)
def update_draft(mail: Mail, draft: DraftRef, body: Body, to: NewRecipient = None) -> DraftView:
    """Replace the text of a draft, and its recipient if given."""
    row = require_unsent(mail, draft)
    if to is not None:
        mail.drafts.change(draft, to=to, name=require_recipient(mail, to).name)
    elif body == row.body:
        raise ToolError("nothing_to_change", f"{draft} already has this text; send it or give another one.")
    return view_draft(mail.drafts.change(draft, body=body))


@server.write(idempotent=True)
def send_draft(mail: Mail, draft: DraftRef) -> SentMessage:
    """Send a draft that has a recipient and a text."""
    row = require_unsent(mail, draft)
    if row.to is None:
        raise ToolError("no_recipient", f"{draft} has no recipient; set one with update_draft.")
    recipient = require_recipient(mail, row.to)
    require_body(row.body)
    message = post(mail, recipient, row.subject, row.body)
    mail.drafts.change(draft, status="sent", message=message.id)
    return receipt(message)


@server.write(destructive=True, idempotent=True)
def delete_draft(mail: Mail, draft: DraftRef) -> DraftView:
    """Delete a draft that was not sent."""
    require_unsent(mail, draft)
    return view_draft(mail.drafts.remove(draft))
