"""What the marketplace does and refuses, checked through its own tools in small worlds."""

from __future__ import annotations

from collections.abc import Callable
from datetime import timedelta
from typing import Any

import pytest
from calling import do, find_row, refused, small_worlds

from mcp_servers.core import Session, minute_text
from mcp_servers.marketplace import server
from mcp_servers.marketplace.seed import seed as opening
from mcp_servers.marketplace.state import (
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
    pending_balance,
)

LAMP: dict[str, Any] = {
    "title": "Brass reading lamp",
    "category": "furniture",
    "condition": "good",
    "format": "fixed price",
    "price": 4000,
    "days": 30,
}
AUCTION = {**LAMP, "format": "auction", "days": 10}


def world(wanted: Callable[[Market, Listing], bool]) -> tuple[Session[Market], Listing]:
    """A fresh session in the first small world with such a listing, and that listing."""
    return find_row(server, "listings", wanted)


def fixed(market: Market, listing: Listing) -> bool:
    """Whether it is somebody else's, at a fixed price, and free of offers and reservations."""
    return (
        (listing.status, listing.format) == ("open", "fixed price")
        and listing.seller != market.me
        and listing.reserved_until is None
        and not market.offers.where(listing=listing.id)
    )


def haggled(market: Market, listing: Listing) -> bool:
    return fixed(market, listing) and listing.negotiable and listing.floor * 7 // 10 > least_offer(listing.price) + 2


def auction(market: Market, listing: Listing) -> bool:
    """Whether it is an open auction of somebody else."""
    return (listing.status, listing.format) == ("open", "auction") and listing.seller != market.me


def own(market: Market, listing: Listing) -> bool:
    return listing.status == "open" and listing.seller == market.me


def offer_world(wanted: Callable[[Market, MarketOffer], bool]) -> tuple[Session[Market], MarketOffer]:
    return find_row(server, "offers", wanted)


def received(market: Market, offer: MarketOffer) -> bool:
    return offer.status == "open" and offer.buyer != market.me


def countered(market: Market, offer: MarketOffer) -> bool:
    return offer.status == "open" and offer.buyer == market.me and offer.turn == "buyer"


def waiting(market: Market, offer: MarketOffer) -> bool:
    return offer.status == "open" and offer.buyer == market.me and offer.turn == "seller"


def trade_of(session: Session[Market], listing: str) -> MarketTrade:
    (trade,) = session.state.trades.where(listing=listing)
    return trade


@pytest.fixture
def market() -> Session[Market]:
    return server.open(7, "small")


def test_increments_fees_and_least_offers_are_those_of_the_policy() -> None:
    steps = [(1_999, 100), (2_000, 250), (9_999, 250), (10_000, 500), (49_999, 500), (50_000, 1_000)]
    assert [(amount, increment(amount)) for amount, _ in steps] == steps
    assert (fee(5_000), fee(99), least_offer(5_000), least_offer(101)) == (400, 7, 2_000, 41)


def test_a_search_shows_open_listings_of_others_newest_first(market: Session[Market]) -> None:
    rows, state = do(market, "search_market_listings", limit=50), market.state
    others = [row for row in state.listings if row.status == "open" and row.seller != state.me]
    assert [row["id"] for row in rows] == [row.id for row in others[::-1]]
    assert do(market, "search_market_listings") == rows[:5]


def test_a_search_satisfies_every_filter(market: Session[Market]) -> None:
    rows, state = do(market, "search_market_listings", limit=50), market.state
    first = rows[2]
    row = state.listings[first["id"]]
    for wanted in (
        {"words": row.title.split()[-1].upper()},
        {"words": row.title},
        {"category": row.category},
        {"format": row.format},
        {"seller": row.seller},
        {"most": first["price"]},
    ):
        found = do(market, "search_market_listings", limit=50, **wanted)
        assert first in found
        for one in found:
            other = state.listings[one["id"]]
            assert all(word in other.words for word in wanted.get("words", "").lower().split())
            assert wanted.get("category", other.category) == other.category
            assert wanted.get("format", other.format) == other.format
            assert wanted.get("seller", other.seller) == other.seller
            assert one["price"] <= wanted.get("most", one["price"])
    assert first not in do(market, "search_market_listings", limit=50, most=first["price"] - 1)
    assert do(market, "search_market_listings", words=f"{row.title} nowhere") == []
    other_format = "auction" if row.format == "fixed price" else "fixed price"
    assert do(market, "search_market_listings", words=row.title, format=other_format) == []


