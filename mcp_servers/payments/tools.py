"""Server object of the payment processor, its parameter types and its tools."""

from __future__ import annotations

from datetime import timedelta
from heapq import nlargest, nsmallest
from operator import attrgetter
from typing import Annotated, Literal

from pydantic import Field

from ..core import Day, Sensitive, Server, ToolError
from ..shared.people import EmailAddress
from ..shared.records import InvoiceId
from .seed import seed
from .state import (
    EventKind,
    Invoice,
    InvoiceStatus,
    MerchantPaymentId,
    Payment,
    PaymentCard,
    Reason,
    Refund,
    Till,
    Webhook,
    WebhookEventId,
    WebhookId,
    code_for,
    deliver,
    emit,
    fee_of,
)
from .views import (
    ChargeResult,
    EventView,
    InvoiceDetails,
    InvoiceView,
    RefundResult,
    WebhookView,
    build_charge_result,
    build_refund_result,
    event_view,
    invoice_details,
    invoice_view,
)

server = Server("payments", "Bill customers: invoices, card payments, refunds and webhooks.", seed)


AMOUNTS = [1500, 2500, 4900, 7500, 9900, 12000, 15000, 19900, 24000, 30000, 36500, 45000, 52000, 68000, 75000, 98000]
REFUNDS = [100, 250, 500, 800, 1000, 1200, 1500, 2000, 2500, 3000, 4000, 5000, 7500, 10000, 15000, 20000]
SUBJECTS = [
    "Annual report", "Audit", "Brand guide", "Bookkeeping", "Coaching", "Copywriting", "Data migration", "Event photos",
    "Font licence", "Installation", "Market study", "Newsletter", "Penetration test", "Prototype", "Security review",
    "Server move", "Subscription", "Usability test", "Video editing", "Voice over",
]  # fmt: skip
URLS = [
    "https://api.birch.example/webhooks", "https://billing.cedar.example/in", "https://books.maple.example/hook",
    "https://erp.willow.example/payments", "https://events.hazel.example/money", "https://hooks.aspen.example/a",
    "https://ledger.rowan.example/notify", "https://mail.linden.example/paid", "https://ops.alder.example/events",
    "https://shop.juniper.example/callback", "https://stats.poplar.example/collect", "https://tax.spruce.example/in",
]  # fmt: skip
ROWS = 5

InvoiceRef = Annotated[InvoiceId, Field(description="Id of an invoice")]
CustomerRef = Annotated[EmailAddress, Field(description="E-mail address of a customer you bill")]
PaymentRef = Annotated[MerchantPaymentId, Field(description="Id of a payment you received")]
EventRef = Annotated[WebhookEventId, Field(description="Id of a webhook event")]
WebhookRef = Annotated[WebhookId, Field(description="Id of a webhook")]

Subject = Annotated[str, Field(max_length=60, pattern=r"\S", description="What is billed", examples=SUBJECTS)]
Amount = Annotated[int, Field(ge=50, le=1_000_000, description="Amount in cents", examples=AMOUNTS)]
RefundAmount = Annotated[int, Field(ge=1, le=1_000_000, description="Amount to refund in cents", examples=REFUNDS)]
DueDay = Annotated[Day, Field(description="Day until which it is to be paid, such as 2026-03-05")]
Outcome = Annotated[Literal["void", "uncollectible"], Field(description="void: never owed; uncollectible: written off")]
CardNumber = Annotated[
    str, Field(pattern=r"^[0-9]{16}$", description="Number of a card of the customer's company, 16 digits"), Sensitive()
]
Code = Annotated[
    str | None,
    Field(pattern=r"^[0-9]{6}$", description="One-time code of the customer, needed for large charges, 6 digits"),
    Sensitive(),
]
RefundReason = Annotated[Reason | None, Field(description="Why it is refunded")]
Url = Annotated[
    str,
    Field(max_length=120, pattern=r"^https://[a-z0-9.-]+(/[a-z0-9/_-]*)?$", description="Address", examples=URLS),
]
Kinds = Annotated[tuple[EventKind, ...], Field(min_length=1, max_length=5, description="Kinds of events it is told of")]

