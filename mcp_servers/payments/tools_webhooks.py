"""Tools on webhooks: who is told of events, and telling them again."""

from __future__ import annotations

from datetime import timedelta
from heapq import nlargest
from operator import attrgetter

from ..kit import ToolError
from .events import deliver
from .parameters import ROWS, AskedInvoice, AskedKind, EventRef, FailedOnly, Kinds, Limit, Url, WebhookRef
from .server import server
from .state import Till, Webhook
from .views import EventView, WebhookView, event_view

MOST_WEBHOOKS = 6
MOST_ATTEMPTS = 5
KEPT = timedelta(days=30)


@server.read()
def list_webhook_events(
    till: Till,
    invoice: AskedInvoice = None,
    kind: AskedKind = None,
    failed_only: FailedOnly = False,
    limit: Limit = None,
) -> tuple[EventView, ...]:
    """List webhook events with their deliveries, the newest first."""
    if invoice is not None:
        till.invoices[invoice]
    asked = {"invoice": invoice, "kind": kind, "failed": failed_only or None}
    wanted = {name: value for name, value in asked.items() if value is not None}
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
    if till.now > row.at + KEPT:
        raise ToolError("event_expired", f"{event} is over 30 days old; only newer events can be delivered again.")
    attempts = before.attempts if before is not None else 0
    if attempts >= MOST_ATTEMPTS:
        raise ToolError(
            "too_many_attempts", f"{event} was sent to {webhook} {attempts} times in vain; register another webhook."
        )
    others = tuple(one for one in row.deliveries if one.webhook != webhook)
    told = (*others, deliver(listener, till.now, attempts))
    return event_view(till, till.events.change(event, deliveries=told))


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
    return WebhookView(id=row.id, url=row.url, kinds=row.kinds)
