"""Initial state of the customer database: a sales team, people at companies, leads, products, a pipeline."""

from __future__ import annotations

from datetime import timedelta
from typing import NamedTuple, TypeVar

from ..core import Draw, derive_row_id
from ..shared.fake_text import FakeText
from ..shared.people import COMPANIES, EmailAddress, cast, get_start_time
from ..shared.people import Person as CastMember
from .engine import domain_of
from .state import (
    STAGES,
    Activity,
    ActivityKind,
    Company,
    Contact,
    Crm,
    Deal,
    Lead,
    LeadSource,
    LeadStatus,
    LossReason,
    Person,
    Product,
    Quote,
    QuoteLine,
    QuoteStatus,
    SalesDealId,
    SalesPerson,
    SalesQuoteId,
    SalesRepId,
    Stage,
)

# Vocabulary of the seeded database: industries, products, deals, activities.

INDUSTRIES = (
    "banking", "construction", "education", "energy", "food", "healthcare", "insurance", "logistics", "manufacturing",
    "media", "public sector", "retail", "software", "telecom", "tourism",
)  # fmt: skip
FAMILIES = (
    "Access", "Alerts", "Analytics", "Archive", "Assets", "Audit", "Backup", "Billing", "Booking", "Budget", "Capture",
    "Chat", "Checkout", "Contracts", "Control", "Dispatch", "Forecast", "Forms", "Helpdesk", "Identity", "Insights",
    "Inventory", "Invoicing", "Knowledge", "Ledger", "Monitor", "Orders", "Payroll", "Planner", "Portal", "Pricing",
    "Quality", "Reports", "Roster", "Search", "Shipping", "Support", "Survey", "Translate", "Workflow",
)  # fmt: skip
TIERS = ("Starter", "Team", "Business", "Enterprise")
THEMES = (
    "archive", "branch", "call centre", "cloud", "data", "factory", "field service", "finance", "front desk",
    "helpdesk", "intranet", "laboratory", "marketing", "mobile", "office", "payroll", "procurement", "quality",
    "security", "warehouse",
)  # fmt: skip
FORMS = (
    "expansion", "integration", "migration", "onboarding", "pilot", "refresh", "renewal", "rollout", "subscription",
    "support plan", "training", "upgrade",
)  # fmt: skip
SPOKEN = (
    "asked about delivery times", "compared two offers", "described their current system", "explained the price list",
    "introduced the new buyer", "named the people who decide", "postponed the decision", "reported a tight budget",
    "showed interest in a pilot", "talked about security", "wanted a second demo", "went through the requirements",
)  # fmt: skip
TO_DO = (
    "answer the security questions", "arrange a site visit", "call back about the offer", "check the delivery date",
    "find a reference customer", "get the order number", "invite to the webinar", "prepare a demo",
    "send the contract draft", "send the data sheet", "write the minutes", "work out a discount",
)  # fmt: skip
SUFFIXES = ("Group", "Holding", "International", "Services", "Trading")


# History of the seeded deals: calls, meetings, quotes and open tasks.

REASONS: tuple[LossReason, ...] = ("price", "competitor", "no budget", "no answer", "bad timing", "missing feature")
TALKS: tuple[ActivityKind, ...] = ("call", "call", "meeting", "note")
FREE_DISCOUNT = 15
VALID_DAYS = 14


def add_deal(crm: Crm, draw: Draw, contact: Contact, title: str, stage: Stage, owner: SalesRepId) -> None:
    """Add a deal in a stage, with the calls, meetings and quotes that led there."""
    crm.deals.cause = f"seed/{title}"
    id, place, today = crm.deals.new_id(), STAGES.index("negotiation" if stage == "lost" else stage), crm.now.date()
    created = today - timedelta(days=draw.integer(30, 90))
    closes = timedelta(days=draw.integer(3, 90))
    quote = add_quotes(crm, draw, id, title, stage) if place > 1 or draw.chance(0.6) else None
    crm.deals.put(
        Deal(
            id=id,
            title=title,
            contact=contact.id,
            company=contact.company,
            owner=owner,
            stage=stage,
            amount=quote.total if quote else 0,
            close_on=today + closes if stage in STAGES[:4] else created + timedelta(days=25),
            created=created,
            quote=quote.id if quote else None,
            loss_reason=draw.choice(REASONS) if stage == "lost" else None,
        )
    )
    if place > 0:
        add_talk(crm, draw, contact.id, owner, f"{id}/call", id, "call" if place < 3 else "meeting")
    if stage in STAGES[:4] and draw.chance(0.3 if stage == "negotiation" else 0.5):
        add_task(crm, draw, contact.id, owner, id)


