"""Invariants of the marketplace: they hold in every state that a session can reach."""

from __future__ import annotations

from collections import Counter
from itertools import pairwise

from .server import server
from .state import (
    HELD_FOR,
    LEAST_PAYOUT,
    LONGEST_AUCTION,
    LOW_STARS,
    MOST_OFFERS,
    MOST_OPEN,
    MOST_PAYOUTS,
    MOST_WATCHED,
    OFFER_LASTS,
    PAYOUT_TAKES,
    RATING_LASTS,
    Bid,
    Listing,
    Market,
    MarketOffer,
    MarketTrade,
    available,
    fee,
    increment,
    least_offer,
    net,
)


def bids_of(market: Market, listing: Listing) -> list[Bid]:
    """Return all bids on a listing, including future ones, in the order they are made."""
    return sorted(market.bids.where(listing=listing.id), key=lambda bid: (bid.at, bid.amount))


@server.invariant
def what_is_sold_is_sold_once(market: Market) -> bool:
    """A listing has one trade when it is sold and none otherwise; the trade is between its seller and another."""
    trades = Counter(str(trade.listing) for trade in market.trades)
    return all(trades[row.id] == (row.status == "sold") for row in market.listings) and all(
        trade.listing in market.listings
        and trade.seller == market.listings[trade.listing].seller != trade.buyer
        and trade.title == market.listings[trade.listing].title
        and market.listings[trade.listing].listed <= trade.at <= market.now
        for trade in market.trades
    )


@server.invariant
def bids_climb(market: Market) -> bool:
    """Bids are made in auctions, begin at the price, go up by the increment, and nobody tops himself."""
    for listing in market.listings:
        bids = bids_of(market, listing)
        if bids and (listing.format != "auction" or bids[0].amount < listing.price):
            return False
        for one, other in pairwise(bids):
            if other.amount < one.amount + increment(one.amount) or one.bidder == other.bidder:
                return False
    return all(bid.listing in market.listings for bid in market.bids)


@server.invariant
def bids_are_made_by_others_in_time(market: Market) -> bool:
    """No bid is the seller's, and every bid is made while its auction runs."""
    return all(
        bid.bidder != listing.seller and listing.listed <= bid.at < listing.ends
        for bid in market.bids
        for listing in [market.listings[bid.listing]]
    )


@server.invariant
def the_price_is_what_was_agreed(market: Market) -> bool:
    """An auction goes to the highest bid when it ends; the rest at the price asked or that of the accepted offer."""
    return all(has_agreed_price(market, trade, market.listings[trade.listing]) for trade in market.trades)


def has_agreed_price(market: Market, trade: MarketTrade, listing: Listing) -> bool:
    if listing.format == "auction":
        lead = bids_of(market, listing)[-1:]
        return trade.at == listing.ends and [(bid.bidder, bid.amount) for bid in lead] == [(trade.buyer, trade.price)]
    accepted = [row for row in market.offers.where(listing=listing.id) if row.status == "accepted"]
    prices = [(row.buyer, row.amount) for row in accepted] or [(trade.buyer, listing.price)]
    return prices == [(trade.buyer, trade.price)]


@server.invariant
def the_fee_and_the_rest_are_the_price(market: Market) -> bool:
    """Every trade has the fee of its price, and its money is held as long as is said."""
    return all(row.fee == fee(row.price) and row.freed == row.at + HELD_FOR for row in market.trades)


@server.invariant
def payouts_are_covered(market: Market) -> bool:
    """Every payout was earned and free when it was made; of a few at most the money is on its way at a time."""
    mine, paid = market.trades.where(seller=market.me), 0
    for payout in sorted(market.payouts, key=lambda row: (row.at, row.id)):
        paid += payout.amount
        freed = sum(net(trade) for trade in mine if trade.freed <= payout.at)
        coming = [row for row in market.payouts if row.at <= payout.at < row.arrives]
        if paid > freed or payout.amount < LEAST_PAYOUT or len(coming) > MOST_PAYOUTS:
            return False
        if payout.arrives != payout.at + PAYOUT_TAKES:
            return False
    return available(market) >= 0


@server.invariant
def offers_fit_their_listings(market: Market) -> bool:
    """An offer is another's than the seller's, for a fixed price that is no firm one, below it and not too low."""
    return all(
        offer.listing in market.listings and is_valid_offer(offer, market.listings[offer.listing])
        for offer in market.offers
    )


def is_valid_offer(offer: MarketOffer, listing: Listing) -> bool:
    return (
        listing.format == "fixed price"
        and listing.negotiable
        and offer.buyer != listing.seller
        and offer.title == listing.title
        and least_offer(listing.price) <= offer.amount < listing.price
        and offer.made < offer.expires
        and (offer.status != "open" or listing.status == "open")
        and (offer.status != "accepted" or listing.status == "sold")
    )


@server.invariant
def nobody_haggles_twice_at_a_time(market: Market) -> bool:
    """Nobody has two open offers, or too many in all, for one thing."""
    waiting = Counter((offer.listing, offer.buyer) for offer in market.offers if offer.status == "open")
    made = Counter((offer.listing, offer.buyer) for offer in market.offers)
    return all(count == 1 for count in waiting.values()) and all(count <= MOST_OFFERS for count in made.values())


@server.invariant
def answers_come_from_the_other_side(market: Market) -> bool:
    """An answer is to come for an open offer alone that waits for the other side, before it expires."""
    return all(
        offer.answered is None
        or (offer.status == "open" and not market.my_turn(offer) and offer.answered < offer.expires)
        for offer in market.offers
    ) and all(
        offer.expires - offer.made >= OFFER_LASTS and (offer.status == "open" or offer.made <= market.now)
        for offer in market.offers
    )


@server.invariant
def ratings_are_of_trades(market: Market) -> bool:
    """Each side of a trade rates the other once at most, in time, and explains few stars."""
    seen = Counter((rating.trade, rating.rater) for rating in market.ratings)
    return all(count == 1 for count in seen.values()) and all(
        rating.trade in market.trades
        and [rating.rater, rating.rated] in sides(market.trades[rating.trade])
        and 1 <= rating.stars <= 5
        and (rating.stars > LOW_STARS or rating.comment is not None)
        and market.trades[rating.trade].at <= rating.at <= market.trades[rating.trade].at + RATING_LASTS
        for rating in market.ratings
    )


def sides(trade: MarketTrade) -> list[list[str]]:
    return [[trade.buyer, trade.seller], [trade.seller, trade.buyer]]


@server.invariant
def the_user_stays_within_limits(market: Market) -> bool:
    """The user has no more open listings or watched ones than allowed, and lists nothing twice."""
    mine = [row.title.casefold() for row in market.listings.where(seller=market.me, status="open")]
    watched = [row.listing for row in market.watches]
    return (
        len(mine) <= MOST_OPEN
        and len(dict.fromkeys(mine)) == len(mine)
        and len(watched) <= MOST_WATCHED
        and len(dict.fromkeys(watched)) == len(watched)
        and all(id in market.listings and market.listings[id].seller != market.me for id in watched)
    )


@server.invariant
def listings_are_in_order(market: Market) -> bool:
    """A listing ends after it begins and stays reserved only while it is open; an auction has no haggling."""
    return all(
        row.listed < row.ends
        and row.price > 0
        and (row.reserved_until is None or row.status == "open")
        and (row.format == "fixed price" or not row.negotiable)
        and (row.seller != market.me or row.format == "fixed price" or (row.ends - row.listed).days <= LONGEST_AUCTION)
        for row in market.listings
    )
