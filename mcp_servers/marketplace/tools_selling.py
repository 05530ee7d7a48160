"""Tools to sell: list something, end a listing."""

from __future__ import annotations

from datetime import timedelta

from ..kit import ToolError
from .constants import LONGEST_AUCTION, MOST_OPEN, PROHIBITED
from .parameters import AskedHaggling, Days, OfCategory, OfCondition, OwnListingRef, Price, SellFormat, Title
from .rules import require_open, require_own
from .seed_offers import plan_interest
from .server import server
from .settlement import close, settle
from .state import Format, Listing, Market
from .views import ListingDetails, ListingView, listing_details, listing_view


@server.write(idempotent=True)
def create_market_listing(
    market: Market,
    title: Title,
    category: OfCategory,
    condition: OfCondition,
    format: SellFormat,
    price: Price,
    days: Days,
    haggling: AskedHaggling = None,
) -> ListingDetails:
    """List something for sale."""
    settle(market)
    require_listable(market, title, format, days)
    if format == "auction" and haggling == "open to offers":
        raise ToolError("auction_without_offers", "An auction takes bids and no offers; leave out haggling.")
    id = market.listings.new_id()
    listing = market.listings.put(
        Listing(
            id=id,
            title=title,
            category=category,
            condition=condition,
            seller=market.me,
            format=format,
            price=price,
            listed=market.now,
            ends=market.now + timedelta(days=days),
            negotiable=format == "fixed price" and haggling != "firm",
        )
    )
    plan_interest(market, listing)
    return listing_details(market, listing)


def require_listable(market: Market, title: str, format: Format, days: int) -> None:
    """Raises ToolError unless the user may list this."""
    banned = [word for word in title.casefold().split() if word.strip(".,!") in PROHIBITED]
    if banned:
        raise ToolError("prohibited_item", f"Nothing with {banned[0]} may be sold here; list something else.")
    if format == "auction" and days > LONGEST_AUCTION:
        raise ToolError("auction_too_long", f"An auction lasts {LONGEST_AUCTION} days at most; ask for fewer days.")
    mine = market.listings.where(seller=market.me, status="open")
    for row in mine:
        if row.title.casefold() == title.casefold():
            raise ToolError("already_listed", f"{row.id} is open under this title; end it or choose another title.")
    if len(mine) >= MOST_OPEN:
        raise ToolError("too_many_listings", f"You have {MOST_OPEN} open listings, the most allowed; end one first.")


@server.write(destructive=True, idempotent=True)
def end_market_listing(market: Market, listing: OwnListingRef) -> ListingView:
    """End one of your listings unsold. Its open offers close."""
    settle(market)
    row = require_own(market, listing)
    require_open(row)
    bids = market.bids_on(listing)
    if bids:
        raise ToolError("has_bids", f"{listing} has {len(bids)} bids, so it goes to the highest one; wait for its end.")
    close(market, listing, "ended")
    return listing_view(market, market.listings[listing])