def add_quotes(crm: Crm, draw: Draw, deal: SalesDealId, title: str, stage: Stage) -> Quote:
    """Add the quote of a deal in this stage; one in seven sent quotes was replaced by a draft, one in five expired."""
    if stage in ("qualification", "discovery"):
        return put_quote(crm, draw, deal, title, "draft", 0)
    if stage in ("won", "lost"):
        return put_quote(crm, draw, deal, title, "accepted" if stage == "won" else "declined", draw.integer(9, 30))
    if draw.chance(0.15):
        put_quote(crm, draw, deal, title, "replaced", draw.integer(2, 20))
        return put_quote(crm, draw, deal, title, "draft", 0)
    return put_quote(crm, draw, deal, title, "sent", draw.integer(15, 25) if draw.chance(0.2) else draw.integer(0, 9))


def put_quote(crm: Crm, draw: Draw, deal: SalesDealId, title: str, status: QuoteStatus, age: int) -> Quote:
    """Add a quote with one to three lines; unless it is a draft, its validity began `age` days ago."""
    crm.quotes.cause = f"seed/{deal}/{status}"
    id: SalesQuoteId = crm.quotes.new_id()
    sold = [row for row in crm.products if not row.discontinued]
    lines = tuple(draw_line(draw, row) for row in draw.sample(sold, draw.integer(1, 3)))
    sent = status != "draft"
    return crm.quotes.put(
        Quote(
            id=id,
            deal=deal,
            title=title,
            status=status,
            lines=lines,
            total=sum(line.total for line in lines),
            approved=sent and any(line.discount > FREE_DISCOUNT for line in lines),
            valid_until=crm.now.date() + timedelta(days=VALID_DAYS - age) if sent else None,
        )
    )


def draw_line(draw: Draw, product: Product) -> QuoteLine:
    quantity = product.minimum * draw.integer(1, 12)
    discount = draw.integer(0, product.max_discount) if draw.chance(0.5) else 0
    return QuoteLine(
        product=product.id,
        item=product.item,
        quantity=quantity,
        price=product.price,
        discount=discount,
        total=quantity * product.price * (100 - discount) // 100,
    )


def add_talk(
    crm: Crm,
    draw: Draw,
    person: EmailAddress,
    owner: SalesRepId,
    mark: str,
    deal: SalesDealId | None = None,
    kind: ActivityKind | None = None,
) -> None:
    """Add a call, meeting or note from the last few weeks."""
    crm.activities.cause = f"seed/{mark}"
    crm.activities.put(
        Activity(
            id=crm.activities.new_id(),
            kind=draw.choice(TALKS) if kind is None else kind,
            person=person,
            text=draw.choice(SPOKEN),
            at=(crm.now - timedelta(days=draw.integer(1, 29))).replace(hour=draw.integer(8, 17)),
            owner=owner,
            deal=deal,
        )
    )


def add_task(crm: Crm, draw: Draw, person: EmailAddress, owner: SalesRepId, deal: SalesDealId) -> None:
    """Add an open task on a deal; its due day is a few days past or still to come."""
    crm.activities.cause = f"seed/{deal}/task"
    crm.activities.put(
        Activity(
            id=crm.activities.new_id(),
            kind="task",
            person=person,
            text=draw.choice(TO_DO),
            at=crm.now - timedelta(days=draw.integer(1, 20)),
            owner=owner,
            deal=deal,
            due=(crm.now + timedelta(days=draw.integer(-3, 20))).date(),
            done=False,
        )
    )


