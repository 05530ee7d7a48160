"""Seeded initial state of the marketplace: open listings, past trades and pending offers."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime, timedelta
from functools import lru_cache
from typing import Literal, NamedTuple

from ..core import Draw
from ..shared.people import EmailAddress, cast, get_start_time
from .engine import id_for, sell
from .state import (
    LEAST_PAYOUT,
    LOW_STARS,
    OFFER_LASTS,
    PAYOUT_TAKES,
    Bid,
    Category,
    Condition,
    Format,
    Listing,
    ListingId,
    Market,
    MarketOffer,
    MarketPayout,
    MarketRating,
    MarketTrade,
    MarketWatch,
    OfferStatus,
    increment,
    net,
)

# What people sell second-hand, and what they say about each other afterwards.

GOODS: dict[Category, tuple[str, ...]] = {
    "books": ("atlas", "cookbook", "crime novel set", "comic collection", "dictionary", "field guide", "poetry volume"),
    "cameras": ("camera bag", "compact camera", "flash unit", "mirrorless camera", "tripod", "wide lens", "zoom lens"),
    "clothing": ("denim jacket", "hiking boots", "leather belt", "rain coat", "silk scarf", "wool coat", "wool jumper"),
    "cycling": ("bike helmet", "bike lock", "bike trailer", "city bike", "folding bike", "gravel bike", "pannier set"),
    "furniture": ("armchair", "bookshelf", "coffee table", "desk lamp", "dining chair", "floor lamp", "oak desk"),
    "garden": ("bird bath", "garden bench", "hedge trimmer", "lawn mower", "parasol", "plant pot set", "watering can"),
    "kitchen": (
        "bread maker",
        "coffee grinder",
        "espresso machine",
        "pasta maker",
        "pressure cooker",
        "tea set",
        "wok",
    ),
    "music": ("acoustic guitar", "bass amplifier", "clarinet", "digital piano", "drum kit", "turntable", "violin"),
    "sports": (
        "climbing harness",
        "rowing machine",
        "running watch",
        "ski boots",
        "surfboard",
        "tennis racket",
        "tent",
    ),
    "toys": ("board game", "building blocks", "doll house", "model railway", "puzzle set", "rocking horse", "scooter"),
}
MAKERS = (
    "Albion", "Brightwell", "Calder", "Dunmore", "Eastvale", "Fairholm", "Glenrock", "Hartwell", "Ironleaf",
    "Juniper", "Kestrel", "Larkfield", "Mistral", "Norrland", "Oakridge", "Pemberton", "Quayside", "Ravenna",
    "Solvang", "Thornbury", "Umbra", "Valmora", "Westerly", "Zephyr",
)  # fmt: skip
LOOKS = ("", "", "black", "blue", "brown", "cream", "green", "grey", "orange", "red", "silver", "white", "yellow")
PRAISE = (
    "All as described.", "Friendly and quick.", "Well packed, many thanks.", "A pleasure to deal with.",
    "Better than in the photos.", "Quick answers, fair price.",
)  # fmt: skip
BLAME = ("Scratches that were not mentioned.", "Took two weeks to send it.", "One part was missing.", "Hard to reach.")


class SaleItem(NamedTuple):
    """A thing to sell."""

    title: str
    category: Category


class Goods:
    """Things with different titles, one after the other."""

    def __init__(self, draw: Draw):
        self.draw, self.taken = draw, dict[str, None]()

    def draw_item(self) -> SaleItem:
        while True:
            category = self.draw.choice(tuple(GOODS))
            words = self.draw.choice(MAKERS), self.draw.choice(LOOKS), self.draw.choice(GOODS[category])
            title = " ".join(word for word in words if word)
            if title not in self.taken:
                self.taken[title] = None
                return SaleItem(title, category)


# Interest of others in the user's listings: offers and bids that become visible as time passes.

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
    """Return the people who will show interest in a new listing within the hour."""
    draw, found, minutes = Draw("interest", seed, listing), list[Interest](), 0
    for person in draw.shuffle_items([person.id for person in cast(seed, PEOPLE)[1:]])[: draw.integer(0, 3)]:
        minutes += draw.integer(2, 15)
        percent, more = (draw.integer(50, 80), draw.integer(20, 80)) if haggled else (100, 0)
        found.append(Interest(person, timedelta(minutes=minutes), percent, more))
    return tuple(found)


def plan_interest(market: Market, listing: Listing) -> None:
    """Add the future offers or bids of others for a new listing."""
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


# Plans of a new world's listings with their beginning and end, made before the listings are created.

Role = Literal["offered", "own", "bought", "sold", "gone", "lapsed"]


class Size(NamedTuple):
    """How many listings a world has: of others, the user's own, what the user bought and sold, and what is over."""

    fixed: int
    auctions: int
    own_fixed: int
    own_auctions: int
    bought: int
    sold: int
    gone: int
    lapsed: int
    watched: int
    people: int