StatusParam = Annotated[InvoiceStatus | None, Field(description="Only invoices of this status")]
CustomerParam = Annotated[EmailAddress | None, Field(description="Only invoices to this e-mail address")]
InvoiceParam = Annotated[InvoiceId | None, Field(description="Only events of this invoice id")]
KindParam = Annotated[EventKind | None, Field(description="Only events of this kind")]
FailedOnly = Annotated[bool, Field(description="Only events that some webhook has not got")]
Limit = Annotated[
    int | None,
    Field(ge=1, le=50, description="Most rows to return, 5 by default", examples=[1, 2, 3, 4, 6, 8, 10, 15, 20]),
]


# Tools for webhooks: events, redelivery and registration.

MOST_WEBHOOKS = 6
MOST_ATTEMPTS = 5
RETENTION = timedelta(days=30)


@server.read()
def list_webhook_events(
    till: Till,
    invoice: InvoiceParam = None,
    kind: KindParam = None,
    failed_only: FailedOnly = False,
    limit: Limit = None,
) -> tuple[EventView, ...]:
    """List webhook events with their deliveries, the newest first."""
    if invoice is not None:
        till.invoices[invoice]
    filters = {"invoice": invoice, "kind": kind, "failed": failed_only or None}
    wanted = {name: value for name, value in filters.items() if value is not None}
    rows = till.events.where(**wanted) if wanted else till.events
    newest = nlargest(limit or ROWS, rows, key=attrgetter("at", "id"))
    return tuple(event_view(till, row) for row in newest)


@server.write()
def redeliver_webhook_event(till: Till, event: EventRef, webhook: WebhookRef) -> EventView:
    """Tell a webhook of an event it has not got."""
    row, listener = till.events[event], till.webhooks[webhook]
    if row.kind not in listener.kinds:
        raise ToolError("not_subscribed", f"{webhook} is not told of {row.kind}; choose another webhook or event.")
    before = next((one for one in row.deliveries if one.webhook == webhook), None)
    if before is not None and before.status == "delivered":
        raise ToolError("already_delivered", f"{webhook} has got {event} already; nothing is left to do.")
    if till.now > row.at + RETENTION:
        raise ToolError("event_expired", f"{event} is over 30 days old; only newer events can be delivered again.")
    attempts = before.attempts if before is not None else 0
    if attempts >= MOST_ATTEMPTS:
        raise ToolError(
            "too_many_attempts", f"{event} was sent to {webhook} {attempts} times in vain; register another webhook."
        )
    others = tuple(one for one in row.deliveries if one.webhook != webhook)
    deliveries = (*others, deliver(listener, till.now, attempts))
    return event_view(till, till.events.change(event, deliveries=deliveries))


@server.write(idempotent=True)
def register_webhook(till: Till, url: Url, kinds: Kinds) -> WebhookView:
    """Register an address to be told of events of some kinds."""
    rows = list(till.webhooks)
    for known in rows:
        if known.url == url:
            raise ToolError("webhook_exists", f"{known.id} is registered at {url} already; use another address.")
    if len(rows) >= MOST_WEBHOOKS:
        raise ToolError("too_many_webhooks", f"You have {MOST_WEBHOOKS} webhooks, the most there can be; use one.")
    row = till.webhooks.put(Webhook(id=till.webhooks.new_id(), url=url, kinds=tuple(dict.fromkeys(kinds))))
    return WebhookView.from_row(row)


# Tools for invoices: draft, issue, close, look up.

LONGEST_TERM = timedelta(days=90)


@server.read()
def list_customer_invoices(
    till: Till, status: StatusParam = None, customer: CustomerParam = None, limit: Limit = None
) -> tuple[InvoiceView, ...]:
    """List invoices to customers, those due first on top; amounts in cents."""
    if customer is not None:
        till.customers[customer]
    filters = {"customer": customer, "status": status}
    wanted = {name: value for name, value in filters.items() if value is not None}
    rows = till.invoices.where(**wanted) if wanted else till.invoices
    first = nsmallest(limit or ROWS, rows, key=attrgetter("due", "id"))
    return tuple(invoice_view(row) for row in first)


