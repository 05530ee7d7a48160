"""Views of people, companies, deals and activities in tool results: short rows in lists, full details of a deal."""

from __future__ import annotations

from typing import Literal

from ..core import Day, Entity, Minute
from ..shared.people import EmailAddress
from .engine import room_of
from .state import (
    CLOSED,
    STAGES,
    Activity,
    ActivityKind,
    ClientCompanyId,
    Company,
    Crm,
    Deal,
    LossReason,
    Person,
    Quote,
    SalesActivityId,
    SalesDealId,
    SalesLeadId,
    SalesPerson,
    SalesQuoteId,
    SalesRepId,
    Stage,
)


class PersonLine(Entity):
    """A person in a search result, who may be sold to."""

    __label__ = "{name}"
    id: EmailAddress
    name: str
    company: str
    kind: Literal["prospect", "lead", "contact"]
    lead: SalesLeadId | None = None


class TeamLine(Entity):
    """A sales person in a search result; `room` is how many more open deals they take."""

    __label__ = "{name}"
    id: SalesRepId
    name: str
    room: int
    away: bool


class CompanyLine(Entity):
    """A company in a search result, and how many contacts it has."""

    __label__ = "the company {name}"
    id: ClientCompanyId
    name: str
    domain: str
    contacts: int


class SearchResults(Entity):
    """What a search found."""

    people: tuple[PersonLine, ...]
    companies: tuple[CompanyLine, ...]
    team: tuple[TeamLine, ...]


class DealLine(Entity):
    """A deal in a list; amount in cents."""

    __label__ = "the deal {title}"
    id: SalesDealId
    title: str
    contact: EmailAddress
    owner: SalesRepId
    stage: Stage
    amount: int
    close_on: Day
    quote: SalesQuoteId | None = None


class Pipeline(Entity):
    """Deals by closing day, and the forecast of all that match: number, total and expected cents."""

    deals: tuple[DealLine, ...]
    count: int
    amount: int
    expected: int


class ActivityLine(Entity):
    """An activity in a list."""

    __label__ = "the {kind} {text}"
    id: SalesActivityId
    kind: ActivityKind
    text: str
    person: EmailAddress
    at: Minute
    deal: SalesDealId | None = None
    due: Day | None = None
    done: bool | None = None


class ContactRow(Entity):
    """The contact of a deal."""

    __label__ = "{name}"
    id: EmailAddress
    name: str


class OwnerRow(Entity):
    """The sales person who owns a deal."""

    __label__ = "{name}"
    id: SalesRepId
    name: str


class CompanyRow(Entity):
    """The company of a deal."""

    __label__ = "the company {name}"
    id: ClientCompanyId
    name: str


class DealDetails(Entity):
    """Everything about a deal; `next` is the stage that comes next."""

    __label__ = "the deal {title}"
    id: SalesDealId
    title: str
    contact: ContactRow
    company: CompanyRow
    owner: OwnerRow
    stage: Stage
    amount: int
    close_on: Day
    tasks: tuple[ActivityLine, ...]
    next: Stage | None = None
    quote: Quote | None = None
    loss_reason: LossReason | None = None


def person_line(crm: Crm, person: Person) -> PersonLine:
    lead = crm.open_lead(person.id)
    return PersonLine.from_row(
        person,
        kind="contact" if crm.is_contact(person.id) else "lead" if lead else "prospect",
        lead=lead.id if lead else None,
    )


def team_line(crm: Crm, member: SalesPerson) -> TeamLine:
    return TeamLine.from_row(member, room=room_of(crm, member.id))


def company_line(crm: Crm, company: Company) -> CompanyLine:
    contacts = sum(not row.archived for row in crm.contacts.where(company=company.id))
    return CompanyLine.from_row(company, contacts=contacts)


def deal_line(deal: Deal) -> DealLine:
    return DealLine.from_row(deal)


def activity_line(row: Activity) -> ActivityLine:
    return ActivityLine.from_row(row, done=row.done if row.kind == "task" else None)


def deal_details(crm: Crm, deal: Deal) -> DealDetails:
    tasks = [row for row in crm.activities.where(deal=deal.id) if not row.done]
    return DealDetails.from_row(
        deal,
        contact=ContactRow(id=deal.contact, name=crm.people[deal.contact].name),
        company=CompanyRow(id=deal.company, name=crm.companies[deal.company].name),
        owner=OwnerRow(id=deal.owner, name=crm.team[deal.owner].name),
        tasks=tuple(activity_line(row) for row in tasks),
        next=None if deal.stage in CLOSED else STAGES[STAGES.index(deal.stage) + 1],
        quote=crm.quotes[deal.quote] if deal.quote else None,
    )
