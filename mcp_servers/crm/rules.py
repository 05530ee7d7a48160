"""When the customer database refuses: what is closed, somebody else's, too much, or not yet due."""

from __future__ import annotations

from datetime import date, timedelta

from ..kit import NotFound, ToolError
from ..people import EmailAddress
from .state import Company, Contact, Crm, Deal, Person, Quote, SalesDealId, SalesRepId

FURTHEST = timedelta(days=730)


def open_deal(crm: Crm, id: SalesDealId) -> Deal:
    """The deal, which is neither won nor lost. Raises ToolError otherwise."""
    deal = crm.deals[id]
    if not deal.is_open:
        raise ToolError("deal_closed", f"{id} ({deal.title}) is {deal.stage}; create a new deal instead.")
    return deal


def own_deal(crm: Crm, id: SalesDealId) -> Deal:
    """The deal, which is open and the user's. Raises ToolError otherwise."""
    deal = open_deal(crm, id)
    if deal.owner != crm.me:
        raise ToolError(
            "not_the_owner",
            f"{id} belongs to {crm.team[deal.owner].name}; ask them, or take it over while they are away.",
        )
    return deal


def known_person(crm: Crm, id: EmailAddress) -> Person:
    """The person, who is outside the sales team. Raises ToolError otherwise."""
    colleague = crm.team.where(email=id)
    if colleague:
        raise ToolError("on_the_sales_team", f"{colleague[0].name} is on your sales team; name a customer.")
    person = crm.people.get(id)
    if person is None:
        raise NotFound(f"Nobody here has the address {id}; search_crm finds the people there are.")
    return person


def active_contact(crm: Crm, id: EmailAddress) -> Contact:
    """The contact, who takes deals. Raises ToolError otherwise."""
    person, contact = known_person(crm, id), crm.contacts.get(id)
    if contact is None:
        raise ToolError("not_a_contact", f"{person.name} is no contact yet; create a lead and convert it first.")
    if contact.archived:
        raise ToolError("contact_archived", f"{person.name} is archived; a new lead, once converted, brings them back.")
    return contact


def require_room(crm: Crm, owner: SalesRepId) -> None:
    """Raises ToolError when a sales person has as many open deals as they may have."""
    person = crm.team[owner]
    if room_of(crm, owner) < 1:
        raise ToolError(
            "owner_at_capacity",
            f"{person.name} has {person.deal_limit} open deals, the most allowed; close or assign one first.",
        )


def room_of(crm: Crm, owner: SalesRepId) -> int:
    """How many more open deals a sales person may have."""
    return crm.team[owner].deal_limit - len(crm.deals.where(open_of=owner))


def require_day_to_come(today: date, day: date, first: date) -> None:
    """Raises ToolError for a day before `first` or over two years from today."""
    if day < first:
        raise ToolError("in_the_past", f"Today is {today}; name a day from {first} on.")
    if day > today + FURTHEST:
        raise ToolError("too_far_ahead", f"Name a day until {today + FURTHEST}.")


def is_expired(quote: Quote, today: date) -> bool:
    """Whether a sent quote can no longer be accepted."""
    return quote.status == "sent" and quote.valid_until is not None and quote.valid_until < today


def company_for(crm: Crm, person: EmailAddress) -> Company:
    """The oldest company of the person's mail domain; every person's has one."""
    return crm.companies.where(domain=domain_of(person))[0]


def domain_of(address: EmailAddress) -> str:
    return address.split("@")[1]
