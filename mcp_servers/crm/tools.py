"""The tools of the customer database."""

from __future__ import annotations

from datetime import date, timedelta
from heapq import nsmallest
from itertools import islice
from operator import attrgetter

from ..core import ToolError
from ..shared.people import EmailAddress
from .engine import (
    active_contact,
    advance,
    company_for,
    is_expired,
    known_person,
    lose,
    open_deal,
    open_new_deal,
    own_deal,
    quote_of,
    require_day_to_come,
    require_room,
)
from .server import (
    ROWS,
    ApprovalCode,
    CloseOn,
    CompanyRef,
    ContactRef,
    DealParam,
    DealRef,
    Discount,
    Due,
    DuplicateRef,
    Kind,
    KindParam,
    LeadRef,
    Limit,
    Loss,
    NewStage,
    NewTitle,
    OnDeal,
    OwnerParam,
    OwnerRef,
    PersonParam,
    PersonRef,
    ProductQuery,
    ProductRef,
    Quantity,
    Query,
    QuoteRef,
    Source,
    StageParam,
    TaskRef,
    Text,
    Title,
    Until,
    server,
)
from .state import (
    CHANCES,
    CLOSED,
    Activity,
    ActivityKind,
    Contact,
    Crm,
    Deal,
    Lead,
    Product,
    Quote,
    QuoteLine,
    SalesDealId,
    SalesLeadId,
    filter_by_name,
)
from .views import (
    ActivityLine,
    CompanyLine,
    DealDetails,
    DealLine,
    PersonLine,
    Pipeline,
    SearchResults,
    activity_line,
    company_line,
    deal_details,
    deal_line,
    person_line,
    team_line,
)

# Tools for products and quotes: find products, edit a deal's quote, send it.

FREE_DISCOUNT = 15
MOST_LINES = 8
VALIDITY = timedelta(days=14)


@server.read()
def find_sales_products(crm: Crm, query: ProductQuery = None, limit: Limit = ROWS) -> tuple[Product, ...]:
    """Find your products with price in cents, highest discount and fewest units."""
    return tuple(islice(filter_by_name(crm.products, query), limit))


@server.write(idempotent=True)
def quote_product(crm: Crm, deal: DealRef, product: ProductRef, quantity: Quantity, discount: Discount = 0) -> Quote:
    """Set a product's line on your deal's quote. A sent quote is replaced by a draft."""
    row, offered = own_deal(crm, deal), crm.products[product]
    if quantity:
        require_on_offer(offered, quantity, discount)
    draft = draft_for(crm, row)
    lines = with_line(draft.lines, offered, quantity, discount)
    quote = crm.quotes.change(draft.id, lines=lines, total=sum(line.total for line in lines))
    crm.deals.change(deal, quote=quote.id, amount=quote.total)
    return quote


def require_on_offer(product: Product, quantity: int, discount: int) -> None:
    """Raise ToolError when the product is discontinued, the quantity too low or the discount too high."""
    if product.discontinued:
        raise ToolError("product_discontinued", f"{product.item} is no longer sold; quote another product.")
    if quantity < product.minimum:
        raise ToolError("below_minimum", f"{product.item} is sold from {product.minimum} units on; quote more.")
    if discount > product.max_discount:
        raise ToolError(
            "discount_too_high", f"{product.item} has at most {product.max_discount} percent discount; lower it."
        )


def draft_for(crm: Crm, deal: Deal) -> Quote:
    """Return the deal's draft quote; without one, create it with the lines of the quote that it replaces."""
    quote = quote_of(crm, deal)
    if quote and quote.status == "draft":
        return quote
    if quote:
        crm.quotes.change(quote.id, status="replaced")
    return crm.quotes.put(
        Quote(
            id=crm.quotes.new_id(),
            deal=deal.id,
            title=deal.title,
            status="draft",
            lines=quote.lines if quote else (),
            total=deal.amount,
        )
    )


def with_line(lines: tuple[QuoteLine, ...], product: Product, quantity: int, discount: int) -> tuple[QuoteLine, ...]:
    """Return the lines with this product's line added, replaced, or removed when `quantity` is 0."""
    places = {line.product: place for place, line in enumerate(lines)}
    place = places.get(product.id, len(lines))
    if not quantity and product.id not in places:
        raise ToolError("not_on_quote", f"{product.item} is not on the quote; name a product that is.")
    if place == MOST_LINES:
        raise ToolError("quote_full", f"A quote has at most {MOST_LINES} lines; take a product off first.")
    line = (line_of(product, quantity, discount),) if quantity else ()
    return (*lines[:place], *line, *lines[place + 1 :])


def line_of(product: Product, quantity: int, discount: int) -> QuoteLine:
    total = quantity * product.price * (100 - discount) // 100
    return QuoteLine(
        product=product.id, item=product.item, quantity=quantity, price=product.price, discount=discount, total=total
    )


