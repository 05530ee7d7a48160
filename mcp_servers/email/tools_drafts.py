"""Tools on drafts, messages that are written now and sent later."""

from __future__ import annotations

from ..kit import ToolError
from .parameters import ROWS, Body, DraftRef, Limit, NewRecipient, Recipient, Subject
from .sending import post, receipt, require_body, require_recipient
from .server import server
from .state import Draft, DraftId, DraftView, Mail, SentMessage, view_draft


@server.write(
    "draft an email to {to} with the subject {subject} and the text {body}",
    "save a draft for {to}, subject {subject}, saying {body}",
    "prepare an email to {to} about {subject} that reads {body}, but do not send it",
    "write a draft to {to} under the subject {subject} with the text {body}",
)
def create_draft(mail: Mail, to: Recipient, subject: Subject, body: Body) -> DraftView:
    """Save a new draft without sending it."""
    recipient = require_recipient(mail, to)
    draft = Draft(id=mail.drafts.new_id(), to=to, name=recipient.name, subject=subject, body=body)
    return view_draft(mail.drafts.put(draft))


@server.read(
    "list my drafts[, at most {limit}]",
    "show me the drafts I have not sent yet[, no more than {limit}]",
    "check which emails are still drafts[, up to {limit}]",
    "list all unfinished emails in my drafts[, {limit} at most]",
)
def list_drafts(mail: Mail, limit: Limit = None) -> tuple[DraftView, ...]:
    """List the drafts that are not sent yet, newest first."""
    unsent = [row for row in mail.drafts if row.status == "open"]
    return tuple(view_draft(row) for row in unsent[::-1][: limit or ROWS])


def require_unsent(mail: Mail, draft: DraftId) -> Draft:
    row = mail.drafts[draft]
    if row.status == "sent":
        raise ToolError("draft_already_sent", f"{draft} went out as {row.message}; create a new draft instead.")
    return row


@server.write(
    "change the text of {draft} to {body}[, addressed to {to}]",
    "update {draft} to read {body}[ with the recipient {to}]",
    "rewrite {draft} so that it says {body}[, now meant for {to}]",
    "replace the text in {draft} with {body}[ and address it to {to}]",
    idempotent=True,
)
def update_draft(mail: Mail, draft: DraftRef, body: Body, to: NewRecipient = None) -> DraftView:
    """Replace the text of a draft, and its recipient if given."""
    row = require_unsent(mail, draft)
    if to is not None:
        mail.drafts.change(draft, to=to, name=require_recipient(mail, to).name)
    elif body == row.body:
        raise ToolError("nothing_to_change", f"{draft} already has this text; send it or give another one.")
    return view_draft(mail.drafts.change(draft, body=body))


@server.write(
    "send {draft}", "send off {draft} as it is", "send out {draft} now", "finish {draft} by sending it", idempotent=True
)
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


@server.write(
    "delete {draft}",
    "throw away {draft} for good",
    "discard {draft} without sending it",
    "remove {draft} from my drafts",
    destructive=True,
    idempotent=True,
)
def delete_draft(mail: Mail, draft: DraftRef) -> DraftView:
    """Delete a draft that was not sent."""
    require_unsent(mail, draft)
    return view_draft(mail.drafts.remove(draft))