def test_a_search_in_a_scope_shows_what_the_user_sells_bids_on_and_watches(market: Session[Market]) -> None:
    state = market.state
    ids = {
        scope: {row["id"] for row in do(market, "search_market_listings", scope=scope, limit=50)}
        for scope in ("selling", "bidding", "watching")
    }
    assert ids["selling"] == {row.id for row in state.listings if row.seller == state.me}
    assert ids["bidding"] == {bid.listing for bid in state.bids if bid.bidder == state.me}
    assert ids["watching"] == {watch.listing for watch in state.watches}
    mine = do(market, "search_market_listings", seller=state.me, limit=50)
    assert mine and all(row["seller"] == state.me and row["status"] == "open" for row in mine)


def test_the_details_of_an_auction_tell_its_next_bid_and_its_latest_three() -> None:
    session, row = world(lambda market, row: auction(market, row) and len(market.bids_on(row.id)) == 4)
    bids, details = session.state.bids_on(row.id), do(session, "get_market_listing", listing=row.id)
    assert [bid["id"] for bid in details["bids"]] == [bid.id for bid in bids[:0:-1]]
    assert (details["bid_count"], details["price"]) == (4, bids[-1].amount)
    assert details["next_bid"] == bids[-1].amount + increment(bids[-1].amount)
    assert "open_to_offers" not in details and "trade" not in details


def test_the_stars_of_a_seller_are_the_average_of_all_ratings() -> None:
    session = server.open(1, "default")
    market = session.state
    row = max(market.listings, key=lambda row: len(market.ratings.where(rated=row.seller)))
    stars = [rating.stars for rating in market.ratings.where(rated=row.seller)]
    details = do(session, "get_market_listing", listing=row.id)
    assert details["ratings"] == len(stars) > 1
    assert abs(float(details["stars"]) - sum(stars) / len(stars)) <= 0.0501


def test_a_bid_without_rival_leads_and_is_not_topped_by_oneself() -> None:
    session, row = world(lambda market, row: auction(market, row) and not market.bids_on(row.id))
    assert refused(session, "place_auction_bid", listing=row.id, amount=row.price - 1) == "bid_too_low"
    bid = do(session, "place_auction_bid", listing=row.id, amount=row.price)
    assert (bid["leading"], bid["price"], bid["amount"]) == (True, row.price, row.price)
    assert bid["ends"] == minute_text(row.ends)
    assert refused(session, "place_auction_bid", listing=row.id, amount=row.price * 2) == "already_leading"
    assert row.id in [one["id"] for one in do(session, "search_market_listings", scope="bidding", limit=50)]


def rivalled(market: Market, row: Listing) -> bool:
    lead = market.highest(row.id)
    if lead is None or not auction(market, row):
        return False
    least = lead.amount + increment(lead.amount)
    return row.rival is not None and row.rival_limit >= least + increment(least)


def test_a_rival_tops_a_bid_by_one_increment_as_far_as_its_limit_goes() -> None:
    session, row = world(rivalled)
    lead = session.state.highest(row.id)
    assert lead is not None
    least = lead.amount + increment(lead.amount)
    assert refused(session, "place_auction_bid", listing=row.id, amount=least - 1) == "bid_too_low"
    bid = do(session, "place_auction_bid", listing=row.id, amount=least)
    assert (bid["leading"], bid["price"]) == (False, least + increment(least))
    assert session.state.highest(row.id).bidder == row.rival  # type: ignore[union-attr]
    session.reset()
    just = max(amount for amount in range(100, row.rival_limit) if amount + increment(amount) <= row.rival_limit)
    assert not do(session.fork(), "place_auction_bid", listing=row.id, amount=just)["leading"]
    assert do(session, "place_auction_bid", listing=row.id, amount=just + 1)["leading"]


