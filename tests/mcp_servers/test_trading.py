"""What the broker does and refuses, checked through its own tools in small worlds."""

from __future__ import annotations

from datetime import datetime, timedelta
from itertools import pairwise
from typing import Any

import pytest
from calling import change_state, do, find_row, refused, small_worlds

from mcp_servers.core import Session, minute_text
from mcp_servers.trading import server
from mcp_servers.trading.engine import (
    Level,
    generate_resting_levels,
    middle,
    previous_close,
    priority,
    subtract_traded_shares,
)
from mcp_servers.trading.hours import (
    is_open,
    last_closing,
    next_closing,
    next_opening,
    open_rounds,
    quoted_round,
    round_at,
    start_of,
)
from mcp_servers.trading.state import Broker, Portfolio, PortfolioId, Stock

FRIDAY = datetime(2026, 3, 6, 12)


def tradable(session: Session[Broker], exchange: str = "North", lot: int | None = None) -> tuple[Portfolio, Stock]:
    """The client's own first portfolio, and a stock it may trade that has no open order."""
    owner = next(iter(session.state.portfolios))
    for stock in session.state.stocks.where(exchange=exchange, halted=False):
        if stock.sector != owner.excluded and not session.state.open_orders(stock.id) and lot in (None, stock.lot):
            return owner, stock
    raise LookupError("There is no such stock.")


def world(exchange: str = "North", lot: int | None = None, cash: int = 1_000_000) -> tuple[Session[Broker], str, Stock]:
    """A session in the first small world with such a stock and so much free cash; the portfolio and the stock."""
    for session in small_worlds(server):
        try:
            owner, stock = tradable(session, exchange, lot)
        except LookupError:
            continue
        if owner.available >= cash:
            return session, owner.id, stock
    raise LookupError("There is no such world.")


def buy(session: Session[Broker], owner: str, stock: Stock, quantity: int, price: int, **more: Any) -> dict[str, Any]:
    return {
        **{"portfolio": owner, "stock": stock.id, "side": "buy", "quantity": quantity},
        **{"price": price, "duration": "until_cancelled", **more},
    }


def others(session: Session[Broker], stock: Stock, side: Any) -> tuple[Level, ...]:
    return generate_resting_levels(session.state.seed, stock, round_at(session.state.now), side)


@pytest.mark.parametrize(
    ("exchange", "moment", "expected"),
    [
        ("North", FRIDAY.replace(hour=7, minute=59), False),
        ("North", FRIDAY.replace(hour=8), True),
        ("North", FRIDAY.replace(hour=16, minute=29), True),
        ("North", FRIDAY.replace(hour=16, minute=30), False),
        ("Central", FRIDAY.replace(hour=9, minute=9), False),
        ("Central", FRIDAY.replace(hour=17, minute=29), True),
        ("Atlantic", FRIDAY.replace(hour=15, minute=30), True),
        ("North", FRIDAY + timedelta(days=1), False),
        ("North", FRIDAY + timedelta(days=2), False),
        ("North", FRIDAY + timedelta(days=3), True),
    ],
)
def test_exchanges_keep_their_hours_on_weekdays(exchange: Any, moment: datetime, expected: bool) -> None:
    assert is_open(exchange, moment) == expected


def test_openings_and_closings_skip_the_weekend() -> None:
    saturday = FRIDAY + timedelta(days=1)
    assert next_opening("North", FRIDAY) == next_opening("North", saturday) == datetime(2026, 3, 9, 8)
    assert next_closing("North", FRIDAY) == last_closing("North", saturday) == datetime(2026, 3, 6, 16, 30)
    assert next_closing("North", saturday) == datetime(2026, 3, 9, 16, 30)
    assert last_closing("North", FRIDAY) == datetime(2026, 3, 5, 16, 30)
    assert next_opening("North", FRIDAY.replace(hour=8)) == datetime(2026, 3, 9, 8)
    assert next_closing("North", FRIDAY.replace(hour=16, minute=30)) == datetime(2026, 3, 9, 16, 30)
    assert last_closing("North", FRIDAY.replace(hour=16, minute=30)) == FRIDAY.replace(hour=16, minute=30)
    assert start_of(quoted_round("North", saturday)) == datetime(2026, 3, 6, 16, 25)
    assert start_of(quoted_round("North", FRIDAY.replace(minute=4))) == FRIDAY


