"""Seeded initial state of the merchant: invoices in every status, payments and refunds with their events."""

from __future__ import annotations

from collections import Counter
from datetime import date, datetime, time, timedelta
from typing import NamedTuple, TypeVar

from ..core import Draw, derive_row_id
from ..shared.people import COMPANIES, EmailAddress, cast, get_start_time
from ..shared.records import Invoice as Billed
from ..shared.records import invoices
from .state import (
    Customer,
    Delivery,
    DeliveryStatus,
    EventKind,
    Invoice,
    InvoiceStatus,
    Merchant,
    Payment,
    PaymentCard,
    PaymentCardId,
    Reason,
    Refund,
    Till,
    Webhook,
    WebhookEvent,
    code_for,
    fee_of,
)

Id = TypeVar("Id", bound=str)

CUSTOMERS = 9
HOOKS = ("accounting", "archive", "chat", "reports", "warehouse")
KINDS: tuple[EventKind, ...] = (
    "invoice.opened", "invoice.voided", "invoice.uncollectible", "payment.succeeded", "payment.refunded",
)  # fmt: skip
REASONS: tuple[Reason | None, ...] = ("duplicate", "requested_by_customer", "fraudulent", None)


class Size(NamedTuple):
    """How many invoices and webhooks a world begins with, and cards each company has."""

    invoices: int
    cards: int
    webhooks: int


SIZES = {"small": Size(12, 1, 2), "default": Size(120, 2, 3), "large": Size(1_200, 3, 4)}


def seed(seed: int, size: str) -> Till:
    """Return the merchant's state for this seed; `size` is small, default or large."""
    till, draw, scale = Till(seed, get_start_time(seed)), Draw("payments", seed, size), SIZES[size]
    if size == "large":
        till.payments.width = till.refunds.width = till.events.width = 6
    owner, *others = cast(seed, CUSTOMERS + 1)
    for person in others:
        till.customers.put(Customer.from_row(person))
    put_webhooks(till, draw, scale.webhooks)
    put_cards(till, draw, scale.cards)
    for place, billed in enumerate(invoices(seed, scale.invoices)):
        put_invoice(till, draw, billed, place)
    settle_cards(till, draw)
    put_merchant(till, draw, owner.id, owner.name)
    return till


def put_webhooks(till: Till, draw: Draw, count: int) -> None:
    """Add webhooks for some kinds of events; the first is for all kinds, and it is down for a while."""
    for place, name in enumerate(draw.sample(HOOKS, count)):
        down = till.now + timedelta(minutes=draw.integer(15, 60)) if place == 0 else None
        kinds = KINDS if place == 0 else tuple(draw.sample(KINDS, draw.integer(2, 3)))
        url = f"https://{name}.merchant.example/hook"
        till.webhooks.put(Webhook(id=derive_row_id(till.webhooks, name), url=url, kinds=kinds, down_until=down))


def put_cards(till: Till, draw: Draw, count: int) -> None:
    """Add cards of the companies that customers work for; some of them have expired."""
    today = till.now.date()
    for company in COMPANIES.values():
        for place in range(count):
            expired = draw.chance(0.12)
            days = draw.integer(-20, -1) if expired else draw.integer(60, 1_200)
            till.cards.put(
                PaymentCard(
                    id=derive_row_id(till.cards, f"{company}/{place}"),
                    company=company,
                    card_number=f"4{draw.integer(0, 10**15 - 1):015d}",
                    expires=today + timedelta(days=days),
                    ceiling=0,
                    available=0,
                )
            )


def draw_status(draw: Draw, billed: Billed, today: date, place: int) -> InvoiceStatus:
    """Draw a status; the first three invoices are paid, open and draft, so that every tool is usable in every world."""
    if place < 3:
        return ("paid", "open", "draft")[place]
    status: InvoiceStatus = draw.choose_weighted(("paid", "open", "draft", "void"), (0.26, 0.5, 0.17, 0.07))
    if status == "open" and billed.due < today and draw.chance(0.15):
        return "uncollectible"
    return status


