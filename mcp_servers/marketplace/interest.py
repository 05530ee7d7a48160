"""The interest of others in what the user lists: offers and bids that become known as time passes."""

from __future__ import annotations

from datetime import timedelta

from ..kit import Draw
from ..people import cast
from .state import Bid, Listing, Market, MarketOffer
from .terms import OFFER_LASTS, increment

PEOPLE = 12


def plan_interest(market: Market, listing: Listing) -> None:
    """Put down what others will offer or bid for a new listing within the hour."""
    draw = Draw("interest", market.seed, listing.id)
    people = draw.shuffled([person.id for person in cast(market.seed, PEOPLE)[1:]])[: draw.integer(0, 3)]
    minutes, amount = 0, listing.price
    for number, person in enumerate(people):
        minutes += draw.integer(2, 15)
        at = market.now + timedelta(minutes=minutes)
        if listing.format == "auction":
            if number:
                amount += increment(amount)
            market.bids.put(Bid(id=market.bids.new_id(), listing=listing.id, bidder=person, amount=amount, at=at))
        elif listing.negotiable:
            low = -(-listing.price * draw.integer(50, 80) // 100)
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
                    limit=low + (listing.price - low) * draw.integer(20, 80) // 100,
                )
            )
