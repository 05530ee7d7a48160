"""What the budgets do and refuse, checked through their own tools in small worlds."""

from __future__ import annotations

from collections.abc import Callable
from datetime import date, datetime, timedelta
from typing import Any

import pytest
from calling import do, find_row, refused, small_worlds

from mcp_servers.budget import server
from mcp_servers.budget.state import Budget, Budgets, Category, day_in, get_next_month, month_of, months
from mcp_servers.core import Session
from mcp_servers.shared.people import cast
from mcp_servers.shared.records import bookings, invoices


def find(
    wanted: Callable[[Budgets, Category], bool] = lambda budgets, row: True,
) -> tuple[Session[Budgets], Category]:
    """A fresh session in the first world with such a category that the user may change, and the category."""
    return find_row(
        server,
        "categories",
        lambda state, row: state.budgets[row.budget].access == "edit" and wanted(state, row),
    )


def budget_of(session: Session[Budgets], row: Category) -> Budget:
    return session.state.budgets[row.budget]


def line_of(session: Session[Budgets], row: Category, now: datetime | None = None, **more: str) -> Any:
    """The category's line of the report."""
    report = session.call("get_budget_report", {"budget": row.budget, **more}, now=now).data
    return next(line for line in report["lines"] if line["id"] == row.id)


def roomy(budgets: Budgets, row: Category) -> bool:
    """Whether a category has money left, less than needs a receipt, and the month some days to both sides."""
    return (
        5_000 < budgets.compute_remaining_cents(row) < budgets.budgets[row.budget].receipt_above
        and 5 < budgets.now.day < 20
    )


def first_of_next(session: Session[Budgets]) -> datetime:
    return datetime.combine(day_in(get_next_month(session.state.month), 1), datetime.min.time()).replace(hour=9)


def test_months_go_on_over_the_year() -> None:
    assert month_of(date(2026, 3, 31)) == "2026-03"
    assert [get_next_month(month) for month in ("2026-01", "2026-11", "2026-12")] == ["2026-02", "2026-12", "2027-01"]
    assert list(months("2026-11", "2027-02")) == ["2026-11", "2026-12", "2027-01", "2027-02"]
    assert list(months("2026-03", "2026-02")) == []
    assert day_in("2026-02", 28) == date(2026, 2, 28)


def test_an_expense_takes_from_what_its_category_has_left_and_not_a_cent_more() -> None:
    session, row = find(roomy)
    left, spent = session.state.compute_remaining_cents(row), session.state.sum_spending(row.id, session.state.month)
    terms = {"category": row.id, "description": "lamp"}
    assert refused(session, "record_expense", **terms, amount=left + 1) == "budget_exceeded"
    expense = do(session, "record_expense", **terms, amount=left - 200)
    assert (expense["left"], expense["amount"], expense["description"]) == (200, left - 200, "lamp")
    assert expense["day"] == session.state.now.date().isoformat()
    assert do(session, "record_expense", **terms, amount=200)["left"] == 0
    line = line_of(session, row)
    assert line == {
        **{"id": row.id, "name": row.name, "spent": spent + left},
        **{"monthly_limit": row.monthly_limit, "left": 0},
    }
    assert refused(session, "record_expense", **terms, amount=1) == "budget_exceeded"
    assert do(session, "remove_expense", expense=expense["id"])["left"] == left - 200
    assert refused(session, "remove_expense", expense=expense["id"]) == "not_found"


def test_an_expense_is_of_this_month_and_not_of_tomorrow() -> None:
    session, row = find(roomy)
    today = session.state.now.date()
    terms = {"category": row.id, "description": "lamp", "amount": 10}
    first = today.replace(day=1)
    assert do(session, "record_expense", **terms, day=first.isoformat())["day"] == first.isoformat()
    do(session, "record_expense", **terms, day=today.isoformat())
    tomorrow, before = (today + timedelta(days=1)).isoformat(), (first - timedelta(days=1)).isoformat()
    assert refused(session, "record_expense", **terms, day=tomorrow) == "in_the_future"
    assert refused(session, "record_expense", **terms, day=before) == "month_closed"
    old = next(
        expense
        for expense in session.state.expenses
        if month_of(expense.day) < session.state.month
        and session.state.budgets[session.state.categories[expense.category].budget].access == "edit"
    )
    assert refused(session, "remove_expense", expense=old.id) == "month_closed"