@server.read()
def get_customer_invoice(till: Till, invoice: InvoiceRef) -> InvoiceDetails:
    """Get an invoice with its payment and refunds, amounts in cents."""
    return invoice_details(till, till.invoices[invoice])


@server.write(idempotent=True)
def draft_invoice(till: Till, customer: CustomerRef, subject: Subject, amount: Amount, due: DueDay) -> InvoiceDetails:
    """Draft an invoice to a customer. It can be charged once finalized."""
    billed, today = till.customers[customer], till.now.date()
    lost = till.invoices.where(status="uncollectible", customer=customer)
    if lost:
        raise ToolError(
            "customer_in_default", f"{lost[0].id} to {billed.name} was written off; charge or void that one first."
        )
    if due <= today:
        raise ToolError("due_not_in_future", f"{due} is not after today, {today}; name a later day.")
    if due > today + LONGEST_TERM:
        raise ToolError("due_too_late", f"Customers get at most 90 days; name a day until {today + LONGEST_TERM}.")
    same = till.invoices.where(customer=customer, status="draft", subject=subject, amount=amount, due=due)
    if same:
        raise ToolError("duplicate_draft", f"{same[0].id} is that very draft; finalize it or change something.")
    id = till.invoices.new_id()
    row = Invoice(
        id=id,
        customer=customer,
        name=billed.name,
        subject=subject,
        amount=amount,
        status="draft",
        due=due,
        code=code_for(till.seed, id),
    )
    return invoice_details(till, till.invoices.put(row))


@server.write(idempotent=True)
def finalize_invoice(till: Till, invoice: InvoiceRef) -> InvoiceDetails:
    """Issue a draft, so that it is open and can be charged."""
    row, today = till.invoices[invoice], till.now.date()
    if row.status != "draft":
        raise ToolError("not_a_draft", f"{invoice} is {row.status}; only drafts can be finalized.")
    if row.due < today:
        raise ToolError("due_date_passed", f"{invoice} was due on {row.due}; void it and draft a new one.")
    row = till.invoices.change(invoice, status="open", issued=today)
    emit(till, "invoice.opened", row)
    return invoice_details(till, row)


@server.write(destructive=True, idempotent=True)
def close_invoice(till: Till, invoice: InvoiceRef, outcome: Outcome) -> InvoiceDetails:
    """Close an unpaid invoice: void it, or write an overdue one off."""
    row = till.invoices[invoice]
    require_unpaid(row)
    if outcome == row.status:
        raise ToolError("already_closed", f"{invoice} is {outcome} already; nothing is left to do.")
    if outcome == "uncollectible":
        if row.status == "draft":
            raise ToolError("invoice_draft", f"{invoice} is a draft that nobody owes; void it instead.")
        if row.due >= till.now.date():
            raise ToolError("not_overdue", f"{invoice} can be paid until {row.due}; only overdue ones are written off.")
    row = till.invoices.change(invoice, status=outcome)
    emit(till, "invoice.voided" if outcome == "void" else "invoice.uncollectible", row)
    return invoice_details(till, row)


def require_unpaid(row: Invoice) -> None:
    """Raise ToolError when an invoice is paid or void."""
    if row.status == "paid":
        raise ToolError("invoice_paid", f"{row.id} is paid already; use refund_payment to give money back.")
    if row.status == "void":
        raise ToolError("invoice_void", f"{row.id} is void for good; draft a new invoice.")


# Tools that move money: charge a card for an invoice, refund a payment.

REFUND_WINDOW = timedelta(days=30)
CODE_ABOVE = 60_000
"""Charges above this amount in cents need the customer's one-time code."""


