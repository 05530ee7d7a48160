"""Checks that raise ToolError, and the stage transitions of deals."""

from __future__ import annotations

from collections.abc import Callable
from datetime import date, timedelta

from ..core import NotFound, ToolError
from ..shared.people import EmailAddress
from .state import STAGES, Company, Contact, Crm, Deal, LossReason, Person, Quote, SalesDealId, SalesRepId, Stage

# Checks that raise ToolError: closed deals, records of others, exceeded limits, invalid days.

FURTHEST = timedelta(days=730)


def open_deal(crm: Crm, id: SalesDealId) -> Deal:
    """Return the deal, if it is neither won nor lost. Raises ToolError otherwise."""
    deal = crm.deals[id]
    if not deal.is_open:
        raise ToolError("deal_closed", f"{id} ({deal.title}) is {deal.stage}; create a new deal instead.")
    return deal


def own_deal(crm: Crm, id: SalesDealId) -> Deal:
    """Return the deal, if it is open and the user owns it. Raises ToolError otherwise."""
    deal = open_deal(crm, id)
    if deal.owner != crm.me:
        raise ToolError(
            "not_the_owner",
            f"{id} belongs to {crm.team[deal.owner].name}; ask them, or take it over while they are away.",
        )
    return deal


def known_person(crm: Crm, id: EmailAddress) -> Person:
    """Return the person, if known and outside the sales team. Raises ToolError otherwise."""
    colleague = crm.team.where(email=id)
    if colleague:
        raise ToolError("on_the_sales_team", f"{colleague[0].name} is on your sales team; name a customer.")
    person = crm.people.get(id)
    if person is None:
        raise NotFound(f"Nobody here has the address {id}; search_crm finds the people there are.")
    return person


def active_contact(crm: Crm, id: EmailAddress) -> Contact:
    """Return the contact, if it is not archived. Raises ToolError otherwise."""
    person, contact = known_person(crm, id), crm.contacts.get(id)
    if contact is None:
        raise ToolError("not_a_contact", f"{person.name} is no contact yet; create a lead and convert it first.")
    if contact.archived:
        raise ToolError("contact_archived", f"{person.name} is archived; a new lead, once converted, brings them back.")
    return contact


def require_room(crm: Crm, owner: SalesRepId) -> None:
    """Raise ToolError when a sales person has reached the limit of open deals."""
    person = crm.team[owner]
    if room_of(crm, owner) < 1:
        raise ToolError(
            "owner_at_capacity",
            f"{person.name} has {person.deal_limit} open deals, the most allowed; close or assign one first.",
        )


def room_of(crm: Crm, owner: SalesRepId) -> int:
    """Return how many more open deals a sales person may have."""
    return crm.team[owner].deal_limit - len(crm.deals.where(open_of=owner))


def require_day_to_come(today: date, day: date, first: date) -> None:
    """Raise ToolError for a day before `first` or over two years from today."""
    if day < first:
        raise ToolError("in_the_past", f"Today is {today}; name a day from {first} on.")
    if day > today + FURTHEST:
        raise ToolError("too_far_ahead", f"Name a day until {today + FURTHEST}.")


def is_expired(quote: Quote, today: date) -> bool:
    """Return whether a sent quote can no longer be accepted."""
    return quote.status == "sent" and quote.valid_until is not None and quote.valid_until < today


def company_for(crm: Crm, person: EmailAddress) -> Company:
    """Return the oldest company of the person's mail domain; every such domain has a company."""
    return crm.companies.where(domain=domain_of(person))[0]


def domain_of(address: EmailAddress) -> str:
    return address.split("@")[1]


# Creation of deals, requirements of each stage, and effects of closing a deal.


def open_new_deal(crm: Crm, contact: Contact, title: str, close_on: date) -> Deal:
    """Create a deal of the user in the first stage. Raises ToolError when the user has reached the deal limit."""
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
    """Raise ToolError unless the stage is the next one or an earlier one."""
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
    """Move the deal to another stage; winning it accepts its quote. Raises ToolError for an unmet requirement."""
    require_next(deal, stage)
    if STAGES.index(stage) > STAGES.index(deal.stage):
        REQUIREMENTS[stage](crm, deal)
    if stage == "won" and deal.quote:
        crm.quotes.change(deal.quote, status="accepted")
    return crm.deals.change(deal.id, stage=stage)


def lose(crm: Crm, deal: Deal, reason: LossReason) -> Deal:
    """Mark the deal as lost, decline its quote and complete its open tasks."""
    if deal.quote:
        crm.quotes.change(deal.quote, status="declined")
    for row in crm.activities.where(deal=deal.id):
        if not row.done:
            crm.activities.change(row.id, done=True)
    return crm.deals.change(deal.id, stage="lost", loss_reason=reason)


def quote_of(crm: Crm, deal: Deal) -> Quote | None:
    return crm.quotes[deal.quote] if deal.quote else None