@server.write(idempotent=True)
def send_quote(crm: Crm, quote: QuoteRef, approval_code: ApprovalCode = None) -> Quote:
    """Send a draft to your deal's contact, valid for 14 days."""
    row = crm.quotes[quote]
    own_deal(crm, row.deal)
    if row.status == "replaced":
        raise ToolError("quote_replaced", f"{quote} was replaced; send the newest quote of {row.deal}.")
    if is_expired(row, crm.now.date()):
        raise ToolError("quote_expired", f"{quote} was valid until {row.valid_until}; quote its products anew.")
    if row.status == "sent":
        raise ToolError("quote_already_sent", f"{quote} was sent and is valid until {row.valid_until}; wait.")
    if not row.lines:
        raise ToolError("quote_empty", f"{quote} has no lines; put a product on it first.")
    approved = require_approval(crm, row, approval_code)
    return crm.quotes.change(quote, status="sent", approved=approved, valid_until=crm.now.date() + VALIDITY)


def require_approval(crm: Crm, quote: Quote, code: str | None) -> bool:
    """Return whether a manager approved the quote. Raises ToolError when a needed approval is missing or wrong."""
    if code is None and any(line.discount > FREE_DISCOUNT for line in quote.lines):
        raise ToolError(
            "needs_approval", f"A discount above {FREE_DISCOUNT} percent needs a manager's code; ask for it."
        )
    if code is not None and all(member.approval_code != code for member in crm.team):
        raise ToolError("wrong_approval_code", "This is not the code of any manager; ask for the right one.")
    return code is not None


@server.known_by_heart
def approval_codes(crm: Crm) -> dict[tuple[str, str], str]:
    """Return the first manager's code, which the user knows, for every draft quote."""
    code = next((member.approval_code for member in crm.team if member.approval_code), "")
    return {(quote.id, "approval_code"): code for quote in crm.quotes if quote.status == "draft"}


# Tools for activities: calls, meetings, notes and tasks.


@server.read()
def list_sales_activities(
    crm: Crm, person: PersonParam = None, deal: DealParam = None, limit: Limit = ROWS
) -> tuple[ActivityLine, ...]:
    """List your open tasks by due day, or what was done, newest first."""
    if person is None and deal is None:
        tasks = sorted(crm.activities.where(todo=crm.me), key=lambda row: (row.due or row.at.date(), row.id))
        return tuple(activity_line(row) for row in tasks[:limit])
    if person is not None:
        known_person(crm, person)
    about = {"person": person} if deal is None else {"deal": crm.deals[deal].id}
    rows = [row for row in crm.activities.where(**about) if person in (None, row.person)]
    rows.sort(key=lambda row: (row.at, row.id), reverse=True)
    return tuple(activity_line(row) for row in rows[:limit])


@server.write()
def log_sales_activity(
    crm: Crm, person: PersonRef, kind: Kind, text: Text, deal: OnDeal = None, due: Due = None
) -> ActivityLine:
    """Log a call, meeting or note with a lead or contact. A task is planned."""
    row = known_person(crm, person)
    lead = crm.open_lead(person)
    if lead is None and not crm.is_contact(person):
        raise ToolError("not_in_contact", f"{row.name} is neither lead nor contact; create a lead first.")
    require_due(crm.now.date(), kind, due)
    if deal is not None:
        require_fitting(crm, deal, person, kind)
    if lead and lead.status == "new" and kind in ("call", "meeting"):
        crm.leads.change(lead.id, status="contacted")
    activity = Activity(
        id=crm.activities.new_id(),
        kind=kind,
        person=person,
        text=text,
        at=crm.now,
        owner=crm.me,
        deal=deal,
        due=due,
        done=kind != "task",
    )
    return activity_line(crm.activities.put(activity))


def require_due(today: date, kind: ActivityKind, due: date | None) -> None:
    """Raise ToolError for a task without a due day, or for another activity with one."""
    if kind != "task" and due is not None:
        raise ToolError("due_only_for_tasks", f"A {kind} is not due some day; leave due out or plan a task.")
    if kind == "task" and due is None:
        raise ToolError("due_required", "A task needs the day it is due; give due.")
    if due is not None:
        require_day_to_come(today, due, today)


def require_fitting(crm: Crm, id: SalesDealId, person: EmailAddress, kind: ActivityKind) -> None:
    """Raise ToolError when an activity does not belong on a deal."""
    deal = own_deal(crm, id) if kind == "task" else open_deal(crm, id)
    if deal.contact != person:
        raise ToolError("other_contact", f"The contact of {id} is {deal.contact}; name that person or leave deal out.")


@server.write(destructive=True, idempotent=True)
def complete_sales_task(crm: Crm, task: TaskRef) -> ActivityLine:
    """Complete one of your open tasks."""
    row = crm.activities[task]
    if row.kind != "task":
        raise ToolError("not_a_task", f"{task} is a {row.kind}; only tasks are completed.")
    if row.done:
        raise ToolError("task_done", f"{task} ({row.text}) is done already; nothing is left to do.")
    if row.owner != crm.me:
        raise ToolError("not_the_owner", f"{task} belongs to {crm.team[row.owner].name}; only they can complete it.")
    return activity_line(crm.activities.change(task, done=True))