SIZES = {
    "small": Size(10, 4, 2, 2, 2, 2, 1, 1, 2, 25),
    "default": Size(120, 60, 3, 2, 8, 10, 36, 10, 8, 39),
    "large": Size(800, 420, 4, 2, 24, 40, 300, 60, 12, 120),
}


class Plan(NamedTuple):
    """A listing to be; `at` is when it was sold, `number` tells apart those of one role and format."""

    listed: datetime
    role: Role
    number: int
    format: Format
    ends: datetime
    at: datetime | None = None


def plan_listings(draw: Draw, now: datetime, size: Size) -> list[Plan]:
    """Return plans for all listings of a world, oldest first."""
    roles: list[tuple[Role, Format, int]] = [
        ("offered", "fixed price", size.fixed),
        ("offered", "auction", size.auctions),
        ("own", "fixed price", size.own_fixed),
        ("own", "auction", size.own_auctions),
    ]
    plans = [plan_open(draw, now, role, number, format) for role, format, count in roles for number in range(count)]
    past: list[tuple[Role, int]] = [("bought", size.bought), ("sold", size.sold), ("gone", size.gone)]
    plans += [plan_sold(draw, now, role, number) for role, count in past for number in range(count)]
    for number in range(size.lapsed):
        ends = draw_past_moment(draw, now, 0, 40)
        plans.append(Plan(ends - timedelta(days=30), "lapsed", number, "fixed price", ends))
    return sorted(plans)


def plan_open(draw: Draw, now: datetime, role: Role, number: int, format: Format) -> Plan:
    if format == "auction":
        ends = now + timedelta(minutes=draw.integer(120, 6 * 24 * 60))
        return Plan(ends - timedelta(days=draw.choice((7, 10))), role, number, format, ends)
    listed = draw_past_moment(draw, now, 3, 18)
    return Plan(listed, role, number, format, listed + timedelta(days=30))


def plan_sold(draw: Draw, now: datetime, role: Role, number: int) -> Plan:
    """Plan a past sale: the first about one or two weeks ago, the second about a day ago."""
    low, high = {0: (6, 14), 1: (0, 1)}.get(number, (2, 80))
    at = draw_past_moment(draw, now, low, high)
    if draw.chance(0.4):
        return Plan(at - timedelta(days=7), role, number, "auction", at, at)
    listed = draw_past_moment(draw, at, 2, 20)
    return Plan(listed, role, number, "fixed price", listed + timedelta(days=30), at)


def draw_past_moment(draw: Draw, now: datetime, low: int, high: int) -> datetime:
    """Return a moment `low` to `high` whole days and some minutes before `now`."""
    return now - timedelta(days=draw.integer(low, high), minutes=draw.integer(20, 600))


CONDITIONS: tuple[Condition, ...] = ("new", "very good", "good", "worn", "for parts")


def seed(seed: int, size: str) -> Market:
    """Return the marketplace for this seed; `size` is small, default or large."""
    return MarketBuilder(seed, size, SIZES[size]).market


