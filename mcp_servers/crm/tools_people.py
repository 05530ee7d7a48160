"""Tools on people and companies: search, archiving a contact, merging what was entered twice."""

from __future__ import annotations

from itertools import islice

from ..kit import ToolError
from .parameters import ROWS, AskedKind, CompanyRef, ContactRef, DuplicateRef, Limit, Query
from .rules import active_contact
from .server import server
from .state import Crm, filter_by_name
from .views import CompanyLine, PersonLine, SearchResults, company_line, person_line, team_line


@server.read()
def search_crm(crm: Crm, query: Query = None, kind: AskedKind = None, limit: Limit = ROWS) -> SearchResults:
    """Search people, companies and sales people by words of their names."""
    people = filter_by_name(crm.people, query) if kind not in ("company", "sales person") else ()
    companies = filter_by_name(crm.companies, query) if kind in (None, "company") else ()
    team = filter_by_name(crm.team, query) if kind in (None, "sales person") else ()
    lines = (person_line(crm, row) for row in people)
    return SearchResults(
        people=tuple(islice((line for line in lines if kind in (None, line.kind)), limit)),
        companies=tuple(company_line(crm, row) for row in islice(companies, limit)),
        team=tuple(team_line(crm, row) for row in islice(team, limit)),
    )


@server.write(idempotent=True)
def archive_crm_contact(crm: Crm, contact: ContactRef) -> PersonLine:
    """Archive a contact without open deals; a new lead brings them back."""
    row = active_contact(crm, contact)
    waiting = next((deal for deal in crm.deals.where(contact=contact) if deal.is_open), None)
    if waiting:
        raise ToolError("contact_has_open_deals", f"{waiting.id} ({waiting.title}) is open; close it first.")
    crm.contacts.change(row.id, archived=True)
    return person_line(crm, crm.people[contact])


@server.write(destructive=True, idempotent=True)
def merge_companies(crm: Crm, company: CompanyRef, duplicate: DuplicateRef) -> CompanyLine:
    """Merge a company entered twice: its contacts and deals go to the one kept."""
    kept, lost = crm.companies[company], crm.companies[duplicate]
    if kept.id == lost.id:
        raise ToolError("same_company", f"{company} is one entry already; name another one to merge into it.")
    if kept.domain != lost.domain:
        raise ToolError(
            "not_duplicates",
            f"{kept.name} has the domain {kept.domain} and {lost.name} {lost.domain}; merge entries of one domain.",
        )
    for contact in crm.contacts.where(company=duplicate):
        crm.contacts.change(contact.id, company=company)
    for deal in crm.deals.where(company=duplicate):
        crm.deals.change(deal.id, company=company)
    crm.companies.remove(duplicate)
    return company_line(crm, kept)
