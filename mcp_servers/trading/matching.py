"""How orders trade: against the others' orders by price, then time; at once, or resting while the market moves."""

from __future__ import annotations

from collections.abc import Iterable
from datetime import datetime

from .hours import is_open, next_opening, open_rounds, quoted_round, round_at, start_of
from .market import Level, crosses, has_met, meets, resting, without
from .state import Broker, Execution, Holding, OrderStatus, Portfolio, Side, Stock, StockOrder

OTHER: dict[Side, Side] = {"buy": "sell", "sell": "buy"}


def taken(broker: Broker, stock: Stock, side: Side, number: int) -> int:
    """Shares that orders of this side traded in a round."""
    orders = broker.orders.where(stock=stock.id, side=side)
    trades = [trade for order in orders for trade in order.executions]
    return sum(trade.quantity for trade in trades if round_at(trade.at) == number)


def others(broker: Broker, stock: Stock, side: Side, number: int) -> list[Level]:
    """What is left of the others' bids (buy) or asks (sell) in a round; nothing rests in a halted stock."""
    if stock.halted:
        return []
    levels = resting(broker.seed, stock, number, side)
    gone = taken(broker, stock, OTHER[side], number)
    return list(without(levels, gone) if gone else levels)


def displayed(broker: Broker, stock: Stock, side: Side) -> list[Level]:
    """The others' side of the book as it is shown now."""
    return others(broker, stock, side, quoted_round(stock.exchange, broker.now))


def fills(order: StockOrder, levels: Iterable[Level], at: datetime) -> tuple[Execution, ...]:
    """The trades of an order with these levels, best first, at their prices."""
    left, trades = order.left, []
    for level in levels:
        if left == 0 or not crosses(order.side, order.limit, level.price):
            break
        quantity = min(left, level.quantity)
        trades.append(Execution(at=at, quantity=quantity, price=level.price))
        left -= quantity
    return tuple(trades)


def execute(broker: Broker, order: StockOrder, trades: tuple[Execution, ...]) -> StockOrder:
    """Book the trades of an open order: move cash and shares, let go of what was reserved for them."""
    quantity = sum(trade.quantity for trade in trades)
    value = sum(trade.quantity * trade.price for trade in trades)
    owner = broker.portfolios[order.portfolio]
    if order.side == "buy":
        holdings, reserved = with_shares(owner, order, quantity, 0), owner.reserved - quantity * (order.limit or 0)
        broker.portfolios.change(owner.id, cash=owner.cash - value, reserved=reserved, holdings=holdings)
    else:
        holdings = with_shares(owner, order, -quantity, -quantity)
        broker.portfolios.change(owner.id, cash=owner.cash + value, holdings=holdings)
    status = "filled" if quantity == order.left else "open"
    return broker.orders.change(order.id, executions=order.executions + trades, status=status)


def reserve(broker: Broker, order: StockOrder, quantity: int) -> Portfolio:
    """Keep aside the cash or the shares that so many shares of an order may take."""
    portfolio = broker.portfolios[order.portfolio]
    if order.side == "buy":
        return broker.portfolios.change(portfolio.id, reserved=portfolio.reserved + quantity * (order.limit or 0))
    return broker.portfolios.change(portfolio.id, holdings=with_shares(portfolio, order, 0, quantity))


def release(broker: Broker, order: StockOrder, quantity: int) -> Portfolio:
    """Let go of what was kept aside for so many shares of an order."""
    return reserve(broker, order, -quantity)


def with_shares(portfolio: Portfolio, order: StockOrder, quantity: int, reserved: int) -> tuple[Holding, ...]:
    """What a portfolio holds with so many shares of the order's stock more, held and reserved."""
    old = portfolio.holding(order.stock)
    new = Holding(stock=order.stock, quantity=old.quantity + quantity, reserved=old.reserved + reserved)
    rows = {row.stock: row for row in portfolio.holdings} | {order.stock: new}
    return tuple([row for row in rows.values() if row.quantity])


def close(broker: Broker, order: StockOrder, status: OrderStatus) -> StockOrder:
    """End an open order and let go of what it reserved."""
    release(broker, order, order.left)
    return broker.orders.change(order.id, status=status)


def goes_live(stock: Stock, now: datetime) -> datetime:
    """When an order placed now may trade as a resting one: in the next round, or at the next opening."""
    return start_of(round_at(now) + 1) if is_open(stock.exchange, now) else next_opening(stock.exchange, now)


def settle(broker: Broker) -> Broker:
    """Bring the orders of a draft up to its clock: what the market filled since they were placed, and what expired."""
    waiting = broker.orders.where(status="open")
    stocks = {order.stock for order in due(broker, waiting)}
    for id in dict.fromkeys(order.stock for order in waiting if order.stock in stocks):
        settle_stock(broker, broker.stocks[id])
    for order in broker.orders.where(status="open") if stocks else ():
        if order.expires <= broker.now:
            close(broker, order, "expired")
    return broker


def due(broker: Broker, orders: Iterable[StockOrder]) -> list[StockOrder]:
    """Those of these open orders that the market came to by now, or whose time is over; no others change."""
    seed, now, stocks, number = broker.seed, broker.now, broker.stocks, round_at(broker.now)
    return [
        order
        for order in orders
        if order.expires <= now or has_met(seed, stocks[order.stock], order.side, order.limit, order.live, number)
    ]


def settle_stock(broker: Broker, stock: Stock) -> None:
    waiting = sorted(broker.open_orders(stock.id), key=priority)
    first = min(order.live for order in waiting)
    for number in open_rounds(stock.exchange, first, broker.now):
        for order in waiting:
            if order.live <= start_of(number) < order.expires:
                meet(broker, stock, broker.orders[order.id], number)


def priority(order: StockOrder) -> tuple[str, int, datetime, str]:
    """The better limit first, then the older order."""
    limit = order.limit or 0
    return order.side, -limit if order.side == "buy" else limit, order.placed, order.id


def meet(broker: Broker, stock: Stock, order: StockOrder, number: int) -> None:
    """Trade a resting order with what the others bring in a round.

    It was there first, so its own limit is the price, unless it waited for the opening, where it gets theirs.
    """
    if order.left == 0 or not meets(broker.seed, stock, order.side, order.limit, number):
        return
    at = start_of(number)
    trades = fills(order, others(broker, stock, OTHER[order.side], number), at)
    waited = at == order.live and not is_open(stock.exchange, order.placed)
    if trades and not waited and order.limit is not None:
        trades = (Execution(at=at, quantity=sum(trade.quantity for trade in trades), price=order.limit),)
    if trades:
        execute(broker, order, trades)


def settled(broker: Broker, **asked: str) -> Broker:
    """The broker as it is now, for tools that only look at orders with these field values, or at what these change: a
    copy that is up to date, when one of these orders changed.
    """
    waiting = broker.orders.where(**asked, status="open")
    return settle(broker.draft()) if due(broker, waiting) else broker