def test_an_expense_is_paid_by_a_member() -> None:
    session, row = find(lambda budgets, row: roomy(budgets, row) and len(budgets.budgets[row.budget].members) > 1)
    user, other, *_ = budget_of(session, row).members
    terms = {"category": row.id, "description": "lamp", "amount": 10}
    mine, theirs = do(session, "record_expense", **terms), do(session, "record_expense", **terms, paid_by=other)
    rows = {one["id"]: one for one in do(session, "list_budget_expenses", category=row.id, limit=50)}
    assert (rows[mine["id"]]["paid_by"], rows[theirs["id"]]["paid_by"]) == (user, other)
    stranger = next(one.id for one in cast(session.state.seed, 12) if one.id not in budget_of(session, row).members)
    assert refused(session, "record_expense", **terms, paid_by=stranger) == "not_a_member"


def test_a_receipt_is_named_once_until_its_expense_is_removed() -> None:
    session, row = find(roomy)
    receipts = do(session, "list_receipts", unused_only=True, limit=50)
    invoice = next(one["invoice"] for one in receipts if "invoice" in one)
    booking = next(one["booking"] for one in receipts if "booking" in one)
    terms = {"category": row.id, "description": "lamp", "amount": 10}
    assert refused(session, "record_expense", **terms, invoice=invoice, booking=booking) == "two_receipts"
    expense = do(session, "record_expense", **terms, invoice=invoice)
    flight = do(session, "record_expense", **terms, booking=booking)
    assert (expense["invoice"], flight["booking"]) == (invoice, booking)
    assert refused(session, "record_expense", **terms, invoice=invoice) == "duplicate_receipt"
    assert refused(session, "record_expense", **terms, booking=booking) == "duplicate_receipt"
    used = {
        one.get("invoice", one.get("booking")): one.get("expense") for one in do(session, "list_receipts", limit=50)
    }
    assert (used[invoice], used[booking]) == (expense["id"], flight["id"])
    assert len(do(session, "list_receipts", unused_only=True, limit=50)) == len(receipts) - 2
    do(session, "remove_expense", expense=expense["id"])
    do(session, "record_expense", **terms, invoice=invoice)


def test_the_receipts_are_those_that_all_servers_of_a_world_know() -> None:
    session = server.open(5, "small")
    rows = do(session, "list_receipts", limit=50)
    assert [(row["booking"], row["amount"]) for row in rows[:3]] == [(row.code, row.price) for row in bookings(5)]
    assert [(row["invoice"], row["subject"], row["amount"]) for row in rows[3:]] == [
        (row.id, row.subject, row.amount) for row in invoices(5, 12)
    ]
    assert len(do(session, "list_receipts")) == 5


def test_a_large_expense_needs_a_receipt_of_no_less() -> None:
    def rich(budgets: Budgets, row: Category) -> bool:
        return budgets.compute_remaining_cents(row) > budgets.budgets[row.budget].receipt_above

    session, row = find(rich)
    above = budget_of(session, row).receipt_above
    terms = {"category": row.id, "description": "lamp"}
    assert refused(session, "record_expense", **terms, amount=above + 1) == "receipt_required"
    receipts = do(session, "list_receipts", unused_only=True, limit=50)
    small = min((one for one in receipts if "invoice" in one), key=lambda one: one["amount"])
    if small["amount"] < session.state.compute_remaining_cents(row):
        over = {**terms, "amount": small["amount"] + 1, "invoice": small["invoice"]}
        assert refused(session, "record_expense", **over) == "over_receipt"
    flight = min((one for one in receipts if "booking" in one), key=lambda one: one["amount"])
    over = {**terms, "amount": flight["amount"] + 1, "booking": flight["booking"]}
    assert refused(session, "record_expense", **over) == "over_receipt"
    do(session.fork(), "record_expense", **terms, amount=above)
    large = max((one for one in receipts if "invoice" in one), key=lambda one: one["amount"])
    if large["amount"] > above:
        do(session, "record_expense", **terms, amount=above + 1, invoice=large["invoice"])