Id = TypeVar("Id", bound=str)
SOURCES: tuple[LeadSource, ...] = ("website", "trade fair", "referral", "cold call", "webinar", "newsletter")
STATUSES: tuple[LeadStatus, ...] = ("contacted", "new", "disqualified", "contacted", "contacted", "new")
EARLY: tuple[Stage, ...] = ("qualification", "discovery", "proposal", "negotiation")


class Size(NamedTuple):
    """How many rows a world has; of the people some are contacts, some leads, the others prospects."""

    people: int
    team: int
    contacts: int
    leads: int
    entries: int
    others: int
    products: int
    deals: int
    talks: int


SIZES = {
    "small": Size(16, team=4, contacts=7, leads=4, entries=1, others=1, products=6, deals=7, talks=4),
    "default": Size(90, team=6, contacts=34, leads=18, entries=2, others=24, products=40, deals=44, talks=50),
    "large": Size(420, team=12, contacts=190, leads=80, entries=4, others=240, products=150, deals=700, talks=900),
}


def seed(seed: int, size: str) -> Crm:
    """Return the customer database of a seed; sizes are small, default and large."""
    crm, draw, scale = Crm(seed, get_start_time(seed)), Draw("crm", seed, size), SIZES[size]
    if size == "large":
        crm.activities.width = 6
    me, *others = cast(seed, max(40, scale.people))
    colleagues = [person for person in others if person.company == me.company]
    strangers = [person for person in others if person.company != me.company]
    team = [me, *(colleagues + strangers[::-1])[: scale.team - 1]]
    outside = [person for person in strangers[: scale.people] if person not in team]
    put_team(crm, draw, team)
    put_people(crm, draw, outside)
    put_companies(crm, draw, scale)
    put_contacts_and_leads(crm, draw, scale)
    put_products(crm, draw, scale.products)
    put_deals(crm, draw, scale.deals)
    for number in range(scale.talks):
        contact = draw.choice(list(crm.contacts)) if number % 2 else None
        person = contact.id if contact else draw.choice(crm.leads.where(status="contacted")).person
        add_talk(crm, draw, person, draw.choice(list(crm.team)).id, f"talk/{number}")
    give_room(crm, draw)
    return crm


def put_team(crm: Crm, draw: Draw, team: list[CastMember]) -> None:
    """Add the sales people: the user, a manager and others; the last one is away."""
    for place, person in enumerate(team):
        crm.team.put(
            SalesPerson(
                id=derive_row_id(crm.team, person.id),
                name=person.name,
                email=person.id,
                deal_limit=0,
                away=place == len(team) - 1 or (place > 2 and draw.chance(0.15)),
                approval_code=f"{draw.integer(0, 999_999):06d}" if place == 1 else None,
            )
        )


def give_room(crm: Crm, draw: Draw) -> None:
    """Set deal limits that cover each person's open deals; most people get room for some more."""
    for member in crm.team:
        more = draw.integer(3, 6) if member.id == crm.me else draw.choice((0, 2, 3, 5))
        taken = sum(deal.is_open for deal in crm.deals.where(owner=member.id))
        crm.team.change(member.id, deal_limit=taken + more)


def put_people(crm: Crm, draw: Draw, people: list[CastMember]) -> None:
    words = FakeText(draw)
    for person in draw.shuffle_items(people):
        crm.people.put(Person.from_row(person, job=words.job()))


def put_companies(crm: Crm, draw: Draw, scale: Size) -> None:
    """Add the companies of all people, some entered more than once, and companies without known people."""
    names: list[tuple[str, str]] = []
    for domain, name in COMPANIES.items():
        if any(domain_of(person.id) == domain for person in crm.people):
            entries = [name, *(f"{name} {suffix}" for suffix in draw.sample(SUFFIXES, scale.entries))]
            names += [(entry, domain) for entry in entries]
    for name in FakeText(draw).different("company", scale.others):
        domain = f"{'-'.join(name.casefold().replace(',', ' ').split())}.example"
        names += [(name, domain), *([(f"{name} Group", domain)] if draw.chance(0.15) else [])]
    for name, domain in draw.shuffle_items(names):
        id = derive_row_id(crm.companies, name)
        crm.companies.put(Company(id=id, name=name, domain=domain, industry=draw.choice(INDUSTRIES)))


