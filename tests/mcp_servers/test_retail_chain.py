"""What the retail chain does and refuses, checked through its own tools in small worlds."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import date, datetime, timedelta
from typing import Any

import pytest
from calling import change_state, do, later, refused, small_worlds

from mcp_servers.core import Session, minute_text
from mcp_servers.core.times import parse_instant
from mcp_servers.retail_chain import server
from mcp_servers.retail_chain.engine import (
    TIERS,
    apply_discount,
    available,
    get_loyalty_tier,
    price_in,
    sum_yearly_spending,
)
from mcp_servers.retail_chain.state import Chain, Pickup, Product, Purchase, Stock, Store
from mcp_servers.shared.distance import approximate_cosine, metres
from mcp_servers.shared.places import Place, PlaceId

MINUTE, HOUR, DAY = timedelta(minutes=1), timedelta(hours=1), timedelta(days=1)


def worlds() -> Iterator[Session[Chain]]:
    return small_worlds(server)


def reservable(session: Session[Chain], most: int = 1) -> Iterator[tuple[Store, Stock, Product]]:
    """Stock of an open store of which this many may be reserved, of products without any history this week."""
    state = session.state
    for stock in state.stock:
        store, product = state.stores[stock.store], state.products[stock.product]
        known = [*state.pickups.where(product=product.id), *state.purchases.where(product=product.id)]
        if store.is_open(state.now) and not known and min(available(state, stock), product.limit) >= most:
            yield store, stock, product


def scene(most: int = 1, returnable: bool = True) -> tuple[Session[Chain], Store, Product]:
    """A world with such stock, the store and the product."""
    for session in worlds():
        for store, _, product in reservable(session, most):
            if product.final_sale != returnable:
                return session, store, product
    raise LookupError("No world has such stock.")


def pickup_of(status: str, moving: bool | None = None) -> tuple[Session[Chain], Pickup]:
    for session in worlds():
        for row in do(session, "list_store_pickups", status=status, limit=50):
            if moving is None or ("arrives" in row) == moving:
                return session, session.state.pickups[row["id"]]
    raise LookupError(f"No world has a reservation that is {status}.")


def units(session: Session[Chain], store: str, product: str) -> int:
    return int(do(session, "check_store_stock", product=product, store=store)[0]["available"])


def reserve(session: Session[Chain], store: Store, product: Product, quantity: int = 1) -> Any:
    return do(session, "reserve_at_store", store=store.id, product=product.id, quantity=quantity)


def test_stores_are_listed_by_distance_from_home_or_any_place() -> None:
    session = server.open(3, "small")
    state, rows = session.state, do(session, "find_stores", limit=50)
    assert len(rows) == len(state.stores) == 5
    assert [row["metres"] for row in rows] == sorted(row["metres"] for row in rows)
    far = do(session, "find_stores", near=rows[-1]["place"], limit=1)
    assert [(row["id"], row["metres"]) for row in far] == [(rows[-1]["id"], 0)]
    assert rows[0]["street"] == state.places[rows[0]["place"]].street
    assert len(do(session, "find_stores", limit=2)) == 2


def test_stores_are_found_by_what_they_have() -> None:
    session, product = next(
        (session, session.state.products[stock.product])
        for session in worlds()
        for stock in session.state.stock
        if available(session.state, stock) == 0
    )
    carrying = session.state.stock.where(product=product.id)
    have = {row.store for row in carrying if available(session.state, row) > 0}
    rows = do(session, "find_stores", product=product.id, limit=50)
    assert {row["id"] for row in rows} == have and len(have) < len(carrying)
    found = do(session, "find_chain_products", query=product.name.upper(), category=product.category)
    assert next(row for row in found if row["id"] == product.id)["stores"] == len(have)


def test_a_store_keeps_its_hours() -> None:
    store = Store(id="S", place="P", name="Station", opens=480, closes=1200, closed=(6,))
    monday, sunday = datetime(2026, 3, 2), datetime(2026, 3, 8)
    assert store.hours(sunday.date()) is None
    moments = [7 * HOUR + 59 * MINUTE, 8 * HOUR, 19 * HOUR + 59 * MINUTE, 20 * HOUR]
    assert [store.is_open(monday + moment) for moment in moments] == [False, True, True, False]
    assert store.next_open(monday) == monday + 8 * HOUR
    assert store.next_open(monday + 9 * HOUR) == monday + 9 * HOUR
    assert store.next_open(sunday - HOUR) == sunday + DAY + 8 * HOUR


def test_the_opening_hours_are_those_of_the_requested_day() -> None:
    session, store = next((s, row) for s in worlds() for row in s.state.stores if len(row.closed) == 1)
    today = session.state.now.date()
    rest = today + next(days for days in range(7) if (today + timedelta(days)).weekday() in store.closed) * DAY
    lines = do(session, "find_stores", day=rest.isoformat(), limit=50)
    assert "hours" not in next(row for row in lines if row["id"] == store.id)
    row = next(row for row in do(session, "find_stores", day=str(rest + DAY), limit=50) if row["id"] == store.id)
    clock = [f"{minutes // 60:02}:{minutes % 60:02}" for minutes in (store.opens, store.closes)]
    assert row["hours"] == "-".join(clock) and row["open"] == store.is_open(session.state.now)


def test_products_are_found_by_words_and_category() -> None:
    session = server.open(2, "default")
    lamps = do(session, "find_chain_products", query="Lamp", limit=50)
    assert lamps and all("lamp" in row["name"] for row in lamps)
    desk = do(session, "find_chain_products", query="desk lamp", limit=50)
    assert all({"desk", "lamp"} <= set(row["name"].split()) for row in desk)
    assert do(session, "find_chain_products", query="lamp", category="tools") == []
    tools = do(session, "find_chain_products", category="tools", limit=50)
    assert tools and {row["category"] for row in tools} == {"tools"}
    assert len(do(session, "find_chain_products")) == 5
    assert all(row.get("final_sale") in (None, True) for row in tools)


def test_a_reservation_takes_units_from_what_is_available_and_cancelling_gives_them_back() -> None:
    session, store, product = scene(most=2)
    before, cards = units(session, store.id, product.id), session.state.card
    row = reserve(session, store, product, 2)
    assert (row["status"], row["quantity"], row["name"]) == ("ready", 2, product.name)
    assert row["until"] == minute_text(session.state.now - MINUTE + timedelta(hours=48))
    assert row["total"] == 2 * price_in(session.state, store.id, product.id)
    assert units(session, store.id, product.id) == before - 2
    assert do(session, "list_store_pickups", limit=1) == [row]
    assert do(session, "cancel_pickup", pickup=row["id"])["status"] == "cancelled"
    assert units(session, store.id, product.id) == before and session.state.card == cards
    assert refused(session, "cancel_pickup", pickup=row["id"]) == "pickup_cancelled"
    assert refused(session, "collect_pickup", pickup=row["id"]) == "pickup_cancelled"


def test_reservations_of_one_status_are_listed_newest_first() -> None:
    session = server.open(4, "small")
    rows = do(session, "list_store_pickups", limit=50)
    moments = [session.state.pickups[row["id"]].reserved for row in rows]
    assert moments == sorted(moments, reverse=True) and len(rows) == len(session.state.pickups)
    for status in ("ready", "in_transit", "expired", "collected", "cancelled"):
        assert do(session, "list_store_pickups", status=status, limit=50) == [r for r in rows if r["status"] == status]


def test_no_more_is_reserved_than_there_is() -> None:
    session, stock, product = next(
        (session, stock, session.state.products[stock.product])
        for session in worlds()
        for _, stock, product in reservable(session)
        if available(session.state, stock) < product.limit
    )
    most = available(session.state, stock)
    ask = {"store": stock.store, "product": product.id}
    assert refused(session, "reserve_at_store", **ask, quantity=most + 1) == "out_of_stock_in_store"
    do(session, "reserve_at_store", **ask, quantity=most)
    assert refused(session, "reserve_at_store", **ask, quantity=1) == "out_of_stock_in_store"


def test_a_store_that_does_not_carry_a_product_reserves_none_and_takes_none_back() -> None:
    session, bought, store = next(
        (session, row, store)
        for session in worlds()
        for row in returnables(session)
        for store in session.state.stores
        if not session.state.stock.where(product=row.product, store=store.id)
    )
    there = {"store": store.id, "product": bought.product}
    assert refused(session, "reserve_at_store", **there, quantity=1) == "not_stocked_here"
    assert refused(session, "check_store_stock", **there) == "not_stocked_here"
    back = {"purchase": bought.id, "store": store.id, "quantity": 1}
    assert refused(session, "return_to_store", **back) == "not_stocked_here"


def test_the_limit_of_a_customer_counts_reservations_and_purchases_of_a_week() -> None:
    session, store, product = next(
        (session, store, product)
        for session in worlds()
        for store, stock, product in reservable(session)
        if available(session.state, stock) > product.limit
    )
    ask = {"store": store.id, "product": product.id}
    assert refused(session, "reserve_at_store", **ask, quantity=product.limit + 1) == "over_customer_limit"
    row = do(session, "reserve_at_store", **ask, quantity=product.limit)
    assert refused(session, "reserve_at_store", **ask, quantity=1) == "over_customer_limit"
    do(session, "collect_pickup", pickup=row["id"])
    assert refused(session, "reserve_at_store", **ask, quantity=1) == "over_customer_limit"
    bought = session.state.now - MINUTE
    late = {**ask, "quantity": 1}
    assert refused(session, "reserve_at_store", bought + 7 * DAY - MINUTE, **late) == "over_customer_limit"
    do(session, "reserve_at_store", bought + 7 * DAY, **late)


def test_a_reservation_that_expired_no_longer_counts() -> None:
    session, store, product = scene(most=2)
    row, before = reserve(session, store, product, 2), units(session, store.id, product.id)
    until = session.state.pickups[row["id"]].until
    late = {"pickup": row["id"]}
    statuses = [
        session.fork().call("list_store_pickups", {"limit": 1}, now=moment).data[0]["status"]
        for moment in (until, until + MINUTE)
    ]
    assert statuses == ["ready", "expired"]
    assert refused(session, "collect_pickup", until + MINUTE, **late) == "reservation_expired"
    assert refused(session, "cancel_pickup", until + MINUTE, **late) == "reservation_expired"
    rows = do(session, "check_store_stock", until + MINUTE, product=product.id, store=store.id)
    assert rows[0]["available"] == before + 2
    reply = session.call("reserve_at_store", {"store": store.id, "product": product.id, "quantity": 1}, until + MINUTE)
    assert reply.ok and not server.find_broken_invariants(session.state)


def test_six_reservations_are_open_at_most() -> None:
    session = server.open(1, "default")
    rows = []
    for _ in range(20):
        store, _, product = next(reservable(session))
        reply = session.call("reserve_at_store", {"store": store.id, "product": product.id, "quantity": 1})
        if not reply.ok:
            assert reply.data["error"] == "too_many_reservations"
            break
        rows.append(reply.data)
    status = [row["status"] for row in do(session, "list_store_pickups", limit=50)]
    assert sum(one in ("requested", "in_transit", "ready") for one in status) == 6
    do(session, "cancel_pickup", pickup=rows[0]["id"])
    store, _, product = next(reservable(session))
    reserve(session, store, product)


def test_picking_up_pays_sells_and_earns() -> None:
    session, store, product = scene(most=2)
    points, there = session.state.card.points, units(session, store.id, product.id)
    rate = 1 + list(TIERS).index(do(session, "get_loyalty_card")["tier"])
    row = reserve(session, store, product, 2)
    bought = do(session, "collect_pickup", pickup=row["id"])
    assert (bought["paid"], bought["points"], bought["returned"]) == (row["total"], 0, 0)
    assert bought["earned"] == row["total"] // 100 * rate
    card = do(session, "get_loyalty_card", limit=1)
    assert card["purchases"] == [bought] and card["points"] == points + bought["earned"]
    assert units(session, store.id, product.id) == there - 2
    assert refused(session, "collect_pickup", pickup=row["id"]) == "already_picked_up"
    assert refused(session, "cancel_pickup", pickup=row["id"]) == "already_picked_up"


def test_points_pay_but_not_more_than_there_are_or_than_it_costs() -> None:
    session, store, product = next(
        (session, store, product)
        for session in worlds()
        for store, _, product in reservable(session)
        if session.state.card.points > price_in(session.state, store.id, product.id)
    )
    points = session.state.card.points
    row = reserve(session, store, product)
    assert refused(session, "collect_pickup", pickup=row["id"], points=points + 1) == "not_enough_points"
    assert refused(session, "collect_pickup", pickup=row["id"], points=row["total"] + 1) == "points_exceed_price"
    bought = do(session, "collect_pickup", pickup=row["id"], points=row["total"])
    assert (bought["paid"], bought["points"], bought["earned"]) == (0, row["total"], 0)
    assert do(session, "get_loyalty_card")["points"] == points - row["total"]
    if not product.final_sale:
        back = do(session, "return_to_store", purchase=bought["id"], store=store.id, quantity=1)
        assert (back["refund"], back["points"], back["balance"]) == (0, row["total"], points)


def test_a_closed_store_hands_out_nothing_and_takes_nothing_back() -> None:
    session, store, product = scene()
    first, second = reserve(session, store, product), None
    bought = do(session, "collect_pickup", pickup=first["id"])
    night = datetime.combine(session.state.now.date(), datetime.min.time()) + timedelta(hours=23)
    if units(session, store.id, product.id):
        second = session.call("reserve_at_store", {"store": store.id, "product": product.id, "quantity": 1}, night)
        assert second.ok and session.state.now == night + MINUTE
        assert refused(session, "collect_pickup", pickup=second.data["id"]) == "store_closed"
    back = {"purchase": bought["id"], "store": store.id, "quantity": 1}
    assert refused(session, "return_to_store", night, **back) == "store_closed"


def movable() -> tuple[Session[Chain], Stock, Stock]:
    """A world in which an open store has two of what an open store lacks, both carrying it."""
    for session in worlds():
        state = session.state
        for store, giving, product in reservable(session, 2):
            for taking in state.stock.where(product=product.id):
                if available(state, taking) == 0 and taking.store != store.id:
                    return session, giving, taking
    raise LookupError("No world has such stock.")


def move(session: Session[Chain], giving: Stock, taking: Stock, quantity: int = 2) -> dict[str, Any]:
    return {"source": giving.store, "target": taking.store, "product": giving.product, "quantity": quantity}


def test_a_transfer_leaves_arrives_and_is_picked_up() -> None:
    session, giving, taking = movable()
    state, before = session.state, available(session.state, giving)
    row = do(session, "request_store_transfer", **move(session, giving, taking))
    start, product = state.now, giving.product
    assert (row["status"], row["store"], row["departs"]) == (
        "requested",
        taking.store,
        minute_text(start + 15 * MINUTE),
    )
    assert (units(session, giving.store, product), units(session, taking.store, product)) == (before - 2, 0)
    ends = [state.places[state.stores[one.store].place] for one in (giving, taking)]
    arrives = state.stores[taking.store].next_open(start + (35 + metres(*ends) // 300) * MINUTE)
    assert row["arrives"] == minute_text(arrives)
    assert row["until"] == minute_text(arrives + 48 * HOUR)
    for tool in ("collect_pickup", "cancel_pickup"):
        assert refused(session, tool, arrives - MINUTE, pickup=row["id"]) == "transfer_in_progress"
    there = session.fork().call("list_store_pickups", {"limit": 1}, now=arrives)
    assert there.data[0]["status"] == "ready"
    stock = session.fork().call("check_store_stock", {"product": product, "store": taking.store}, now=arrives)
    assert stock.data[0]["available"] == 0
    bought = session.call("collect_pickup", {"pickup": row["id"]}, now=arrives).data
    assert bought["store"] == taking.store and not server.find_broken_invariants(session.state)
    assert units(session, taking.store, product) == 0


def test_a_transfer_is_called_off_before_it_departs() -> None:
    session, giving, taking = movable()
    before = available(session.state, giving)
    row = do(session, "request_store_transfer", **move(session, giving, taking))
    departs = parse_instant(row["departs"])
    assert refused(session, "collect_pickup", pickup=row["id"]) == "transfer_in_progress"
    assert refused(session, "cancel_pickup", departs, pickup=row["id"]) == "transfer_in_progress"
    assert do(session, "cancel_pickup", departs - MINUTE, pickup=row["id"])["status"] == "cancelled"
    assert units(session, giving.store, giving.product) == before
    later = session.fork().call(
        "check_store_stock", {"product": giving.product, "store": taking.store}, now=departs + 2 * DAY
    )
    assert later.data[0]["available"] == 0


def test_what_arrived_and_was_not_picked_up_stays_on_the_shelf() -> None:
    session, giving, taking = movable()
    row = do(session, "request_store_transfer", **move(session, giving, taking))
    late = parse_instant(row["until"]) + MINUTE
    there = {"product": giving.product, "store": taking.store}
    assert do(session, "check_store_stock", late, **there)[0]["available"] == 2
    reply = session.call("reserve_at_store", {**there, "quantity": 2}, now=late)
    assert reply.ok and not server.find_broken_invariants(session.state)


def test_a_ready_transfer_that_is_cancelled_leaves_its_units_at_the_target() -> None:
    session, giving, taking = movable()
    row = do(session, "request_store_transfer", **move(session, giving, taking))
    do(session, "cancel_pickup", parse_instant(row["arrives"]), pickup=row["id"])
    assert units(session, taking.store, giving.product) == 2


def test_a_transfer_needs_two_stores_that_carry_it_one_with_enough_and_one_without() -> None:
    session, giving, taking = movable()
    good = move(session, giving, taking)
    request = "request_store_transfer"
    assert refused(session, request, **{**good, "target": giving.store}) == "same_store"
    assert refused(session, request, **{**good, "source": taking.store, "target": giving.store}) == "in_stock_at_target"
    assert refused(session, request, **{**good, "quantity": 50}) == "out_of_stock_in_store"
    carrying = [row.store for row in session.state.stock.where(product=giving.product)]
    other = next(row.id for row in session.state.stores if row.id not in carrying)
    assert refused(session, request, **{**good, "target": other}) == "not_stocked_here"
    assert refused(session, request, **{**good, "source": other}) == "not_stocked_here"
    night = session.state.now.replace(hour=23)
    assert refused(session, request, night, **good) == "store_closed"


def test_a_transfer_is_for_what_the_target_lacks() -> None:
    session, giving, taking = next(
        (session, giving, taking)
        for session in worlds()
        for _, giving, product in reservable(session, 2)
        for taking in session.state.stock.where(product=product.id)
        if taking.store != giving.store and available(session.state, taking) == 1
    )
    one, two = move(session, giving, taking, 1), move(session, giving, taking, 2)
    assert refused(session, "request_store_transfer", **one) == "in_stock_at_target"
    do(session, "request_store_transfer", **two)


def test_a_transfer_keeps_to_the_limit_of_a_customer() -> None:
    session, giving, taking = next(
        (session, stock, other)
        for session in worlds()
        for _, stock, product in reservable(session)
        for other in session.state.stock.where(product=product.id)
        if available(session.state, stock) > product.limit > available(session.state, other)
    )
    limit = session.state.products[giving.product].limit
    many = move(session, giving, taking, limit + 1)
    assert refused(session, "request_store_transfer", **many) == "over_customer_limit"
    do(session, "request_store_transfer", **{**many, "quantity": limit})
    assert refused(session, "request_store_transfer", **{**many, "quantity": limit}) in (
        "over_customer_limit",
        "out_of_stock_in_store",
    )


def returnables(session: Session[Chain]) -> list[Purchase]:
    """Purchases of the last month of which nothing came back."""
    state = session.state
    return [
        row
        for row in state.purchases
        if row.bought > state.now - 30 * DAY
        and not state.products[row.product].final_sale
        and not state.returns.where(purchase=row.id)
    ]


def test_units_come_back_one_by_one_until_none_is_left() -> None:
    session, store, product = scene(most=2)
    row = reserve(session, store, product, 2)
    bought, there = do(session, "collect_pickup", pickup=row["id"]), units(session, store.id, product.id)
    back = {"purchase": bought["id"], "store": store.id}
    start, total = session.state.card.points, do(session, "get_loyalty_card")["spent"]
    assert refused(session, "return_to_store", **back, quantity=3) == "more_than_bought"
    first = do(session, "return_to_store", **back, quantity=1)
    assert (first["refund"], first["points"]) == (row["total"] // 2, -(bought["earned"] // 2))
    assert units(session, store.id, product.id) == there + 1
    card = do(session, "get_loyalty_card", limit=1)
    assert (card["purchases"][0]["returned"], card["spent"]) == (1, total - first["refund"])
    assert refused(session, "return_to_store", **back, quantity=2) == "more_than_bought"
    second = do(session, "return_to_store", **back, quantity=1)
    assert first["refund"] + second["refund"] == bought["paid"]
    assert second["balance"] == start - bought["earned"] == session.state.card.points
    assert refused(session, "return_to_store", **back, quantity=1) == "already_returned"


def give_points(chain: Chain) -> None:
    """Put enough points on the card for any product."""
    chain.cards.change(chain.card.id, opening=chain.card.opening + 90_000, points=chain.card.points + 90_000)


def test_a_refund_gives_money_first_and_then_points() -> None:
    session, store, product = scene(2)
    change_state(session, give_points)
    row = reserve(session, store, product, 2)
    price = row["total"] // 2
    bought = do(session, "collect_pickup", pickup=row["id"], points=price + 100)
    back = {"purchase": bought["id"], "store": store.id, "quantity": 1}
    first, second = do(session, "return_to_store", **back), do(session, "return_to_store", **back)
    assert (first["refund"], second["refund"]) == (price - 100, 0)
    half = bought["earned"] // 2
    assert first["points"] == 100 - half
    assert second["points"] == price - (bought["earned"] - half)


def test_earned_points_that_are_gone_are_deducted_from_the_refund() -> None:
    for session in worlds():
        stocked = [(store, product) for store, _, product in reservable(session) if not product.final_sale]
        costs = [price_in(session.state, store.id, product.id) for store, product in stocked]
        points = session.state.card.points
        dear = max(range(len(costs)), key=lambda place: costs[place], default=0)
        cheap = [
            place for place, cost in enumerate(costs) if points + costs[dear] // 20 < cost < points + costs[dear] // 2
        ]
        if cheap and stocked[cheap[0]][1] != stocked[dear][1]:
            break
    store, product = stocked[dear]
    bought = do(session, "collect_pickup", pickup=reserve(session, store, product)["id"])
    other = reserve(session, *stocked[cheap[0]])
    do(session, "collect_pickup", pickup=other["id"], points=session.state.card.points)
    had = session.state.card.points
    assert had < bought["earned"]
    back = do(session, "return_to_store", purchase=bought["id"], store=store.id, quantity=1)
    assert (back["refund"], back["points"], back["balance"]) == (bought["paid"] - bought["earned"] + had, -had, 0)


def test_every_write_puts_what_has_arrived_on_the_shelf() -> None:
    session, giving, taking = movable()
    moving = do(session, "request_store_transfer", **move(session, giving, taking))
    late, transfer = parse_instant(moving["until"]), session.state.pickups[moving["id"]].transfer
    assert transfer is not None and session.state.transfers[transfer].status == "moving"
    there = {"store": taking.store, "product": giving.product, "quantity": 1}
    calls: list[tuple[datetime, str, dict[str, Any]]] = [
        (late, "cancel_pickup", {"pickup": moving["id"]}),
        (late + MINUTE, "reserve_at_store", there),
    ]
    for row in returnables(session):
        calls.append((late + MINUTE, "return_to_store", {"purchase": row.id, "store": row.store, "quantity": 1}))
    done = []
    for moment, tool, arguments in calls:
        fork = session.fork()
        if fork.call(tool, arguments, now=moment).ok:
            done.append(tool)
            assert fork.state.transfers[transfer].status == "arrived"
    assert {"reserve_at_store", "cancel_pickup"} <= set(done)


def test_a_purchase_can_be_returned_for_thirty_days() -> None:
    session, store, product = scene()
    bought = do(session, "collect_pickup", pickup=reserve(session, store, product)["id"])
    end = session.state.now - MINUTE + 30 * DAY
    back = {"purchase": bought["id"], "store": store.id, "quantity": 1}
    assert refused(session, "return_to_store", end + MINUTE, **back) == "return_window_over"
    assert session.fork().call("return_to_store", back, now=end).ok == store.is_open(end)


def test_what_was_sold_for_good_stays_sold() -> None:
    session, store, product = scene(returnable=False)
    bought = do(session, "collect_pickup", pickup=reserve(session, store, product)["id"])
    back = {"purchase": bought["id"], "store": store.id, "quantity": 1}
    assert refused(session, "return_to_store", **back) == "final_sale"


@pytest.mark.parametrize("status", ["expired", "collected", "cancelled", "in_transit"])
def test_seeded_reservations_refuse_what_their_status_forbids(status: str) -> None:
    session, pickup = pickup_of(status)
    code = {
        "expired": "reservation_expired",
        "collected": "already_picked_up",
        "cancelled": "pickup_cancelled",
        "in_transit": "transfer_in_progress",
    }[status]
    for tool in ("collect_pickup", "cancel_pickup"):
        assert refused(session, tool, pickup=pickup.id) == code


def test_a_transfer_that_arrived_before_is_ready() -> None:
    session, pickup = pickup_of("ready", moving=True)
    assert session.state.transfers[pickup.transfer].status == "arrived"
    assert do(session, "cancel_pickup", pickup=pickup.id)["status"] == "cancelled"


def test_promotions_of_today_are_listed_largest_first_and_lower_the_price() -> None:
    session = server.open(2, "default")
    state, today = session.state, session.state.now.date()
    for store in state.stores:
        rows = do(session, "list_store_promotions", store=store.id, limit=50)
        running = [row for row in state.promotions.where(store=store.id) if row.starts <= today <= row.ends]
        assert [row["percent"] for row in rows] == sorted((row.percent for row in running), reverse=True)
        for row in rows:
            assert row["price"] == apply_discount(state.products[row["product"]].price, row["percent"])
            if row["tier"] == "basic":
                line = do(session, "check_store_stock", product=row["product"], store=store.id)[0]
                assert line["price"] == row["price"] < state.products[row["product"]].price


def test_a_promotion_holds_on_its_days_and_for_its_tier() -> None:
    session = next(s for s in worlds() if get_loyalty_tier(s.state) == "silver")
    state = session.state
    for row in state.promotions:
        for days in (-1, 0):
            lowered = price_in(state.draft(now=at(row.starts + days * DAY)), row.store, row.product)
            full = state.products[row.product].price
            if at(row.starts) > state.now:
                assert (lowered < full) == (days == 0 and row.tier != "gold")
        over = price_in(state.draft(now=at(row.ends + DAY)), row.store, row.product)
        assert over == state.products[row.product].price
    gold = [row for row in state.promotions if row.tier == "gold" and row.starts <= state.now.date() <= row.ends]
    assert all(price_in(state, row.store, row.product) == state.products[row.product].price for row in gold)


def at(day: date) -> datetime:
    return datetime.combine(day, datetime.min.time()) + 9 * HOUR


def test_the_tier_follows_what_was_spent_in_a_year() -> None:
    session, found = server.open(7, "default"), dict[str, None]()
    for _ in range(62):
        card = later(session, days=6).call("get_loyalty_card", {}).data
        total = sum_yearly_spending(session.state)
        expected = "gold" if total >= 100_000 else "silver" if total >= 30_000 else "basic"
        missing = {"basic": 30_000 - total, "silver": 100_000 - total}.get(expected)
        assert (card["tier"], card["spent"], card.get("missing")) == (expected, total, missing)
        found[expected] = None
    assert sorted(found) == ["basic", "gold", "silver"]
    year = session.state.draft(now=session.state.now + timedelta(days=366))
    assert (sum_yearly_spending(year), get_loyalty_tier(year)) == (0, "basic")


def test_purchases_are_listed_newest_first() -> None:
    session = server.open(2, "default")
    rows = do(session, "get_loyalty_card", limit=50)["purchases"]
    assert [row["bought"] for row in rows] == sorted((row["bought"] for row in rows), reverse=True)
    assert len(rows) == len(session.state.purchases) and len(do(session, "get_loyalty_card")["purchases"]) == 5


@pytest.mark.parametrize(
    ("price", "percent", "left"),
    [(1000, 0, 1000), (999, 10, 899), (995, 50, 498), (990, 5, 941), (1, 50, 1), (7, 93, 0)],
)
def test_discounts_are_rounded_to_the_nearest_cent(price: int, percent: int, left: int) -> None:
    assert apply_discount(price, percent) == left


def test_metres_shrink_eastwards_with_the_latitude() -> None:
    def place(latitude: int, longitude: int) -> Place:
        kinds: dict[str, Any] = {"name": "x", "kind": "park", "street": "1 x", "city": "x"}
        return Place(id=PlaceId("x"), latitude=latitude, longitude=longitude, **kinds)

    assert metres(place(0, 0), place(10_000, 0)) == metres(place(0, 0), place(0, 10_000)) == 1113
    assert metres(place(60_000_000, 0), place(60_000_000, 10_000)) == 556
    assert [approximate_cosine(degrees) for degrees in (0, 60, 90)] == [1000, 500, 0]
