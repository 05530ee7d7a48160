"""Tools to look around: search listings, open one, keep an eye on it."""

from __future__ import annotations

from ..kit import ToolError
from .constants import MOST_WATCHED
from .parameters import (
    ROWS,
    AskedCategory,
    AskedFormat,
    AskedMost,
    AskedScope,
    AskedSeller,
    AskedWords,
    Limit,
    ListingRef,
    Scope,
    Watching,
)
from .rules import price_now, require_reach
from .server import server
from .settlement import settle, settled
from .state import Listing, Market, MarketWatch
from .views import ListingDetails, ListingView, listing_details, listing_view


@server.read()
def search_market_listings(
    market: Market,
    words: AskedWords = None,
    category: AskedCategory = None,
    format: AskedFormat = None,
    most: AskedMost = None,
    seller: AskedSeller = None,
    scope: AskedScope = None,
    limit: Limit = None,
) -> tuple[ListingView, ...]:
    """Search what others sell, the newest first; prices in cents."""
    now, wanted = settled(market), (words or "").casefold().split()
    if scope is not None:
        rows = in_scope(now, scope)
    elif wanted:
        rows = now.listings.where(words=wanted[0], status="open")
    elif seller is not None:
        rows = now.listings.where(seller=seller, status="open")
    elif category is not None:
        rows = now.listings.where(category=category, status="open")
    else:
        rows = now.listings.where(status="open")
    found: list[ListingView] = []
    for row in reversed(rows):
        if len(found) == (limit or ROWS):
            break
        if (
            all(word in row.words for word in wanted)
            and category in (None, row.category)
            and format in (None, row.format)
            and seller in (None, row.seller)
            and (row.seller != now.me or scope is not None or seller is not None)
            and (most is None or price_now(row, now.highest(row.id)) <= most)
        ):
            found.append(listing_view(now, row))
    return tuple(found)


def in_scope(market: Market, scope: Scope) -> list[Listing]:
    """What the user sells, bids on or watches."""
    if scope == "selling":
        return market.listings.where(seller=market.me)
    if scope == "bidding":
        ids = dict.fromkeys(bid.listing for bid in market.bids.where(bidder=market.me))
    else:
        ids = dict.fromkeys(watch.listing for watch in market.watches)
    return [market.listings[id] for id in ids]


@server.read()
def get_market_listing(market: Market, listing: ListingRef) -> ListingDetails:
    """Get a listing with its bids and its seller's rating."""
    now = settled(market)
    return listing_details(now, now.listings[listing])


@server.write(idempotent=True)
def update_market_watch(market: Market, listing: ListingRef, action: Watching) -> ListingView:
    """Put a listing on your watch list, or take it off."""
    settle(market)
    row, watches = market.listings[listing], market.watches.where(listing=listing)
    if action == "unwatch":
        if not watches:
            raise ToolError("not_watched", f"{listing} is not on your watch list; nothing is left to do.")
        market.watches.remove(watches[0].id)
        return listing_view(market, row)
    if watches:
        raise ToolError("already_on_watch_list", f"{listing} is on your watch list already; nothing is left to do.")
    require_reach(market, listing)
    if len(market.watches) >= MOST_WATCHED:
        raise ToolError("watch_list_full", f"You watch {MOST_WATCHED} listings, the most allowed; unwatch one first.")
    market.watches.put(MarketWatch(id=market.watches.new_id(), listing=listing))
    return listing_view(market, row)
