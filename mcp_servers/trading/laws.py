"""Invariants of the broker: they hold in every state that a session can reach."""

from __future__ import annotations

from collections import Counter

from ..shared.people import get_start_time
from .engine import OTHER, crosses, generate_resting_levels, list_displayed_levels, update_if_due
from .hours import round_at
from .state import Broker, Portfolio, Side, StockId, StockOrder
from .tools import MOST_WATCHED, server


def value(order: StockOrder) -> int:
    """Return the cents that an order has traded: positive if they came in, negative if they went out."""
    cents = sum(trade.quantity * trade.price for trade in order.executions)
    return cents if order.side == "sell" else -cents


@server.invariant
def cash_is_conserved(broker: Broker) -> bool:
    """A portfolio's cash is what was deposited, less what its trades cost, plus what they brought."""
    traded = Counter[str]()
    for order in broker.orders:
        traded[order.portfolio] += value(order)
    return all(row.cash == row.deposited + traded[row.id] for row in broker.portfolios)


@server.invariant
def shares_are_conserved(broker: Broker) -> bool:
    """A holding is the shares bought less those sold, and is always positive."""
    bought = Counter[tuple[str, str]]()
    for order in broker.orders:
        bought[order.portfolio, order.stock] += order.filled if order.side == "buy" else -order.filled
    held = {(str(row.id), str(part.stock)): part.quantity for row in broker.portfolios for part in row.holdings}
    return held == {key: quantity for key, quantity in bought.items() if quantity} and all(
        quantity > 0 for quantity in held.values()
    )


@server.invariant
def reservations_are_those_of_open_orders(broker: Broker) -> bool:
    """Reserved cash and shares are what the open orders may take, and are there."""
    cash, shares = Counter[str](), Counter[tuple[str, str]]()
    for order in broker.orders.where(status="open"):
        if order.side == "buy":
            cash[order.portfolio] += order.left * (order.limit or 0)
        else:
            shares[order.portfolio, order.stock] += order.left
    return all(reserves_only(row, cash, shares) for row in broker.portfolios)


def reserves_only(row: Portfolio, cash: Counter[str], shares: Counter[tuple[str, str]]) -> bool:
    held = {part.stock: part for part in row.holdings}
    return (
        0 <= row.reserved == cash[row.id] <= row.cash
        and all(part.reserved == shares[row.id, id] <= part.quantity for id, part in held.items())
        and all(id in held for (owner, id), count in shares.items() if owner == row.id and count)
    )


@server.invariant
def trades_keep_to_their_orders(broker: Broker) -> bool:
    """Nothing trades beyond its quantity or worse than its limit; what is filled is filled whole, nothing else is."""
    return all(
        order.filled <= order.quantity
        and (order.status == "filled") == (order.filled == order.quantity)
        and all(trade.quantity > 0 and crosses(order.side, order.limit, trade.price) for trade in order.executions)
        for order in broker.orders
    )


@server.invariant
def orders_have_the_terms_of_their_stock(broker: Broker) -> bool:
    """Quantities are whole lots, limits whole ticks; what waits has a limit and was not to be filled at once."""
    for order in broker.orders:
        stock = broker.stocks[order.stock]
        if order.symbol != stock.symbol or order.quantity % stock.lot or (order.limit or 0) % stock.tick:
            return False
        if order.status == "open" and (order.limit is None or order.duration == "immediate"):
            return False
    return True


@server.invariant
def the_book_never_crosses(broker: Broker) -> bool:
    """Once what the market brought is settled, no bid in a book reaches an ask, the client's own or another's."""
    now = update_if_due(broker)
    for id in dict.fromkeys(order.stock for order in now.orders.where(status="open")):
        own = now.open_orders(id)
        if any(a.side == "buy" and b.side == "sell" and (a.limit or 0) >= (b.limit or 0) for a in own for b in own):
            return False
        for order in own:
            best = list_displayed_levels(now, now.stocks[id], OTHER[order.side])
            if order.live <= now.now and best and crosses(order.side, order.limit, best[0].price):
                return False
    return True


@server.invariant
def no_offer_is_taken_twice(broker: Broker) -> bool:
    """In no round of the session do the client's orders trade more than the others had in the book."""
    traded, start = Counter[tuple[StockId, Side, int]](), get_start_time(broker.seed)
    for order in broker.orders:
        for trade in order.executions:
            if trade.at >= start:
                traded[order.stock, order.side, round_at(trade.at)] += trade.quantity
    return all(
        quantity
        <= sum(level.quantity for level in generate_resting_levels(broker.seed, broker.stocks[id], number, OTHER[side]))
        for (id, side, number), quantity in traded.items()
    )


@server.invariant
def only_the_adviser_trades_what_is_managed(broker: Broker) -> bool:
    """No open order is of a managed portfolio, and none buys in a sector that its portfolio excludes."""
    for order in broker.orders.where(status="open"):
        owner, stock = broker.portfolios[order.portfolio], broker.stocks[order.stock]
        if owner.managed or (order.side == "buy" and stock.sector == owner.excluded):
            return False
    return True


@server.invariant
def watchlists_are_in_order(broker: Broker) -> bool:
    """A watchlist has each stock once, no more than it takes, and of its sector alone."""
    return all(
        len(dict.fromkeys(row.stocks)) == len(row.stocks) <= MOST_WATCHED
        and all(row.sector in (None, broker.stocks[id].sector) for id in row.stocks)
        for row in broker.watchlists
    )
