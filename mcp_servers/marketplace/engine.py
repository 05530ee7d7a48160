"""Marketplace checks that raise ToolError, and the settlement of listings as time passes."""

from __future__ import annotations

from datetime import date, datetime, timedelta
from functools import lru_cache
from typing import Any, TypeVar

from ..core import Table, ToolError, minute_text
from ..shared.people import EmailAddress, get_start_time
from .state import (
    HELD_FOR,
    OFFER_LASTS,
    Bid,
    Listing,
    ListingId,
    ListingStatus,
    Market,
    MarketOffer,
    MarketTrade,
    fee,
    increment,
)

# Checks before something is bought, sold, bid on or haggled over.


def require_open(listing: Listing) -> None:
    if listing.status == "open":
        return
    if listing.format == "auction":
        raise ToolError("auction_closed", f"The auction {listing.id} is over; look for another listing.")
    if listing.status == "sold":
        raise ToolError("listing_sold", f"{listing.title} ({listing.id}) is sold; look for another listing.")
    raise ToolError("listing_ended", f"{listing.id} has ended and is for sale no longer; look for another listing.")


def require_reach(market: Market, id: ListingId) -> Listing:
    """Return the listing. Raises ToolError unless it is open and somebody else's."""
    listing = market.listings[id]
    if listing.seller == market.me:
        raise ToolError("own_listing", f"{id} is your own listing; choose one of somebody else.")
    require_open(listing)
    return listing


def require_buyable(market: Market, id: ListingId) -> Listing:
    """Return the listing. Raises ToolError unless it is open, somebody else's, fixed-price and not reserved."""
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
    """Return the current price in cents: the leading bid, or the listing's own price."""
    return listing.price if lead is None else lead.amount


def next_bid(listing: Listing, lead: Bid | None) -> int:
    """Return the lowest bid in cents that is accepted after the leading one."""
    return listing.price if lead is None else lead.amount + increment(lead.amount)


# The end of listings, and events that come due as time passes: answers, expired offers, closed auctions.

Id = TypeVar("Id", bound=str)


def id_for(table: Table[Id, Any], mark: str) -> Id:
    """Return a new id derived from a mark, independent of the current call."""
    call = table.cause, table.tried
    table.cause, table.tried = f"seed/{mark}", 0
    id = table.new_id()
    table.cause, table.tried = call
    return id


def update_if_due(market: Market) -> Market:
    """Return the marketplace for reading, with all due events applied; a copy if there are any."""
    if not due_offers(market) and not due_listings(market):
        return market
    twin = market.draft()
    settle(twin)
    return twin


def settle(market: Market) -> None:
    """Apply all events that are due by now."""
    for offer in due_offers(market):
        if offer.answered is not None and offer.answered <= market.now:
            offer = answer(market, offer, offer.answered)
        if offer.status == "open" and offer.expires <= market.now:
            market.offers.change(offer.id, status="expired", answered=None)
    for listing in due_listings(market):
        close_by_itself(market, listing)


def due_offers(market: Market) -> list[MarketOffer]:
    """Return the open offers that are answered or expired by now."""
    now = market.now
    days = days_until(market.seed, now.date())
    return [row for day in days for row in market.offers.where(due=day) if (row.answered or row.expires) <= now]


def due_listings(market: Market) -> list[Listing]:
    """Return the open listings that have reached their end."""
    now = market.now
    days = days_until(market.seed, now.date())
    return [row for day in days for row in market.listings.where(closing=day) if row.ends <= now]


@lru_cache(maxsize=4096)
def days_until(seed: int, today: date) -> tuple[date, ...]:
    """Return the days from the beginning of a world to `today`, inclusive."""
    first = get_start_time(seed).date()
    return tuple(first + timedelta(days=number) for number in range((today - first).days + 1))


def answer(market: Market, offer: MarketOffer, at: datetime) -> MarketOffer:
    """Answer for the other side: name its last price, or decline if it was named before."""
    if offer.final:
        return market.offers.change(offer.id, status="declined", answered=None)
    turn = "buyer" if offer.turn == "seller" else "seller"
    return market.offers.change(
        offer.id, amount=offer.limit, turn=turn, final=True, answered=None, expires=at + OFFER_LASTS
    )


def close_by_itself(market: Market, listing: Listing) -> None:
    """Sell the listing to the leading bidder, or end it unsold when it has no bids."""
    lead = market.highest(listing.id)
    if lead is None:
        close(market, listing.id, "ended")
    else:
        sell(market, listing, lead.bidder, lead.amount, listing.ends, mark=listing.id)


def sell(
    market: Market, listing: Listing, buyer: EmailAddress, price: int, at: datetime, mark: str | None = None
) -> MarketTrade:
    """Close a listing as sold and return the trade."""
    close(market, listing.id, "sold")
    id = market.trades.new_id() if mark is None else id_for(market.trades, mark)
    return market.trades.put(
        MarketTrade(
            id=id,
            listing=listing.id,
            title=listing.title,
            seller=listing.seller,
            buyer=buyer,
            price=price,
            fee=fee(price),
            at=at,
            freed=at + HELD_FOR,
        )
    )


def close(market: Market, listing: ListingId, status: ListingStatus) -> None:
    """Close a listing and its open offers, and remove its future offers and bids."""
    market.listings.change(listing, status=status, reserved_until=None)
    for offer in market.offers.where(listing=listing):
        if offer.made > market.now:
            market.offers.remove(offer.id)
        elif offer.status == "open":
            market.offers.change(offer.id, status="closed", answered=None)
    for bid in market.bids.where(listing=listing):
        if bid.at > market.now:
            market.bids.remove(bid.id)