def test_an_expense_may_be_as_large_as_its_receipt() -> None:
    session, row, bill = next(
        (session, row, bill)
        for session in small_worlds(server)
        for row in session.state.categories
        if session.state.budgets[row.budget].access == "edit"
        for bill in session.state.invoices
        if bill.amount <= session.state.compute_remaining_cents(row)
        and not session.state.expenses.where(receipt=bill.id)
    )
    terms = {"category": row.id, "description": "lamp", "invoice": bill.id}
    do(session, "record_expense", **terms, amount=bill.amount)


def test_a_budget_that_is_only_viewed_stays_as_it_is() -> None:
    session = next(
        session
        for session in small_worlds(server)
        if any(
            session.state.budgets[session.state.categories[row.category].budget].access == "view"
            for row in session.state.recurring
        )
    )
    state = session.state
    viewed = next(row for row in state.budgets if row.access == "view")
    row = state.categories.where(budget=viewed.id)[0]
    rule = next(rule for rule in state.recurring if state.categories[rule.category].budget == viewed.id)
    expense = next(one for one in state.expenses if state.categories[one.category].budget == viewed.id)
    other = state.categories.where(budget=viewed.id)[1]
    for tool, arguments in {
        "create_budget_category": {"budget": viewed.id, "name": "tea", "monthly_limit": 100},
        "set_category_limit": {"category": row.id, "monthly_limit": 100},
        "move_budget": {"source": row.id, "target": other.id, "amount": 1},
        "remove_budget_category": {"category": row.id},
        "record_expense": {"category": row.id, "description": "lamp", "amount": 1},
        "remove_expense": {"expense": expense.id},
        "add_recurring_expense": {"category": row.id, "description": "gym fee", "amount": 1, "day_of_month": 1},
        "stop_recurring_expense": {"recurring": rule.id},
    }.items():
        assert refused(session, tool, **arguments) == "view_only"


def test_a_category_is_made_used_and_removed() -> None:
    session, old = find()
    budget = budget_of(session, old)
    free = budget.monthly_total - session.state.sum_limits(budget.id)
    terms = {"budget": budget.id, "name": "Tea", "monthly_limit": free}
    assert refused(session, "create_budget_category", **{**terms, "monthly_limit": free + 1}) == "over_total"
    new = do(session, "create_budget_category", **terms, envelope=True)
    assert new == {
        **{"id": new["id"], "budget": budget.id, "name": "Tea", "monthly_limit": free},
        **{"envelope": True, "spent": 0, "left": free},
    }
    assert refused(session, "create_budget_category", **{**terms, "name": "TEA"}) == "category_exists"
    listed = next(row for row in do(session, "list_budgets") if row["id"] == budget.id)
    assert listed["planned"] == listed["monthly_total"] == budget.monthly_total
    expense = do(session, "record_expense", category=new["id"], description="tea", amount=100)
    assert refused(session, "remove_budget_category", category=new["id"]) == "category_in_use"
    do(session, "remove_expense", expense=expense["id"])
    rule = {"category": new["id"], "description": "gym fee", "amount": 100, "day_of_month": 28}
    recurring = do(session, "add_recurring_expense", **rule)
    assert refused(session, "remove_budget_category", category=new["id"]) == "category_in_use"
    do(session, "stop_recurring_expense", recurring=recurring["id"])
    do(session, "move_budget", source=new["id"], target=old.id, amount=100)
    assert refused(session, "remove_budget_category", category=new["id"]) == "category_holds_money"
    do(session, "move_budget", source=old.id, target=new["id"], amount=100)
    assert do(session, "remove_budget_category", category=new["id"])["id"] == new["id"]
    assert refused(session, "remove_budget_category", category=new["id"]) == "not_found"