def test_the_highest_bid_wins_when_the_auction_ends_and_the_winner_rates() -> None:
    session, row = world(lambda market, row: auction(market, row) and not market.bids_on(row.id))
    do(session, "place_auction_bid", listing=row.id, amount=row.price + 40)
    late = session.call("get_market_listing", {"listing": row.id}, now=row.ends).data
    assert (late["status"], late["price"]) == ("sold", row.price + 40) and "next_bid" not in late
    early = session.call("get_market_listing", {"listing": row.id}, now=row.ends - timedelta(minutes=1)).data
    assert early["status"] == "open"
    rating = do(session, "rate_market_trade", now=row.ends, trade=late["trade"], stars=5)
    assert (rating["rated"], rating["rater"]) == (row.seller, session.state.me)
    assert trade_of(session, row.id).id == late["trade"]
    assert refused(session, "place_auction_bid", listing=row.id, amount=90_000) == "auction_closed"


def test_an_auction_without_bids_ends_unsold() -> None:
    session, row = world(lambda market, row: auction(market, row) and not market.bids_on(row.id))
    late = session.call("get_market_listing", {"listing": row.id}, now=row.ends).data
    assert late["status"] == "ended" and "trade" not in late


@pytest.mark.parametrize("minutes", [1, 4, 5, 6])
def test_a_bid_in_the_last_minutes_makes_the_auction_longer(minutes: int) -> None:
    session, row = world(lambda market, row: auction(market, row) and not market.bids_on(row.id))
    now = row.ends - timedelta(minutes=minutes)
    bid = do(session, "place_auction_bid", now=now, listing=row.id, amount=row.price)
    ends = max(row.ends, now + timedelta(minutes=5))
    assert bid["ends"] == minute_text(ends)


def test_a_purchase_is_final_and_happens_once() -> None:
    session, row = world(fixed)
    trade = do(session, "buy_market_listing", listing=row.id)
    assert (trade["price"], trade["side"], trade["partner"]) == (row.price, "bought", row.seller)
    assert "earned" not in trade and trade["rated"] is False
    assert refused(session, "buy_market_listing", listing=row.id) == "listing_sold"
    assert refused(session, "make_market_offer", listing=row.id, amount=row.price - 1) == "listing_sold"
    assert do(session, "get_market_account", side="bought", limit=1)["trades"][0]["id"] == trade["id"]
    assert do(session, "get_market_listing", listing=row.id)["trade"] == trade["id"]
    do(session, "rate_market_trade", trade=trade["id"], stars=4, comment="Quick and honest")
    assert do(session, "get_market_account", limit=1)["trades"][0]["rated"] is True


def test_what_is_reserved_is_free_again_later() -> None:
    session, row = world(lambda market, row: row.reserved_until is not None)
    until = row.reserved_until
    assert until is not None
    assert do(session, "get_market_listing", listing=row.id)["reserved_until"] == minute_text(until)
    for tool, more in (("buy_market_listing", {}), ("make_market_offer", {"amount": row.price - 1})):
        assert refused(session, tool, listing=row.id, **more) == "listing_reserved"
    assert "reserved_until" not in session.call("get_market_listing", {"listing": row.id}, now=until).data
    before = until - timedelta(minutes=1)
    assert not session.call("buy_market_listing", {"listing": row.id}, now=before).ok
    do(session, "buy_market_listing", now=until, listing=row.id)


def test_each_format_is_traded_in_its_own_way_and_never_with_oneself() -> None:
    session, row = world(auction)
    assert refused(session, "buy_market_listing", listing=row.id) == "is_auction"
    assert refused(session, "make_market_offer", listing=row.id, amount=500) == "is_auction"
    session, row = world(fixed)
    assert refused(session, "place_auction_bid", listing=row.id, amount=90_000) == "not_an_auction"
    mine = next(row for row in session.state.listings if own(session.state, row))
    for tool, more in (
        ("buy_market_listing", {}),
        ("make_market_offer", {"amount": 500}),
        ("place_auction_bid", {"amount": 500}),
        ("update_market_watch", {"action": "watch"}),
    ):
        assert refused(session, tool, listing=mine.id, **more) == "own_listing"


