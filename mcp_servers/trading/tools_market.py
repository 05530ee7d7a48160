"""Tools on the market: which stocks there are, what they cost, who wants and offers them."""

from __future__ import annotations

from collections.abc import Iterable
from itertools import islice

from .matching import settled
from .parameters import ROWS, AskedExchange, AskedSector, AskedText, Limit, StockRef
from .server import server
from .state import Broker, Stock, words_of
from .views import OrderBook, Quote, StockView, book_side, quote_of, stock_view, trading_of


@server.read(
    "search for stocks[ named {text}][ of the sector {sector}][ listed on {exchange}][, at most {limit}]",
    "find listed companies[ called {text}][ in {sector}][ on the exchange {exchange}][, no more than {limit}]",
    "look up stocks I can trade[ by the name {text}][ from the {sector} sector][ at {exchange}][, up to {limit}]",
    "show which shares are listed[ under {text}][ in the sector {sector}][ on {exchange}][, {limit} at most]",
)
def search_stocks(
    broker: Broker,
    text: AskedText = None,
    sector: AskedSector = None,
    exchange: AskedExchange = None,
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


@server.read(
    "get the quote of {stock}",
    "tell me what {stock} costs now",
    "show the bid, the ask and the last price of {stock}",
    "check the price, tick and lot size of {stock}",
)
def get_stock_quote(broker: Broker, stock: StockRef) -> Quote:
    """Get the current prices of a stock in cents, its limits, tick and lot."""
    return quote_of(settled(broker, stock=stock), broker.stocks[stock])


@server.read(
    "show the order book of {stock}",
    "list the bids and asks in the book of {stock}",
    "tell me how many shares of {stock} are bid and offered at which prices",
    "check how deep the market in {stock} is",
)
def get_order_book(broker: Broker, stock: StockRef) -> OrderBook:
    """Get the resting bids and asks of a stock by price, best first."""
    row, now = broker.stocks[stock], settled(broker, stock=stock)
    return OrderBook(
        id=row.id,
        symbol=row.symbol,
        trading=trading_of(now, row),
        bids=book_side(now, row, "buy"),
        asks=book_side(now, row, "sell"),
    )
