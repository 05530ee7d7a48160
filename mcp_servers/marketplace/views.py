"""Views of listings, bids, offers and trades that the tools return."""

from __future__ import annotations

from ..core import Entity, Minute
from ..shared.people import EmailAddress
from .engine import next_bid, price_now
from .server import TradeSide
from .state import (
    BidId,
    Category,
    Condition,
    Format,
    Listing,
    ListingId,
    ListingStatus,
    Market,
    MarketOffer,
    MarketOfferId,
    MarketPayout,
    MarketRating,
    MarketTrade,
    MarketTradeId,
    OfferStatus,
    net,
)

LATEST_BIDS = 3


class ListingView(Entity):
    """A listing in a list; the price in cents is that of the leading bid in an auction."""

    __label__ = "the marketplace listing {title}"
    id: ListingId
    title: str
    price: int
    format: Format
    status: ListingStatus
    seller: EmailAddress


class BidView(Entity):
    """A bid in cents."""

    id: BidId
    bidder: EmailAddress
    amount: int


class ListingDetails(Entity):
    """Everything about a listing; amounts in cents, the seller's stars as the average of all ratings."""

    __label__ = "the marketplace listing {title}"
    id: ListingId
    title: str
    category: Category
    condition: Condition
    format: Format
    status: ListingStatus
    price: int
    ends: Minute
    seller: EmailAddress
    stars: str | None = None
    ratings: int
    open_to_offers: bool | None = None
    reserved_until: Minute | None = None
    next_bid: int | None = None
    bid_count: int | None = None
    bids: tuple[BidView, ...] | None = None
    trade: MarketTradeId | None = None


class BidPlaced(Entity):
    """A bid of the user and where the auction stands after it; amounts in cents."""

    __label__ = "the bid of {amount} cents"
    id: BidId
    listing: ListingId
    amount: int
    leading: bool
    price: int
    ends: Minute


class OfferView(Entity):
    """An offer in cents; with a trade once it was accepted."""

    __label__ = "the offer for {title}"
    id: MarketOfferId
    listing: ListingId
    title: str
    buyer: EmailAddress
    amount: int
    status: OfferStatus
    your_turn: bool | None = None
    expires: Minute | None = None
    trade: MarketTradeId | None = None


class TradeView(Entity):
    """A purchase or sale; `earned` is what is left of the price after the fee, in cents."""

    __label__ = "the trade of {title}"
    id: MarketTradeId
    title: str
    side: TradeSide
    partner: EmailAddress
    price: int
    at: Minute
    earned: int | None = None
    rated: bool


class MarketAccount(Entity):
    """What the user has earned in cents, free for a payout or still held, with the latest trades and payouts."""

    available: int
    held: int
    stars: str | None = None
    trades: tuple[TradeView, ...]
    payouts: tuple[MarketPayout, ...]


def listing_view(market: Market, listing: Listing) -> ListingView:
    return ListingView.from_row(listing, price=price_now(listing, market.highest(listing.id)))


def listing_details(market: Market, listing: Listing) -> ListingDetails:
    auction, bids = listing.format == "auction", market.bids_on(listing.id)
    lead = bids[-1] if bids else None
    latest = tuple(BidView.from_row(bid) for bid in bids[::-1][:LATEST_BIDS])
    ratings = market.ratings.where(rated=listing.seller)
    reserved = listing.reserved_until is not None and market.now < listing.reserved_until
    return ListingDetails.from_row(
        listing,
        price=price_now(listing, lead),
        stars=stars(ratings),
        ratings=len(ratings),
        open_to_offers=None if auction else listing.negotiable,
        reserved_until=listing.reserved_until if reserved else None,
        next_bid=next_bid(listing, lead) if auction and listing.status == "open" else None,
        bid_count=len(bids) if auction else None,
        bids=latest if auction else None,
        trade=next((trade.id for trade in market.trades.where(listing=listing.id)), None),
    )


def offer_view(market: Market, offer: MarketOffer) -> OfferView:
    waits, trade = offer.status == "open", None
    if offer.status == "accepted":
        trade = next((row.id for row in market.trades.where(listing=offer.listing)), None)
    return OfferView.from_row(
        offer, your_turn=market.my_turn(offer) if waits else None, expires=offer.expires if waits else None, trade=trade
    )


def trade_view(market: Market, trade: MarketTrade) -> TradeView:
    bought = trade.buyer == market.me
    return TradeView.from_row(
        trade,
        side="bought" if bought else "sold",
        partner=trade.seller if bought else trade.buyer,
        earned=None if bought else net(trade),
        rated=bool(market.ratings.where(trade=trade.id, rater=market.me)),
    )


def stars(ratings: list[MarketRating]) -> str | None:
    """Return the average stars of these ratings to one decimal place, or None without ratings."""
    if not ratings:
        return None
    count = len(ratings)
    tenths = (20 * sum([rating.stars for rating in ratings]) + count) // (2 * count)
    return f"{tenths // 10}.{tenths % 10}"