def test_a_fixed_price_listing_ends_by_itself() -> None:
    session, row = world(fixed)
    assert not session.call("buy_market_listing", {"listing": row.id}, now=row.ends).ok
    session, row = world(lambda market, row: row.status == "ended" and row.seller != market.me)
    assert refused(session, "buy_market_listing", listing=row.id) == "listing_ended"


def test_a_good_offer_is_accepted_at_once() -> None:
    session, row = world(haggled)
    fork = session.fork()
    offer = do(fork, "make_market_offer", listing=row.id, amount=row.floor - 1)
    assert (offer["status"], offer["your_turn"]) == ("open", False)
    offer = do(session, "make_market_offer", listing=row.id, amount=row.floor)
    trade = trade_of(session, row.id)
    assert (offer["status"], offer["trade"], trade.price, trade.buyer) == (
        "accepted", trade.id, row.floor, session.state.me,
    )  # fmt: skip
    assert "expires" not in offer and "your_turn" not in offer


def test_a_poor_offer_is_declined_at_once_and_three_are_the_most() -> None:
    session, row = world(haggled)
    least, scorn = least_offer(row.price), -(-row.floor * 70 // 100)
    assert refused(session, "make_market_offer", listing=row.id, amount=least - 1) == "offer_too_low"
    assert refused(session, "make_market_offer", listing=row.id, amount=row.price) == "offer_not_below_price"
    assert do(session.fork(), "make_market_offer", listing=row.id, amount=scorn)["status"] == "open"
    assert do(session, "make_market_offer", listing=row.id, amount=least)["status"] == "declined"
    assert refused(session, "make_market_offer", listing=row.id, amount=least) == "offer_not_above_last"
    for amount in (scorn - 2, scorn - 1):
        assert do(session, "make_market_offer", listing=row.id, amount=amount)["status"] == "declined"
    assert refused(session, "make_market_offer", listing=row.id, amount=scorn) == "offers_used_up"


def test_a_firm_price_takes_no_offers() -> None:
    session, row = world(lambda market, row: fixed(market, row) and not row.negotiable)
    assert refused(session, "make_market_offer", listing=row.id, amount=row.price - 1) == "price_is_firm"
    assert do(session, "get_market_listing", listing=row.id)["open_to_offers"] is False


def test_the_seller_answers_a_middling_offer_later_and_the_user_takes_it() -> None:
    session, row = world(haggled)
    offer = do(session, "make_market_offer", listing=row.id, amount=row.floor - 1)
    assert refused(session, "make_market_offer", listing=row.id, amount=row.floor) == "offer_pending"
    assert refused(session, "answer_market_offer", offer=offer["id"], answer="accept") == "not_your_turn"
    at = session.state.offers[offer["id"]].answered
    assert at is not None and timedelta(minutes=4) <= at - session.state.now <= timedelta(minutes=90)
    (offered,) = session.call("list_market_offers", {"listing": row.id}, now=at).data
    assert (offered["amount"], offered["your_turn"]) == (row.floor, True)
    assert offered["expires"] == minute_text(at + timedelta(days=2))
    early = session.call("list_market_offers", {"listing": row.id}, now=at - timedelta(minutes=1)).data
    assert early[0]["your_turn"] is False
    done = do(session, "answer_market_offer", now=at, offer=offer["id"], answer="accept")
    assert (done["status"], trade_of(session, row.id).price) == ("accepted", row.floor)
    assert refused(session, "answer_market_offer", offer=offer["id"], answer="decline") == "offer_answered"


def test_a_counter_below_the_last_price_of_the_seller_is_declined_in_the_end() -> None:
    session, offer = offer_world(countered)
    listing = session.state.listings[offer.listing]
    for amount in (least_offer(listing.price) - 1, offer.amount):
        code = refused(session, "answer_market_offer", offer=offer.id, answer="counter", amount=amount)
        assert code == "counter_out_of_range"
    least = least_offer(listing.price)
    do(session.fork(), "answer_market_offer", offer=offer.id, answer="counter", amount=least)
    answered = do(session, "answer_market_offer", offer=offer.id, answer="counter", amount=offer.amount - 1)
    assert (answered["status"], answered["your_turn"], answered["amount"]) == ("open", False, offer.amount - 1)
    late = session.state.now + timedelta(minutes=90)
    (row,) = session.call("list_market_offers", {"listing": offer.listing}, now=late).data
    assert row["status"] == "declined"


def test_a_received_offer_is_countered_within_reach_and_sold() -> None:
    session, offer = offer_world(received)
    listing = session.state.listings[offer.listing]
    for amount in (offer.amount, listing.price):
        code = refused(session, "answer_market_offer", offer=offer.id, answer="counter", amount=amount)
        assert code == "counter_out_of_range"
    fork = session.fork()
    answered = do(session, "answer_market_offer", offer=offer.id, answer="counter", amount=offer.limit)
    trade = trade_of(session, offer.listing)
    assert (answered["status"], answered["trade"], trade.buyer) == ("accepted", trade.id, offer.buyer)
    assert (trade.price, trade.fee) == (offer.limit, fee(offer.limit))
    (row,) = (
        row for row in do(session, "get_market_account", side="sold", limit=50)["trades"] if row["id"] == trade.id
    )
    assert (row["earned"], row["partner"]) == (trade.price - trade.fee, offer.buyer)
    answered = do(fork, "answer_market_offer", offer=offer.id, answer="counter", amount=offer.limit + 1)
    assert (answered["status"], answered["your_turn"]) == ("open", False)
    assert refused(fork, "answer_market_offer", offer=offer.id, answer="decline") == "not_your_turn"
    late = fork.state.now + timedelta(minutes=90)
    rows = fork.call("list_market_offers", {"listing": offer.listing, "limit": 50}, now=late).data
    (row,) = (row for row in rows if row["id"] == offer.id)
    assert (row["amount"], row["your_turn"]) == (offer.limit, True)


def test_an_offer_is_declined_for_good(market: Session[Market]) -> None:
    offer = next(row for row in market.state.offers if received(market.state, row))
    assert do(market, "answer_market_offer", offer=offer.id, answer="decline")["status"] == "declined"
    assert refused(market, "answer_market_offer", offer=offer.id, answer="accept") == "offer_answered"
    assert market.state.listings[offer.listing].status == "open"


def test_an_amount_belongs_to_a_counter(market: Session[Market]) -> None:
    offer = next(row for row in market.state.offers if received(market.state, row))
    assert refused(market, "answer_market_offer", offer=offer.id, answer="counter") == "amount_missing"
    for answer in ("accept", "decline"):
        code = refused(market, "answer_market_offer", offer=offer.id, answer=answer, amount=offer.amount + 1)
        assert code == "amount_unexpected"


def test_an_offer_lapses_after_two_days() -> None:
    session, offer = offer_world(received)
    call = {"offer": offer.id, "answer": "accept"}
    assert session.fork().call("answer_market_offer", call, now=offer.expires - timedelta(minutes=1)).ok
    late = session.call("answer_market_offer", call, now=offer.expires)
    assert late.data["error"] == "offer_expired"


def test_a_sale_closes_the_other_offers() -> None:
    def one_of_two(market: Market, offer: MarketOffer) -> bool:
        rows = market.offers.where(listing=offer.listing)
        return received(market, offer) and len([row for row in rows if row.status == "open"]) == 2

    session, offer = offer_world(one_of_two)
    do(session, "answer_market_offer", offer=offer.id, answer="accept")
    (other,) = (row for row in session.state.offers.where(listing=offer.listing) if row.id != offer.id)
    assert other.status == "closed"
    assert refused(session, "answer_market_offer", offer=other.id, answer="accept") == "listing_sold"


def test_offers_between_others_are_out_of_reach() -> None:
    session, offer = offer_world(lambda market, row: market.me not in (row.buyer, market.listings[row.listing].seller))
    assert refused(session, "answer_market_offer", offer=offer.id, answer="accept") == "not_your_offer"
    assert do(session, "list_market_offers", listing=offer.listing) == []


def test_offers_are_listed_by_side_with_those_to_answer_first(market: Session[Market]) -> None:
    rows = do(market, "list_market_offers", limit=50)
    turns = [2 if row.get("your_turn") else 1 if row["status"] == "open" else 0 for row in rows]
    assert turns == sorted(turns, reverse=True) and len(set(turns)) == 3
    made = do(market, "list_market_offers", side="made", limit=50)
    got = do(market, "list_market_offers", side="received", limit=50)
    assert {row["buyer"] for row in made} == {market.state.me} and market.state.me not in {row["buyer"] for row in got}
    assert len(made) + len(got) == len(rows) and do(market, "list_market_offers") == rows[:5]


def test_a_new_listing_is_found_interests_others_and_sells_to_one_of_them() -> None:
    for session in small_worlds(server):
        row = do(session, "create_market_listing", **LAMP)
        hour = session.state.now + timedelta(hours=1)
        offers = session.call("list_market_offers", {"listing": row["id"]}, now=hour).data
        planned = session.state.offers.where(listing=row["id"])
        assert len(offers) == len(planned) and do(session, "list_market_offers", listing=row["id"]) == []
        if planned:
            assert refused(session, "answer_market_offer", offer=planned[0].id, answer="accept") == "not_found"
            do(session, "answer_market_offer", now=hour, offer=planned[0].id, answer="accept")
            assert trade_of(session, row["id"]).price == planned[0].amount
            return
    raise AssertionError("Nobody is interested in anything.")


def test_a_new_auction_can_be_ended_until_the_first_bid_and_then_goes_to_the_highest() -> None:
    for session in small_worlds(server):
        row = do(session, "create_market_listing", **AUCTION)
        assert row["next_bid"] == row["price"] == 4000 and "open_to_offers" not in row and row["bid_count"] == 0
        bids = sorted(session.state.bids.where(listing=row["id"]), key=lambda bid: bid.amount)
        if len(bids) > 1:
            assert do(session.fork(), "end_market_listing", listing=row["id"])["status"] == "ended"
            late = session.call("end_market_listing", {"listing": row["id"]}, now=bids[0].at)
            assert late.data["error"] == "has_bids"
            end = session.state.now + timedelta(days=10)
            details = session.call("get_market_listing", {"listing": row["id"]}, now=end).data
            assert (details["status"], details["price"]) == ("sold", bids[-1].amount)
            return
    raise AssertionError("Nobody bids for anything.")


def test_what_may_be_listed(market: Session[Market]) -> None:
    def listed(**changed: Any) -> str:
        return refused(market, "create_market_listing", **{**LAMP, **changed})

    assert listed(title="Crate of Wine!") == "prohibited_item"
    assert listed(format="auction", days=11) == "auction_too_long"
    assert listed(format="auction", days=5, haggling="open to offers") == "auction_without_offers"
    row = do(market, "create_market_listing", **LAMP, haggling="firm")
    assert row["open_to_offers"] is False and row["seller"] == market.state.me and row["price"] == 4000
    assert row["ends"] == minute_text(market.state.now + timedelta(days=30, minutes=-1))
    assert listed(title="brass READING lamp") == "already_listed"
    assert do(market, "create_market_listing", **{**LAMP, "title": "Oak step stool"})["open_to_offers"] is True
    do(market, "create_market_listing", **{**AUCTION, "title": "Wineglass rack"})


def test_eight_listings_may_be_open(market: Session[Market]) -> None:
    count = len([row for row in market.state.listings if own(market.state, row)])
    for number in range(8 - count):
        do(market, "create_market_listing", **{**LAMP, "title": f"Chair number {number}"})
    assert refused(market, "create_market_listing", **LAMP) == "too_many_listings"
    mine = next(row for row in market.state.listings if row.title == "Chair number 0")
    do(market, "end_market_listing", listing=mine.id)
    do(market, "create_market_listing", **LAMP)


def test_only_ones_own_open_listing_without_bids_is_ended() -> None:
    session, row = world(lambda market, row: own(market, row) and bool(market.bids_on(row.id)))
    assert refused(session, "end_market_listing", listing=row.id) == "has_bids"
    session, row = world(fixed)
    assert refused(session, "end_market_listing", listing=row.id) == "not_own_listing"
    session, offer = offer_world(received)
    do(session, "end_market_listing", listing=offer.listing)
    assert session.state.offers[offer.id].status == "closed"
    assert refused(session, "end_market_listing", listing=offer.listing) == "listing_ended"
    assert refused(session, "answer_market_offer", offer=offer.id, answer="accept") == "listing_ended"


def test_a_listing_is_watched_once_and_unwatched_once() -> None:
    session, row = world(lambda market, row: fixed(market, row) and not market.watches.where(listing=row.id))
    assert refused(session, "update_market_watch", listing=row.id, action="unwatch") == "not_watched"
    assert do(session, "update_market_watch", listing=row.id, action="watch")["id"] == row.id
    assert refused(session, "update_market_watch", listing=row.id, action="watch") == "already_on_watch_list"
    do(session, "buy_market_listing", listing=row.id)
    (watched,) = do(session, "search_market_listings", scope="watching", words=row.title)
    assert watched["status"] == "sold"
    do(session, "update_market_watch", listing=row.id, action="unwatch")
    assert do(session, "search_market_listings", scope="watching", words=row.title) == []
    assert refused(session, "update_market_watch", listing=row.id, action="watch") == "listing_sold"


def test_fifteen_listings_may_be_watched() -> None:
    session = server.open(2, "default")
    rows = [row for row in session.state.listings if fixed(session.state, row)]
    free = [row for row in rows if not session.state.watches.where(listing=row.id)]
    for row in free[: 15 - len(session.state.watches)]:
        do(session, "update_market_watch", listing=row.id, action="watch")
    assert refused(session, "update_market_watch", listing=free[20].id, action="watch") == "watch_list_full"


def my_trade(session: Session[Market], rated: bool) -> MarketTrade:
    market = session.state
    return next(
        trade
        for trade in market.trades
        if market.me in (trade.buyer, trade.seller)
        and any(rating.rater == market.me for rating in market.ratings.where(trade=trade.id)) == rated
        and trade.at > market.now - timedelta(days=40)
    )


def test_a_trade_is_rated_once_with_a_reason_for_few_stars() -> None:
    session = server.open(0, "default")
    trade = my_trade(session, rated=False)
    assert refused(session, "rate_market_trade", trade=trade.id, stars=2) == "comment_required"
    do(session.fork(), "rate_market_trade", trade=trade.id, stars=3)
    rating = do(session, "rate_market_trade", trade=trade.id, stars=2, comment="Lid was cracked")
    assert (rating["stars"], rating["comment"], rating["title"]) == (2, "Lid was cracked", trade.title)
    assert rating["rated"] == (trade.seller if trade.buyer == session.state.me else trade.buyer)
    assert refused(session, "rate_market_trade", trade=trade.id, stars=5) == "already_rated"


def test_only_ones_own_trades_are_rated_and_only_in_time() -> None:
    session = server.open(0, "default")
    market = session.state
    foreign = next(trade for trade in market.trades if market.me not in (trade.buyer, trade.seller))
    assert refused(session, "rate_market_trade", trade=foreign.id, stars=5) == "not_your_trade"
    trade = my_trade(session, rated=False)
    last, call = trade.at + timedelta(days=60), {"trade": trade.id, "stars": 5}
    assert session.fork().call("rate_market_trade", call, now=last).ok
    late = session.call("rate_market_trade", call, now=last + timedelta(minutes=1))
    assert late.data["error"] == "rating_closed"


def rich(amount: int) -> Session[Market]:
    return next(session for session in small_worlds(server, "default") if available(session.state) > amount)


def test_payouts_take_what_is_free_and_two_at_a_time() -> None:
    session = rich(5_000)
    free = available(session.state)
    assert do(session, "get_market_account")["available"] == free
    assert refused(session, "request_market_payout", amount=999) == "payout_too_small"
    assert refused(session, "request_market_payout", amount=free + 1) == "balance_too_low"
    assert do(session.fork(), "request_market_payout", amount=free)["amount"] == free
    payout = do(session, "request_market_payout", amount=1_000)
    do(session, "request_market_payout", amount=1_000)
    assert do(session, "get_market_account")["available"] == free - 2_000
    assert payout["id"] in [row["id"] for row in do(session, "get_market_account")["payouts"]]
    assert refused(session, "request_market_payout", amount=1_000) == "payouts_pending"
    later = session.state.payouts[payout["id"]].arrives
    do(session, "request_market_payout", now=later, amount=1_000)


def test_the_money_of_a_sale_is_held_for_three_days_less_the_fee() -> None:
    session, offer = offer_world(received)
    before = do(session, "get_market_account")
    at = session.state.now
    do(session, "answer_market_offer", offer=offer.id, answer="accept")
    after = do(session, "get_market_account")
    earned = offer.amount - fee(offer.amount)
    assert after["held"] - before["held"] == earned and after["available"] == before["available"]
    assert pending_balance(session.state) == after["held"] and net(trade_of(session, offer.listing)) == earned
    early = session.call("get_market_account", {}, now=at + timedelta(days=3, minutes=-1)).data
    late = session.call("get_market_account", {}, now=at + timedelta(days=3)).data
    assert late["available"] - early["available"] == earned


def test_the_account_lists_purchases_and_sales_newest_first() -> None:
    session = server.open(0, "default")
    rows = do(session, "get_market_account", limit=50)["trades"]
    assert [row["at"] for row in rows] == sorted((row["at"] for row in rows), reverse=True)
    for side in ("bought", "sold"):
        assert do(session, "get_market_account", side=side, limit=50)["trades"] == [
            row for row in rows if row["side"] == side
        ]
    assert len(do(session, "get_market_account")["trades"]) == 5


def one(market: Market, kind: str, **wanted: Any) -> Any:
    return next(
        row for row in market.tables()[kind] if all(getattr(row, key) == value for key, value in wanted.items())
    )


LAWS_AND_BREACHES: dict[str, Callable[[Market], object]] = {
    "what_is_sold_is_sold_once": lambda market: market.listings.change(
        one(market, "listings", status="sold").id, status="open"
    ),
    "bids_climb": lambda market: market.bids.change(next(iter(market.bids)).id, amount=1),
    "bids_are_made_by_others_in_time": lambda market: market.bids.put(
        next(Bid(id=market.bids.new_id(), listing=row.id, bidder=row.seller, amount=10**6, at=market.now)
             for row in market.listings if row.format == "auction" and row.status == "open")
    ),
    "the_price_is_what_was_agreed": lambda market: market.trades.change(next(iter(market.trades)).id, price=10**6),
    "the_fee_and_the_rest_are_the_price": lambda market: market.trades.change(next(iter(market.trades)).id, fee=-1),
    "payouts_are_covered": lambda market: market.payouts.change(next(iter(market.payouts)).id, amount=10**7),
    "offers_fit_their_listings": lambda market: market.offers.change(next(iter(market.offers)).id, amount=1),
    "nobody_haggles_twice_at_a_time": lambda market: [
        market.offers.change(row.id, buyer=market.me, listing=next(iter(market.offers)).listing)
        for row in list(market.offers)
    ],
    "answers_come_from_the_other_side": lambda market: market.offers.change(
        next(row.id for row in market.offers if market.my_turn(row)), answered=market.now
    ),
    "ratings_are_of_trades": lambda market: market.ratings.change(next(iter(market.ratings)).id, stars=6),
    "the_user_stays_within_limits": lambda market: market.watches.change(
        next(iter(market.watches)).id, listing=one(market, "listings", seller=market.me).id
    ),
    "listings_are_in_order": lambda market: market.listings.change(
        one(market, "listings", format="auction").id, negotiable=True
    ),
}  # fmt: skip


@pytest.mark.parametrize("law", LAWS_AND_BREACHES)
def test_a_law_catches_its_breach(law: str) -> None:
    market = opening(3, "default")
    assert server.find_broken_invariants(market) == []
    LAWS_AND_BREACHES[law](market)
    assert law in server.find_broken_invariants(market)


def test_every_law_has_a_breach_to_catch() -> None:
    assert set(LAWS_AND_BREACHES) == set(server.invariants)


@pytest.mark.parametrize("seed", [0, 1, 2, 3, 1_000_000_000, 1_000_000_001])
def test_every_world_lets_the_user_buy_bid_haggle_rate_and_be_paid(seed: int) -> None:
    session = server.open(seed, "small")
    market = session.state
    assert any(fixed(market, row) for row in market.listings)
    assert any(auction(market, row) for row in market.listings)
    assert any(countered(market, row) for row in market.offers) and any(received(market, row) for row in market.offers)
    assert available(market) >= 1_000
    assert my_trade(session, rated=False)