def test_the_rounds_of_a_week_are_those_in_which_the_exchange_is_open() -> None:
    first, last = FRIDAY.replace(hour=15, minute=55), datetime(2026, 3, 9, 8, 12)
    expected = [number for number in range(round_at(first), round_at(last) + 1) if is_open("North", start_of(number))]
    assert list(open_rounds("North", first, last)) == expected and len(expected) == 10
    assert list(open_rounds("Central", first, first)) == [round_at(first)]
    assert list(open_rounds("North", last, first)) == []


def test_the_best_price_is_taken_first_and_at_one_price_the_oldest_order() -> None:
    levels = [Level(100, (5, 3)), Level(101, (4,))]
    assert list(subtract_traded_shares(levels, 0)) == levels
    assert list(subtract_traded_shares(levels, 6)) == [Level(100, (2,)), Level(101, (4,))]
    assert list(subtract_traded_shares(levels, 8)) == [Level(101, (4,))]
    assert list(subtract_traded_shares(levels, 11)) == [Level(101, (1,))]
    assert list(subtract_traded_shares(levels, 12)) == []


def test_the_market_is_the_same_for_all_moves_and_keeps_bids_under_asks() -> None:
    session, _, stock = world()
    seed, first = session.state.seed, round_at(session.state.now)
    prices = [middle(seed, stock, first + number) for number in range(200)]
    assert prices == [middle(seed, stock, first + number) for number in range(200)]
    assert len(set(prices)) > 10 and all(price % stock.tick == 0 for price in prices)
    assert all(abs(price - stock.base) * 100 <= 8 * stock.base for price in prices)
    assert max(abs(a - b) for a, b in pairwise(prices)) * 100 <= 2 * stock.base
    for number in range(first, first + 50):
        bids, asks = (generate_resting_levels(seed, stock, number, side) for side in ("buy", "sell"))
        assert [row.price for row in bids] == sorted((row.price for row in bids), reverse=True)
        assert [row.price for row in asks] == sorted(row.price for row in asks)
        assert bids[0].price < middle(seed, stock, number) < asks[0].price and len(bids) == len(asks) == 5
        assert all(0 < size <= 120 and size % stock.lot == 0 for row in (*bids, *asks) for size in row.orders)
        assert all(1 <= len(row.orders) <= 3 for row in (*bids, *asks))


def test_a_quote_shows_the_best_of_the_book_and_the_limits() -> None:
    session, _, stock = world()
    quote, book = (do(session, tool, stock=stock.id) for tool in ("get_stock_quote", "get_order_book"))
    bids, asks = others(session, stock, "buy"), others(session, stock, "sell")
    assert (quote["bid"], quote["ask"], quote["trading"]) == (bids[0].price, asks[0].price, "open")
    assert quote["last"] == middle(session.state.seed, stock, round_at(session.state.now))
    close = previous_close(session.state.seed, stock, session.state.now)
    assert quote["previous_close"] == close
    assert close == middle(
        session.state.seed, stock, round_at(last_closing(stock.exchange, session.state.now) - timedelta(minutes=5))
    )
    assert quote["lowest_limit"] * 100 - close * 75 in range(100)
    assert close * 125 - quote["highest_limit"] * 100 in range(100)
    assert book["bids"] == [{"price": row.price, "quantity": row.quantity, "orders": len(row.orders)} for row in bids]
    assert [row["price"] for row in book["asks"]] == [row.price for row in asks]


def test_stocks_are_searched_by_symbol_name_sector_and_exchange() -> None:
    session = server.open(3, "default")
    stock = list(session.state.stocks)[40]
    assert stock.id in [row["id"] for row in do(session, "search_stocks", text=stock.symbol.lower())]
    found = do(session, "search_stocks", text=stock.name.split()[-1], limit=50)
    assert stock.id in [row["id"] for row in found]
    assert do(session, "search_stocks", text=f"{stock.symbol} nonsense") == []
    assert len(do(session, "search_stocks")) == 5
    rows = do(session, "search_stocks", sector=stock.sector, exchange=stock.exchange, limit=50)
    expected = [row.id for row in session.state.stocks if (row.sector, row.exchange) == (stock.sector, stock.exchange)]
    assert [row["id"] for row in rows] == expected[:50]
    atlantic = do(session, "search_stocks", exchange="Atlantic", limit=3)
    assert len(atlantic) == 3 and {row["exchange"] for row in atlantic} == {"Atlantic"}


