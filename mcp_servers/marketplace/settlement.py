"""What ends a listing, and what happens by itself as time passes: answers come, offers lapse, auctions close."""

from __future__ import annotations

from datetime import date, datetime, timedelta
from functools import lru_cache
from typing import Any, TypeVar

from ..kit import Table
from ..people import EmailAddress, beginning
from .constants import HELD_FOR, OFFER_LASTS, fee
from .state import Listing, ListingId, ListingStatus, Market, MarketOffer, MarketTrade

Id = TypeVar("Id", bound=str)


def id_for(table: Table[Id, Any], mark: str) -> Id:
    """A new id derived from a mark, whatever call it is made in."""
    call = table.cause, table.tried
    table.cause, table.tried = f"seed/{mark}", 0
    id = table.new_id()
    table.cause, table.tried = call
    return id


def settled(market: Market) -> Market:
    """The marketplace with all that is due by now, for reading."""
    if not due_offers(market) and not due_listings(market):
        return market
    twin = market.draft()
    settle(twin)
    return twin


def settle(market: Market) -> None:
    """Bring the marketplace up to now."""
    for offer in due_offers(market):
        if offer.answered is not None and offer.answered <= market.now:
            offer = answer(market, offer, offer.answered)
        if offer.status == "open" and offer.expires <= market.now:
            market.offers.change(offer.id, status="expired", answered=None)
    for listing in due_listings(market):
        close_by_itself(market, listing)


def due_offers(market: Market) -> list[MarketOffer]:
    """The open offers that have an answer by now, or are over."""
    now = market.now
    days = days_until(market.seed, now.date())
    return [row for day in days for row in market.offers.where(due=day) if (row.answered or row.expires) <= now]


def due_listings(market: Market) -> list[Listing]:
    """The open listings whose end has come."""
    now = market.now
    days = days_until(market.seed, now.date())
    return [row for day in days for row in market.listings.where(closing=day) if row.ends <= now]


@lru_cache(maxsize=4096)
def days_until(seed: int, today: date) -> tuple[date, ...]:
    """The days from the beginning of a world to this one."""
    first = beginning(seed).date()
    return tuple(first + timedelta(days=number) for number in range((today - first).days + 1))


def answer(market: Market, offer: MarketOffer, at: datetime) -> MarketOffer:
    """The other side names its last price, or declines when it did so before."""
    if offer.final:
        return market.offers.change(offer.id, status="declined", answered=None)
    turn = "buyer" if offer.turn == "seller" else "seller"
    return market.offers.change(
        offer.id, amount=offer.limit, turn=turn, final=True, answered=None, expires=at + OFFER_LASTS
    )


def close_by_itself(market: Market, listing: Listing) -> None:
    """Sell an auction to who leads; anything else has ended unsold."""
    lead = market.highest(listing.id)
    if lead is None:
        close(market, listing.id, "ended")
    else:
        sell(market, listing, lead.bidder, lead.amount, listing.ends, mark=listing.id)


def sell(
    market: Market, listing: Listing, buyer: EmailAddress, price: int, at: datetime, mark: str | None = None
) -> MarketTrade:
    """Close a listing with a trade."""
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
    """Close a listing: its open offers close, and what would have come later does not come."""
    market.listings.change(listing, status=status, reserved_until=None)
    for offer in market.offers.where(listing=listing):
        if offer.made > market.now:
            market.offers.remove(offer.id)
        elif offer.status == "open":
            market.offers.change(offer.id, status="closed", answered=None)
    for bid in market.bids.where(listing=listing):
        if bid.at > market.now:
            market.bids.remove(bid.id)