class MarketBuilder:
    """A new world while it is being furnished."""

    def __init__(self, seed: int, size: str, scale: Size):
        self.market = Market(seed, get_start_time(seed))
        self.now, self.draw = self.market.now, Draw("marketplace", seed, size)
        self.goods = Goods(self.draw)
        self.me, *self.others = [person.id for person in cast(seed, scale.people + 1)]
        if size == "large":
            self.market.listings.width = self.market.bids.width = 6
        for plan in plan_listings(self.draw, self.now, scale):
            self.put_listing_with_history(plan)
        self.put_payout()
        self.put_watches(scale.watched)

    def put_listing_with_history(self, plan: Plan) -> None:
        """Add a listing with everything that belongs to it."""
        seller = self.me if plan.role in ("own", "sold") else self.draw.choice(self.others)
        listing = self.put_listing(plan, seller)
        if plan.format == "auction":
            listing = self.put_bids(plan, listing)
        if plan.at is not None:
            self.put_trade(plan, listing, plan.at)
        elif plan.role == "own" and plan.format == "fixed price":
            self.put_received(listing, plan.number)
        elif plan.role == "offered" and plan.format == "fixed price":
            self.put_made(listing, plan.number)

    def put_listing(self, plan: Plan, seller: EmailAddress) -> Listing:
        good, draw = self.goods.draw_item(), self.draw
        price = draw.integer(25, 110) * 100 if draw.chance(0.88) else draw.integer(110, 900) * 100
        fixed = plan.format == "fixed price"
        negotiable = fixed and (plan.number < 3 or draw.chance(0.75))
        return self.market.listings.put(
            Listing.from_row(
                plan,
                id=id_for(self.market.listings, good.title),
                title=good.title,
                category=good.category,
                condition=draw.choose_weighted(CONDITIONS, (0.15, 0.3, 0.35, 0.15, 0.05)),
                seller=seller,
                price=price if fixed else price // 200 * 100,
                status="ended" if plan.role == "lapsed" else "open",
                negotiable=negotiable,
                floor=price * draw.integer(78, 94) // 100 if negotiable else 0,
            )
        )

    def put_bids(self, plan: Plan, listing: Listing) -> Listing:
        """Add rising bids; every second auction of the user has none, and a sold auction ends with the buyer's bid."""
        draw, until = self.draw, plan.at or self.now
        bidders = self.bidders(plan, listing)
        times = self.moments(listing.listed, until, len(bidders))
        amount = listing.price
        for number, (bidder, at) in enumerate(zip(bidders, times, strict=True)):
            if number:
                amount += increment(amount) * draw.integer(1, 3)
            id = id_for(self.market.bids, f"{listing.id}/{number}")
            self.market.bids.put(Bid(id=id, listing=listing.id, bidder=bidder, amount=amount, at=at))
        if not bidders or bidders[-1] == self.me or plan.at is not None or draw.chance(0.4):
            return listing
        limit = amount + increment(amount) * draw.integer(1, 6)
        return self.market.listings.change(listing.id, rival=bidders[-1], rival_limit=limit)

    def bidders(self, plan: Plan, listing: Listing) -> list[EmailAddress]:
        """Return the distinct bidders in order."""
        draw = self.draw
        if plan.role == "own":
            count = 0 if plan.number % 2 else draw.integer(1, 4)
        else:
            count = draw.integer(0, 4) if plan.at is None else draw.integer(1, 4)
        pool = [person for person in self.others if person != listing.seller]
        found = draw.sample(pool, count)
        if found and (plan.role == "bought" or (plan.role == "offered" and draw.chance(0.25))):
            place = len(found) - 1 if plan.role == "bought" else draw.integer(0, len(found) - 1)
            found[place] = self.me
        return found

    def moments(self, start: datetime, end: datetime, count: int) -> list[datetime]:
        """Return `count` distinct minutes between the two moments, in order."""
        minutes = int((end - start).total_seconds()) // 60
        return [start + timedelta(minutes=at) for at in sorted(self.draw.sample(range(1, minutes, 7), count))]

    def put_trade(self, plan: Plan, listing: Listing, at: datetime) -> None:
        draw, bids = self.draw, self.market.bids_on(listing.id)
        buyer, price = self.me, listing.price
        if plan.role != "bought":
            buyer = draw.choice([person for person in self.others if person != listing.seller])
        if bids:
            buyer, price = bids[-1].bidder, bids[-1].amount
        elif listing.negotiable and draw.chance(0.5):
            price = listing.floor
            self.put_offer(listing, buyer, price, at - timedelta(minutes=draw.integer(30, 900)), "accepted")
        trade = sell(self.market, listing, buyer, price, at, mark=listing.id)
        for rater, rated in ((trade.buyer, trade.seller), (trade.seller, trade.buyer)):
            waits = rater == self.me and plan.number == 0
            if not waits and at + timedelta(days=1) < self.now and draw.chance(0.6):
                self.put_rating(trade, rater, rated)

    def put_rating(self, trade: MarketTrade, rater: EmailAddress, rated: EmailAddress) -> None:
        stars = self.draw.choose_weighted((5, 4, 3, 2, 1), (0.55, 0.25, 0.1, 0.06, 0.04))
        texts = BLAME if stars <= LOW_STARS else PRAISE
        self.market.ratings.put(
            MarketRating(
                id=id_for(self.market.ratings, f"{trade.id}/{rater}"),
                trade=trade.id,
                title=trade.title,
                rater=rater,
                rated=rated,
                stars=stars,
                at=trade.at + timedelta(minutes=self.draw.integer(60, 1_400)),
                comment=self.draw.choice(texts) if stars <= LOW_STARS or self.draw.chance(0.5) else None,
            )
        )

    def put_offer(
        self, listing: Listing, buyer: EmailAddress, amount: int, made: datetime, status: OfferStatus = "open"
    ) -> MarketOffer:
        """Add an offer that the seller has to answer, unless its status says that it is over."""
        return self.market.offers.put(
            MarketOffer(
                id=id_for(self.market.offers, f"{listing.id}/{buyer}"),
                listing=listing.id,
                title=listing.title,
                buyer=buyer,
                amount=amount,
                turn="seller",
                made=made,
                expires=made + OFFER_LASTS,
                limit=listing.floor,
                status=status,
            )
        )

    def put_received(self, listing: Listing, number: int) -> None:
        """Add offers of others for one of the user's listings; the second may be over."""
        statuses: Sequence[OfferStatus] = ("open", self.draw.choice(("open", "expired", "declined")))
        for buyer, status in zip(self.draw.sample(self.others, 2), statuses, strict=True):
            if not listing.negotiable or (number and self.draw.chance(0.3)):
                continue
            low = self.draw.integer(45, 75) * listing.price // 100
            hours = self.draw.integer(2, 36) if status == "open" else self.draw.integer(50, 70)
            offer = self.put_offer(listing, buyer, low, self.now - timedelta(hours=hours), status)
            limit = low + (listing.price - low) * self.draw.integer(20, 80) // 100
            self.market.offers.change(offer.id, limit=limit)

    def put_made(self, listing: Listing, number: int) -> None:
        """Add an offer of the user that waits or has an answer, or reserve the listing for somebody else."""
        draw = self.draw
        if number == 3 or (number > 3 and draw.chance(0.08)):
            until = self.now + timedelta(minutes=draw.integer(100, 1_200))
            self.market.listings.change(listing.id, reserved_until=until)
        elif listing.negotiable and (number < 3 or draw.chance(0.08)):
            kind = ("countered", "waiting", "declined")[number % 3]
            made = self.now - timedelta(hours=draw.integer(2, 30))
            low = draw.integer(45, 70) * listing.price // 100
            offer = self.put_offer(listing, self.me, low, made, "declined" if kind == "declined" else "open")
            if kind == "countered":
                self.market.offers.change(offer.id, amount=listing.floor, turn="buyer", final=True)
            elif kind == "waiting":
                soon = self.now + timedelta(minutes=draw.integer(10, 200))
                self.market.offers.change(offer.id, answered=soon)

    def put_payout(self) -> None:
        """Add a payout of half of the first sale that was freed over a day ago and reaches the minimum."""
        for trade in self.market.trades.where(seller=self.me):
            at, amount = trade.freed + timedelta(days=1), net(trade) // 2
            if at < self.now and amount >= LEAST_PAYOUT:
                id = id_for(self.market.payouts, trade.id)
                self.market.payouts.put(MarketPayout(id=id, amount=amount, at=at, arrives=at + PAYOUT_TAKES))
                return

    def put_watches(self, count: int) -> None:
        rows = [row for row in self.market.listings.where(status="open") if row.seller != self.me]
        for row in self.draw.sample(rows, count):
            self.market.watches.put(MarketWatch(id=id_for(self.market.watches, row.id), listing=row.id))
