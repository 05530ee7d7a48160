"""State of the broker for one client: portfolios with cash and holdings, orders, watchlists, and the listed stocks."""

from __future__ import annotations

from functools import cached_property
from typing import Literal, NewType

from ..core import Entity, Minute, State, Table, table
from .hours import Exchange

PortfolioId = NewType("PortfolioId", str)
StockId = NewType("StockId", str)
StockOrderId = NewType("StockOrderId", str)
WatchlistId = NewType("WatchlistId", str)

Side = Literal["buy", "sell"]
Duration = Literal["day", "until_cancelled", "immediate"]
OrderStatus = Literal["open", "filled", "cancelled", "expired"]
Sector = Literal["energy", "finance", "food", "health", "industry", "media", "mining", "property", "software", "travel"]


class Stock(Entity):
    """A listed company. `base` is about what a share costs, in cents; the market swings around it.

    Limits are multiples of `tick` cents, quantities of `lot` shares.
    """

    __label__ = "the {symbol} stock"
    id: StockId
    symbol: str
    name: str
    sector: Sector
    exchange: Exchange
    base: int
    tick: int
    lot: int
    halted: bool

    def __hash__(self) -> int:
        return hash(self.id)

    @cached_property
    def words(self) -> tuple[str, ...]:
        """The words that a search finds it by: its symbol and the words of its name."""
        return words_of(f"{self.symbol} {self.name}")


class Holding(Entity):
    """Shares of one stock in a portfolio; those reserved are offered by open orders."""

    stock: StockId
    quantity: int
    reserved: int = 0


class Portfolio(Entity):
    """Cash and shares; `reserved` cents of the cash are bid by open orders, `deposited` came in from outside.

    A managed portfolio is traded by an adviser alone; one may exclude a sector.
    """

    __label__ = "the {name} portfolio"
    id: PortfolioId
    name: str
    cash: int
    reserved: int
    deposited: int
    managed: bool
    excluded: Sector | None = None
    holdings: tuple[Holding, ...] = ()

    @property
    def available(self) -> int:
        """Cents that no open order has reserved."""
        return self.cash - self.reserved

    def holding(self, stock: StockId) -> Holding:
        """Return the holding of a stock, with a quantity of 0 if there is none."""
        for row in self.holdings:
            if row.stock == stock:
                return row
        return Holding(stock=stock, quantity=0)


class Execution(Entity):
    """A trade: so many shares at this price in cents."""

    at: Minute
    quantity: int
    price: int


class StockOrder(Entity):
    """An order to buy or sell; a market order has no limit. It rests in the book from `live` on until it expires."""

    __label__ = "the {side} order for {symbol}"
    id: StockOrderId
    portfolio: PortfolioId
    stock: StockId
    symbol: str
    side: Side
    quantity: int
    limit: int | None = None
    duration: Duration
    status: OrderStatus
    placed: Minute
    live: Minute
    expires: Minute
    executions: tuple[Execution, ...] = ()

    @property
    def filled(self) -> int:
        return sum([trade.quantity for trade in self.executions])

    @property
    def left(self) -> int:
        """Shares still to be traded."""
        return self.quantity - self.filled

    @property
    def reserves(self) -> int:
        """What an open order reserves: cents if it buys, shares if it sells."""
        return self.left * (self.limit or 0) if self.side == "buy" else self.left


class Watchlist(Entity):
    """Stocks to keep an eye on; a list of a sector takes stocks of that sector alone."""

    __label__ = "the {name} watchlist"
    id: WatchlistId
    name: str
    sector: Sector | None = None
    stocks: tuple[StockId, ...] = ()


class Broker(State):
    """Everything one client has at the broker, and the stocks that can be traded there."""

    portfolios: Table[PortfolioId, Portfolio] = table("PTF", "portfolio")
    stocks: Table[StockId, Stock] = table("STK", "stock", index=("sector", "exchange", "words"))
    orders: Table[StockOrderId, StockOrder] = table("SOR", "order", index=("status", "stock", "portfolio"))
    watchlists: Table[WatchlistId, Watchlist] = table("WLS", "watchlist")

    def open_orders(self, stock: StockId) -> list[StockOrder]:
        return self.orders.where(stock=stock, status="open")


def words_of(text: str) -> tuple[str, ...]:
    """Return the words of a text in lower case, without duplicates, split at commas, hyphens and spaces."""
    return tuple(dict.fromkeys(text.casefold().replace(",", " ").replace("-", " ").split()))
