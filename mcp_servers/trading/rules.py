"""When the broker refuses an order."""

from __future__ import annotations

from ..kit import ToolError, minute_text
from .hours import is_open, next_opening
from .market import band, crosses
from .matching import OTHER, displayed
from .state import Broker, Duration, Portfolio, Side, Stock, StockOrder, StockOrderId

LARGEST_ORDER = 2_500_000
"""The highest value of one order, in cents."""


def require_may_trade(portfolio: Portfolio, stock: Stock, side: Side) -> None:
    """Raises ToolError when the portfolio is not the client's to trade, or must not buy this."""
    if portfolio.managed:
        raise ToolError(
            "portfolio_managed", f"An adviser manages {portfolio.id} ({portfolio.name}); trade in another portfolio."
        )
    if side == "buy" and stock.sector == portfolio.excluded:
        raise ToolError(
            "sector_excluded", f"{portfolio.id} excludes the sector {stock.sector}; buy it in another portfolio."
        )


def require_trading(broker: Broker, stock: Stock, duration: Duration) -> None:
    """Raises ToolError when the stock is halted, or its exchange closed; an order until cancelled waits for it."""
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
    """Raises ToolError for a limit price the exchange does not take."""
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
    """Raises ToolError unless the cash, or the shares, that an order needs are there and not reserved."""
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
    """Raises ToolError when an order of this side that trades up to this price would meet one of the client's own."""
    for order in broker.open_orders(stock.id):
        if order.side == OTHER[side] and order.limit is not None and crosses(side, price, order.limit):
            raise ToolError(
                "self_trade", f"This could trade with your own order {order.id}; cancel that one or change the limit."
            )


def require_crossing(broker: Broker, stock: Stock, side: Side, price: int) -> None:
    """Raises ToolError when nothing in the book meets the limit of an immediate order."""
    levels = displayed(broker, stock, OTHER[side])
    if not levels or not crosses(side, price, levels[0].price):
        best = f"the best {'ask' if side == 'buy' else 'bid'} is {levels[0].price}" if levels else "the book is empty"
        raise ToolError(
            "limit_not_crossed", f"Nothing trades at {price} cents now, {best}; change the limit or let it rest."
        )


def open_order(broker: Broker, id: StockOrderId) -> StockOrder:
    """The order, which is open. Raises ToolError when it is filled, cancelled or expired."""
    order = broker.orders[id]
    if order.status != "open":
        raise ToolError(
            f"order_{order.status}", f"{id} is {order.status} already; place a new order if you still want one."
        )
    return order