def put_contacts_and_leads(crm: Crm, draw: Draw, scale: Size) -> None:
    """Add contacts, some archived, and leads of other people and of some contacts. The first people cover all kinds."""
    people, today, team = [row.id for row in crm.people], crm.now.date(), [row.id for row in crm.team]
    rest = draw.shuffle_items(people[5:])
    contacts = [people[0], people[4], *rest[: scale.contacts - 2]]
    leads = [people[1], people[3], *rest[scale.contacts - 2 :][: scale.leads - 2]]
    for place, id in enumerate(contacts):
        company = draw.choice(crm.companies.where(domain=domain_of(id))).id
        since = today - timedelta(days=draw.integer(20, 900))
        crm.contacts.put(Contact(id=id, company=company, since=since, archived=place > 2 and draw.chance(0.2)))
    for place, id in enumerate(leads):
        owner = draw.choice(team) if place > 1 and draw.chance(0.3) else team[0]
        put_lead(crm, draw, id, STATUSES[place % len(STATUSES)], owner)
    if draw.chance(0.5):
        put_lead(crm, draw, contacts[0], "new", team[0])
    for id in draw.sample(contacts[1:], scale.contacts // 4):
        put_lead(crm, draw, id, "converted", draw.choice(team))


def put_lead(crm: Crm, draw: Draw, id: EmailAddress, status: LeadStatus, owner: SalesRepId) -> None:
    """Add a lead from the last two months; a converted one names its person as contact."""
    person = crm.people[id]
    crm.leads.put(
        Lead(
            id=derive_row_id(crm.leads, f"{id}/{status}"),
            person=id,
            name=person.name,
            company=person.company,
            source=draw.choice(SOURCES),
            status=status,
            owner=owner,
            created=crm.now.date() - timedelta(days=draw.integer(0, 60)),
            contact=id if status == "converted" else None,
        )
    )


def put_products(crm: Crm, draw: Draw, count: int) -> None:
    """Add products; the first three are on sale, later ones may be discontinued."""
    names = draw.sample([(family, tier) for family in FAMILIES for tier in TIERS], count)
    for place, (family, tier) in enumerate(names):
        step = TIERS.index(tier) + 1
        crm.products.put(
            Product(
                id=derive_row_id(crm.products, f"{family} {tier}"),
                item=f"{family} {tier}",
                price=draw.integer(4, 30) * 100 * step * step - draw.choice((0, 1, 5, 10)),
                max_discount=draw.choice((5, 10, 20, 20, 30, 40)),
                minimum=draw.choice((1, 1, 1, 5, 10)),
                discontinued=place > 2 and draw.chance(0.12),
            )
        )


def put_deals(crm: Crm, draw: Draw, count: int) -> None:
    """Add the pipeline, with half of the contacts: a deal of the user in each open stage, then random deals."""
    active, team = [row for row in crm.contacts if not row.archived], [row.id for row in crm.team]
    contacts = active[len(active) // 2 :]
    themes = draw.shuffle_items([f"{theme} {form}" for theme in THEMES for form in FORMS])
    for number in range(count):
        first = number < len(EARLY)
        stage = EARLY[number] if first else draw.choice((*EARLY, "proposal", "won", "lost"))
        owner = team[0] if first or draw.chance(0.4) else draw.choice(team)
        contact = draw.choice(contacts)
        title = f"{crm.companies[contact.company].name} {themes[number % len(themes)]}"
        add_deal(
            crm, draw, contact, title if number < len(themes) else f"{title} {number // len(themes) + 1}", stage, owner
        )
