"""State of the marketplace: listings, bids, offers, trades, ratings, payouts and the user's watch list."""

from __future__ import annotations

from datetime import timedelta
from functools import cached_property
from operator import attrgetter
from typing import Literal, NewType

from ..core import Day, Entity, Minute, State, Table, table
from ..shared.people import EmailAddress, cast

ListingId = NewType("ListingId", str)
BidId = NewType("BidId", str)
MarketOfferId = NewType("MarketOfferId", str)
MarketTradeId = NewType("MarketTradeId", str)
MarketRatingId = NewType("MarketRatingId", str)
MarketPayoutId = NewType("MarketPayoutId", str)
MarketWatchId = NewType("MarketWatchId", str)

Category = Literal[
    "books", "cameras", "clothing", "cycling", "furniture", "garden", "kitchen", "music", "sports", "toys"
]
Condition = Literal["new", "very good", "good", "worn", "for parts"]
Format = Literal["fixed price", "auction"]
ListingStatus = Literal["open", "sold", "ended"]
OfferStatus = Literal["open", "accepted", "declined", "expired", "closed"]
Side = Literal["buyer", "seller"]


class Listing(Entity):
    """Something for sale; `price` in cents is what is asked, in an auction where it starts.

    Hidden from the user: `floor`, for which the seller gives a firm "no" no longer, and how far the `rival` bids.
    """

    __label__ = "the marketplace listing {title}"
    id: ListingId
    title: str
    category: Category
    condition: Condition
    seller: EmailAddress
    format: Format
    price: int
    listed: Minute
    ends: Minute
    status: ListingStatus = "open"
    negotiable: bool = False
    floor: int = 0
    reserved_until: Minute | None = None
    rival: EmailAddress | None = None
    rival_limit: int = 0

    @cached_property
    def words(self) -> tuple[str, ...]:
        """Return the distinct words of the title, which a search matches."""
        return tuple(dict.fromkeys(self.title.casefold().split()))

    @property
    def closing(self) -> Day | None:
        """Return the day on which an open listing closes by itself, or None."""
        return self.ends.date() if self.status == "open" else None


class Bid(Entity):
    """What somebody bids in an auction, in cents; one that lies in the future is not known yet."""

    __label__ = "the bid of {amount} cents"
    id: BidId
    listing: ListingId
    bidder: EmailAddress
    amount: int
    at: Minute


class MarketOffer(Entity):
    """A price in cents that buyer and seller haggle over; `turn` says who has to answer it.

    Hidden from the user: `limit`, the last price of the other side; `final`, whether that was named already; and
    `answered`, when the other side will answer.
    """

    __label__ = "the offer for {title}"
    id: MarketOfferId
    listing: ListingId
    title: str
    buyer: EmailAddress
    amount: int
    turn: Side
    made: Minute
    expires: Minute
    limit: int
    status: OfferStatus = "open"
    final: bool = False
    answered: Minute | None = None

    @property
    def due(self) -> Day | None:
        """Return the day on which an open offer is answered or expires by itself, or None."""
        return (self.answered or self.expires).date() if self.status == "open" else None


class MarketTrade(Entity):
    """A sale; the fee, in cents, is kept from what the seller gets, and the rest is held until `freed`."""

    __label__ = "the trade of {title}"
    id: MarketTradeId
    listing: ListingId
    title: str
    seller: EmailAddress
    buyer: EmailAddress
    price: int
    fee: int
    at: Minute
    freed: Minute


class MarketRating(Entity):
    """What one side of a trade says about the other."""

    __label__ = "the rating of {title}"
    id: MarketRatingId
    trade: MarketTradeId
    title: str
    rater: EmailAddress
    rated: EmailAddress
    stars: int
    at: Minute
    comment: str | None = None


class MarketPayout(Entity):
    """Cents on their way from the marketplace to the user's bank, or there."""

    __label__ = "the payout of {amount} cents"
    id: MarketPayoutId
    amount: int
    at: Minute
    arrives: Minute


class MarketWatch(Entity):
    """The user keeps an eye on a listing."""

    __label__ = "the watched listing"
    id: MarketWatchId
    listing: ListingId


class Market(State):
    """The marketplace as the user's session sees it."""

    listings: Table[ListingId, Listing] = table(
        "MLIST", "listing", index=("status", "words", "category", "seller", "closing")
    )
    bids: Table[BidId, Bid] = table("MBID", "bid", index=("listing", "bidder"))
    offers: Table[MarketOfferId, MarketOffer] = table("MOFFR", "offer", index=("listing", "due"))
    trades: Table[MarketTradeId, MarketTrade] = table("MTRAD", "trade", index=("listing", "seller", "buyer"))
    ratings: Table[MarketRatingId, MarketRating] = table("MRATE", "rating", index=("trade", "rated"))
    payouts: Table[MarketPayoutId, MarketPayout] = table("MPAYO", "payout")
    watches: Table[MarketWatchId, MarketWatch] = table("MWTCH", "watched listing", index=("listing",))

    @property
    def me(self) -> EmailAddress:
        """Return the user's e-mail address."""
        return cast(self.seed)[0].id

    def bids_on(self, listing: ListingId) -> list[Bid]:
        """Return the bids made so far, lowest first."""
        now = self.now
        return sorted([bid for bid in self.bids.where(listing=listing) if bid.at <= now], key=attrgetter("amount"))

    def highest(self, listing: ListingId) -> Bid | None:
        """Return the leading bid, or None."""
        bids = self.bids_on(listing)
        return bids[-1] if bids else None

    def my_turn(self, offer: MarketOffer) -> bool:
        """Return whether the user has to answer the offer."""
        return (offer.buyer == self.me) == (offer.turn == "buyer")


MOST_OPEN, MOST_WATCHED, MOST_OFFERS, MOST_PAYOUTS = 8, 15, 3, 2
LEAST_PAYOUT = 1_000
FEE_PERCENT, LEAST_OFFER_PERCENT = 8, 40
LONGEST_AUCTION = 10
HELD_FOR, PAYOUT_TAKES = timedelta(days=3), timedelta(days=2)
OFFER_LASTS, RATING_LASTS = timedelta(days=2), timedelta(days=60)
EXTENSION = timedelta(minutes=5)
LOW_STARS = 2
PROHIBITED = frozenset(
    "alcohol ammunition antibiotics beer cigarettes explosives fireworks gun ivory medicine passport pistol "
    "rifle steroids tobacco vodka whisky wine".split()
)
STEPS = ((2_000, 100), (10_000, 250), (50_000, 500))


def increment(amount: int) -> int:
    """Return the cents by which a bid must exceed this amount."""
    return next((step for below, step in STEPS if amount < below), 1_000)


def fee(price: int) -> int:
    """Return the marketplace's fee for a sale, in cents."""
    return price * FEE_PERCENT // 100


def least_offer(price: int) -> int:
    """Return the lowest offer that is allowed at this price, in cents."""
    return -(-price * LEAST_OFFER_PERCENT // 100)


def net(trade: MarketTrade) -> int:
    """Return what the seller gets, in cents."""
    return trade.price - trade.fee


def available(market: Market) -> int:
    """Return the cents that the user can be paid out now."""
    now = market.now
    freed = sum([net(trade) for trade in market.trades.where(seller=market.me) if trade.freed <= now])
    return freed - sum([payout.amount for payout in market.payouts])


def pending_balance(market: Market) -> int:
    """Return the cents that the user has earned but cannot be paid out yet."""
    now = market.now
    return sum([net(trade) for trade in market.trades.where(seller=market.me) if trade.freed > now])
