"""Tools of the marketplace."""

from __future__ import annotations

from datetime import timedelta
from functools import lru_cache
from operator import attrgetter

from ..core import Draw, NotFound, ToolError
from ..shared.people import EmailAddress
from .engine import (
    close,
    next_bid,
    price_now,
    require_buyable,
    require_open,
    require_own,
    require_reach,
    sell,
    settle,
    update_if_due,
)
from .seed import plan_interest
from .server import (
    ROWS,
    Answer,
    BidAmount,
    CategoryParam,
    Comment,
    CounterAmount,
    Days,
    FormatParam,
    HagglingParam,
    Limit,
    ListingParam,
    ListingRef,
    MostParam,
    OfCategory,
    OfCondition,
    OfferAmount,
    OfferAnswer,
    OfferRef,
    OfferSideParam,
    OwnListingRef,
    PayoutAmount,
    Price,
    Scope,
    ScopeParam,
    SellerParam,
    SellFormat,
    Stars,
    Title,
    TradeRef,
    TradeSideParam,
    Watching,
    WordsParam,
    server,
)
from .state import (
    EXTENSION,
    LEAST_OFFER_PERCENT,
    LEAST_PAYOUT,
    LONGEST_AUCTION,
    LOW_STARS,
    MOST_OFFERS,
    MOST_OPEN,
    MOST_PAYOUTS,
    MOST_WATCHED,
    OFFER_LASTS,
    PAYOUT_TAKES,
    PROHIBITED,
    RATING_LASTS,
    Bid,
    Format,
    Listing,
    ListingId,
    Market,
    MarketOffer,
    MarketOfferId,
    MarketPayout,
    MarketRating,
    MarketWatch,
    available,
    increment,
    least_offer,
    pending_balance,
)
from .views import (
    BidPlaced,
    ListingDetails,
    ListingView,
    MarketAccount,
    OfferView,
    TradeView,
    listing_details,
    listing_view,
    offer_view,
    stars,
    trade_view,
)

# Tools for completed sales: trades, ratings, earnings and payouts.


@server.read()
def get_market_account(market: Market, side: TradeSideParam = None, limit: Limit = None) -> MarketAccount:
    """Get your earnings in cents with your latest trades and payouts."""
    now, rows = update_if_due(market), limit or ROWS
    trades = now.trades.where(buyer=now.me) if side != "sold" else []
    trades += now.trades.where(seller=now.me) if side != "bought" else []
    trades.sort(key=attrgetter("at", "id"), reverse=True)
    return MarketAccount(
        available=available(now),
        held=pending_balance(now),
        stars=stars(now.ratings.where(rated=now.me)),
        trades=tuple(trade_view(now, trade) for trade in trades[:rows]),
        payouts=tuple(list(now.payouts)[::-1][:rows]),
    )


@server.write(idempotent=True)
def rate_market_trade(market: Market, trade: TradeRef, stars: Stars, comment: Comment = None) -> MarketRating:
    """Rate the other side of one of your trades."""
    settle(market)
    row = market.trades[trade]
    if market.me not in (row.buyer, row.seller):
        raise ToolError("not_your_trade", f"{trade} is between others; rate what you bought or sold yourself.")
    if market.ratings.where(trade=trade, rater=market.me):
        raise ToolError("already_rated", f"You have rated {trade}; a rating stays as it is.")
    if market.now > row.at + RATING_LASTS:
        raise ToolError("rating_closed", f"{trade} is over {RATING_LASTS.days} days old; rate a later one.")
    if stars <= LOW_STARS and comment is None:
        raise ToolError("comment_required", f"A rating of {stars} stars needs a comment; say what was wrong.")
    return market.ratings.put(
        MarketRating(
            id=market.ratings.new_id(),
            trade=trade,
            title=row.title,
            rater=market.me,
            rated=row.seller if row.buyer == market.me else row.buyer,
            stars=stars,
            at=market.now,
            comment=comment,
        )
    )