def put_invoice(till: Till, draw: Draw, billed: Billed, place: int) -> None:
    """Add an invoice that all servers of the world share, its payment when it is paid, and the events of both."""
    status = draw_status(draw, billed, till.now.date(), place)
    row = till.invoices.put(
        Invoice.from_row(
            billed,
            name=till.customers[billed.customer].name,
            status=status,
            issued=None if status == "draft" else billed.issued,
            code=code_for(till.seed, billed.id),
        )
    )
    issued = datetime.combine(billed.issued, time(8, draw.integer(0, 59)))
    if status == "draft":
        return
    put_event(till, draw, "invoice.opened", row, issued)
    later = draw_minute_between(draw, issued, till.now)
    if status == "void":
        put_event(till, draw, "invoice.voided", row, later)
    elif status == "uncollectible":
        written_off = draw_minute_between(draw, datetime.combine(billed.due + timedelta(days=1), time(0)), till.now)
        put_event(till, draw, "invoice.uncollectible", row, written_off)
    elif status == "paid":
        put_payment(till, draw, row, later, place)


def draw_minute_between(draw: Draw, start: datetime, end: datetime) -> datetime:
    """Return a minute after the start and before the end."""
    return start + timedelta(minutes=draw.integer(1, max(1, (end - start) // timedelta(minutes=1) - 1)))


def put_payment(till: Till, draw: Draw, invoice: Invoice, paid: datetime, place: int) -> None:
    """Add the payment of an invoice, perhaps disputed or partly refunded; the first one can still be refunded."""
    if place == 0:
        paid = till.now - timedelta(hours=draw.integer(2, 9))
    company = till.customers[invoice.customer].company
    card = draw.choice([row.id for row in till.cards if row.company == company])
    parts = [] if place == 0 or draw.chance(0.75) else [invoice.amount // draw.choice((1, 2, 4, 5))]
    payment = till.payments.put(
        Payment(
            id=derive_row_id(till.payments, invoice.id),
            invoice=invoice.id,
            card=card,
            subject=invoice.subject,
            amount=invoice.amount,
            fee=fee_of(invoice.amount),
            refunded=sum(parts),
            paid=paid,
            disputed=place > 0 and not parts and draw.chance(0.15),
        )
    )
    put_event(till, draw, "payment.succeeded", invoice, paid)
    for amount in parts:
        at = draw_minute_between(draw, paid, till.now)
        till.refunds.put(
            Refund(
                id=derive_row_id(till.refunds, payment.id),
                payment=payment.id,
                subject=invoice.subject,
                amount=amount,
                at=at,
                reason=draw.choice(REASONS),
            )
        )
        put_event(till, draw, "payment.refunded", invoice, at)


def put_event(till: Till, draw: Draw, kind: EventKind, invoice: Invoice, at: datetime) -> None:
    """Add a past event; the webhook that is down has missed many of the last days' events."""
    deliveries = []
    for place, webhook in enumerate(till.webhooks):
        if kind in webhook.kinds:
            missed = draw.chance(0.6) if place == 0 and at > till.now - timedelta(days=4) else draw.chance(0.08)
            status: DeliveryStatus = "failed" if missed else "delivered"
            deliveries.append(
                Delivery(
                    webhook=webhook.id,
                    status=status,
                    attempts=draw.choose_weighted((1, 2, 5), (6, 2, 1)) if missed else 1,
                )
            )
    till.events.put(
        WebhookEvent(
            id=derive_row_id(till.events, f"{invoice.id}/{kind}"),
            kind=kind,
            invoice=invoice.id,
            subject=invoice.subject,
            at=at,
            deliveries=tuple(deliveries),
        )
    )


def settle_cards(till: Till, draw: Draw) -> None:
    """Set what each card can still pay, and its ceiling, which includes what it has paid already."""
    spent = Counter[PaymentCardId]()
    for payment in till.payments:
        spent[payment.card] += payment.amount - payment.refunded
    for card in list(till.cards):
        available = draw.choose_weighted((draw.integer(20_000, 60_000), draw.integer(150_000, 600_000)), (0.25, 0.75))
        till.cards.change(card.id, available=available, ceiling=available + spent[card.id])


def put_merchant(till: Till, draw: Draw, id: EmailAddress, name: str) -> None:
    """Add the merchant; income above the balance has already been paid out to the bank."""
    net = sum(row.amount - row.fee - row.refunded for row in till.payments)
    balance = min(net, draw.integer(8_000, 120_000)) if net > 0 else 0
    till.merchants.put(Merchant(id=id, name=name, balance=balance, paid_out=max(0, net - balance)))
