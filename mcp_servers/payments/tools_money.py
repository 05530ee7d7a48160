"""Tools that move money: charge a card for an invoice, refund a payment."""

from __future__ import annotations

from datetime import timedelta

from ..kit import ToolError
from .events import emit
from .parameters import CardNumber, Code, InvoiceRef, PaymentRef, RefundAmount, RefundReason
from .server import server
from .state import Invoice, Payment, PaymentCard, Refund, Till, fee_of
from .tools_invoices import require_unpaid
from .views import Charged, Refunded, charged, refunded

REFUND_WINDOW = timedelta(days=30)
CODE_ABOVE = 60_000
"""Charges above so many cents need the customer's one-time code."""


@server.write(idempotent=True)
def charge_invoice(till: Till, invoice: InvoiceRef, card_number: CardNumber, code: Code = None) -> Charged:
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
    return charged(till, payment)


def usable_card(till: Till, invoice: Invoice, number: str) -> PaymentCard:
    """The card of this number. Raises ToolError when it is not of the customer's company, or has expired."""
    company = till.customers[invoice.customer].company
    cards = till.cards.where(card_number=number, company=company)
    if not cards:
        raise ToolError("card_declined", f"{company} has no card of this number; ask {invoice.name} for the right one.")
    if cards[0].expires < till.now.date():
        raise ToolError("card_expired", f"The card ending in {number[-4:]} expired on {cards[0].expires}; use another.")
    return cards[0]


def require_code(invoice: Invoice, code: str | None) -> None:
    """Raises ToolError when a large charge comes without the right code; a small one needs none."""
    if invoice.amount <= CODE_ABOVE or code == invoice.code:
        return
    if code is None:
        raise ToolError(
            "code_required", f"Charges above {CODE_ABOVE} cents need the customer's one-time code; ask for it."
        )
    raise ToolError("wrong_code", f"This is not the code sent for {invoice.id}; ask the customer for the right one.")


@server.write()
def refund_payment(till: Till, payment: PaymentRef, amount: RefundAmount, reason: RefundReason = None) -> Refunded:
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
    return refunded(till, refund)


@server.known_by_heart
def cards_and_codes(till: Till) -> dict[tuple[str, str], str]:
    """Customers tell the merchant the number of a card of their company, and the code they got for an invoice."""
    today, companies = till.now.date(), {row.id: row.company for row in till.customers}
    numbers = {card.company: card.card_number for card in sorted(till.cards, key=lambda card: card.expires >= today)}
    told = {(str(row.id), "card_number"): numbers[companies[row.customer]] for row in till.invoices}
    return {**told, **{(str(row.id), "code"): row.code for row in till.invoices}}
