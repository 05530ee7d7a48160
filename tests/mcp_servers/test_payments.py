"""What the payment processor does and refuses, checked through its own tools in small worlds."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from datetime import datetime, timedelta

import pytest
from calling import do, refused, small_worlds

from mcp_servers.core import Session, minute_text
from mcp_servers.payments import server
from mcp_servers.payments.state import Invoice, Payment, PaymentCard, Till
from mcp_servers.shared.records import invoices

HOOK = "https://books.maple.example/hook"


def worlds(size: str = "default") -> Iterator[Session[Till]]:
    return small_worlds(server, size)


def card_of(till: Till, invoice: Invoice) -> PaymentCard | None:
    """A card of the customer's company that has not expired and can pay the invoice."""
    company = till.customers[invoice.customer].company
    cards = [row for row in till.cards if row.company == company and row.expires >= till.now.date()]
    return next((row for row in cards if row.available >= invoice.amount), None)


def find_invoice(
    status: str, wanted: Callable[[Till, Invoice], bool] = lambda till, row: True
) -> tuple[Session[Till], Invoice]:
    """A fresh session in the first world with such an invoice, and the invoice."""
    for session in worlds():
        for row in session.state.invoices.where(status=status):
            if wanted(session.state, row):
                return session, row
    raise LookupError(f"No world has such an invoice, {status}.")


def find_payment(wanted: Callable[[Till, Payment], bool]) -> tuple[Session[Till], Payment]:
    for session in worlds():
        for row in session.state.payments:
            if wanted(session.state, row):
                return session, row
    raise LookupError("No world has such a payment.")


def fresh_payment(till: Till, row: Payment) -> bool:
    return not row.disputed and row.refunded == 0 and row.paid > till.now - timedelta(days=20)


def charge(row: Invoice, card: PaymentCard) -> dict[str, str]:
    return {"invoice": row.id, "card_number": card.card_number, "code": row.code}


def chargeable(till: Till, row: Invoice) -> bool:
    return card_of(till, row) is not None


def test_the_invoices_are_those_that_all_servers_of_a_world_know() -> None:
    session = server.open(4, "default")
    for known in invoices(4, 12):
        row = do(session, "get_customer_invoice", invoice=known.id)
        assert (row["customer"], row["subject"], row["amount"]) == (known.customer, known.subject, known.amount)
        assert row["due"] == known.due.isoformat()


def test_a_charge_pays_the_invoice_and_tells_the_webhooks() -> None:
    session, invoice = find_invoice("open", chargeable)
    card, balance = card_of(session.state, invoice), session.state.merchant.balance
    assert card
    paid = do(session, "charge_invoice", **charge(invoice, card))
    fee = 25 + invoice.amount * 15 // 1000
    assert (paid["amount"], paid["fee"], paid["balance"]) == (invoice.amount, fee, balance + invoice.amount - fee)
    assert paid["last4"] == card.card_number[-4:] and card.card_number not in str(paid)
    assert session.state.cards[card.id].available == card.available - invoice.amount
    details = do(session, "get_customer_invoice", invoice=invoice.id)
    assert details["status"] == "paid" and details["payment"]["id"] == paid["id"]
    assert details["payment"]["paid"] == minute_text(session.history()[1].previous.state.now)  # type: ignore[union-attr]
    event = do(session, "list_webhook_events", invoice=invoice.id)[0]
    assert event["kind"] == "payment.succeeded"
    wanting = [row.id for row in session.state.webhooks if "payment.succeeded" in row.kinds]
    assert [row["webhook"] for row in event["deliveries"]] == wanting
    assert refused(session, "charge_invoice", **charge(invoice, card)) == "invoice_paid"


def test_a_charge_needs_a_card_of_the_customers_company() -> None:
    session, invoice = find_invoice("open", chargeable)
    company = session.state.customers[invoice.customer].company
    other = next(row for row in session.state.cards if row.company != company)
    assert refused(session, "charge_invoice", **charge(invoice, other)) == "card_declined"
    wrong = {"invoice": invoice.id, "card_number": "4000000000000000"}
    assert refused(session, "charge_invoice", **wrong) == "card_declined"


