"""Telling the webhooks: an event for everything that happens to an invoice, and each attempt to deliver it."""

from __future__ import annotations

from datetime import datetime

from .state import Delivery, EventKind, Invoice, Till, Webhook, WebhookEvent


def emit(till: Till, kind: EventKind, invoice: Invoice) -> WebhookEvent:
    """Record an event and tell each webhook that wants its kind, once."""
    told = tuple(deliver(row, till.now, 0) for row in till.webhooks if kind in row.kinds)
    return till.events.put(
        WebhookEvent(
            id=till.events.new_id(),
            kind=kind,
            invoice=invoice.id,
            subject=invoice.subject,
            at=till.now,
            deliveries=told,
        )
    )


def deliver(webhook: Webhook, now: datetime, before: int) -> Delivery:
    """One more attempt, after so many before."""
    down = webhook.down_until is not None and now < webhook.down_until
    return Delivery(webhook=webhook.id, status="failed" if down else "delivered", attempts=before + 1)