@server.write(idempotent=True)
def charge_invoice(till: Till, invoice: InvoiceRef, card_number: CardNumber, code: Code = None) -> ChargeResult:
    """Charge all of an invoice to a customer's card. Large charges need a code."""
    row = till.invoices[invoice]
    require_unpaid(row)
    if row.status == "draft":
        raise ToolError("invoice_draft", f"{invoice} is a draft; finalize it first.")
    card = usable_card(till, row, card_number)
    require_code(row, code)
    if row.amount > card.available:
        raise ToolError("card_over_limit", f"The card ending in {card_number[-4:]} cannot pay that much; use another.")
    till.cards.change(card.id, available=card.available - row.amount)
    till.invoices.change(invoice, status="paid")
    payment = till.payments.put(
        Payment(
            id=till.payments.new_id(),
            invoice=invoice,
            card=card.id,
            subject=row.subject,
            amount=row.amount,
            fee=fee_of(row.amount),
            refunded=0,
            paid=till.now,
            disputed=False,
        )
    )
    till.earn(payment.amount - payment.fee)
    emit(till, "payment.succeeded", row)
    return build_charge_result(till, payment)


def usable_card(till: Till, invoice: Invoice, number: str) -> PaymentCard:
    """Return the card with this number. Raises ToolError when it is not of the customer's company or has expired."""
    company = till.customers[invoice.customer].company
    cards = till.cards.where(card_number=number, company=company)
    if not cards:
        raise ToolError("card_declined", f"{company} has no card of this number; ask {invoice.name} for the right one.")
    if cards[0].expires < till.now.date():
        raise ToolError("card_expired", f"The card ending in {number[-4:]} expired on {cards[0].expires}; use another.")
    return cards[0]


def require_code(invoice: Invoice, code: str | None) -> None:
    """Raise ToolError when a large charge comes without the right code; a small one needs none."""
    if invoice.amount <= CODE_ABOVE or code == invoice.code:
        return
    if code is None:
        raise ToolError(
            "code_required", f"Charges above {CODE_ABOVE} cents need the customer's one-time code; ask for it."
        )
    raise ToolError("wrong_code", f"This is not the code sent for {invoice.id}; ask the customer for the right one.")


@server.write()
def refund_payment(till: Till, payment: PaymentRef, amount: RefundAmount, reason: RefundReason = None) -> RefundResult:
    """Refund a payment or a part of it to its card, within 30 days."""
    row, balance = till.payments[payment], till.merchant.balance
    if row.disputed:
        raise ToolError("payment_disputed", f"The customer disputes {payment}; wait until the bank has decided.")
    if row.refunded == row.amount:
        raise ToolError("already_refunded", f"All of {payment} is refunded already; nothing is left to do.")
    if till.now > row.paid + REFUND_WINDOW:
        last = (row.paid + REFUND_WINDOW).date()
        raise ToolError("refund_window_closed", f"{payment} could be refunded until {last}; use another way.")
    left = row.amount - row.refunded
    if amount > left:
        raise ToolError("refund_exceeds_payment", f"Only {left} cents of {payment} are left to refund; refund less.")
    if amount > balance:
        raise ToolError("insufficient_balance", f"Your balance is {balance} cents; refund less or charge first.")
    card = till.cards[row.card]
    till.cards.change(card.id, available=card.available + amount)
    till.payments.change(payment, refunded=row.refunded + amount)
    till.earn(-amount)
    refund = till.refunds.put(
        Refund(
            id=till.refunds.new_id(),
            payment=payment,
            subject=row.subject,
            amount=amount,
            at=till.now,
            reason=reason,
        )
    )
    emit(till, "payment.refunded", till.invoices[row.invoice])
    return build_refund_result(till, refund)


@server.known_by_heart
def cards_and_codes(till: Till) -> dict[tuple[str, str], str]:
    """Return by invoice what customers tell the merchant: their company's card number and the one-time code."""
    today, companies = till.now.date(), {row.id: row.company for row in till.customers}
    numbers = {card.company: card.card_number for card in sorted(till.cards, key=lambda card: card.expires >= today)}
    cards = {(str(row.id), "card_number"): numbers[companies[row.customer]] for row in till.invoices}
    return {**cards, **{(str(row.id), "code"): row.code for row in till.invoices}}