def test_an_expired_card_does_not_pay_and_one_that_expires_today_does() -> None:
    def has_expired(till: Till, row: Invoice) -> bool:
        return any(card.company == till.customers[row.customer].company for card in expired(till))

    def expired(till: Till) -> list[PaymentCard]:
        return [card for card in till.cards if card.expires < till.now.date()]

    session, invoice = find_invoice("open", has_expired)
    company = session.state.customers[invoice.customer].company
    card = next(card for card in expired(session.state) if card.company == company)
    assert refused(session, "charge_invoice", **charge(invoice, card)) == "card_expired"
    session, invoice = find_invoice("open", chargeable)
    good = card_of(session.state, invoice)
    assert good
    last = datetime.combine(good.expires, datetime.min.time()).replace(hour=23)
    assert refused(session, "charge_invoice", now=last + timedelta(days=1), **charge(invoice, good)) == "card_expired"
    do(session, "charge_invoice", last, **charge(invoice, good))


def test_a_large_charge_needs_the_code_of_its_invoice() -> None:
    session, large = find_invoice(
        "open", lambda till, row: row.amount == 60_100 or (row.amount > 80_000 and chargeable(till, row))
    )
    card = card_of(session.state, large)
    assert card
    terms = charge(large, card)
    assert refused(session, "charge_invoice", invoice=large.id, card_number=card.card_number) == "code_required"
    assert refused(session, "charge_invoice", **{**terms, "code": "000000"}) == "wrong_code"
    do(session, "charge_invoice", **terms)
    assert server.known(session.state)[large.id, "code"] == large.code


def test_a_charge_of_exactly_sixty_thousand_needs_no_code() -> None:
    session, invoice = find_invoice("open", lambda till, row: row.amount == 60_000 and chargeable(till, row))
    card = card_of(session.state, invoice)
    assert card
    do(session, "charge_invoice", invoice=invoice.id, card_number=card.card_number)


def test_a_card_pays_no_more_than_it_can() -> None:
    def over(till: Till, row: Invoice) -> bool:
        return any(is_short(till, row, card) for card in till.cards)

    def is_short(till: Till, row: Invoice, card: PaymentCard) -> bool:
        mine = card.company == till.customers[row.customer].company and card.expires >= till.now.date()
        return mine and card.available < row.amount

    session, invoice = find_invoice("open", over)
    card = next(card for card in session.state.cards if is_short(session.state, invoice, card))
    assert refused(session, "charge_invoice", **charge(invoice, card)) == "card_over_limit"


def test_a_card_pays_all_it_can() -> None:
    session, invoice = find_invoice("open", chargeable)
    card = card_of(session.state, invoice)
    assert card is not None
    exact = session.state.draft()
    exact.cards.change(card.id, available=invoice.amount)
    assert Session.start(server, exact).call("charge_invoice", charge(invoice, card)).ok


def test_the_user_knows_a_card_that_pays_for_every_invoice() -> None:
    session, invoice = find_invoice("open", chargeable)
    known = server.known(session.state)
    number = known[invoice.id, "card_number"]
    cards = session.state.cards.where(card_number=number)
    assert cards[0].company == session.state.customers[invoice.customer].company
    assert cards[0].expires >= session.state.now.date()
    assert [tool.name for tool in server.tools.values() if "card_number" in str(tool.output_schema)] == []


def test_an_invoice_goes_from_draft_to_refund() -> None:
    session, old = find_invoice(
        "open",
        lambda till, row: (
            chargeable(till, row) and not till.invoices.where(customer=row.customer, status="uncollectible")
        ),
    )
    due = (session.state.now + timedelta(days=90)).date().isoformat()
    terms = {"customer": old.customer, "subject": "Audit", "amount": 5_000, "due": due}
    draft = do(session, "draft_invoice", **terms)
    assert draft == {"id": draft["id"], "name": old.name, "status": "draft", **terms}
    assert refused(session, "draft_invoice", **terms) == "duplicate_draft"
    row = session.state.invoices[draft["id"]]
    card = card_of(session.state, row)
    assert card and row.code.isdigit() and len(row.code) == 6
    assert refused(session, "charge_invoice", **charge(row, card)) == "invoice_draft"
    opened = do(session, "finalize_invoice", invoice=row.id)
    assert (opened["status"], opened["issued"]) == ("open", session.state.now.date().isoformat())
    assert refused(session, "finalize_invoice", invoice=row.id) == "not_a_draft"
    paid = do(session, "charge_invoice", **charge(row, card))
    back = do(session, "refund_payment", payment=paid["id"], amount=2_000, reason="duplicate")
    assert (back["left"], back["balance"]) == (3_000, paid["balance"] - 2_000)
    kinds = [event["kind"] for event in do(session, "list_webhook_events", invoice=row.id)]
    assert kinds == ["payment.refunded", "payment.succeeded", "invoice.opened"]
    payment = do(session, "get_customer_invoice", invoice=row.id)["payment"]
    assert payment["refunded"] == 2_000 and [part["reason"] for part in payment["refunds"]] == ["duplicate"]


