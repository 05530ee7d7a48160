"""Tools on watchlists, stocks to keep an eye on."""

from __future__ import annotations

from ..kit import ToolError
from .parameters import ROWS, Limit, StockRef, WatchlistRef
from .server import server
from .state import Broker
from .views import WatchlistView, watchlist_view

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
