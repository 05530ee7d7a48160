"""Tools on the market: which stocks there are, what they cost, who wants and offers them."""

from __future__ import annotations

from collections.abc import Iterable
from itertools import islice

from .matching import settled
from .parameters import ROWS, AskedExchange, AskedSector, AskedText, Limit, StockRef
from .server import server
from .state import Broker, Stock, words_of
from .views import OrderBook, Quote, StockView, book_side, quote_of, stock_view, trading_of


@server.read()
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


@server.read()
def get_stock_quote(broker: Broker, stock: StockRef) -> Quote:
    """Get the current prices of a stock in cents, its limits, tick and lot."""
    return quote_of(settled(broker, stock=stock), broker.stocks[stock])


@server.read()
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