def test_a_limit_covers_what_is_spent_and_what_recurs() -> None:
    session, row = find(
        lambda budgets, row: (
            row.saved == 0 and budgets.sum_recurring(row.id) > 100 and budgets.compute_remaining_cents(row) > 0
        )
    )
    state = session.state
    needed = row.monthly_limit - state.compute_remaining_cents(row)
    set_limit = {"category": row.id}
    assert refused(session, "set_category_limit", **set_limit, monthly_limit=row.monthly_limit) == "limit_unchanged"
    assert (
        refused(session, "set_category_limit", **set_limit, monthly_limit=state.sum_recurring(row.id) - 1)
        == "below_recurring"
    )
    assert refused(session, "set_category_limit", **set_limit, monthly_limit=needed - 1) == "below_spent"
    assert do(session, "set_category_limit", **set_limit, monthly_limit=needed)["left"] == 0
    budget = budget_of(session, row)
    most = budget.monthly_total - session.state.sum_limits(budget.id) + needed
    assert refused(session, "set_category_limit", **set_limit, monthly_limit=most + 1) == "over_total"
    assert do(session, "set_category_limit", **set_limit, monthly_limit=most)["monthly_limit"] == most


def test_a_limit_goes_down_to_what_recurs_when_savings_cover_the_rest() -> None:
    session, row = find(lambda budgets, row: row.saved > 3_000 and budgets.sum_spending(row.id, budgets.month) < 2_000)
    free = session.state.compute_remaining_cents(row)
    rule = {"category": row.id, "description": "gym fee", "amount": 150, "day_of_month": 28}
    do(session, "add_recurring_expense", **rule)
    fixed = session.state.sum_recurring(row.id)
    if free > row.monthly_limit:
        assert do(session, "set_category_limit", category=row.id, monthly_limit=fixed)["monthly_limit"] == fixed


def test_money_moves_within_a_budget_as_far_as_it_goes() -> None:
    session, row = find(roomy)
    state = session.state
    target = next(other for other in state.categories.where(budget=row.budget) if other.id != row.id)
    left, had = state.compute_remaining_cents(row), state.compute_remaining_cents(target)
    move = {"source": row.id, "target": target.id}
    assert refused(session, "move_budget", **move, amount=left + 1) == "budget_exceeded"
    moved = do(session, "move_budget", **move, amount=left)
    assert (moved["source"]["left"], moved["target"]["left"]) == (0, had + left)
    assert (moved["source"]["moved"], moved["target"]["moved"]) == (-left, left)
    assert refused(session, "move_budget", **move, amount=1) == "budget_exceeded"
    assert refused(session, "move_budget", source=row.id, target=row.id, amount=1) == "same_category"
    other = next(one for one in state.categories if one.budget != row.budget)
    assert refused(session, "move_budget", source=target.id, target=other.id, amount=1) == "other_budget"
    again = do(session, "move_budget", source=target.id, target=row.id, amount=left)
    assert "moved" not in again["source"]


