"""How deals come to be and go from stage to stage: what each stage asks for, and what closing a deal does."""

from __future__ import annotations

from collections.abc import Callable
from datetime import date

from ..kit import ToolError
from .rules import is_expired, require_room
from .state import STAGES, Contact, Crm, Deal, LossReason, Quote, Stage


def open_new_deal(crm: Crm, contact: Contact, title: str, close_on: date) -> Deal:
    """A deal of the user in the first stage. Raises ToolError when the user has no room for it."""
    require_room(crm, crm.me)
    return crm.deals.put(
        Deal(
            id=crm.deals.new_id(),
            title=title,
            contact=contact.id,
            company=contact.company,
            owner=crm.me,
            stage=STAGES[0],
            amount=0,
            close_on=close_on,
            created=crm.now.date(),
        )
    )


def require_next(deal: Deal, stage: Stage) -> None:
    """Raises ToolError unless the stage is the next one, or an earlier one."""
    if stage == deal.stage:
        raise ToolError("already_in_stage", f"{deal.id} is in {stage} already; name another stage.")
    coming = STAGES[STAGES.index(deal.stage) + 1]
    if STAGES.index(stage) > STAGES.index(coming):
        raise ToolError(
            "stage_not_reachable", f"{deal.id} is in {deal.stage}; it goes to {coming} next, or to lost, or back."
        )


def require_call(crm: Crm, deal: Deal) -> None:
    if not any(row.kind in ("call", "meeting") for row in crm.activities.where(deal=deal.id)):
        raise ToolError("call_required", f"Log a call or meeting on {deal.id} before it goes to discovery.")


def require_sent_quote(crm: Crm, deal: Deal) -> None:
    quote = quote_of(crm, deal)
    if quote is None or quote.status != "sent":
        raise ToolError("quote_not_sent", f"{deal.id} has no quote that was sent; make one and send it first.")
    if is_expired(quote, crm.now.date()):
        raise ToolError(
            "quote_expired", f"{quote.id} was valid until {quote.valid_until}; quote its products anew and send that."
        )


def require_meeting(crm: Crm, deal: Deal) -> None:
    require_sent_quote(crm, deal)
    if not any(row.kind == "meeting" for row in crm.activities.where(deal=deal.id)):
        raise ToolError("meeting_required", f"Log a meeting on {deal.id} before it goes to negotiation.")


def require_nothing_to_do(crm: Crm, deal: Deal) -> None:
    require_sent_quote(crm, deal)
    waiting = next((row for row in crm.activities.where(deal=deal.id) if not row.done), None)
    if waiting:
        raise ToolError("open_tasks", f"{waiting.id} ({waiting.text}) is still to be done; complete it first.")


REQUIREMENTS: dict[Stage, Callable[[Crm, Deal], None]] = {
    "discovery": require_call,
    "proposal": require_sent_quote,
    "negotiation": require_meeting,
    "won": require_nothing_to_do,
}


def advance(crm: Crm, deal: Deal, stage: Stage) -> Deal:
    """The deal in another stage, its quote accepted when it is won. Raises ToolError for what is missing."""
    require_next(deal, stage)
    if STAGES.index(stage) > STAGES.index(deal.stage):
        REQUIREMENTS[stage](crm, deal)
    if stage == "won" and deal.quote:
        crm.quotes.change(deal.quote, status="accepted")
    return crm.deals.change(deal.id, stage=stage)


def lose(crm: Crm, deal: Deal, reason: LossReason) -> Deal:
    """The deal lost: its quote is declined and nothing is left to do."""
    if deal.quote:
        crm.quotes.change(deal.quote, status="declined")
    for row in crm.activities.where(deal=deal.id):
        if not row.done:
            crm.activities.change(row.id, done=True)
    return crm.deals.change(deal.id, stage="lost", loss_reason=reason)


def quote_of(crm: Crm, deal: Deal) -> Quote | None:
    return crm.quotes[deal.quote] if deal.quote else None
