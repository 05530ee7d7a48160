"""What must hold before something is bought, sold, bid on or haggled over."""

from __future__ import annotations

from ..kit import ToolError, minute_text
from .constants import increment
from .state import Bid, Listing, ListingId, Market


def require_open(listing: Listing) -> None:
    if listing.status == "open":
        return
    if listing.format == "auction":
        raise ToolError("auction_closed", f"The auction {listing.id} is over; look for another listing.")
    if listing.status == "sold":
        raise ToolError("listing_sold", f"{listing.title} ({listing.id}) is sold; look for another listing.")
    raise ToolError("listing_ended", f"{listing.id} has ended and is for sale no longer; look for another listing.")


def require_reach(market: Market, id: ListingId) -> Listing:
    """The listing, which is open and somebody else's."""
    listing = market.listings[id]
    if listing.seller == market.me:
        raise ToolError("own_listing", f"{id} is your own listing; choose one of somebody else.")
    require_open(listing)
    return listing


def require_buyable(market: Market, id: ListingId) -> Listing:
    """The listing, which is at a fixed price and nobody's yet."""
    listing = require_reach(market, id)
    if listing.format == "auction":
        raise ToolError(
            "is_auction", f"{id} is an auction, which is neither bought outright nor haggled over; bid on it."
        )
    until = listing.reserved_until
    if until is not None and market.now < until:
        moment = minute_text(until)
        raise ToolError("listing_reserved", f"{id} is reserved for somebody else until {moment}; come back then.")
    return listing


def require_own(market: Market, id: ListingId) -> Listing:
    listing = market.listings[id]
    if listing.seller != market.me:
        raise ToolError("not_own_listing", f"{id} is sold by {listing.seller}; name one of your own listings.")
    return listing


def price_now(listing: Listing, lead: Bid | None) -> int:
    """What the listing stands at: the leading bid, or the price asked."""
    return listing.price if lead is None else lead.amount


def next_bid(listing: Listing, lead: Bid | None) -> int:
    """The lowest bid that is taken after the one that leads."""
    return listing.price if lead is None else lead.amount + increment(lead.amount)
