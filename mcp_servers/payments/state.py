"""State of the payment processor for one merchant: invoices, payments, refunds, and webhooks with their events."""

from __future__ import annotations

from datetime import datetime
from functools import lru_cache
from typing import Literal, NewType

from ..core import Day, Draw, Entity, Minute, State, Table, table
from ..shared.people import EmailAddress
from ..shared.records import InvoiceId

MerchantPaymentId = NewType("MerchantPaymentId", str)
PaymentRefundId = NewType("PaymentRefundId", str)
PaymentCardId = NewType("PaymentCardId", str)
WebhookId = NewType("WebhookId", str)
WebhookEventId = NewType("WebhookEventId", str)

InvoiceStatus = Literal["draft", "open", "paid", "void", "uncollectible"]
Reason = Literal["duplicate", "fraudulent", "requested_by_customer"]
DeliveryStatus = Literal["delivered", "failed"]
EventKind = Literal[
    "invoice.opened", "invoice.voided", "invoice.uncollectible", "payment.succeeded", "payment.refunded"
]


class Merchant(Entity):
    """The merchant; `balance` is in cents, and `paid_out` what has left it for the merchant's bank."""

    __label__ = "{name}"
    id: EmailAddress
    name: str
    balance: int
    paid_out: int


class Customer(Entity):
    """Someone the merchant bills, who pays with a card of their company."""

    __label__ = "{name}"
    id: EmailAddress
    name: str
    company: str


class PaymentCard(Entity):
    """A company's card, known to the card network alone; `available` of its `ceiling` cents can still be charged."""

    id: PaymentCardId
    company: str
    card_number: str
    expires: Day
    ceiling: int
    available: int


class Invoice(Entity):
    """A bill; `name` is the customer's, amounts are in cents, and a draft has not been issued.

    The customer gets `code` once, by text message, to approve a large charge.
    """

    __label__ = "the {subject} invoice to {name}"
    id: InvoiceId
    customer: EmailAddress
    name: str
    subject: str
    amount: int
    status: InvoiceStatus
    issued: Day | None = None
    due: Day
    code: str


class Payment(Entity):
    """A card payment of a whole invoice; the processor's fee is kept also when it is refunded."""

    __label__ = "the payment for {subject}"
    id: MerchantPaymentId
    invoice: InvoiceId
    card: PaymentCardId
    subject: str
    amount: int
    fee: int
    refunded: int
    paid: Minute
    disputed: bool


class Refund(Entity):
    """Money of a payment that went back to its card."""

    __label__ = "the refund for {subject}"
    id: PaymentRefundId
    payment: MerchantPaymentId
    subject: str
    amount: int
    at: Minute
    reason: Reason | None = None


class Webhook(Entity):
    """An address that is told of events of these kinds; it does not answer before `down_until`."""

    __label__ = "the webhook {url}"
    id: WebhookId
    url: str
    kinds: tuple[EventKind, ...]
    down_until: Minute | None = None


class Delivery(Entity):
    """How often a webhook was told of an event, and whether it answered."""

    webhook: WebhookId
    status: DeliveryStatus
    attempts: int


class WebhookEvent(Entity):
    """Something that happened to an invoice, and what became of telling the webhooks."""

    __label__ = "the {kind} event of {subject}"
    id: WebhookEventId
    kind: EventKind
    invoice: InvoiceId
    subject: str
    at: Minute
    deliveries: tuple[Delivery, ...] = ()

    @property
    def failed(self) -> bool:
        """Return whether delivery of the event to a webhook failed."""
        return any(one.status == "failed" for one in self.deliveries)


class Till(State):
    """Everything one merchant has at the processor, and the cards of its customers."""

    merchants: Table[EmailAddress, Merchant] = table("", "merchant")
    customers: Table[EmailAddress, Customer] = table("", "customer")
    cards: Table[PaymentCardId, PaymentCard] = table("PCD", "card", index=("card_number",))
    invoices: Table[InvoiceId, Invoice] = table("IVC", "invoice", index=("customer", "status"))
    payments: Table[MerchantPaymentId, Payment] = table("MPY", "payment", index=("invoice",))
    refunds: Table[PaymentRefundId, Refund] = table("PRF", "refund", index=("payment",))
    webhooks: Table[WebhookId, Webhook] = table("WHK", "webhook")
    events: Table[WebhookEventId, WebhookEvent] = table("WEV", "webhook event", index=("invoice", "kind", "failed"))

    @property
    def merchant(self) -> Merchant:
        return next(iter(self.merchants))

    def earn(self, cents: int) -> Merchant:
        """Add cents, which may be negative, to the balance and return the merchant."""
        row = self.merchant
        return self.merchants.change(row.id, balance=row.balance + cents)


@lru_cache(maxsize=4096)
def code_for(seed: int, invoice: InvoiceId) -> str:
    """Return the one-time code that the customer of an invoice gets."""
    return f"{Draw('code', seed, invoice).integer(0, 999_999):06d}"


def fee_of(amount: int) -> int:
    """Return the processor's fee for a payment in cents: 25 cents and 1.5%."""
    return 25 + amount * 15 // 1_000


def emit(till: Till, kind: EventKind, invoice: Invoice) -> WebhookEvent:
    """Record an event and deliver it once to each webhook that is registered for its kind."""
    deliveries = tuple(deliver(row, till.now, 0) for row in till.webhooks if kind in row.kinds)
    return till.events.put(
        WebhookEvent(
            id=till.events.new_id(),
            kind=kind,
            invoice=invoice.id,
            subject=invoice.subject,
            at=till.now,
            deliveries=deliveries,
        )
    )


def deliver(webhook: Webhook, now: datetime, before: int) -> Delivery:
    """Return the delivery after one more attempt; `before` is the number of earlier ones."""
    down = webhook.down_until is not None and now < webhook.down_until
    return Delivery(webhook=webhook.id, status="failed" if down else "delivered", attempts=before + 1)
