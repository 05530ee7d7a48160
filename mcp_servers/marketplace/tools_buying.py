"""Tools to buy: bid in an auction, or take something at its price."""

from __future__ import annotations

from ..kit import ToolError
from ..people import EmailAddress
from .constants import EXTENSION, increment
from .parameters import BidAmount, ListingRef
from .rules import next_bid, price_now, require_buyable, require_reach
from .server import server
from .settlement import sell, settle
from .state import Bid, Listing, ListingId, Market
from .views import BidPlaced, TradeView, trade_view


@server.write(idempotent=True)
def place_auction_bid(market: Market, listing: ListingRef, amount: BidAmount) -> BidPlaced:
    """Bid in an auction. A rival's automatic bid may top yours at once."""
    settle(market)
    row = require_reach(market, listing)
    if row.format != "auction":
        raise ToolError("not_an_auction", f"{listing} has a fixed price; buy it or make an offer.")
    lead = market.highest(listing)
    least = next_bid(row, lead)
    if lead is not None and lead.bidder == market.me:
        raise ToolError("already_leading", f"Your bid of {lead.amount} cents leads {listing}; wait until it is topped.")
    if amount < least:
        raise ToolError("bid_too_low", f"{listing} takes bids from {least} cents on; bid at least that.")
    mine = put_bid(market, listing, market.me, amount)
    answer_bid(market, row, amount)
    row = market.listings.change(listing, ends=max(row.ends, market.now + EXTENSION))
    price = price_now(row, market.highest(listing))
    return BidPlaced(id=mine.id, listing=listing, amount=amount, leading=price == amount, price=price, ends=row.ends)


def put_bid(market: Market, listing: ListingId, bidder: EmailAddress, amount: int) -> Bid:
    id = market.bids.new_id()
    return market.bids.put(Bid(id=id, listing=listing, bidder=bidder, amount=amount, at=market.now))


def answer_bid(market: Market, listing: Listing, amount: int) -> None:
    """The rival's automatic bid, one increment above, as far as it goes."""
    least = amount + increment(amount)
    if listing.rival is not None and least <= listing.rival_limit:
        put_bid(market, listing.id, listing.rival, least)


@server.write(idempotent=True)
def buy_market_listing(market: Market, listing: ListingRef) -> TradeView:
    """Buy something at its fixed price."""
    settle(market)
    row = require_buyable(market, listing)
    return trade_view(market, sell(market, row, market.me, row.price, market.now))
