"""Invariants of the customer database: they hold in every state that a session can reach."""

from __future__ import annotations

from collections import Counter

from .engine import domain_of
from .server import server
from .state import STAGES, Crm, Deal
from .tools import FREE_DISCOUNT, MOST_LINES


@server.invariant
def deals_have_a_contact_and_a_company_that_agree(crm: Crm) -> bool:
    """A deal is with a contact, not archived while it is open, and with that contact's company."""
    for deal in crm.deals:
        contact = crm.contacts.get(deal.contact)
        if contact is None or contact.company != deal.company or (deal.is_open and contact.archived):
            return False
    return True


@server.invariant
def contacts_belong_to_a_company_of_their_domain(crm: Crm) -> bool:
    """A contact is a known person outside the team, whose company exists and has their mail domain."""
    for contact in crm.contacts:
        company = crm.companies.get(contact.company)
        if company is None or company.domain != domain_of(contact.id):
            return False
        if contact.id not in crm.people or crm.team.where(email=contact.id):
            return False
    return True


@server.invariant
def amounts_equal_the_lines_of_the_quote(crm: Crm) -> bool:
    """A line is quantity times price less discount, a quote the sum of its lines, a deal's amount its quote."""
    for quote in crm.quotes:
        lines = quote.lines
        if any(row.total != row.quantity * row.price * (100 - row.discount) // 100 for row in lines):
            return False
        if quote.total != sum(row.total for row in lines):
            return False
    return all(deal.amount == (crm.quotes[deal.quote].total if deal.quote else 0) for deal in crm.deals)


@server.invariant
def a_deal_has_one_quote_that_counts(crm: Crm) -> bool:
    """All quotes of a deal but its own are replaced, which is open or closed as the deal is."""
    status = {"won": ("accepted",), "lost": ("declined",)}
    if any(deal.quote and crm.quotes[deal.quote].deal != deal.id for deal in crm.deals):
        return False
    for quote in crm.quotes:
        deal = crm.deals[quote.deal]
        counting = status.get(deal.stage, ("draft", "sent"))
        if quote.title != deal.title or (quote.status in counting) != (quote.id == deal.quote):
            return False
        if quote.id != deal.quote and quote.status != "replaced":
            return False
    return True


@server.invariant
def quotes_keep_to_the_price_list(crm: Crm) -> bool:
    """Each product once on a quote, from its fewest units on, up to its discount; sent high ones are approved."""
    for quote in crm.quotes:
        products = [line.product for line in quote.lines]
        if len(dict.fromkeys(products)) != len(products) or len(products) > MOST_LINES:
            return False
        for line in quote.lines:
            item = crm.products[line.product]
            if not (line.quantity >= item.minimum and 0 <= line.discount <= item.max_discount):
                return False
            if line.discount > FREE_DISCOUNT and quote.valid_until and not quote.approved:
                return False
        if quote.status in ("sent", "accepted") and not (quote.lines and quote.valid_until):
            return False
        if quote.status == "draft" and (quote.valid_until or quote.approved):
            return False
    return True


@server.invariant
def stages_are_earned(crm: Crm) -> bool:
    """Deals from discovery on have a call, from proposal on a sent quote, from negotiation on a meeting."""
    return all(deal.stage == "lost" or has_earned_stage(crm, deal) for deal in crm.deals)


def has_earned_stage(crm: Crm, deal: Deal) -> bool:
    kinds = [row.kind for row in crm.activities.where(deal=deal.id)]
    sent = any(quote.valid_until for quote in crm.quotes.where(deal=deal.id))
    place = STAGES.index(deal.stage)
    return (
        (place < 1 or "call" in kinds or "meeting" in kinds)
        and (place < 2 or sent)
        and (place < 3 or "meeting" in kinds)
        and (place < 4 or deal.quote is not None)
    )


@server.invariant
def closed_deals_are_settled(crm: Crm) -> bool:
    """A closed deal has nothing left to do; those lost, and only those, have a reason."""
    closed = [deal.id for deal in crm.deals if not deal.is_open]
    return all((deal.stage == "lost") == (deal.loss_reason is not None) for deal in crm.deals) and all(
        row.done for id in closed for row in crm.activities.where(deal=id)
    )


@server.invariant
def nobody_has_more_open_deals_than_allowed(crm: Crm) -> bool:
    """Each deal has an owner in the sales team, who has no more open ones than their limit."""
    count = Counter(deal.owner for deal in crm.deals if deal.is_open)
    return all(deal.owner in crm.team for deal in crm.deals) and all(
        count[member.id] <= member.deal_limit for member in crm.team
    )


@server.invariant
def converted_leads_point_at_their_contact(crm: Crm) -> bool:
    """A converted lead, and no other, names a contact: its person."""
    return all(
        (lead.status == "converted") == (lead.contact is not None)
        and lead.contact in (None, lead.person)
        and (lead.contact is None or lead.contact in crm.contacts)
        and lead.owner in crm.team
        for lead in crm.leads
    )


@server.invariant
def nobody_is_an_open_lead_twice(crm: Crm) -> bool:
    """A person has one open lead at most."""
    people = [lead.person for lead in crm.leads if lead.is_open]
    return len(dict.fromkeys(people)) == len(people) and all(person in crm.people for person in people)


@server.invariant
def activities_are_in_order(crm: Crm) -> bool:
    """A task, and nothing else, is due some day and may be open; what is on a deal is with its contact and owner."""
    for row in crm.activities:
        deal = crm.deals[row.deal] if row.deal else None
        if (row.kind == "task") != (row.due is not None) or not (row.done or row.kind == "task"):
            return False
        if deal and (row.person != deal.contact or not (row.done or row.owner == deal.owner)):
            return False
        if row.person not in crm.people or row.owner not in crm.team or row.at > crm.now:
            return False
    return True