@server.write()
def request_market_payout(market: Market, amount: PayoutAmount) -> MarketPayout:
    """Have earnings paid out to your bank, which takes two days."""
    settle(market)
    if amount < LEAST_PAYOUT:
        raise ToolError("payout_too_small", f"Payouts start at {LEAST_PAYOUT} cents; ask for more.")
    free = available(market)
    if amount > free:
        raise ToolError("balance_too_low", f"You have {free} cents free for a payout; ask for that at most.")
    coming = [payout for payout in market.payouts if payout.arrives > market.now]
    if len(coming) >= MOST_PAYOUTS:
        raise ToolError(
            "payouts_pending", f"{MOST_PAYOUTS} payouts are on their way, the most at a time; wait until one arrives."
        )
    return market.payouts.put(
        MarketPayout(id=market.payouts.new_id(), amount=amount, at=market.now, arrives=market.now + PAYOUT_TAKES)
    )


# Tools for buying: bid in an auction, or buy at the fixed price.


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
    """Place the rival's automatic bid, one increment above, if the rival's limit allows it."""
    least = amount + increment(amount)
    if listing.rival is not None and least <= listing.rival_limit:
        put_bid(market, listing.id, listing.rival, least)


@server.write(idempotent=True)
def buy_market_listing(market: Market, listing: ListingRef) -> TradeView:
    """Buy something at its fixed price."""
    settle(market)
    row = require_buyable(market, listing)
    return trade_view(market, sell(market, row, market.me, row.price, market.now))


# Tools for browsing: search listings, open one, watch it.


@server.read()
def search_market_listings(
    market: Market,
    words: WordsParam = None,
    category: CategoryParam = None,
    format: FormatParam = None,
    most: MostParam = None,
    seller: SellerParam = None,
    scope: ScopeParam = None,
    limit: Limit = None,
) -> tuple[ListingView, ...]:
    """Search what others sell, the newest first; prices in cents."""
    now, wanted = update_if_due(market), (words or "").casefold().split()
    if scope is not None:
        rows = in_scope(now, scope)
    elif wanted:
        rows = now.listings.where(words=wanted[0], status="open")
    elif seller is not None:
        rows = now.listings.where(seller=seller, status="open")
    elif category is not None:
        rows = now.listings.where(category=category, status="open")
    else:
        rows = now.listings.where(status="open")
    found: list[ListingView] = []
    for row in reversed(rows):
        if len(found) == (limit or ROWS):
            break
        if (
            all(word in row.words for word in wanted)
            and category in (None, row.category)
            and format in (None, row.format)
            and seller in (None, row.seller)
            and (row.seller != now.me or scope is not None or seller is not None)
            and (most is None or price_now(row, now.highest(row.id)) <= most)
        ):
            found.append(listing_view(now, row))
    return tuple(found)


def in_scope(market: Market, scope: Scope) -> list[Listing]:
    """Return the listings that the user sells, bids on or watches."""
    if scope == "selling":
        return market.listings.where(seller=market.me)
    if scope == "bidding":
        ids = dict.fromkeys(bid.listing for bid in market.bids.where(bidder=market.me))
    else:
        ids = dict.fromkeys(watch.listing for watch in market.watches)
    return [market.listings[id] for id in ids]


@server.read()
def get_market_listing(market: Market, listing: ListingRef) -> ListingDetails:
    """Get a listing with its bids and its seller's rating."""
    now = update_if_due(market)
    return listing_details(now, now.listings[listing])


@server.write(idempotent=True)
def update_market_watch(market: Market, listing: ListingRef, action: Watching) -> ListingView:
    """Put a listing on your watch list, or take it off."""
    settle(market)
    row, watches = market.listings[listing], market.watches.where(listing=listing)
    if action == "unwatch":
        if not watches:
            raise ToolError("not_watched", f"{listing} is not on your watch list; nothing is left to do.")
        market.watches.remove(watches[0].id)
        return listing_view(market, row)
    if watches:
        raise ToolError("already_on_watch_list", f"{listing} is on your watch list already; nothing is left to do.")
    require_reach(market, listing)
    if len(market.watches) >= MOST_WATCHED:
        raise ToolError("watch_list_full", f"You watch {MOST_WATCHED} listings, the most allowed; unwatch one first.")
    market.watches.put(MarketWatch(id=market.watches.new_id(), listing=listing))
    return listing_view(market, row)


# Tools for haggling: list, make and answer offers on fixed-price listings.

SCORN_PERCENT = 70


