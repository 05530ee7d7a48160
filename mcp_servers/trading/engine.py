"""Simulated market, order matching by price and time, and the checks that raise the broker's errors."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from datetime import datetime
from functools import lru_cache
from hashlib import blake2b
from typing import NamedTuple

from ..core import ToolError, minute_text
from .hours import is_open, last_closing, next_opening, open_rounds, quoted_round, round_at, start_of
from .state import Broker, Duration, Execution, Holding, OrderStatus, Portfolio, Side, Stock, StockOrder, StockOrderId

# The simulated market: the price of a stock in a round, and the other participants' orders in its book.

LEVELS = 5
BAND_PERCENT = 25
WAVES = ((288, 500), (12, 120), (1, 40))
"""Waves of the price: the period in rounds, and the amplitude in ten-thousandths of the stock's base price."""


class Level(NamedTuple):
    """The orders resting at one price, in order of time: what each still wants or offers."""

    price: int
    orders: tuple[int, ...]

    @property
    def quantity(self) -> int:
        return sum(self.orders)


def noise(*key: object) -> bytes:
    """Return sixteen pseudo-random bytes that depend only on the key."""
    return blake2b("/".join(map(str, key)).encode(), digest_size=16).digest()


@lru_cache(maxsize=1 << 15)
def anchor(seed: int, stock: str, period: int, place: int) -> int:
    """Return one of the points that a wave runs through, from -32,768 to 32,767."""
    return int.from_bytes(noise(seed, stock, period, place)[:2], "big") - (1 << 15)


@lru_cache(maxsize=1 << 15)
def middle(seed: int, stock: Stock, number: int) -> int:
    """Return the price in cents around which a stock trades in a round, a multiple of its tick."""
    swing = 0
    for period, height in WAVES:
        place, part = divmod(number, period)
        left, right = (anchor(seed, stock.id, period, place + side) for side in (0, 1))
        swing += (left * (period - part) + right * part) * height // (period << 15)
    return stock.base * (10_000 + swing) // (10_000 * stock.tick) * stock.tick


def crosses(side: Side, limit: int | None, price: int) -> bool:
    """Return whether an order of this side and limit trades at a price of the other side."""
    if limit is None:
        return True
    return price <= limit if side == "buy" else price >= limit


def is_limit_reached(seed: int, stock: Stock, side: Side, limit: int | None, number: int) -> bool:
    """Return whether the market reaches the limit of an order in a round."""
    step = stock.tick if side == "buy" else -stock.tick
    return crosses(side, limit, middle(seed, stock, number) + step)


@lru_cache(maxsize=1 << 14)
def has_met(seed: int, stock: Stock, side: Side, limit: int | None, live: datetime, last: int) -> bool:
    """Return whether the market reached the limit of an order in a round from its `live` moment to round `last`."""
    rounds = open_rounds(stock.exchange, live, start_of(last))
    return any(is_limit_reached(seed, stock, side, limit, number) for number in rounds)


def previous_close(seed: int, stock: Stock, now: datetime) -> int:
    """Return the price in cents at the end of the last session."""
    return middle(seed, stock, round_at(last_closing(stock.exchange, now)) - 1)


