"""The interest of others in what the user lists: offers and bids that become known as time passes."""

from __future__ import annotations

from datetime import timedelta
from functools import lru_cache
from typing import NamedTuple

from ..kit import Draw
from ..people import EmailAddress, cast
from .constants import OFFER_LASTS, increment
from .state import Bid, Listing, ListingId, Market, MarketOffer

PEOPLE = 12


class Interest(NamedTuple):
    """Somebody who comes so long after a listing; to haggle is to offer `percent` of its price and go up by `more`
    percent of the rest.
    """

    person: EmailAddress
    after: timedelta
    percent: int
    more: int


@lru_cache(maxsize=4096)
def interest_in(seed: int, listing: ListingId, haggled: bool) -> tuple[Interest, ...]:
    """Who will be interested in a new listing within the hour."""
    draw, found, minutes = Draw("interest", seed, listing), list[Interest](), 0
    for person in draw.shuffled([person.id for person in cast(seed, PEOPLE)[1:]])[: draw.integer(0, 3)]:
        minutes += draw.integer(2, 15)
        percent, more = (draw.integer(50, 80), draw.integer(20, 80)) if haggled else (100, 0)
        found.append(Interest(person, timedelta(minutes=minutes), percent, more))
    return tuple(found)


def plan_interest(market: Market, listing: Listing) -> None:
    """Put down what others will offer or bid for a new listing."""
    amount = listing.price
    for number, (person, after, percent, more) in enumerate(interest_in(market.seed, listing.id, listing.negotiable)):
        at = market.now + after
        if listing.format == "auction":
            if number:
                amount += increment(amount)
            market.bids.put(Bid(id=market.bids.new_id(), listing=listing.id, bidder=person, amount=amount, at=at))
        elif listing.negotiable:
            low = -(-listing.price * percent // 100)
            market.offers.put(
                MarketOffer(
                    id=market.offers.new_id(),
                    listing=listing.id,
                    title=listing.title,
                    buyer=person,
                    amount=low,
                    turn="seller",
                    made=at,
                    expires=at + OFFER_LASTS,
                    limit=low + (listing.price - low) * more // 100,
                )
            )