def test_an_aggressive_order_takes_the_best_prices_first_and_the_rest_waits() -> None:
    session, owner, stock = world(lot=1, cash=1_500_000)
    first, second, *_ = others(session, stock, "sell")
    before, quantity = session.state.portfolios[owner], first.quantity + second.quantity + 7  # type: ignore[index]
    order = do(session, "place_limit_order", **buy(session, owner, stock, quantity, second.price))
    assert [(row["quantity"], row["price"]) for row in order["executions"]] == [
        (first.quantity, first.price),
        (second.quantity, second.price),
    ]
    assert (order["status"], order["filled"], order["reserves"]) == ("open", quantity - 7, 7 * second.price)
    paid = first.quantity * first.price + second.quantity * second.price
    after = do(session, "get_portfolio", portfolio=owner)
    assert after["cash"] == before.cash - paid
    assert after["reserved"] == before.reserved + 7 * second.price
    assert after["available"] == after["cash"] - after["reserved"]
    held = next(row for row in after["holdings"] if row["stock"] == stock.id)
    assert held["quantity"] == before.holding(stock.id).quantity + quantity - 7
    assert after["value"] == after["cash"] + sum(row["value"] for row in after["holdings"])
    book = do(session, "get_order_book", stock=stock.id)
    assert book["bids"][0] == {"price": second.price, "quantity": 7, "orders": 1, "yours": 7}
    assert book["asks"][0]["price"] > second.price


def test_what_was_taken_stays_taken_until_the_quotes_are_renewed() -> None:
    session, owner, stock = world(lot=1)
    first, second, *_ = others(session, stock, "sell")
    do(session, "place_limit_order", **buy(session, owner, stock, 1, first.price))
    left = do(session, "get_order_book", stock=stock.id)["asks"]
    assert left[0].get("quantity") == first.quantity - 1 or (first.quantity == 1 and left[0]["price"] == second.price)
    later = start_of(round_at(session.state.now) + 1)
    renewed = generate_resting_levels(session.state.seed, stock, round_at(later), "sell")
    reply = session.call("get_order_book", {"stock": stock.id}, now=later)
    assert reply.data["asks"][0]["quantity"] == renewed[0].quantity


def dip(session: Session[Broker], stock: Stock, limit: int, rounds: int = 80) -> int:
    """Return the next round in which the lowest sell order is at most `limit`."""
    first = round_at(session.state.now) + 1
    for number in range(first, first + rounds):
        if generate_resting_levels(session.state.seed, stock, number, "sell")[0].price <= limit and is_open(
            "North", start_of(number)
        ):
            return number
    raise LookupError("The market does not come down to this.")


def resting_buy(quantity: int = 10) -> tuple[Session[Broker], str, Stock, dict[str, Any], int]:
    """A world in which an order to buy below the market waits, and the round in which the market comes to it."""
    for session in small_worlds(server):
        try:
            owner, stock = tradable(session, lot=1)
            limit = others(session, stock, "buy")[2].price
            number = dip(session, stock, limit)
        except LookupError:
            continue
        asks = generate_resting_levels(session.state.seed, stock, number, "sell")
        offered = sum(row.quantity for row in asks if row.price <= limit)
        if owner.available > limit * quantity and offered >= quantity:
            order = do(session, "place_limit_order", **buy(session, owner.id, stock, quantity, limit))
            assert order["status"] == "open" and order["filled"] == 0
            return session, owner.id, stock, order, number
    raise LookupError("There is no such world.")


def test_a_resting_order_trades_at_its_own_limit_when_the_market_comes_to_it() -> None:
    session, owner, stock, order, number = resting_buy()
    at = start_of(number)
    early = session.call("get_stock_order", {"order": order["id"]}, now=at - timedelta(minutes=1)).data
    assert early["filled"] == 0
    late = session.call("get_stock_order", {"order": order["id"]}, now=at).data
    assert late["executions"] == [{"at": minute_text(at), "quantity": 10, "price": order["limit"]}]
    assert refused(session, "cancel_stock_order", now=at, order=order["id"]) == "order_filled"
    assert refused(session, "replace_stock_order", now=at, order=order["id"], quantity=90) == "order_filled"
    listed = session.call("list_stock_orders", {"status": "filled", "limit": 1}, now=at).data
    assert [row["id"] for row in listed] == [order["id"]]
    holdings = session.call("get_portfolio", {"portfolio": owner}, now=at).data["holdings"]
    assert stock.id in [row["stock"] for row in holdings]


def test_an_order_that_was_cancelled_before_does_not_trade() -> None:
    session, _, _, order, number = resting_buy()
    done = do(session, "cancel_stock_order", order=order["id"])
    assert done["status"] == "cancelled" and "reserves" not in done
    late = session.call("get_stock_order", {"order": order["id"]}, now=start_of(number)).data
    assert late["status"] == "cancelled" and late["filled"] == 0
    assert refused(session, "cancel_stock_order", order=order["id"]) == "order_cancelled"
    assert refused(session, "replace_stock_order", order=order["id"], price=order["limit"]) == "order_cancelled"