@pytest.mark.parametrize(("days", "code"), [(-1, "due_not_in_future"), (0, "due_not_in_future"), (91, "due_too_late")])
def test_an_invoice_is_due_within_ninety_days(days: int, code: str) -> None:
    session = server.open(3, "small")
    customer = next(
        row.id
        for row in session.state.customers
        if not session.state.invoices.where(customer=row.id, status="uncollectible")
    )
    due = (session.state.now + timedelta(days=days)).date().isoformat()
    assert refused(session, "draft_invoice", customer=customer, subject="Audit", amount=900, due=due) == code


def test_a_customer_in_default_gets_no_new_invoice_until_the_old_one_is_settled() -> None:
    session, lost = find_invoice(
        "uncollectible",
        lambda till, row: (
            chargeable(till, row) and len(till.invoices.where(customer=row.customer, status="uncollectible")) == 1
        ),
    )
    due = (session.state.now + timedelta(days=9)).date().isoformat()
    terms = {"customer": lost.customer, "subject": "Audit", "amount": 900, "due": due}
    assert refused(session, "draft_invoice", **terms) == "customer_in_default"
    assert refused(session, "close_invoice", invoice=lost.id, outcome="uncollectible") == "already_closed"
    other = session.fork()
    do(other, "close_invoice", invoice=lost.id, outcome="void")
    do(other, "draft_invoice", **terms)
    card = card_of(session.state, lost)
    assert card
    do(session, "charge_invoice", **charge(lost, card))
    do(session, "draft_invoice", **terms)


def test_a_draft_that_is_due_is_finalized_today_and_not_tomorrow() -> None:
    session, draft = find_invoice("draft", lambda till, row: row.due > till.now.date())
    last = datetime.combine(draft.due, datetime.min.time())
    assert refused(session, "finalize_invoice", now=last + timedelta(days=1), invoice=draft.id) == "due_date_passed"
    do(session, "finalize_invoice", last, invoice=draft.id)


def test_void_is_for_good() -> None:
    session, invoice = find_invoice("open", chargeable)
    card = card_of(session.state, invoice)
    assert card
    assert do(session, "close_invoice", invoice=invoice.id, outcome="void")["status"] == "void"
    assert do(session, "list_webhook_events", invoice=invoice.id)[0]["kind"] == "invoice.voided"
    assert refused(session, "close_invoice", invoice=invoice.id, outcome="void") == "invoice_void"
    assert refused(session, "charge_invoice", **charge(invoice, card)) == "invoice_void"
    assert refused(session, "finalize_invoice", invoice=invoice.id) == "not_a_draft"


def test_only_what_is_overdue_is_written_off() -> None:
    session, draft = find_invoice("draft")
    assert refused(session, "close_invoice", invoice=draft.id, outcome="uncollectible") == "invoice_draft"
    assert do(session, "close_invoice", invoice=draft.id, outcome="void")["status"] == "void"
    session, invoice = find_invoice("open", lambda till, row: row.due >= till.now.date())
    due = datetime.combine(invoice.due, datetime.min.time()).replace(hour=12)
    late = {"invoice": invoice.id, "outcome": "uncollectible"}
    assert refused(session, "close_invoice", now=due, **late) == "not_overdue"
    assert do(session, "close_invoice", due + timedelta(days=1), **late)["status"] == "uncollectible"
    assert do(session, "list_webhook_events", invoice=invoice.id)[0]["kind"] == "invoice.uncollectible"
    session, paid = find_invoice("paid")
    assert refused(session, "close_invoice", invoice=paid.id, outcome="void") == "invoice_paid"


