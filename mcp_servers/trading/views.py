"""Result types and serializers for stocks, portfolios, orders and order books."""

from __future__ import annotations

from functools import lru_cache
from typing import Literal

from ..core import Entity, Minute
from .engine import Level, band, list_displayed_levels, middle, previous_close
from .hours import Exchange, is_open, quoted_round
from .state import (
    Broker,
    Duration,
    Execution,
    OrderStatus,
    Portfolio,
    PortfolioId,
    Sector,
    Side,
    Stock,
    StockId,
    StockOrder,
    StockOrderId,
    Watchlist,
    WatchlistId,
)

Trading = Literal["open", "closed", "halted"]


class StockView(Entity):
    """A stock in a list; its last price is in cents."""

    __label__ = "the {symbol} stock"
    id: StockId
    symbol: str
    name: str
    sector: Sector
    exchange: Exchange
    last: int


class Quote(Entity):
    """What a stock costs now, in cents, and what limits are taken; bid and ask are missing when nobody offers any."""

    __label__ = "the {symbol} stock"
    id: StockId
    symbol: str
    trading: Trading
    last: int
    bid: int | None = None
    ask: int | None = None
    previous_close: int
    lowest_limit: int
    highest_limit: int
    tick: int
    lot: int


class BookLevel(Entity):
    """The shares wanted or offered at one price; `yours` are from your own orders."""

    price: int
    quantity: int
    orders: int
    yours: int | None = None


class OrderBook(Entity):
    """The orders for a stock that rest now, best price first."""

    __label__ = "the {symbol} stock"
    id: StockId
    symbol: str
    trading: Trading
    bids: tuple[BookLevel, ...]
    asks: tuple[BookLevel, ...]


class PortfolioView(Entity):
    """A portfolio in a list; available is the cash in cents that no open order has reserved."""

    __label__ = "the {name} portfolio"
    id: PortfolioId
    name: str
    available: int
    managed: bool


class HoldingView(Entity):
    """Shares in a portfolio, and their value in cents at the last price."""

    stock: StockId
    symbol: str
    quantity: int
    reserved: int | None = None
    value: int


class PortfolioDetails(Entity):
    """A portfolio with what is in it; all amounts in cents."""

    __label__ = "the {name} portfolio"
    id: PortfolioId
    name: str
    cash: int
    reserved: int
    available: int
    value: int
    managed: bool
    excluded: Sector | None = None
    holdings: tuple[HoldingView, ...]


class OrderView(Entity):
    """An order in a list."""

    __label__ = "the {side} order for {symbol}"
    id: StockOrderId
    symbol: str
    side: Side
    quantity: int
    filled: int
    limit: int | None = None
    status: OrderStatus


class OrderDetails(Entity):
    """An order with its trades; `reserves` is what it keeps aside, cents when it buys, shares when it sells."""

    __label__ = "the {side} order for {symbol}"
    id: StockOrderId
    portfolio: PortfolioId
    stock: StockId
    symbol: str
    side: Side
    quantity: int
    filled: int
    limit: int | None = None
    duration: Duration
    status: OrderStatus
    reserves: int | None = None
    placed: Minute
    expires: Minute | None = None
    executions: tuple[Execution, ...]


class WatchlistView(Entity):
    """A watchlist with its newest stocks."""

    __label__ = "the {name} watchlist"
    id: WatchlistId
    name: str
    sector: Sector | None = None
    count: int
    stocks: tuple[StockView, ...]


def last_price(broker: Broker, stock: Stock) -> int:
    return middle(broker.seed, stock, quoted_round(stock.exchange, broker.now))


def trading_of(broker: Broker, stock: Stock) -> Trading:
    if stock.halted:
        return "halted"
    return "open" if is_open(stock.exchange, broker.now) else "closed"


def stock_view(broker: Broker, stock: Stock) -> StockView:
    return stock_in(broker.seed, stock, quoted_round(stock.exchange, broker.now))


@lru_cache(maxsize=1 << 14)
def stock_in(seed: int, stock: Stock, number: int) -> StockView:
    """Return a stock with its price in a round."""
    return StockView.from_row(stock, last=middle(seed, stock, number))


def quote_of(broker: Broker, stock: Stock) -> Quote:
    bids, asks = list_displayed_levels(broker, stock, "buy"), list_displayed_levels(broker, stock, "sell")
    lowest, highest = band(broker.seed, stock, broker.now)
    return Quote.from_row(
        stock,
        trading=trading_of(broker, stock),
        last=last_price(broker, stock),
        bid=bids[0].price if bids else None,
        ask=asks[0].price if asks else None,
        previous_close=previous_close(broker.seed, stock, broker.now),
        lowest_limit=lowest,
        highest_limit=highest,
    )


def book_side(broker: Broker, stock: Stock, side: Side) -> tuple[BookLevel, ...]:
    """Return one side of the book; it includes the client's orders only while the exchange is open."""
    waiting = broker.open_orders(stock.id) if is_open(stock.exchange, broker.now) else ()
    own = [(order.limit, order.left) for order in waiting if order.side == side and order.limit is not None]
    return book_levels(side, tuple(list_displayed_levels(broker, stock, side)), tuple(own))


@lru_cache(maxsize=1 << 12)
def book_levels(side: Side, others: tuple[Level, ...], own: tuple[tuple[int, int], ...]) -> tuple[BookLevel, ...]:
    """Return one side of a book, best price first, from the others' levels and the client's (limit, shares)."""
    levels = {level.price: (level.quantity, len(level.orders), 0) for level in others}
    for limit, left in own:
        quantity, count, mine = levels.get(limit, (0, 0, 0))
        levels[limit] = (quantity + left, count + 1, mine + left)
    return tuple(
        BookLevel(price=price, quantity=quantity, orders=count, yours=mine or None)
        for price, (quantity, count, mine) in sorted(levels.items(), reverse=side == "buy")
    )


def portfolio_details(broker: Broker, portfolio: Portfolio) -> PortfolioDetails:
    held = [(row, broker.stocks[row.stock]) for row in portfolio.holdings]
    holdings = tuple(
        HoldingView(
            stock=row.stock,
            symbol=stock.symbol,
            quantity=row.quantity,
            reserved=row.reserved or None,
            value=row.quantity * last_price(broker, stock),
        )
        for row, stock in held
    )
    return PortfolioDetails.from_row(
        portfolio, value=portfolio.cash + sum(row.value for row in holdings), holdings=holdings
    )


def order_view(order: StockOrder) -> OrderView:
    return OrderView.from_row(order)


def order_details(order: StockOrder) -> OrderDetails:
    is_waiting = order.status == "open"
    return OrderDetails.from_row(
        order, reserves=order.reserves if is_waiting else None, expires=order.expires if is_waiting else None
    )


def watchlist_view(broker: Broker, watchlist: Watchlist, rows: int) -> WatchlistView:
    newest = watchlist.stocks[::-1][:rows]
    return WatchlistView.from_row(
        watchlist, count=len(watchlist.stocks), stocks=tuple([stock_view(broker, broker.stocks[id]) for id in newest])
    )