def test_the_next_write_preserves_what_the_market_filled() -> None:
    session, owner, stock, order, number = resting_buy()
    do(session, "place_market_order", start_of(number), portfolio=owner, stock=stock.id, side="buy", quantity=1)
    assert session.state.orders[order["id"]].filled > 0
    assert do(session, "get_stock_order", order=order["id"])["executions"][0]["price"] == order["limit"]


def test_an_order_of_the_day_expires_at_the_close_and_frees_its_cash() -> None:
    session, owner, stock = world()
    available = session.state.portfolios[owner].available  # type: ignore[index]
    low = do(session, "get_stock_quote", stock=stock.id)["lowest_limit"]
    price = -(-low // stock.tick) * stock.tick
    order = do(session, "place_limit_order", **buy(session, owner, stock, stock.lot, price, duration="day"))
    assert order["expires"] == minute_text(next_closing("North", session.state.now))
    assert session.state.portfolios[owner].available == available - stock.lot * price  # type: ignore[index]
    close = next_closing("North", session.state.now)
    before = session.call("get_stock_order", {"order": order["id"]}, now=close - timedelta(minutes=1)).data
    after = session.call("get_stock_order", {"order": order["id"]}, now=close).data
    assert (before["status"], after["status"]) == ("open", "expired")
    assert refused(session, "cancel_stock_order", now=close, order=order["id"]) == "order_expired"
    assert session.call("get_portfolio", {"portfolio": owner}, now=close).data["available"] >= available


def test_an_order_until_cancelled_lasts_thirty_days() -> None:
    session, owner, stock = world()
    now = session.state.now
    low = do(session, "get_stock_quote", stock=stock.id)["lowest_limit"]
    order = do(
        session, "place_limit_order", **buy(session, owner, stock, stock.lot, -(-low // stock.tick) * stock.tick)
    )
    assert order["expires"] == minute_text(now + timedelta(days=30))


def test_an_immediate_order_fills_what_it_can_and_waits_for_nothing() -> None:
    session, owner, stock = world(lot=1, cash=1_500_000)
    first, *_ = others(session, stock, "sell")
    available = session.state.portfolios[owner].available  # type: ignore[index]
    terms = buy(session, owner, stock, first.quantity + 5, first.price, duration="immediate")
    order = do(session, "place_limit_order", **terms)
    assert (order["status"], order["filled"]) == ("cancelled", first.quantity)
    assert session.state.portfolios[owner].available == available - first.quantity * first.price  # type: ignore[index]
    assert refused(session, "place_limit_order", **terms) == "limit_not_crossed"


def test_an_immediate_order_needs_a_limit_that_crosses() -> None:
    session, owner, stock = world()
    low, high = others(session, stock, "buy")[0].price, others(session, stock, "sell")[0].price
    terms = buy(session, owner, stock, stock.lot, low, duration="immediate")
    assert refused(session, "place_limit_order", **terms) == "limit_not_crossed"
    assert do(session, "place_limit_order", **{**terms, "price": high})["status"] == "filled"


def test_a_market_order_is_filled_completely_or_refused() -> None:
    session, owner, stock = world(lot=1, cash=200_000)
    book = others(session, stock, "sell")
    depth = sum(row.quantity for row in book)
    terms: dict[str, Any] = {"portfolio": owner, "stock": stock.id, "side": "buy"}
    assert refused(session, "place_market_order", **terms, quantity=depth + 1) == "thin_book"
    order = do(session, "place_market_order", **terms, quantity=3)
    assert (order["status"], order["executions"][0]["price"]) == ("filled", book[0].price)
    assert "limit" not in order
    do(session, "place_market_order", **{**terms, "side": "sell"}, quantity=3)
    again = do(session, "place_market_order", **terms, quantity=2)
    assert again["id"] != order["id"]


def take_out(broker: Broker, portfolio: str, but: int) -> None:
    """Withdraw all free cash of a portfolio but so much."""
    row = broker.portfolios[PortfolioId(portfolio)]
    less = row.available - but
    broker.portfolios.change(row.id, cash=row.cash - less, deposited=row.deposited - less)


def test_a_market_order_costs_what_the_book_asks() -> None:
    session, name, stock = world(lot=1)
    price = others(session, stock, "sell")[0].price
    change_state(session, lambda broker: take_out(broker, name, but=60 * price))
    owner = session.state.portfolios[PortfolioId(name)]
    terms = {"portfolio": owner.id, "stock": stock.id, "side": "buy"}
    assert refused(session, "place_market_order", **terms, quantity=90) == "insufficient_funds"
    order = do(session, "place_market_order", **terms, quantity=50)
    cost = sum(row["quantity"] * row["price"] for row in order["executions"])
    assert do(session, "get_portfolio", portfolio=owner.id)["cash"] == owner.cash - cost
    assert 50 * others(session, stock, "sell")[0].price <= cost


def test_cash_that_an_order_reserves_cannot_be_spent_again() -> None:
    session, owner, stock = world(lot=1, cash=200_000)
    available, price = session.state.portfolios[owner].available, others(session, stock, "buy")[1].price  # type: ignore[index]
    most = min(available, 2_400_000) // price
    terms = buy(session, owner, stock, 1, price)
    while most:
        order = do(session, "place_limit_order", **{**terms, "quantity": most})
        available -= most * price
        most = min(available // price, most)
    assert refused(session, "place_limit_order", **terms) == "insufficient_funds"
    do(session, "cancel_stock_order", order=order["id"])
    do(session, "place_limit_order", **terms)


def test_exactly_what_is_available_can_be_spent() -> None:
    session, owner, stock = world(lot=1)
    price = others(session, stock, "buy")[-1].price
    change_state(session, lambda broker: take_out(broker, owner, but=40 * price))
    terms = buy(session, owner, stock, 40, price)
    assert refused(session, "place_limit_order", **{**terms, "quantity": 41}) == "insufficient_funds"
    do(session, "place_limit_order", **terms)
    assert session.state.portfolios[PortfolioId(owner)].available == 0


def test_shares_that_an_order_offers_cannot_be_sold_again() -> None:
    session, owner, stock = world(lot=1)
    do(session, "place_market_order", portfolio=owner, stock=stock.id, side="buy", quantity=20)
    held = session.state.portfolios[owner].holding(stock.id).quantity  # type: ignore[index]
    price = others(session, stock, "sell")[3].price
    terms = buy(session, owner, stock, held, price, side="sell")
    assert refused(session, "place_limit_order", **{**terms, "quantity": held + 1}) == "insufficient_shares"
    order = do(session, "place_limit_order", **{**terms, "quantity": held - 5})
    assert order["reserves"] == held - 5
    assert refused(session, "place_limit_order", **{**terms, "quantity": 6}) == "insufficient_shares"
    rows = do(session, "get_portfolio", portfolio=owner)["holdings"]
    assert [(row["quantity"], row["reserved"]) for row in rows if row["stock"] == stock.id] == [(held, held - 5)]
    last = do(session, "place_limit_order", **{**terms, "quantity": 5})
    assert refused(session, "replace_stock_order", order=last["id"], quantity=6) == "insufficient_shares"
    do(session, "cancel_stock_order", order=order["id"])
    assert do(session, "replace_stock_order", order=last["id"], quantity=6)["reserves"] == 6
    sold = {"portfolio": owner, "stock": stock.id, "side": "sell", "quantity": held - 6}
    do(session, "place_market_order", **sold)
    assert session.state.portfolios[owner].holding(stock.id).quantity == 6  # type: ignore[index]


def test_limits_are_multiples_of_the_tick_within_the_band_and_quantities_multiples_of_the_lot() -> None:
    session, owner, stock = world(lot=10, cash=500_000)
    quote = do(session, "get_stock_quote", stock=stock.id)
    low, high = (quote[name] for name in ("lowest_limit", "highest_limit"))
    first, last = -(-low // stock.tick) * stock.tick, high // stock.tick * stock.tick
    terms = buy(session, owner, stock, 10, first)
    assert refused(session, "place_limit_order", **{**terms, "quantity": 15}) == "odd_lot"
    assert refused(session, "place_limit_order", **{**terms, "price": first - stock.tick}) == "outside_price_band"
    assert refused(session, "place_limit_order", **{**terms, "price": last + stock.tick}) == "outside_price_band"
    do(session, "place_limit_order", **terms)
    assert do(session, "place_limit_order", **{**terms, "price": last})["status"] == "filled"
    market = {"portfolio": owner, "stock": stock.id, "side": "buy", "quantity": 5}
    assert refused(session, "place_market_order", **market) == "odd_lot"
    order = do(session, "place_limit_order", **terms)["id"]
    assert refused(session, "replace_stock_order", order=order, quantity=25) == "odd_lot"


def test_a_price_between_two_ticks_is_refused() -> None:
    session, name, stock = world()
    change_state(session, lambda broker: broker.stocks.change(stock.id, tick=5))
    owner, stock = session.state.portfolios[PortfolioId(name)], session.state.stocks[stock.id]
    price = others(session, stock, "buy")[0].price
    terms = buy(session, owner.id, stock, stock.lot, price + 1)
    assert refused(session, "place_limit_order", **terms) == "off_tick"


def test_an_order_has_a_highest_value() -> None:
    session, owner, stock = world(lot=1)
    price = others(session, stock, "buy")[0].price
    terms = buy(session, owner, stock, 2_500_000 // price + 1, price)
    assert refused(session, "place_limit_order", **terms) == "order_too_large"


def test_nobody_trades_with_oneself() -> None:
    session, owner, stock = world(lot=1)
    do(session, "place_market_order", portfolio=owner, stock=stock.id, side="buy", quantity=20)
    bids, asks = others(session, stock, "buy"), others(session, stock, "sell")
    price = bids[1].price
    do(session, "place_limit_order", **buy(session, owner, stock, 5, price))
    sell = buy(session, owner, stock, 5, price, side="sell")
    assert refused(session, "place_limit_order", **sell) == "self_trade"
    offer = do(session, "place_limit_order", **{**sell, "price": asks[1].price})
    assert refused(session, "replace_stock_order", order=offer["id"], price=price) == "self_trade"
    depth = sum(row["quantity"] for row in do(session, "get_order_book", stock=stock.id)["asks"][:3])
    market = {"portfolio": owner, "stock": stock.id, "side": "buy", "quantity": depth}
    assert refused(session, "place_market_order", **market) in ("self_trade", "insufficient_funds")


def waiting_for_the_opening() -> tuple[Session[Broker], str, Stock, dict[str, Any], Level]:
    """A closed stock, an order that the opening will fill below its limit, and the best ask of then."""
    for session in small_worlds(server):
        try:
            owner, stock = tradable(session, "Atlantic")
        except LookupError:
            continue
        change_state(session, lambda broker, id=stock.id: broker.stocks.change(id, lot=1))
        stock, opening = session.state.stocks[stock.id], next_opening("Atlantic", session.state.now)
        ask = generate_resting_levels(session.state.seed, stock, round_at(opening), "sell")[0]
        limit = ask.price + 2 * stock.tick
        if owner.available > 10 * limit and ask.quantity >= 10:
            return session, owner.id, stock, buy(session, owner.id, stock, 10, limit), ask
    raise LookupError("There is no such world.")


def test_while_its_exchange_is_closed_only_orders_that_wait_are_taken() -> None:
    session, owner, stock, terms, ask = waiting_for_the_opening()
    assert do(session, "get_stock_quote", stock=stock.id)["trading"] == "closed"
    for duration in ("day", "immediate"):
        assert refused(session, "place_limit_order", **{**terms, "duration": duration}) == "market_closed"
    market = {"portfolio": owner, "stock": stock.id, "side": "buy", "quantity": 1}
    assert refused(session, "place_market_order", **market) == "market_closed"
    order = do(session, "place_limit_order", **terms)
    assert order["filled"] == 0
    assert all("yours" not in row for row in do(session, "get_order_book", stock=stock.id)["bids"])
    opening = next_opening("Atlantic", session.state.now)
    late = session.call("get_stock_order", {"order": order["id"]}, now=opening).data
    assert late["executions"] == [{"at": minute_text(opening), "quantity": 10, "price": ask.price}]
    assert session.call("get_stock_quote", {"stock": stock.id}, now=opening).data["trading"] == "open"


def test_the_better_limit_trades_first_and_then_the_older_order() -> None:
    session, owner, stock = world(lot=1, cash=1_500_000)
    low, high = others(session, stock, "buy")[3].price, others(session, stock, "buy")[1].price
    first = do(session, "place_limit_order", **buy(session, owner, stock, 2, low))["id"]
    second = do(session, "place_limit_order", **buy(session, owner, stock, 2, high))["id"]
    third = do(session, "place_limit_order", **buy(session, owner, stock, 2, high))["id"]
    own = [session.state.orders[id] for id in (first, third, second)]
    assert [order.id for order in sorted(own, key=priority)] == [second, third, first]
    do(session, "place_market_order", portfolio=owner, stock=stock.id, side="buy", quantity=4)
    top = others(session, stock, "sell")[4].price
    dear = do(session, "place_limit_order", **buy(session, owner, stock, 2, top, side="sell"))["id"]
    cheap = do(session, "place_limit_order", **buy(session, owner, stock, 2, top - stock.tick, side="sell"))["id"]
    offers = [session.state.orders[id] for id in (dear, cheap)]
    assert [order.id for order in sorted(offers, key=priority)] == [cheap, dear]


def test_an_order_a_stock_and_a_portfolio_have_all_their_fields() -> None:
    session, owner, stock = world(lot=1)
    now, price = session.state.now, others(session, stock, "buy")[2].price
    order = do(session, "place_limit_order", **buy(session, owner, stock, 3, price))
    assert order == {
        **{"id": order["id"], "portfolio": owner, "stock": stock.id, "symbol": stock.symbol, "side": "buy"},
        **{"quantity": 3, "filled": 0, "limit": price, "duration": "until_cancelled", "status": "open"},
        **{"reserves": 3 * price, "placed": minute_text(now), "executions": []},
        **{"expires": minute_text(now + timedelta(days=30))},
    }
    assert do(session, "list_stock_orders", stock=stock.id, limit=1) == [
        {
            **{"id": order["id"], "symbol": stock.symbol, "side": "buy", "quantity": 3, "filled": 0},
            **{"limit": price, "status": "open"},
        }
    ]
    last = do(session, "get_stock_quote", stock=stock.id)
    assert (last["id"], last["symbol"], last["tick"], last["lot"]) == (stock.id, stock.symbol, stock.tick, 1)
    found = do(session, "search_stocks", text=stock.symbol)
    assert found == [
        {
            **{"id": stock.id, "symbol": stock.symbol, "name": stock.name, "sector": stock.sector},
            **{"exchange": "North", "last": last["last"]},
        }
    ]
    row, details = next(iter(session.state.portfolios)), do(session, "get_portfolio", portfolio=owner)
    assert (details["id"], details["name"], details["managed"]) == (row.id, row.name, False)
    assert details.get("excluded") == row.excluded
    assert [(one["stock"], one["quantity"]) for one in details["holdings"]] == [
        (one.stock, one.quantity) for one in row.holdings
    ]
    assert do(session, "list_portfolios", limit=1)[0]["name"] == row.name
    book = do(session, "get_order_book", stock=stock.id)
    assert (book["id"], book["symbol"], book["trading"]) == (stock.id, stock.symbol, "open")
    assert next(level for level in book["bids"] if level["price"] == price)["yours"] == 3


def test_an_order_in_a_halted_stock_can_only_be_cancelled() -> None:
    session, order = find_row(server, "orders", lambda broker, row: row.status == "open")
    change_state(session, lambda broker: broker.stocks.change(order.stock, halted=True))
    assert refused(session, "replace_stock_order", order=order.id, quantity=order.quantity * 2) == "trading_halted"
    assert do(session, "cancel_stock_order", order=order.id)["status"] == "cancelled"


def test_nothing_is_traded_in_a_halted_stock() -> None:
    session, owner, stock = world()
    change_state(session, lambda broker: broker.stocks.change(stock.id, halted=True))
    assert do(session, "get_stock_quote", stock=stock.id)["trading"] == "halted"
    book = do(session, "get_order_book", stock=stock.id)
    assert not [row for row in (*book["bids"], *book["asks"]) if "yours" not in row]
    assert refused(session, "place_limit_order", **buy(session, owner, stock, 1, stock.base)) == "trading_halted"
    market = {"portfolio": owner, "stock": stock.id, "side": "buy", "quantity": 1}
    assert refused(session, "place_market_order", **market) == "trading_halted"


def test_a_managed_portfolio_and_an_excluded_sector_are_left_alone() -> None:
    session = next(
        session
        for session in small_worlds(server, "default")
        if any(row.managed for row in session.state.portfolios) and next(iter(session.state.portfolios)).excluded
    )
    managed = next(row for row in session.state.portfolios if row.managed)
    owner, stock = tradable(session)
    terms = buy(session, managed.id, stock, stock.lot, others(session, stock, "buy")[0].price)
    assert refused(session, "place_limit_order", **terms) == "portfolio_managed"
    shunned = session.state.stocks.where(sector=owner.excluded)[0]
    terms = {"portfolio": owner.id, "stock": shunned.id, "side": "buy", "quantity": shunned.lot}
    assert refused(session, "place_market_order", **terms) == "sector_excluded"
    assert refused(session, "place_market_order", **{**terms, "side": "sell"}) != "sector_excluded"


def test_a_replaced_order_keeps_its_trades_and_trades_on() -> None:
    session, owner, stock = world(lot=1, cash=1_500_000)
    first, *_ = others(session, stock, "sell")
    order = do(session, "place_limit_order", **buy(session, owner, stock, first.quantity + 10, first.price))["id"]
    available = session.state.portfolios[owner].available  # type: ignore[index]
    assert refused(session, "replace_stock_order", order=order) == "order_unchanged"
    same = {"quantity": first.quantity + 10, "price": first.price}
    assert refused(session, "replace_stock_order", order=order, **same) == "order_unchanged"
    assert refused(session, "replace_stock_order", order=order, quantity=first.quantity) == "below_filled"
    assert refused(session, "replace_stock_order", order=order, price=100) == "outside_price_band"
    assert refused(session, "replace_stock_order", order=order, quantity=90_000) == "order_too_large"
    new = do(session, "replace_stock_order", order=order, quantity=first.quantity + 4)
    assert (new["filled"], new["reserves"]) == (first.quantity, 4 * first.price)
    assert session.state.portfolios[owner].available == available + 6 * first.price  # type: ignore[index]
    assert new["placed"] > session.history()[1].reply.data["placed"]  # type: ignore[union-attr]
    up = do(session, "replace_stock_order", order=order, price=do(session, "get_stock_quote", stock=stock.id)["ask"])
    assert up["filled"] > first.quantity


def test_orders_are_listed_newest_first_by_portfolio_stock_and_status() -> None:
    session = server.open(3, "default")
    rows = do(session, "list_stock_orders", limit=50)
    table = session.state.orders
    moments = [table[row["id"]].placed for row in rows]
    assert moments == sorted(moments, reverse=True) and len(do(session, "list_stock_orders")) == 5
    order = next(row for row in table if row.status == "filled")
    listed = do(session, "list_stock_orders", portfolio=order.portfolio, stock=order.stock, status="filled")
    assert order.id in [row["id"] for row in listed]
    assert {table[row["id"]].stock for row in listed} == {order.stock}
    assert {table[row["id"]].portfolio for row in listed} == {order.portfolio}
    own = do(session, "list_stock_orders", portfolio=order.portfolio, limit=50)
    assert {table[row["id"]].portfolio for row in own} == {order.portfolio}
    for status in ("open", "cancelled"):
        assert {row["status"] for row in do(session, "list_stock_orders", status=status, limit=50)} == {status}


def test_a_watchlist_takes_each_stock_once_of_its_sector_up_to_twelve() -> None:
    session = server.open(5, "default")
    lists, stocks = list(session.state.watchlists), session.state.stocks
    sector = next(row for row in lists if row.sector)
    stranger = next(row for row in stocks if row.sector != sector.sector)
    assert refused(session, "watch_stock", watchlist=sector.id, stock=stranger.id) == "wrong_sector"
    own = next(row for row in lists if not row.sector and len(row.stocks) < 12)
    new = [row.id for row in stocks if row.id not in own.stocks]
    view: dict[str, Any] = {}
    for stock in new[: 12 - len(own.stocks)]:
        view = do(session, "watch_stock", watchlist=own.id, stock=stock)
        assert view["stocks"][0]["id"] == stock and len(view["stocks"]) <= 5
    assert view["count"] == 12
    assert refused(session, "watch_stock", watchlist=own.id, stock=new[0]) == "already_watched"
    assert refused(session, "watch_stock", watchlist=own.id, stock=new[20]) == "watchlist_full"
    assert view in do(session, "list_watchlists", limit=20)
    assert len(do(session, "list_watchlists", limit=2)) == 2


def test_portfolios_are_listed_with_their_free_cash() -> None:
    session = server.open(2, "default")
    rows = do(session, "list_portfolios")
    expected = [(row.id, row.cash - row.reserved, row.managed) for row in session.state.portfolios]
    assert [(row["id"], row["available"], row["managed"]) for row in rows] == expected
    assert len(do(session, "list_portfolios", limit=1)) == 1


@pytest.mark.parametrize("seed", [0, 1, 2, 3, 1_000_000_000, 1_000_000_001])
def test_a_month_of_markets_keeps_every_law(seed: int) -> None:
    session = server.open(seed, "small")
    owner, stock = tradable(session)
    for days in (0, 1, 4, 9, 31):
        now = session.state.now + timedelta(days=days)
        session.call("watch_stock", {"watchlist": "WLS-0000", "stock": stock.id}, now=now)
        terms = {"portfolio": owner.id, "stock": stock.id, "side": "buy", "quantity": stock.lot}
        session.call("place_market_order", terms, now=now)
        assert server.find_broken_invariants(session.state) == []
