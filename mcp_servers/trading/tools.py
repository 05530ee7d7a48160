"""The server object of the broker, its parameter types and its tools."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace
from datetime import datetime, timedelta
from heapq import nlargest
from itertools import islice
from operator import attrgetter
from typing import Annotated

from pydantic import Field

from ..core import ObservedField, Server, ToolError
from .engine import (
    OTHER,
    close,
    execute,
    fills,
    goes_live,
    list_displayed_levels,
    open_order,
    release,
    require_backing,
    require_crossing,
    require_limit,
    require_lots,
    require_may_trade,
    require_no_self_trade,
    require_trading,
    require_value,
    reserve,
    settle,
    update_if_due,
)
from .hours import Exchange, is_open, next_closing
from .seed import seed
from .state import (
    Broker,
    Duration,
    OrderStatus,
    Portfolio,
    PortfolioId,
    Sector,
    Side,
    Stock,
    StockId,
    StockOrder,
    StockOrderId,
    WatchlistId,
    words_of,
)
from .views import (
    OrderBook,
    OrderDetails,
    OrderView,
    PortfolioDetails,
    PortfolioView,
    Quote,
    StockView,
    WatchlistView,
    book_side,
    order_details,
    order_view,
    portfolio_details,
    quote_of,
    stock_view,
    trading_of,
    watchlist_view,
)

server = Server("trading", "Trade stocks: quotes, order books, orders, portfolios and watchlists.", seed)


QUANTITIES = [10, 20, 25, 30, 40, 50, 50, 60, 75, 80, 90, 100, 100, 120, 140, 160, 200, 250, 300]
PRICES = [
    1650, 1750, 1850, 1950, 2000, 2050, 2150, 2200, 2250, 2300, 2350, 2400, 2450, 2500, 2550, 2600, 2650, 2700, 2750,
    2800, 2850, 2900, 2950, 3000, 3100, 3150, 3200, 3300, 3400, 3500, 3600,
]  # fmt: skip
ROWS = 5

PortfolioRef = Annotated[PortfolioId, Field(description="Id of one of your portfolios")]
StockRef = Annotated[StockId, Field(description="Id of a stock")]
OrderRef = Annotated[StockOrderId, Field(description="Id of one of your stock orders")]
WatchlistRef = Annotated[WatchlistId, Field(description="Id of one of your watchlists")]

OrderSide = Annotated[Side, Field(description="Whether to buy or to sell")]
Quantity = Annotated[
    int, Field(ge=1, le=100_000, description="Number of shares, a multiple of the lot size", examples=QUANTITIES)
]
Price = Annotated[
    int,
    Field(ge=1, le=1_000_000, description="Limit price of a share in cents, a multiple of the tick", examples=PRICES),
]
OrderDuration = Annotated[
    Duration,
    Field(description="day: until the close; until_cancelled: for 30 days; immediate: fill at once, cancel the rest"),
]
NewQuantity = Annotated[
    int | None,
    Field(ge=1, le=100_000, description="New total number of shares, with those filled", examples=QUANTITIES),
]
NewPrice = Annotated[
    int | None, Field(ge=1, le=1_000_000, description="New limit price of a share in cents", examples=PRICES)
]

TextParam = Annotated[
    str | None,
    Field(max_length=60, pattern=r"\S", description="Symbol, or words of the company's name"),
    ObservedField("symbol"),
]
SectorParam = Annotated[Sector | None, Field(description="Only stocks of this sector")]
ExchangeParam = Annotated[Exchange | None, Field(description="Only stocks of this exchange")]
PortfolioParam = Annotated[PortfolioId | None, Field(description="Only orders of this portfolio id")]
StockParam = Annotated[StockId | None, Field(description="Only orders for this stock id")]
StatusParam = Annotated[OrderStatus | None, Field(description="Only orders of this status")]
Limit = Annotated[
    int | None,
    Field(ge=1, le=50, description="Most rows to return, 5 by default", examples=[1, 2, 3, 4, 6, 8, 10, 15, 20]),
]


# Tools for watchlists.

MOST_WATCHED = 12


@server.read()
def list_watchlists(broker: Broker, limit: Limit = None) -> tuple[WatchlistView, ...]:
    """List your watchlists, each with its five newest stocks."""
    return tuple(watchlist_view(broker, row, ROWS) for row in list(broker.watchlists)[: limit or ROWS])


@server.write(idempotent=True)
def watch_stock(broker: Broker, watchlist: WatchlistRef, stock: StockRef) -> WatchlistView:
    """Put a stock on a watchlist."""
    row, listed = broker.watchlists[watchlist], broker.stocks[stock]
    if stock in row.stocks:
        raise ToolError("already_watched", f"{listed.symbol} is on {watchlist} already; nothing is left to do.")
    if row.sector is not None and row.sector != listed.sector:
        raise ToolError(
            "wrong_sector",
            f"{watchlist} takes stocks of the sector {row.sector}, and {listed.symbol} is {listed.sector}; "
            "use another list.",
        )
    if len(row.stocks) >= MOST_WATCHED:
        raise ToolError(
            "watchlist_full", f"{watchlist} has {MOST_WATCHED} stocks, the most it takes; use another list."
        )
    return watchlist_view(broker, broker.watchlists.change(watchlist, stocks=(*row.stocks, stock)), ROWS)


# Tools for the market: stock search, quotes and order books.


@server.read()
def search_stocks(
    broker: Broker,
    text: TextParam = None,
    sector: SectorParam = None,
    exchange: ExchangeParam = None,
    limit: Limit = None,
) -> tuple[StockView, ...]:
    """Search the listed stocks by symbol or name, sector and exchange; prices in cents."""
    words = words_of(text or "")
    rows: Iterable[Stock]
    if words:
        rows = [row for row in broker.stocks.where(words=words[0]) if all(word in row.words for word in words)]
    elif sector is not None:
        rows = broker.stocks.where(sector=sector)
    else:
        rows = broker.stocks.where(exchange=exchange) if exchange is not None else broker.stocks
    found = (row for row in rows if sector in (None, row.sector) and exchange in (None, row.exchange))
    return tuple([stock_view(broker, row) for row in islice(found, limit or ROWS)])


@server.read()
def get_stock_quote(broker: Broker, stock: StockRef) -> Quote:
    """Get the current prices of a stock in cents, its limits, tick and lot."""
    return quote_of(update_if_due(broker, stock=stock), broker.stocks[stock])


@server.read()
def get_order_book(broker: Broker, stock: StockRef) -> OrderBook:
    """Get the resting bids and asks of a stock by price, best first."""
    row, now = broker.stocks[stock], update_if_due(broker, stock=stock)
    return OrderBook(
        id=row.id,
        symbol=row.symbol,
        trading=trading_of(now, row),
        bids=book_side(now, row, "buy"),
        asks=book_side(now, row, "sell"),
    )


# Tools for orders: place, change, cancel, list and get.

LONGEST = timedelta(days=30)


@server.write()
def place_limit_order(
    broker: Broker,
    portfolio: PortfolioRef,
    stock: StockRef,
    side: OrderSide,
    quantity: Quantity,
    price: Price,
    duration: OrderDuration,
) -> OrderDetails:
    """Place a limit order. It trades with the book at once; the rest waits there."""
    settle(broker)
    owner, listed = broker.portfolios[portfolio], broker.stocks[stock]
    require_may_trade(owner, listed, side)
    require_trading(broker, listed, duration)
    require_terms(broker, owner, listed, side, quantity, price)
    if duration == "immediate":
        require_crossing(broker, listed, side, price)
    order = enter(broker, new_order(broker, owner, listed, side, quantity, price, duration))
    if duration == "immediate" and order.status == "open":
        order = close(broker, order, "cancelled")
    return order_details(order)


def require_terms(broker: Broker, owner: Portfolio, stock: Stock, side: Side, quantity: int, price: int) -> None:
    """Raise ToolError unless a limit order with these terms can be accepted."""
    require_lots(stock, quantity)
    require_limit(broker, stock, price)
    require_value(quantity, price)
    require_backing(owner, stock, side, quantity, quantity * price)
    require_no_self_trade(broker, stock, side, price)


def new_order(
    broker: Broker, owner: Portfolio, stock: Stock, side: Side, quantity: int, limit: int | None, duration: Duration
) -> StockOrder:
    return StockOrder(
        id=broker.orders.new_id(),
        portfolio=owner.id,
        stock=stock.id,
        symbol=stock.symbol,
        side=side,
        quantity=quantity,
        limit=limit,
        duration=duration,
        status="open",
        placed=broker.now,
        live=goes_live(stock, broker.now),
        expires=expiry(broker, stock, duration),
    )


def expiry(broker: Broker, stock: Stock, duration: Duration) -> datetime:
    return broker.now + LONGEST if duration == "until_cancelled" else next_closing(stock.exchange, broker.now)


def enter(broker: Broker, order: StockOrder) -> StockOrder:
    """Put an order into the book and, if the exchange is open, trade it with what it crosses."""
    broker.orders.put(order)
    reserve(broker, order, order.left)
    stock = broker.stocks[order.stock]
    if not is_open(stock.exchange, broker.now):
        return order
    trades = fills(order, list_displayed_levels(broker, stock, OTHER[order.side]), broker.now)
    return execute(broker, order, trades) if trades else order


@server.write()
def place_market_order(
    broker: Broker, portfolio: PortfolioRef, stock: StockRef, side: OrderSide, quantity: Quantity
) -> OrderDetails:
    """Buy or sell at the best prices in the book. All or nothing."""
    settle(broker)
    owner, listed = broker.portfolios[portfolio], broker.stocks[stock]
    require_may_trade(owner, listed, side)
    require_trading(broker, listed, "immediate")
    require_lots(listed, quantity)
    order = new_order(broker, owner, listed, side, quantity, None, "immediate")
    trades = fills(order, list_displayed_levels(broker, listed, OTHER[side]), broker.now)
    offered = sum(trade.quantity for trade in trades)
    if offered < quantity:
        raise ToolError(
            "thin_book", f"The book has only {offered} shares of {listed.symbol}; trade fewer or place a limit order."
        )
    value = sum(trade.quantity * trade.price for trade in trades)
    require_value(1, value)
    require_backing(owner, listed, side, quantity, value)
    require_no_self_trade(broker, listed, side, trades[-1].price)
    broker.orders.put(order)
    reserve(broker, order, quantity)
    return order_details(execute(broker, order, trades))


@server.write(idempotent=True)
def replace_stock_order(
    broker: Broker, order: OrderRef, quantity: NewQuantity = None, price: NewPrice = None
) -> OrderDetails:
    """Change quantity or limit of an open order. It loses its place in time."""
    settle(broker)
    old = open_order(broker, order)
    quantity, price = quantity or old.quantity, price or old.limit or 0
    if (quantity, price) == (old.quantity, old.limit):
        raise ToolError("order_unchanged", f"{order} has this quantity and limit already; give another one.")
    if quantity <= old.filled:
        raise ToolError(
            "below_filled", f"{old.filled} shares of {order} are filled; ask for more than these, or cancel it."
        )
    stock = broker.stocks[old.stock]
    require_may_trade(broker.portfolios[old.portfolio], stock, old.side)
    require_trading(broker, stock, old.duration)
    require_lots(stock, quantity)
    require_limit(broker, stock, price)
    require_value(quantity, price)
    owner, left = release(broker, old, old.left), quantity - old.filled
    require_backing(owner, stock, old.side, left, left * price)
    require_no_self_trade(broker, stock, old.side, price)
    now = broker.now
    new = replace(old, quantity=quantity, limit=price, placed=now, live=goes_live(stock, now))
    return order_details(enter(broker, new))


@server.write(destructive=True, idempotent=True)
def cancel_stock_order(broker: Broker, order: OrderRef) -> OrderDetails:
    """Cancel what is left of an open order and free what it reserved."""
    settle(broker)
    return order_details(close(broker, open_order(broker, order), "cancelled"))


@server.read()
def list_stock_orders(
    broker: Broker,
    portfolio: PortfolioParam = None,
    stock: StockParam = None,
    status: StatusParam = None,
    limit: Limit = None,
) -> tuple[OrderView, ...]:
    """List your stock orders, the newest first; limits in cents."""
    now = update_if_due(broker)
    filters = {
        "stock": None if stock is None else now.stocks[stock].id,
        "portfolio": None if portfolio is None else now.portfolios[portfolio].id,
        "status": status,
    }
    wanted = {name: value for name, value in filters.items() if value is not None}
    rows = now.orders.where(**wanted) if wanted else list(now.orders)
    return tuple([order_view(row) for row in nlargest(limit or ROWS, rows, key=attrgetter("placed", "id"))])


@server.read()
def get_stock_order(broker: Broker, order: OrderRef) -> OrderDetails:
    """Get a stock order with its trades and what it reserves."""
    return order_details(update_if_due(broker, stock=broker.orders[order].stock).orders[order])


# Tools for portfolios: cash, reservations and holdings.


@server.read()
def list_portfolios(broker: Broker, limit: Limit = None) -> tuple[PortfolioView, ...]:
    """List your portfolios with the cash in cents that is free for new orders."""
    rows = list(update_if_due(broker).portfolios)[: limit or ROWS]
    return tuple(PortfolioView.from_row(row) for row in rows)


@server.read()
def get_portfolio(broker: Broker, portfolio: PortfolioRef) -> PortfolioDetails:
    """Get a portfolio's cash, reservations and holdings, valued at last prices."""
    now = update_if_due(broker, portfolio=portfolio)
    return portfolio_details(now, now.portfolios[portfolio])