# Tools for deals: the pipeline and its forecast, stages and owners.


@server.read()
def list_sales_deals(
    crm: Crm, owner: OwnerParam = None, stage: StageParam = None, until: Until = None, limit: Limit = ROWS
) -> Pipeline:
    """List deals by closing day, with their number, total and expected cents."""
    wanted = None if owner is None else crm.team[owner].id
    stages = (stage,) if stage else tuple(one for one in CHANCES if one not in CLOSED)
    rows = [deal for one in stages for deal in crm.deals.where(stage=one)]
    if wanted is not None:
        rows = [deal for deal in rows if deal.owner == wanted]
    if until is not None:
        rows = [deal for deal in rows if deal.close_on <= until]
    return Pipeline(
        deals=tuple(deal_line(deal) for deal in nsmallest(limit, rows, key=attrgetter("close_on", "id"))),
        count=len(rows),
        amount=sum(deal.amount for deal in rows),
        expected=sum(deal.amount * CHANCES[deal.stage] for deal in rows) // 100,
    )


@server.read()
def get_sales_deal(crm: Crm, deal: DealRef) -> DealDetails:
    """Get one deal with its contact, company, quote, open tasks and next stage."""
    return deal_details(crm, crm.deals[deal])


@server.write(idempotent=True)
def create_sales_deal(crm: Crm, contact: ContactRef, title: Title, close_on: CloseOn) -> DealLine:
    """Create a deal of yours with a contact, in the first stage."""
    row, today = active_contact(crm, contact), crm.now.date()
    require_day_to_come(today, close_on, today + timedelta(days=1))
    for deal in crm.deals.where(contact=contact, title=title):
        if deal.is_open:
            raise ToolError("deal_exists", f"{deal.id} with this title is open already; use it or change the title.")
    return deal_line(open_new_deal(crm, row, title, close_on))


@server.write(destructive=True, idempotent=True)
def move_deal(crm: Crm, deal: DealRef, stage: NewStage, loss_reason: Loss = None) -> DealLine:
    """Move your deal to its next stage, back, or to lost. Won and lost are final."""
    row = own_deal(crm, deal)
    if stage != "lost" and loss_reason is not None:
        raise ToolError("reason_not_needed", "Only a lost deal has a loss reason; leave it out.")
    if stage != "lost":
        return deal_line(advance(crm, row, stage))
    if loss_reason is None:
        raise ToolError("loss_reason_required", "A deal is lost for a reason; give the loss_reason.")
    return deal_line(lose(crm, row, loss_reason))


@server.write(destructive=True, idempotent=True)
def assign_deal(crm: Crm, deal: DealRef, owner: OwnerRef) -> DealLine:
    """Assign your deal, or that of somebody away, to a sales person."""
    row, taker = assignable(crm, deal), crm.team[owner]
    if row.owner == owner:
        raise ToolError("already_the_owner", f"{taker.name} owns {deal} already; name somebody else.")
    if taker.away:
        raise ToolError("owner_away", f"{taker.name} is away; name somebody who is there.")
    require_room(crm, owner)
    for activity in crm.activities.where(deal=deal):
        if not activity.done:
            crm.activities.change(activity.id, owner=owner)
    return deal_line(crm.deals.change(deal, owner=owner))


def assignable(crm: Crm, id: SalesDealId) -> Deal:
    """Return the deal, if it is open and its owner is the user or away. Raises ToolError otherwise."""
    deal = open_deal(crm, id)
    return deal if crm.team[deal.owner].away else own_deal(crm, id)


# Tools for leads: create one, convert one to a contact.

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
    """Return the lead, if the user owns it and it can be converted to a contact. Raises ToolError otherwise."""
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


# Tools for people and companies: search, archive a contact, merge duplicate companies.


@server.read()
def search_crm(crm: Crm, query: Query = None, kind: KindParam = None, limit: Limit = ROWS) -> SearchResults:
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
    survivor, lost = crm.companies[company], crm.companies[duplicate]
    if survivor.id == lost.id:
        raise ToolError("same_company", f"{company} is one entry already; name another one to merge into it.")
    if survivor.domain != lost.domain:
        raise ToolError(
            "not_duplicates",
            f"{survivor.name} has the domain {survivor.domain} and {lost.name} {lost.domain}; "
            "merge entries of one domain.",
        )
    for contact in crm.contacts.where(company=duplicate):
        crm.contacts.change(contact.id, company=company)
    for deal in crm.deals.where(company=duplicate):
        crm.deals.change(deal.id, company=company)
    crm.companies.remove(duplicate)
    return company_line(crm, survivor)
