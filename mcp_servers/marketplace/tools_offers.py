"""Tools to haggle: list, make and answer offers on things with a fixed price."""

from __future__ import annotations

from datetime import timedelta
from functools import lru_cache

from ..kit import Draw, NotFound, ToolError
from ..people import EmailAddress
from .constants import LEAST_OFFER_PERCENT, MOST_OFFERS, OFFER_LASTS, least_offer
from .parameters import (
    ROWS,
    Answer,
    AskedListing,
    AskedOfferSide,
    CounterAmount,
    Limit,
    ListingRef,
    OfferAmount,
    OfferAnswer,
    OfferRef,
)
from .rules import require_buyable, require_open
from .server import server
from .settlement import sell, settle, settled
from .state import Listing, ListingId, Market, MarketOffer, MarketOfferId
from .views import OfferView, offer_view

SCORN_PERCENT = 70


@server.read()
def list_market_offers(
    market: Market, side: AskedOfferSide = None, listing: AskedListing = None, limit: Limit = None
) -> tuple[OfferView, ...]:
    """List your offers, those that wait for your answer first."""
    now = settled(market)
    rows = list(now.offers) if listing is None else now.offers.where(listing=now.listings[listing].id)
    sides = ("made", "received") if side is None else (side,)
    mine = [row for row in rows if row.made <= now.now and side_of(now, row) in sides]
    mine.sort(key=lambda row: (row.status == "open", now.my_turn(row), row.made, row.id), reverse=True)
    return tuple(offer_view(now, row) for row in mine[: limit or ROWS])


def side_of(market: Market, offer: MarketOffer) -> str | None:
    """Whether the user made or received it; None when neither."""
    if offer.buyer == market.me:
        return "made"
    return "received" if market.listings[offer.listing].seller == market.me else None


@server.write(idempotent=True)
def make_market_offer(market: Market, listing: ListingRef, amount: OfferAmount) -> OfferView:
    """Offer less than the price. The seller accepts or declines at once, or answers later."""
    settle(market)
    row = require_buyable(market, listing)
    require_offer(market, row, amount)
    offer = market.offers.put(
        MarketOffer(
            id=market.offers.new_id(),
            listing=listing,
            title=row.title,
            buyer=market.me,
            amount=amount,
            turn="seller",
            made=market.now,
            expires=market.now + OFFER_LASTS,
            limit=row.floor,
        )
    )
    if amount * 100 < row.floor * SCORN_PERCENT:
        return offer_view(market, market.offers.change(offer.id, status="declined"))
    return offer_view(market, propose(market, offer))


def require_offer(market: Market, listing: Listing, amount: int) -> None:
    """Raises ToolError unless the user may offer this."""
    if not listing.negotiable:
        raise ToolError("price_is_firm", f"The price of {listing.id}, {listing.price} cents, is firm; buy it for that.")
    mine = [offer for offer in market.offers.where(listing=listing.id) if offer.buyer == market.me]
    for offer in mine:
        if offer.status == "open":
            raise ToolError(
                "offer_pending", f"{offer.id} for {listing.id} is still open; wait for its end or answer it."
            )
    if len(mine) >= MOST_OFFERS:
        raise ToolError(
            "offers_used_up", f"You made {MOST_OFFERS} offers for {listing.id}, the most; buy at its price."
        )
    declined = [offer.amount for offer in mine if offer.status == "declined" and offer.turn == "seller"]
    if declined and amount <= max(declined):
        raise ToolError("offer_not_above_last", f"{max(declined)} cents were declined for {listing.id}; offer more.")
    if amount >= listing.price:
        raise ToolError("offer_not_below_price", f"{listing.id} costs {listing.price} cents; offer less, or buy it.")
    if amount < least_offer(listing.price):
        raise ToolError(
            "offer_too_low",
            f"An offer for {listing.id} is at least {LEAST_OFFER_PERCENT}% of its price, {least_offer(listing.price)}.",
        )


def propose(market: Market, offer: MarketOffer) -> MarketOffer:
    """Put the user's price to the other side, who takes it within its limit and else answers later."""
    mine = offer.buyer == market.me
    if offer.amount >= offer.limit if mine else offer.amount <= offer.limit:
        return accept(market, offer)
    wait = time_to_think(market.seed, offer.listing, offer.buyer, offer.amount)
    return market.offers.change(offer.id, answered=market.now + wait)


@lru_cache(maxsize=4096)
def time_to_think(seed: int, listing: ListingId, buyer: EmailAddress, amount: int) -> timedelta:
    """How long the other side takes to answer this price."""
    return timedelta(minutes=Draw("answer", seed, listing, buyer, amount).integer(5, 90))


def accept(market: Market, offer: MarketOffer) -> MarketOffer:
    offer = market.offers.change(offer.id, amount=offer.amount, status="accepted", answered=None)
    sell(market, market.listings[offer.listing], offer.buyer, offer.amount, market.now)
    return offer


@server.write(destructive=True, idempotent=True)
def answer_market_offer(
    market: Market, offer: OfferRef, answer: OfferAnswer, amount: CounterAmount = None
) -> OfferView:
    """Accept, decline or counter an offer. Accepting closes the sale."""
    settle(market)
    row = require_my_turn(market, offer)
    require_amount(answer, amount)
    if answer == "accept":
        return offer_view(market, accept(market, row))
    if amount is None:
        return offer_view(market, market.offers.change(offer, status="declined"))
    require_between(market, row, amount)
    turn = "buyer" if row.turn == "seller" else "seller"
    countered = market.offers.change(offer, amount=amount, turn=turn, expires=market.now + OFFER_LASTS)
    return offer_view(market, propose(market, countered))


def require_my_turn(market: Market, id: MarketOfferId) -> MarketOffer:
    """The offer, which is open and waits for the user."""
    offer = market.offers[id]
    if offer.made > market.now:
        raise NotFound(f"There is no offer {id}.")
    if side_of(market, offer) is None:
        raise ToolError("not_your_offer", f"{id} is between others; name an offer that you made or received.")
    if offer.status == "expired":
        raise ToolError("offer_expired", f"{id} expired; make or wait for a new offer.")
    if offer.status in ("accepted", "declined"):
        raise ToolError("offer_answered", f"{id} was {offer.status} already; nothing is left to answer.")
    require_open(market.listings[offer.listing])
    if not market.my_turn(offer):
        raise ToolError("not_your_turn", f"{id} waits for the other side; look again later.")
    return offer


def require_amount(answer: Answer, amount: int | None) -> None:
    if answer == "counter" and amount is None:
        raise ToolError("amount_missing", "A counter needs your price; give the amount in cents.")
    if answer != "counter" and amount is not None:
        raise ToolError("amount_unexpected", f"To {answer} takes no amount; leave it out or counter.")


def require_between(market: Market, offer: MarketOffer, amount: int) -> None:
    """A seller counters above the offer and below the price, a buyer below it and not too low."""
    price = market.listings[offer.listing].price
    if offer.turn == "seller":
        low, high = offer.amount + 1, price - 1
    else:
        low, high = least_offer(price), offer.amount - 1
    if not low <= amount <= high:
        raise ToolError(
            "counter_out_of_range", f"A counter to {offer.id} lies between {low} and {high} cents; name such a price."
        )