def test_a_recurring_expense_comes_on_its_day_each_month() -> None:
    session, row = find(roomy)
    today = session.state.now
    left = session.state.compute_remaining_cents(row)
    terms = {"category": row.id, "description": "gym fee", "amount": 500}
    rule = do(session, "add_recurring_expense", **terms, day_of_month=today.day + 1)
    tomorrow = today + timedelta(days=1)
    assert rule["next_day"] == tomorrow.date().isoformat()
    assert session.state.compute_remaining_cents(row) == left - 500
    assert refused(session, "add_recurring_expense", **{**terms, "description": "GYM fee"}, day_of_month=1) == (
        "recurring_exists"
    )
    before = session.call("list_budget_expenses", {"category": row.id, "limit": 50}, now=today).data
    after_it = session.call("list_budget_expenses", {"category": row.id, "limit": 50}, now=tomorrow).data
    made = [one for one in after_it if one not in before]
    assert [(one["description"], one["amount"], one["day"]) for one in made] == [
        ("gym fee", 500, tomorrow.date().isoformat())
    ]
    assert made[0]["paid_by"] == budget_of(session, row).members[0]
    again = session.call("list_budget_expenses", {"category": row.id, "limit": 50}, now=tomorrow + timedelta(hours=1))
    assert again.data == after_it
    do(session, "create_budget_category", tomorrow, budget=row.budget, name="tea", monthly_limit=100)
    assert session.state.expenses[made[0]["id"]].recurring == rule["id"]
    report = do(session, "get_budget_report", budget=row.budget)
    entry = next(one for one in report["recurring"] if one["id"] == rule["id"])
    assert entry["next_day"] == day_in(get_next_month(session.state.month), tomorrow.day).isoformat()
    half_a_year = session.call("list_budget_expenses", {"category": row.id, "limit": 50}, now=tomorrow + timedelta(183))
    assert len([one for one in half_a_year.data if one["description"] == "gym fee"]) in (6, 7)


def test_a_recurring_expense_of_a_day_that_is_over_begins_next_month() -> None:
    session, row = find(roomy)
    left = session.state.compute_remaining_cents(row)
    terms = {"category": row.id, "description": "gym fee", "amount": 500}
    rule = do(session, "add_recurring_expense", **terms, day_of_month=session.state.now.day)
    assert rule["next_day"] == day_in(get_next_month(session.state.month), session.state.now.day).isoformat()
    assert session.state.compute_remaining_cents(row) == left
    stopped = do(session, "stop_recurring_expense", recurring=rule["id"])
    assert stopped == rule
    assert refused(session, "stop_recurring_expense", recurring=rule["id"]) == "not_found"


def test_what_recurs_fits_into_the_month_and_into_the_limit() -> None:
    session, row = find(lambda budgets, row: roomy(budgets, row) and row.saved == 0)
    left, today = session.state.compute_remaining_cents(row), session.state.now.day
    terms = {"category": row.id, "description": "gym fee"}
    free = row.monthly_limit - session.state.sum_recurring(row.id)
    assert free > left
    assert refused(session, "add_recurring_expense", **terms, amount=free + 1, day_of_month=1) == "over_monthly_limit"
    late = {**terms, "day_of_month": today + 1}
    assert refused(session, "add_recurring_expense", **late, amount=left + 1) == "budget_exceeded"
    other = session.fork()
    do(other, "add_recurring_expense", **terms, amount=free, day_of_month=today)
    assert other.state.sum_recurring(row.id) == row.monthly_limit
    do(session, "add_recurring_expense", **late, amount=left)
    assert session.state.compute_remaining_cents(row) == 0


@pytest.mark.parametrize("envelope", [True, False])
def test_a_new_month_keeps_what_an_envelope_has_left_and_forgets_moves(envelope: bool) -> None:
    def lean(budgets: Budgets, row: Category) -> bool:
        used = budgets.sum_spending(row.id, budgets.month) > 0 and not budgets.recurring.where(category=row.id)
        return roomy(budgets, row) and row.envelope == envelope and used

    session, row = find(lean)
    other = next(one for one in session.state.categories.where(budget=row.budget) if one.id != row.id)
    left = session.state.compute_remaining_cents(row)
    do(session, "move_budget", source=row.id, target=other.id, amount=300)
    next_month = first_of_next(session)
    fresh = line_of(session, row, next_month)
    assert fresh["spent"] == 0
    assert fresh["left"] == row.monthly_limit + (left - 300 if envelope else 0)
    later = datetime.combine(day_in(get_next_month(month_of(next_month.date())), 1), datetime.min.time())
    assert line_of(session, row, later)["left"] == fresh["left"] + (row.monthly_limit if envelope else 0)
    expense = do(session, "record_expense", next_month, category=row.id, description="lamp", amount=50)
    assert expense["left"] == fresh["left"] - 50
    assert session.state.categories[row.id].moved == 0
    assert line_of(session, row, month=month_of(next_month.date()))["spent"] == 50