def band(seed: int, stock: Stock, now: datetime) -> tuple[int, int]:
    """Return the lowest and highest limit in cents that the exchange accepts, around the previous close."""
    close = previous_close(seed, stock, now)
    return -(-close * (100 - BAND_PERCENT) // 100), close * (100 + BAND_PERCENT) // 100


@lru_cache(maxsize=1 << 12)
def generate_resting_levels(seed: int, stock: Stock, number: int, side: Side) -> tuple[Level, ...]:
    """Return the other participants' bids (buy) or asks (sell) in a round, best price first."""
    price, step = middle(seed, stock, number), -stock.tick if side == "buy" else stock.tick
    levels = []
    for place in range(LEVELS):
        gap, count, *sizes = noise(seed, stock.id, number, side, place)
        price += step * (1 + gap % 3)
        orders = tuple(stock.lot * (1 + size % (120 // stock.lot)) for size in sizes[: 1 + count % 3])
        levels.append(Level(price, orders))
    return tuple(levels)


def subtract_traded_shares(levels: Iterable[Level], taken: int) -> Iterator[Level]:
    """Yield what is left of the levels after `taken` shares trade: best price first, oldest order first in a level."""
    for level in levels:
        left = []
        for size in level.orders:
            used = min(size, taken)
            taken -= used
            if size > used:
                left.append(size - used)
        if left:
            yield Level(level.price, tuple(left))


# Order matching against the other participants, by price and then time: immediately, or while the order rests.

OTHER: dict[Side, Side] = {"buy": "sell", "sell": "buy"}


def traded_quantity(broker: Broker, stock: Stock, side: Side, number: int) -> int:
    """Return how many shares the client's orders of this side traded in a round."""
    orders = broker.orders.where(stock=stock.id, side=side)
    trades = [trade for order in orders for trade in order.executions]
    return sum(trade.quantity for trade in trades if round_at(trade.at) == number)


def list_remaining_levels(broker: Broker, stock: Stock, side: Side, number: int) -> list[Level]:
    """Return what is left of the others' bids (buy) or asks (sell) in a round; empty if the stock is halted."""
    if stock.halted:
        return []
    levels = generate_resting_levels(broker.seed, stock, number, side)
    gone = traded_quantity(broker, stock, OTHER[side], number)
    return list(subtract_traded_shares(levels, gone) if gone else levels)


def list_displayed_levels(broker: Broker, stock: Stock, side: Side) -> list[Level]:
    """Return the others' bids (buy) or asks (sell) that the book shows now."""
    return list_remaining_levels(broker, stock, side, quoted_round(stock.exchange, broker.now))


def fills(order: StockOrder, levels: Iterable[Level], at: datetime) -> tuple[Execution, ...]:
    """Return the trades of an order against these levels, best first, at the levels' prices."""
    left, trades = order.left, []
    for level in levels:
        if left == 0 or not crosses(order.side, order.limit, level.price):
            break
        quantity = min(left, level.quantity)
        trades.append(Execution(at=at, quantity=quantity, price=level.price))
        left -= quantity
    return tuple(trades)


def execute(broker: Broker, order: StockOrder, trades: tuple[Execution, ...]) -> StockOrder:
    """Book the trades of an open order: move cash and shares, and release what was reserved for them."""
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
    """Reserve the cash or the shares that `quantity` shares of an order may take."""
    portfolio = broker.portfolios[order.portfolio]
    if order.side == "buy":
        return broker.portfolios.change(portfolio.id, reserved=portfolio.reserved + quantity * (order.limit or 0))
    return broker.portfolios.change(portfolio.id, holdings=with_shares(portfolio, order, 0, quantity))


def release(broker: Broker, order: StockOrder, quantity: int) -> Portfolio:
    """Release the cash or the shares reserved for `quantity` shares of an order."""
    return reserve(broker, order, -quantity)


def with_shares(portfolio: Portfolio, order: StockOrder, quantity: int, reserved: int) -> tuple[Holding, ...]:
    """Return a portfolio's holdings with these numbers added to the held and reserved shares of the order's stock."""
    old = portfolio.holding(order.stock)
    new = Holding(stock=order.stock, quantity=old.quantity + quantity, reserved=old.reserved + reserved)
    rows = {row.stock: row for row in portfolio.holdings} | {order.stock: new}
    return tuple([row for row in rows.values() if row.quantity])


def close(broker: Broker, order: StockOrder, status: OrderStatus) -> StockOrder:
    """Close an open order with this status and release what it reserved."""
    release(broker, order, order.left)
    return broker.orders.change(order.id, status=status)


def goes_live(stock: Stock, now: datetime) -> datetime:
    """Return when an order placed now may first trade as a resting one: in the next round, or at the next opening."""
    return start_of(round_at(now) + 1) if is_open(stock.exchange, now) else next_opening(stock.exchange, now)


def settle(broker: Broker) -> Broker:
    """Bring the orders of a draft up to its clock: trade them as the market moved, and close expired ones."""
    waiting = broker.orders.where(status="open")
    stocks = {order.stock for order in due(broker, waiting)}
    for id in dict.fromkeys(order.stock for order in waiting if order.stock in stocks):
        settle_stock(broker, broker.stocks[id])
    for order in broker.orders.where(status="open") if stocks else ():
        if order.expires <= broker.now:
            close(broker, order, "expired")
    return broker


def due(broker: Broker, orders: Iterable[StockOrder]) -> list[StockOrder]:
    """Return the open orders that change by now: the market reached their limit, or they have expired."""
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
                trade_resting_order(broker, stock, broker.orders[order.id], number)


def priority(order: StockOrder) -> tuple[str, int, datetime, str]:
    """Return the sort key of an order: the better limit first, then the older order."""
    limit = order.limit or 0
    return order.side, -limit if order.side == "buy" else limit, order.placed, order.id


def trade_resting_order(broker: Broker, stock: Stock, order: StockOrder, number: int) -> None:
    """Trade a resting order with the other participants' orders in a round.

    The order rested first, so it trades at its own limit; if it waited for the opening, it trades at their prices.
    """
    if order.left == 0 or not is_limit_reached(broker.seed, stock, order.side, order.limit, number):
        return
    at = start_of(number)
    trades = fills(order, list_remaining_levels(broker, stock, OTHER[order.side], number), at)
    waited = at == order.live and not is_open(stock.exchange, order.placed)
    if trades and not waited and order.limit is not None:
        trades = (Execution(at=at, quantity=sum(trade.quantity for trade in trades), price=order.limit),)
    if trades:
        execute(broker, order, trades)


def update_if_due(broker: Broker, **filters: str) -> Broker:
    """Return the broker as of now, for tools that only read orders with these field values, or what these change.

    If one of these orders is due, the result is an up-to-date copy; otherwise it is the broker itself.
    """
    waiting = broker.orders.where(**filters, status="open")
    return settle(broker.draft()) if due(broker, waiting) else broker


# Checks that raise errors for orders.

LARGEST_ORDER = 2_500_000
"""The highest value of one order, in cents."""


def require_may_trade(portfolio: Portfolio, stock: Stock, side: Side) -> None:
    """Raise ToolError if an adviser manages the portfolio, or if it is to buy from a sector that it excludes."""
    if portfolio.managed:
        raise ToolError(
            "portfolio_managed", f"An adviser manages {portfolio.id} ({portfolio.name}); trade in another portfolio."
        )
    if side == "buy" and stock.sector == portfolio.excluded:
        raise ToolError(
            "sector_excluded", f"{portfolio.id} excludes the sector {stock.sector}; buy it in another portfolio."
        )


def require_trading(broker: Broker, stock: Stock, duration: Duration) -> None:
    """Raise ToolError if the stock is halted, or if its exchange is closed and the order is not until cancelled."""
    if stock.halted:
        raise ToolError("trading_halted", f"Trading in {stock.symbol} is halted; choose another stock.")
    if duration != "until_cancelled" and not is_open(stock.exchange, broker.now):
        opening = minute_text(next_opening(stock.exchange, broker.now))
        raise ToolError(
            "market_closed",
            f"{stock.exchange}, where {stock.symbol} trades, opens at {opening}; place a limit order until cancelled.",
        )


def require_lots(stock: Stock, quantity: int) -> None:
    if quantity % stock.lot:
        raise ToolError("odd_lot", f"{stock.symbol} trades in lots of {stock.lot}; order a multiple of {stock.lot}.")


def require_limit(broker: Broker, stock: Stock, price: int) -> None:
    """Raise ToolError if the exchange does not accept this limit price."""
    if price % stock.tick:
        raise ToolError(
            "off_tick", f"Prices of {stock.symbol} are multiples of {stock.tick} cents; round the limit to one."
        )
    lowest, highest = band(broker.seed, stock, broker.now)
    if not lowest <= price <= highest:
        raise ToolError(
            "outside_price_band",
            f"Limits for {stock.symbol} lie between {lowest} and {highest} cents today; choose one of these.",
        )


def require_value(quantity: int, price: int) -> None:
    if quantity * price > LARGEST_ORDER:
        raise ToolError("order_too_large", f"An order may be worth at most {LARGEST_ORDER} cents; order fewer shares.")


def require_backing(portfolio: Portfolio, stock: Stock, side: Side, quantity: int, value: int) -> None:
    """Raise ToolError unless the cash or shares that an order needs are available and not reserved."""
    if side == "buy" and value > portfolio.available:
        raise ToolError(
            "insufficient_funds",
            f"This needs {value} cents, and {portfolio.id} has {portfolio.available} that are not reserved; buy less.",
        )
    holding = portfolio.holding(stock.id)
    free = holding.quantity - holding.reserved
    if side == "sell" and quantity > free:
        raise ToolError(
            "insufficient_shares",
            f"{portfolio.id} has {free} shares of {stock.symbol} that no open order offers; sell at most these.",
        )


def require_no_self_trade(broker: Broker, stock: Stock, side: Side, price: int) -> None:
    """Raise ToolError if an order of this side that trades up to this price would match one of the client's own."""
    for order in broker.open_orders(stock.id):
        if order.side == OTHER[side] and order.limit is not None and crosses(side, price, order.limit):
            raise ToolError(
                "self_trade", f"This could trade with your own order {order.id}; cancel that one or change the limit."
            )


def require_crossing(broker: Broker, stock: Stock, side: Side, price: int) -> None:
    """Raise ToolError if nothing in the book matches the limit of an immediate order."""
    levels = list_displayed_levels(broker, stock, OTHER[side])
    if not levels or not crosses(side, price, levels[0].price):
        best = f"the best {'ask' if side == 'buy' else 'bid'} is {levels[0].price}" if levels else "the book is empty"
        raise ToolError(
            "limit_not_crossed", f"Nothing trades at {price} cents now, {best}; change the limit or let it rest."
        )


def open_order(broker: Broker, id: StockOrderId) -> StockOrder:
    """Return the order if it is open; raise ToolError if it is filled, cancelled or expired."""
    order = broker.orders[id]
    if order.status != "open":
        raise ToolError(
            f"order_{order.status}", f"{id} is {order.status} already; place a new order if you still want one."
        )
    return order
