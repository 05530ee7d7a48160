"""Invariants of the payment processor: they hold in every state that a session can reach."""

from __future__ import annotations

from collections import Counter

from .state import Till, WebhookEvent, fee_of
from .tools import MOST_ATTEMPTS, MOST_WEBHOOKS, server


@server.invariant
def the_balance_is_what_came_in_and_did_not_go_out(till: Till) -> bool:
    """The merchant's balance is all payments less fees, refunds and payouts, and never below nothing."""
    came_in = sum(row.amount - row.fee for row in till.payments)
    went_out = sum(row.amount for row in till.refunds) + till.merchant.paid_out
    return till.merchant.balance == came_in - went_out >= 0


@server.invariant
def paid_invoices_have_one_payment(till: Till) -> bool:
    """An invoice that is paid, and no other, has a payment: one, of all of its amount, less the fee that is due."""
    paid = Counter[str](row.invoice for row in till.payments)
    return (
        sorted(paid.elements()) == sorted(row.id for row in till.invoices if row.status == "paid")
        and all(count == 1 for count in paid.values())
        and all(row.amount == till.invoices[row.invoice].amount for row in till.payments)
        and all(row.fee == fee_of(row.amount) for row in till.payments)
    )


@server.invariant
def no_payment_is_refunded_beyond_its_amount(till: Till) -> bool:
    """A payment's refunded amount is the sum of its refunds, at most its amount; a disputed payment has no refunds."""
    sums = Counter[str]()
    for refund in till.refunds:
        if refund.amount <= 0 or refund.payment not in till.payments:
            return False
        sums[refund.payment] += refund.amount
    return all(
        row.refunded == sums[row.id] <= row.amount and not (row.disputed and row.refunded) for row in till.payments
    )


@server.invariant
def cards_pay_within_their_ceiling(till: Till) -> bool:
    """A card can pay its ceiling less what it paid and did not get back, and pays for its company."""
    spent = Counter[str]()
    for row in till.payments:
        spent[row.card] += row.amount - row.refunded
        if till.cards[row.card].company != till.customers[till.invoices[row.invoice].customer].company:
            return False
    numbers = [card.card_number for card in till.cards]
    return len(dict.fromkeys(numbers)) == len(numbers) and all(
        card.ceiling - spent[card.id] == card.available >= 0 for card in till.cards
    )


@server.invariant
def invoices_are_in_order(till: Till) -> bool:
    """An invoice has a customer; issued once it is no draft, before it is due; only overdue ones are written off."""
    today = till.now.date()
    return all(
        row.customer in till.customers
        and row.amount > 0
        and (row.issued is None or (row.status != "draft" and row.issued <= row.due))
        and (row.issued is not None or row.status in ("draft", "void"))
        and (row.status != "uncollectible" or row.due < today)
        for row in till.invoices
    )


@server.invariant
def events_tell_what_happened(till: Till) -> bool:
    """Each issue, payment, refund and void has its event, and no event tells of anything else."""
    events = Counter[tuple[str, str]]((row.invoice, row.kind) for row in till.events)
    invoice_of = {row.id: row.invoice for row in till.payments}
    refunds = Counter[str](invoice_of[row.payment] for row in till.refunds)
    for row in till.invoices:
        if events[row.id, "invoice.opened"] != (row.issued is not None):
            return False
        if events[row.id, "payment.succeeded"] != (row.status == "paid"):
            return False
        if events[row.id, "invoice.voided"] != (row.status == "void"):
            return False
        if events[row.id, "payment.refunded"] != refunds[row.id]:
            return False
        if row.status == "uncollectible" and events[row.id, "invoice.uncollectible"] != 1:
            return False
    return all(row.invoice in till.invoices for row in till.events)


@server.invariant
def deliveries_go_to_webhooks_that_want_them(till: Till) -> bool:
    """A webhook gets an event of its kinds alone, in a few attempts; no two have one address."""
    urls = [row.url for row in till.webhooks]
    return len(dict.fromkeys(urls)) == len(urls) <= MOST_WEBHOOKS and all(
        is_in_order(till, event) for event in till.events
    )


def is_in_order(till: Till, event: WebhookEvent) -> bool:
    webhooks = [one.webhook for one in event.deliveries]
    return len(dict.fromkeys(webhooks)) == len(webhooks) and all(
        event.kind in till.webhooks[one.webhook].kinds and 1 <= one.attempts <= MOST_ATTEMPTS
        for one in event.deliveries
    )
