"""Views of invoices, payments and events as the merchant sees them: without cards and codes."""

from __future__ import annotations

from ..core import Day, Entity, Minute
from ..shared.people import EmailAddress
from ..shared.records import InvoiceId
from .state import (
    DeliveryStatus,
    EventKind,
    Invoice,
    InvoiceStatus,
    MerchantPaymentId,
    Payment,
    PaymentRefundId,
    Reason,
    Refund,
    Till,
    WebhookEvent,
    WebhookEventId,
    WebhookId,
)


class InvoiceView(Entity):
    """An invoice in a list."""

    __label__ = "the {subject} invoice to {name}"
    id: InvoiceId
    customer: EmailAddress
    name: str
    subject: str
    amount: int
    status: InvoiceStatus
    due: Day


class RefundView(Entity):
    """A refund of a payment."""

    amount: int
    at: Minute
    reason: Reason | None = None


class PaymentView(Entity):
    """A payment with the last four digits of its card, and its refunds."""

    __label__ = "the payment for {subject}"
    id: MerchantPaymentId
    subject: str
    amount: int
    fee: int
    refunded: int
    paid: Minute
    disputed: bool
    last4: str
    refunds: tuple[RefundView, ...]


class InvoiceDetails(Entity):
    """An invoice with its payment."""

    __label__ = "the {subject} invoice to {name}"
    id: InvoiceId
    customer: EmailAddress
    name: str
    subject: str
    amount: int
    status: InvoiceStatus
    issued: Day | None = None
    due: Day
    payment: PaymentView | None = None


class ChargeResult(Entity):
    """A payment just made, and the merchant's balance after it."""

    __label__ = "the payment for {subject}"
    id: MerchantPaymentId
    invoice: InvoiceId
    subject: str
    amount: int
    fee: int
    last4: str
    balance: int


class RefundResult(Entity):
    """A refund just made, what is left of the payment, and the merchant's balance after it."""

    __label__ = "the refund for {subject}"
    id: PaymentRefundId
    payment: MerchantPaymentId
    subject: str
    amount: int
    left: int
    balance: int


class DeliveryView(Entity):
    """What became of telling a webhook."""

    __label__ = "the webhook {url}"
    webhook: WebhookId
    url: str
    status: DeliveryStatus
    attempts: int


class EventView(Entity):
    """An event with its deliveries."""

    __label__ = "the {kind} event of {subject}"
    id: WebhookEventId
    kind: EventKind
    invoice: InvoiceId
    subject: str
    at: Minute
    deliveries: tuple[DeliveryView, ...]


class WebhookView(Entity):
    """A webhook and what it is told of."""

    __label__ = "the webhook {url}"
    id: WebhookId
    url: str
    kinds: tuple[EventKind, ...]


def invoice_view(row: Invoice) -> InvoiceView:
    return InvoiceView.from_row(row)


def last4(till: Till, payment: Payment) -> str:
    return till.cards[payment.card].card_number[-4:]


def payment_view(till: Till, row: Payment) -> PaymentView:
    return PaymentView.from_row(
        row,
        last4=last4(till, row),
        refunds=tuple(RefundView.from_row(refund) for refund in till.refunds.where(payment=row.id)),
    )


def invoice_details(till: Till, row: Invoice) -> InvoiceDetails:
    payments = till.payments.where(invoice=row.id)
    return InvoiceDetails.from_row(row, payment=payment_view(till, payments[0]) if payments else None)


def build_charge_result(till: Till, row: Payment) -> ChargeResult:
    return ChargeResult.from_row(row, last4=last4(till, row), balance=till.merchant.balance)


def build_refund_result(till: Till, row: Refund) -> RefundResult:
    payment = till.payments[row.payment]
    return RefundResult.from_row(row, left=payment.amount - payment.refunded, balance=till.merchant.balance)


def event_view(till: Till, row: WebhookEvent) -> EventView:
    return EventView.from_row(
        row, deliveries=tuple(DeliveryView.from_row(one, url=till.webhooks[one.webhook].url) for one in row.deliveries)
    )
