"""Tools on leads: noting a person's interest, and making a contact of it."""

from __future__ import annotations

from datetime import timedelta

from ..kit import ToolError
from .parameters import LeadRef, NewTitle, PersonRef, Source
from .pipeline import open_new_deal
from .rules import company_for, known_person
from .server import server
from .state import Contact, Crm, Lead, SalesLeadId

FIRST_CLOSING = timedelta(days=30)


@server.write(idempotent=True)
def create_lead(crm: Crm, person: PersonRef, source: Source) -> Lead:
    """Create a lead of yours for a person who is no contact."""
    row = known_person(crm, person)
    if crm.is_contact(person):
        raise ToolError("duplicate_contact", f"{row.name} is a contact already; create a deal with them.")
    known = crm.open_lead(person)
    if known:
        raise ToolError("lead_exists", f"{known.id} is an open lead of {row.name} already; use that one.")
    return crm.leads.put(
        Lead(
            id=crm.leads.new_id(),
            person=person,
            name=row.name,
            company=row.company,
            source=source,
            status="new",
            owner=crm.me,
            created=crm.now.date(),
        )
    )


@server.write(destructive=True, idempotent=True)
def convert_lead(crm: Crm, lead: LeadRef, title: NewTitle = None) -> Lead:
    """Convert your contacted lead into a contact, with a first deal if titled."""
    row = convertible(crm, lead)
    old = crm.contacts.get(row.person)
    company = old.company if old else company_for(crm, row.person).id
    contact = crm.contacts.put(Contact(id=row.person, company=company, since=crm.now.date()))
    if title is not None:
        open_new_deal(crm, contact, title, crm.now.date() + FIRST_CLOSING)
    return crm.leads.change(lead, status="converted", contact=row.person)


def convertible(crm: Crm, id: SalesLeadId) -> Lead:
    """The lead, which is the user's and ready to become a contact. Raises ToolError otherwise."""
    lead = crm.leads[id]
    if lead.status == "converted":
        raise ToolError("lead_already_converted", f"{id} was converted to the contact {lead.contact}; use that one.")
    if lead.status == "disqualified":
        raise ToolError("lead_disqualified", f"{id} ({lead.name}) was disqualified; create a new lead instead.")
    if lead.owner != crm.me:
        raise ToolError("not_the_owner", f"{id} belongs to {crm.team[lead.owner].name}; only they can convert it.")
    if crm.is_contact(lead.person):
        raise ToolError("duplicate_contact", f"{lead.name} is a contact already; create a deal with them.")
    if lead.status == "new":
        raise ToolError("lead_not_contacted", f"Nobody spoke to {lead.name} yet; log a call or meeting first.")
    return lead