def test_a_payment_is_refunded_in_parts_up_to_its_amount() -> None:
    session, payment = find_payment(lambda till, row: fresh_payment(till, row) and till.merchant.balance >= row.amount)
    available = session.state.cards[payment.card].available
    balance = session.state.merchant.balance
    do(session, "refund_payment", payment=payment.id, amount=100)
    more = payment.amount - 99
    assert refused(session, "refund_payment", payment=payment.id, amount=more) == "refund_exceeds_payment"
    last = do(session, "refund_payment", payment=payment.id, amount=payment.amount - 100)
    assert (last["left"], last["balance"]) == (0, balance - payment.amount)
    assert refused(session, "refund_payment", payment=payment.id, amount=1) == "already_refunded"
    assert session.state.cards[payment.card].available == available + payment.amount
    assert session.state.payments[payment.id].refunded == payment.amount


def test_a_refund_takes_no_more_than_the_balance() -> None:
    session, payment = find_payment(lambda till, row: fresh_payment(till, row) and till.merchant.balance < row.amount)
    balance = session.state.merchant.balance
    assert refused(session, "refund_payment", payment=payment.id, amount=balance + 1) == "insufficient_balance"
    assert do(session, "refund_payment", payment=payment.id, amount=balance)["balance"] == 0


def test_a_payment_is_refunded_for_thirty_days() -> None:
    session, payment = find_payment(lambda till, row: fresh_payment(till, row) and till.merchant.balance > 10)
    last = payment.paid + timedelta(days=30)
    late = last + timedelta(minutes=1)
    assert refused(session, "refund_payment", now=late, payment=payment.id, amount=1) == "refund_window_closed"
    do(session, "refund_payment", last, payment=payment.id, amount=1)


def test_a_disputed_payment_is_not_refunded() -> None:
    session, payment = find_payment(lambda till, row: row.disputed)
    assert refused(session, "refund_payment", payment=payment.id, amount=1) == "payment_disputed"


def test_a_webhook_that_is_down_gets_the_event_once_it_is_back() -> None:
    session = server.open(1, "small")
    down = next(iter(session.state.webhooks))
    assert down.down_until and session.state.now < down.down_until
    draft = next(row for row in session.state.invoices if row.status in ("draft", "open"))
    do(session, "close_invoice", invoice=draft.id, outcome="void")
    event = do(session, "list_webhook_events", failed_only=True, limit=1)[0]
    assert event["deliveries"][0] == {"webhook": down.id, "url": down.url, "status": "failed", "attempts": 1}
    retry = {"event": event["id"], "webhook": down.id}
    for attempts in (2, 3, 4):
        deliveries = do(session, "redeliver_webhook_event", **retry)["deliveries"]
        assert [(row["status"], row["attempts"]) for row in deliveries if row["webhook"] == down.id] == [
            ("failed", attempts)
        ]
    other = session.fork()
    do(other, "redeliver_webhook_event", **retry)
    assert refused(other, "redeliver_webhook_event", **retry) == "too_many_attempts"
    deliveries = do(session, "redeliver_webhook_event", down.down_until, **retry)["deliveries"]
    assert [(row["status"], row["attempts"]) for row in deliveries if row["webhook"] == down.id] == [("delivered", 5)]
    assert refused(session, "redeliver_webhook_event", **retry) == "already_delivered"


def test_a_new_webhook_gets_old_events_of_its_kinds_for_thirty_days() -> None:
    session = server.open(2, "small")
    opened = next(row for row in reversed(list(session.state.events)) if row.kind == "invoice.opened")
    paid = session.state.events.where(kind="payment.succeeded")[0]
    kinds = ["invoice.opened", "invoice.opened", "invoice.voided"]
    hook = do(session, "register_webhook", url=HOOK, kinds=kinds)
    assert hook["kinds"] == ["invoice.opened", "invoice.voided"]
    assert refused(session, "register_webhook", url=HOOK, kinds=["payment.refunded"]) == "webhook_exists"
    assert refused(session, "redeliver_webhook_event", event=paid.id, webhook=hook["id"]) == "not_subscribed"
    retry = {"event": opened.id, "webhook": hook["id"]}
    last = max(session.state.now, opened.at + timedelta(days=30))
    late = last + timedelta(minutes=1)
    assert refused(session, "redeliver_webhook_event", now=late, **retry) == "event_expired"
    do(session.fork(), "redeliver_webhook_event", last, **retry)
    fresh = max(session.state.events, key=lambda row: (row.kind == "invoice.opened", row.at))
    deliveries = do(session, "redeliver_webhook_event", event=fresh.id, webhook=hook["id"])["deliveries"]
    assert deliveries[-1] == {"webhook": hook["id"], "url": HOOK, "status": "delivered", "attempts": 1}
    assert len(deliveries) == len(fresh.deliveries) + 1


