"""State of a sales team's database: people, companies, leads, deals with their quotes, products, activities."""

from __future__ import annotations

from collections.abc import Iterator
from functools import cached_property
from typing import Any, Literal, NewType, TypeVar

from ..core import Day, Entity, Minute, State, Table, table
from ..shared.people import EmailAddress

ClientCompanyId = NewType("ClientCompanyId", str)
SalesRepId = NewType("SalesRepId", str)
SalesLeadId = NewType("SalesLeadId", str)
SalesDealId = NewType("SalesDealId", str)
SalesProductId = NewType("SalesProductId", str)
SalesQuoteId = NewType("SalesQuoteId", str)
SalesActivityId = NewType("SalesActivityId", str)

Stage = Literal["qualification", "discovery", "proposal", "negotiation", "won", "lost"]
LeadStatus = Literal["new", "contacted", "converted", "disqualified"]
LeadSource = Literal["website", "trade fair", "referral", "cold call", "webinar", "newsletter"]
LossReason = Literal["price", "competitor", "no budget", "no answer", "bad timing", "missing feature"]
QuoteStatus = Literal["draft", "sent", "accepted", "declined", "replaced"]
ActivityKind = Literal["call", "meeting", "note", "task"]

STAGES: tuple[Stage, ...] = ("qualification", "discovery", "proposal", "negotiation", "won")
CLOSED: tuple[Stage, ...] = ("won", "lost")
CHANCES: dict[Stage, int] = {
    "qualification": 10,
    "discovery": 25,
    "proposal": 50,
    "negotiation": 75,
    "won": 100,
    "lost": 0,
}


class SalesPerson(Entity):
    """A member of the sales team, the user among them; a manager's code approves high discounts."""

    __label__ = "{name}"
    id: SalesRepId
    name: str
    email: EmailAddress
    deal_limit: int
    away: bool
    approval_code: str | None = None

    @cached_property
    def words(self) -> tuple[str, ...]:
        return words_of(self.name)


class Person(Entity):
    """Somebody outside the sales team: a prospect, a lead or a contact."""

    __label__ = "{name}"
    id: EmailAddress
    name: str
    company: str
    job: str

    @cached_property
    def words(self) -> tuple[str, ...]:
        return words_of(f"{self.name} {self.company}")


class Company(Entity):
    """A company that is sold to; duplicates share their web domain."""

    __label__ = "the company {name}"
    id: ClientCompanyId
    name: str
    domain: str
    industry: str

    @cached_property
    def words(self) -> tuple[str, ...]:
        return words_of(self.name)


class Contact(Entity):
    """A person of a company that is or was sold to; an archived one takes no more deals."""

    id: EmailAddress
    company: ClientCompanyId
    since: Day
    archived: bool = False


class Lead(Entity):
    """Interest of a person, to be contacted and then converted; a converted lead names its contact."""

    __label__ = "the lead {name}"
    id: SalesLeadId
    person: EmailAddress
    name: str
    company: str
    source: LeadSource
    status: LeadStatus
    owner: SalesRepId
    created: Day
    contact: EmailAddress | None = None

    @property
    def is_open(self) -> bool:
        return self.status in ("new", "contacted")


class Deal(Entity):
    """Something a company may buy; `amount` is the total of its quote in cents, 0 without one."""

    __label__ = "the deal {title}"
    id: SalesDealId
    title: str
    contact: EmailAddress
    company: ClientCompanyId
    owner: SalesRepId
    stage: Stage
    amount: int
    close_on: Day
    created: Day
    quote: SalesQuoteId | None = None
    loss_reason: LossReason | None = None

    @property
    def is_open(self) -> bool:
        return self.stage not in CLOSED

    @property
    def open_of(self) -> SalesRepId | tuple[()]:
        """The owner of an open deal; an empty tuple for a closed one."""
        return self.owner if self.is_open else ()


class Product(Entity):
    """Something the team sells; price in cents, the highest discount in percent, the fewest units."""

    __label__ = "{item}"
    id: SalesProductId
    item: str
    price: int
    max_discount: int
    minimum: int
    discontinued: bool

    @cached_property
    def words(self) -> tuple[str, ...]:
        return words_of(self.item)


class QuoteLine(Entity):
    """Units of a product on a quote, with a discount in percent; `total` in cents."""

    product: SalesProductId
    item: str
    quantity: int
    price: int
    discount: int
    total: int


class Quote(Entity):
    """An offer for a deal: a draft, then sent and valid until a day, then accepted, declined or replaced."""

    __label__ = "the quote for {title}"
    id: SalesQuoteId
    deal: SalesDealId
    title: str
    status: QuoteStatus
    lines: tuple[QuoteLine, ...]
    total: int
    approved: bool = False
    valid_until: Day | None = None


class Activity(Entity):
    """A call, meeting or note that was, or a task to be done by a day."""

    __label__ = "the {kind} {text}"
    id: SalesActivityId
    kind: ActivityKind
    person: EmailAddress
    text: str
    at: Minute
    owner: SalesRepId
    deal: SalesDealId | None = None
    due: Day | None = None
    done: bool = True

    @property
    def todo(self) -> SalesRepId | tuple[()]:
        """The owner of an open task; an empty tuple for anything else."""
        return () if self.done else self.owner


Named = TypeVar("Named", SalesPerson, Person, Company, Product)


class Crm(State):
    """Everything the sales team has written down."""

    team: Table[SalesRepId, SalesPerson] = table("SREP", "sales person", index=("email", "words"))
    people: Table[EmailAddress, Person] = table("", "person", index=("words",))
    companies: Table[ClientCompanyId, Company] = table("CLNT", "company", index=("domain", "words", "name"))
    contacts: Table[EmailAddress, Contact] = table("", "contact", index=("company",))
    leads: Table[SalesLeadId, Lead] = table("LEAD", "lead", index=("person", "status"))
    deals: Table[SalesDealId, Deal] = table("OPP", "deal", index=("stage", "contact", "company", "owner", "open_of"))
    products: Table[SalesProductId, Product] = table("SPROD", "product", index=("words",))
    quotes: Table[SalesQuoteId, Quote] = table("SQUO", "quote", index=("deal",))
    activities: Table[SalesActivityId, Activity] = table("SACT", "activity", index=("person", "deal", "todo"))

    @property
    def me(self) -> SalesRepId:
        """The user, who is the first of the sales people."""
        return next(iter(self.team)).id

    def is_contact(self, person: EmailAddress) -> bool:
        contact = self.contacts.get(person)
        return contact is not None and not contact.archived

    def open_lead(self, person: EmailAddress) -> Lead | None:
        return next((row for row in self.leads.where(person=person) if row.is_open), None)


def words_of(text: str) -> tuple[str, ...]:
    """Return the distinct words of a text in lowercase."""
    return tuple(dict.fromkeys(text.casefold().replace(",", " ").split()))


def filter_by_name(table: Table[Any, Named], query: str | None) -> Iterator[Named]:
    """Return the rows whose names contain all words of a query; all rows without a query."""
    words = words_of(query or "")
    rows = table.where(words=words[0]) if words else table
    return (row for row in rows if all(word in row.words for word in words))