def test_a_report_sums_up_a_month_that_has_begun() -> None:
    session = server.open(3, "default")
    budget = next(iter(session.state.budgets))
    report = do(session, "get_budget_report", budget=budget.id)
    assert report["month"] == session.state.month and report["name"] == budget.name
    assert report["spent"] == sum(line["spent"] for line in report["lines"])
    assert [line["id"] for line in report["lines"]] == [
        row.id for row in session.state.categories.where(budget=budget.id)
    ]
    before = month_of(session.state.now.date().replace(day=1) - timedelta(days=1))
    past = do(session, "get_budget_report", budget=budget.id, month=before)
    assert past["spent"] > 0 and past["recurring"] == [] and "left" not in past["lines"][0]
    assert (
        refused(session, "get_budget_report", budget=budget.id, month=get_next_month(session.state.month))
        == "month_to_come"
    )


def test_expenses_are_listed_latest_first_by_budget_category_and_days() -> None:
    session = server.open(3, "default")
    rows = do(session, "list_budget_expenses", limit=50)
    assert len(rows) == 50 and len(do(session, "list_budget_expenses")) == 5
    assert [row["day"] for row in rows] == sorted((row["day"] for row in rows), reverse=True)
    day = rows[20]["day"]
    within = do(session, "list_budget_expenses", since=day, until=day, limit=50)
    assert {row["day"] for row in within} == {day}
    category = session.state.categories[rows[0]["category"]]
    of_budget = do(session, "list_budget_expenses", budget=category.budget, limit=50)
    assert {session.state.categories[row["category"]].budget for row in of_budget} == {category.budget}
    own = do(session, "list_budget_expenses", category=category.id, budget=category.budget, limit=50)
    assert {row["category"] for row in own} == {category.id}
    assert own == do(session, "list_budget_expenses", category=category.id, limit=50)
    other = next(row.id for row in session.state.budgets if row.id != category.budget)
    assert do(session, "list_budget_expenses", category=category.id, budget=other) == []
    early = rows[-1]["day"]
    assert refused(session, "list_budget_expenses", since=rows[0]["day"], until=early) == "empty_period"


def test_budgets_are_listed_with_their_members() -> None:
    session = server.open(2, "small")
    rows = do(session, "list_budgets")
    expected = [
        {
            **{"id": row.id, "name": row.name, "access": row.access, "monthly_total": row.monthly_total},
            **{"planned": session.state.sum_limits(row.id), "receipt_above": row.receipt_above},
            **{"members": list(row.members)},
        }
        for row in session.state.budgets
    ]
    assert rows == expected and rows[0]["members"] == [cast(2, 1)[0].id]
    assert do(session, "list_budgets", limit=1) == rows[:1]


@pytest.mark.parametrize("size", ["small", "default", "large"])
@pytest.mark.parametrize("seed", [0, 7, 1_000_000_000])
def test_every_world_keeps_the_laws_also_after_months(seed: int, size: str) -> None:
    session = server.open(seed, size)
    assert server.find_broken_invariants(session.state) == []
    budget = next(iter(session.state.budgets)).id
    for days in (20, 40, 100):
        now = session.state.now + timedelta(days=days)
        terms = {"budget": budget, "name": f"tea {days}", "monthly_limit": 100}
        do(session, "create_budget_category", now, **terms)