def test_there_are_at_most_six_webhooks() -> None:
    session = server.open(2, "small")
    count = len(session.state.webhooks)
    for number in range(count, 6):
        do(session, "register_webhook", url=f"https://hook{number}.maple.example", kinds=["payment.refunded"])
    assert refused(session, "register_webhook", url=HOOK, kinds=["payment.refunded"]) == "too_many_webhooks"


def test_invoices_are_listed_by_due_day_status_and_customer() -> None:
    session = server.open(6, "default")
    rows = do(session, "list_customer_invoices", limit=50)
    assert [row["due"] for row in rows] == sorted(row["due"] for row in rows)
    assert len(do(session, "list_customer_invoices")) == 5
    drafts = do(session, "list_customer_invoices", status="draft", limit=50)
    assert {row["id"] for row in drafts} == {row.id for row in session.state.invoices if row.status == "draft"}
    customer = drafts[0]["customer"]
    own = do(session, "list_customer_invoices", customer=customer, status="draft", limit=50)
    assert own == [row for row in drafts if row["customer"] == customer]
    assert refused(session, "list_customer_invoices", customer="nobody@acme.example") == "not_found"


def test_an_invoice_a_payment_and_an_event_have_all_their_fields() -> None:
    session, row = find_invoice("open", chargeable)
    card = card_of(session.state, row)
    assert card
    common = {
        **{"id": row.id, "customer": row.customer, "name": row.name, "subject": row.subject},
        **{"amount": row.amount, "due": row.due.isoformat()},
    }
    assert row.issued
    details = {**common, "status": "open", "issued": row.issued.isoformat()}
    assert do(session, "get_customer_invoice", invoice=row.id) == details
    listed = do(session, "list_customer_invoices", customer=row.customer, status="open", limit=50)
    assert {**common, "status": "open"} in listed
    now = minute_text(session.state.now)
    paid = do(session, "charge_invoice", **charge(row, card))
    assert (paid["invoice"], paid["subject"]) == (row.id, row.subject)
    assert do(session, "get_customer_invoice", invoice=row.id)["payment"] == {
        **{"id": paid["id"], "subject": row.subject, "amount": row.amount, "fee": paid["fee"], "refunded": 0},
        **{"paid": now, "disputed": False, "last4": card.card_number[-4:], "refunds": []},
    }
    event = do(session, "list_webhook_events", invoice=row.id, limit=1)[0]
    assert (event["kind"], event["invoice"], event["subject"], event["at"]) == (
        *("payment.succeeded", row.id, row.subject, now),
    )
    refund_at = minute_text(session.state.now)
    back = do(session, "refund_payment", payment=paid["id"], amount=10)
    assert (back["payment"], back["subject"], back["amount"]) == (paid["id"], row.subject, 10)
    refunds = do(session, "get_customer_invoice", invoice=row.id)["payment"]["refunds"]
    assert refunds == [{"amount": 10, "at": refund_at}]


def test_events_are_listed_newest_first_by_invoice_kind_and_failure() -> None:
    session = server.open(6, "default")
    rows = do(session, "list_webhook_events", limit=50)
    assert [row["at"] for row in rows] == sorted((row["at"] for row in rows), reverse=True)
    assert len(do(session, "list_webhook_events")) == 5
    kinds = do(session, "list_webhook_events", kind="invoice.voided", limit=50)
    assert {row["kind"] for row in kinds} == {"invoice.voided"}
    invoice = kinds[0]["invoice"]
    both = do(session, "list_webhook_events", invoice=invoice, kind="invoice.voided")
    assert [row["id"] for row in both] == [kinds[0]["id"]]
    assert len(do(session, "list_webhook_events", invoice=invoice)) == 2
    failed = do(session, "list_webhook_events", failed_only=True, limit=50)
    assert failed and all("failed" in [one["status"] for one in row["deliveries"]] for row in failed)


@pytest.mark.parametrize("size", ["small", "default", "large"])
@pytest.mark.parametrize("seed", [0, 7, 1_000_000_000])
def test_every_world_keeps_the_laws_and_has_an_invoice_of_each_kind(seed: int, size: str) -> None:
    session = server.open(seed, size)
    assert server.find_broken_invariants(session.state) == []
    assert {"draft", "open", "paid"} <= {row.status for row in session.state.invoices}
