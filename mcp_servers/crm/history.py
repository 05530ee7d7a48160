"""The past of the seeded deals: who was called, what was offered, what is still to be done."""

from __future__ import annotations

from datetime import timedelta

from ..kit import Draw
from ..people import EmailAddress
from .names import SPOKEN, TO_DO
from .state import (
    STAGES,
    Activity,
    ActivityKind,
    Contact,
    Crm,
    Deal,
    LossReason,
    Product,
    Quote,
    QuoteLine,
    QuoteStatus,
    SalesDealId,
    SalesQuoteId,
    SalesRepId,
    Stage,
)

REASONS: tuple[LossReason, ...] = ("price", "competitor", "no budget", "no answer", "bad timing", "missing feature")
TALKS: tuple[ActivityKind, ...] = ("call", "call", "meeting", "note")
FREE_DISCOUNT = 15
VALID_DAYS = 14


def add_deal(crm: Crm, draw: Draw, contact: Contact, title: str, stage: Stage, owner: SalesRepId) -> None:
    """A deal in a stage, with the calls, meetings and quotes it took to get there."""
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
    """The quote of a deal in this stage; one in seven of those sent was replaced by a draft, one in five expired."""
    if stage in ("qualification", "discovery"):
        return put_quote(crm, draw, deal, title, "draft", 0)
    if stage in ("won", "lost"):
        return put_quote(crm, draw, deal, title, "accepted" if stage == "won" else "declined", draw.integer(9, 30))
    if draw.chance(0.15):
        put_quote(crm, draw, deal, title, "replaced", draw.integer(2, 20))
        return put_quote(crm, draw, deal, title, "draft", 0)
    return put_quote(crm, draw, deal, title, "sent", draw.integer(15, 25) if draw.chance(0.2) else draw.integer(0, 9))


def put_quote(crm: Crm, draw: Draw, deal: SalesDealId, title: str, status: QuoteStatus, age: int) -> Quote:
    """A quote with one to three lines; its validity began so many days ago unless it is a draft."""
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
    """A call, meeting or note of the last weeks."""
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
    """Something still to be done on a deal; a few days over or to come."""
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