@server.read()
def list_market_offers(
    market: Market, side: OfferSideParam = None, listing: ListingParam = None, limit: Limit = None
) -> tuple[OfferView, ...]:
    """List your offers, those that wait for your answer first."""
    now = update_if_due(market)
    rows = list(now.offers) if listing is None else now.offers.where(listing=now.listings[listing].id)
    sides = ("made", "received") if side is None else (side,)
    mine = [row for row in rows if row.made <= now.now and side_of(now, row) in sides]
    mine.sort(key=lambda row: (row.status == "open", now.my_turn(row), row.made, row.id), reverse=True)
    return tuple(offer_view(now, row) for row in mine[: limit or ROWS])


def side_of(market: Market, offer: MarketOffer) -> str | None:
    """Return whether the user "made" or "received" the offer, or None when neither."""
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
    """Raise ToolError unless the user may offer this amount."""
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
    """Propose the user's price to the other side, which accepts it within its limit or else answers later."""
    mine = offer.buyer == market.me
    if offer.amount >= offer.limit if mine else offer.amount <= offer.limit:
        return accept(market, offer)
    wait = time_to_think(market.seed, offer.listing, offer.buyer, offer.amount)
    return market.offers.change(offer.id, answered=market.now + wait)


@lru_cache(maxsize=4096)
def time_to_think(seed: int, listing: ListingId, buyer: EmailAddress, amount: int) -> timedelta:
    """Return how long the other side takes to answer this price."""
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
    """Return the offer. Raises NotFound before it is made, ToolError unless it is open and waits for the user."""
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
    """Raise ToolError when a counter-offer is out of range.

    A seller counters above the offer and below the price, a buyer below the offer but not under the minimum.
    """
    price = market.listings[offer.listing].price
    if offer.turn == "seller":
        low, high = offer.amount + 1, price - 1
    else:
        low, high = least_offer(price), offer.amount - 1
    if not low <= amount <= high:
        raise ToolError(
            "counter_out_of_range", f"A counter to {offer.id} lies between {low} and {high} cents; name such a price."
        )


# Tools for selling: list something, end a listing.


@server.write(idempotent=True)
def create_market_listing(
    market: Market,
    title: Title,
    category: OfCategory,
    condition: OfCondition,
    format: SellFormat,
    price: Price,
    days: Days,
    haggling: HagglingParam = None,
) -> ListingDetails:
    """List something for sale."""
    settle(market)
    require_listable(market, title, format, days)
    if format == "auction" and haggling == "open to offers":
        raise ToolError("auction_without_offers", "An auction takes bids and no offers; leave out haggling.")
    id = market.listings.new_id()
    listing = market.listings.put(
        Listing(
            id=id,
            title=title,
            category=category,
            condition=condition,
            seller=market.me,
            format=format,
            price=price,
            listed=market.now,
            ends=market.now + timedelta(days=days),
            negotiable=format == "fixed price" and haggling != "firm",
        )
    )
    plan_interest(market, listing)
    return listing_details(market, listing)


def require_listable(market: Market, title: str, format: Format, days: int) -> None:
    """Raise ToolError unless the user may list this."""
    banned = [word for word in title.casefold().split() if word.strip(".,!") in PROHIBITED]
    if banned:
        raise ToolError("prohibited_item", f"Nothing with {banned[0]} may be sold here; list something else.")
    if format == "auction" and days > LONGEST_AUCTION:
        raise ToolError("auction_too_long", f"An auction lasts {LONGEST_AUCTION} days at most; ask for fewer days.")
    mine = market.listings.where(seller=market.me, status="open")
    for row in mine:
        if row.title.casefold() == title.casefold():
            raise ToolError("already_listed", f"{row.id} is open under this title; end it or choose another title.")
    if len(mine) >= MOST_OPEN:
        raise ToolError("too_many_listings", f"You have {MOST_OPEN} open listings, the most allowed; end one first.")


@server.write(destructive=True, idempotent=True)
def end_market_listing(market: Market, listing: OwnListingRef) -> ListingView:
    """End one of your listings unsold. Its open offers close."""
    settle(market)
    row = require_own(market, listing)
    require_open(row)
    bids = market.bids_on(listing)
    if bids:
        raise ToolError("has_bids", f"{listing} has {len(bids)} bids, so it goes to the highest one; wait for its end.")
    close(market, listing, "ended")
    return listing_view(market, market.listings[listing])
