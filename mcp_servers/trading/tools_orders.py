"""Tools on orders: place, change, cancel, follow."""

from __future__ import annotations

from dataclasses import replace
from datetime import datetime, timedelta
from heapq import nlargest
from operator import attrgetter

from ..kit import ToolError
from .hours import is_open, next_closing
from .matching import OTHER, close, displayed, execute, fills, goes_live, release, reserve, settle, settled
from .parameters import (
    ROWS,
    AskedPortfolio,
    AskedStatus,
    AskedStock,
    Limit,
    NewPrice,
    NewQuantity,
    OrderDuration,
    OrderRef,
    OrderSide,
    PortfolioRef,
    Price,
    Quantity,
    StockRef,
)
from .rules import (
    open_order,
    require_backing,
    require_crossing,
    require_limit,
    require_lots,
    require_may_trade,
    require_no_self_trade,
    require_trading,
    require_value,
)
from .server import server
from .state import Broker, Duration, Portfolio, Side, Stock, StockOrder
from .views import OrderDetails, OrderView, order_details, order_view

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
    """Raises ToolError unless a limit order of these terms can be taken."""
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
    """Take an order into the book, and trade it with what crosses it when the exchange is open."""
    broker.orders.put(order)
    reserve(broker, order, order.left)
    stock = broker.stocks[order.stock]
    if not is_open(stock.exchange, broker.now):
        return order
    trades = fills(order, displayed(broker, stock, OTHER[order.side]), broker.now)
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
    trades = fills(order, displayed(broker, listed, OTHER[side]), broker.now)
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
    portfolio: AskedPortfolio = None,
    stock: AskedStock = None,
    status: AskedStatus = None,
    limit: Limit = None,
) -> tuple[OrderView, ...]:
    """List your stock orders, the newest first; limits in cents."""
    now = settled(broker)
    asked = {
        "stock": None if stock is None else now.stocks[stock].id,
        "portfolio": None if portfolio is None else now.portfolios[portfolio].id,
        "status": status,
    }
    wanted = {name: value for name, value in asked.items() if value is not None}
    rows = now.orders.where(**wanted) if wanted else list(now.orders)
    return tuple([order_view(row) for row in nlargest(limit or ROWS, rows, key=attrgetter("placed", "id"))])


@server.read()
def get_stock_order(broker: Broker, order: OrderRef) -> OrderDetails:
    """Get a stock order with its trades and what it reserves."""
    return order_details(settled(broker, stock=broker.orders[order].stock).orders[order])
