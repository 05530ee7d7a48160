"""Seeded initial state of the chain: stores with stock and promotions, and the user's history there."""

from __future__ import annotations

from collections import Counter
from datetime import datetime, timedelta
from typing import NamedTuple, TypeVar

from ..core import Draw, derive_row_id
from ..shared.people import get_start_time
from ..shared.places import Place, places
from .engine import add_units
from .state import (
    Category,
    Chain,
    ChainStoreId,
    LoyaltyCard,
    Pickup,
    Product,
    Promotion,
    Purchase,
    ReservationStatus,
    Return,
    Stock,
    Store,
    Tier,
    Transfer,
    Travel,
    stock_id,
)

# What the chain sells: things by category with a usual price in cents, and the possible materials.

MATERIALS = (
    "acacia", "bamboo", "beech", "brass", "ceramic", "copper", "cork", "cotton", "folding", "glass", "jute", "linen",
    "marble", "mini", "oak", "rattan", "round", "steel", "travel", "walnut",
)  # fmt: skip
THINGS: dict[Category, tuple[tuple[str, int], ...]] = {
    "bath": (
        ("bath mat", 1_990),
        ("mirror", 4_950),
        ("soap dish", 790),
        ("towel rail", 2_890),
        ("toothbrush mug", 590),
    ),
    "bedding": (("pillow", 1_790), ("blanket", 3_490), ("mattress topper", 8_900), ("sheet set", 4_290)),
    "garden": (("garden chair", 5_900), ("plant pot", 1_290), ("watering can", 1_890), ("lantern", 2_490)),
    "kitchen": (("bread board", 1_690), ("frying pan", 3_990), ("kettle", 4_490), ("salad bowl", 1_590), ("tray", 990)),
    "lighting": (("ceiling lamp", 7_900), ("desk lamp", 3_290), ("floor lamp", 9_900), ("night light", 1_090)),
    "office": (("bookend", 890), ("desk tidy", 1_390), ("monitor stand", 3_790), ("office chair", 14_900)),
    "storage": (("basket", 1_490), ("coat rack", 4_790), ("shelf", 6_900), ("shoe box", 690), ("trunk", 7_490)),
    "tools": (("hammer", 1_590), ("ladder", 6_490), ("screwdriver set", 2_290), ("tool box", 3_190)),
}
RANGE: tuple[tuple[Category, str, int], ...] = tuple(
    (category, f"{material} {thing}", price)
    for category, things in THINGS.items()
    for thing, price in things
    for material in MATERIALS
)


# The user's history before the session: purchases, returns, reservations and transfers of every kind.

HOLD = timedelta(hours=48)
HOUR = timedelta(hours=1)
MINUTE = timedelta(minutes=1)


def add_past(chain: Chain, draw: Draw, purchases: int) -> None:
    """Add the user's history.

    Open reservations and this week's purchases are all of different products, so that no limit is exceeded.
    """
    now, goods = chain.now, draw.shuffle_items(list(chain.products))
    ready, coming, arrived, expired, collected, dropped, recent = goods[:7]
    store = next(row.id for row in chain.stores if row.is_open(now) and row.closes > 1_300)
    put_aside(chain, draw, ready, choose_stock(chain, draw, ready, store).store, now - draw.integer(2, 40) * HOUR)
    put_moving(chain, draw, coming, now - draw.integer(16, 30) * MINUTE, now + draw.integer(8, 40) * MINUTE, "moving")
    put_moving(chain, draw, arrived, now - draw.integer(16, 26) * HOUR, now - draw.integer(1, 12) * HOUR, "arrived")
    past: tuple[tuple[Product, ReservationStatus, int], ...] = (
        (expired, "held", 60),
        (dropped, "cancelled", 30),
        (collected, "collected", 50),
    )
    for product, status, hours in past:
        moment = now - draw.integer(hours, hours + 40) * HOUR
        pickup = put_aside(chain, draw, product, choose_stock(chain, draw, product).store, moment, status)
        if status == "collected":
            buy(chain, draw, product, pickup.store, pickup.quantity, moment + draw.integer(2, 40) * HOUR)
    days = [
        draw.integer(2, 6),
        *(draw.integer(9, 28) if draw.chance(0.6) else draw.integer(31, 330) for _ in range(purchases - 1)),
    ]
    for place, ago in enumerate(days):
        product = recent if place == 0 else draw.choice(goods)
        moment = now - timedelta(days=ago, minutes=draw.integer(0, 300))
        buy(chain, draw, product, choose_stock(chain, draw, product).store, draw.integer(1, 3), moment)
    put_returns(chain, draw, purchases // 4)
    put_card(chain, draw)
    count_supplies(chain)


def choose_stock(chain: Chain, draw: Draw, product: Product, store: ChainStoreId | None = None) -> Stock:
    """Return the stock of a product in the given store if it carries it, else in a random store."""
    rows = chain.stock.where(product=product.id)
    return next((row for row in rows if row.store == store), draw.choice(rows))


def put_aside(
    chain: Chain,
    draw: Draw,
    product: Product,
    store: ChainStoreId,
    moment: datetime,
    status: ReservationStatus = "held",
) -> Pickup:
    """Add a reservation; the units of a held one are added to the stock of the store."""
    quantity = draw.integer(1, 2)
    if status == "held":
        add_units(chain, store, product.id, quantity)
    chain.pickups.cause = f"seed/{product.id}"
    return chain.pickups.put(
        Pickup(
            id=chain.pickups.new_id(),
            store=store,
            product=product.id,
            name=product.name,
            quantity=quantity,
            price=product.price,
            reserved=moment,
            until=moment + HOLD,
            status=status,
        )
    )


def put_moving(
    chain: Chain, draw: Draw, product: Product, departs: datetime, arrives: datetime, status: Travel
) -> None:
    """Add a reservation whose units come, or have come, from another store."""
    source, target = draw.sample(chain.stock.where(product=product.id), 2)
    pickup = put_aside(chain, draw, product, target.store, departs - 15 * MINUTE)
    if status == "moving":
        add_units(chain, target.store, product.id, -pickup.quantity)
    chain.transfers.cause = f"seed/{product.id}"
    transfer = chain.transfers.put(
        Transfer(
            id=chain.transfers.new_id(),
            source=source.store,
            target=target.store,
            product=product.id,
            quantity=pickup.quantity,
            departs=departs,
            arrives=arrives,
            status=status,
        )
    )
    chain.pickups.change(pickup.id, transfer=transfer.id, until=arrives + HOLD)


def buy(chain: Chain, draw: Draw, product: Product, store: ChainStoreId, quantity: int, moment: datetime) -> None:
    total = product.price * quantity
    points = min(total, draw.integer(1, 10) * 50) if draw.chance(0.25) else 0
    chain.purchases.cause = f"seed/{len(chain.purchases.changes)}"
    chain.purchases.put(
        Purchase(
            id=chain.purchases.new_id(),
            store=store,
            product=product.id,
            name=product.name,
            quantity=quantity,
            price=product.price,
            paid=total - points,
            points=points,
            earned=(total - points) // 100,
            bought=moment,
        )
    )


def put_returns(chain: Chain, draw: Draw, count: int) -> None:
    """Add returns, after a few days, of some units of older purchases that were paid without points."""
    sold = [row for row in chain.purchases if row.points == 0 and row.bought < chain.now - timedelta(days=8)]
    sold = [row for row in sold if not chain.products[row.product].final_sale]
    for row in draw.sample(sold, count):
        quantity = draw.integer(1, row.quantity)
        chain.returns.cause = f"seed/{row.id}"
        chain.returns.put(
            Return(
                id=chain.returns.new_id(),
                purchase=row.id,
                store=row.store,
                quantity=quantity,
                refund=row.price * quantity,
                points=-(row.earned * quantity // row.quantity),
                at=row.bought + timedelta(days=draw.integer(1, 7)),
            )
        )


def put_card(chain: Chain, draw: Draw) -> None:
    """Add the loyalty card with some points left."""
    change = sum(row.earned - row.points for row in chain.purchases) + sum(row.points for row in chain.returns)
    points = draw.integer(60, 1_500)
    opening = max(0, points - change)
    chain.cards.put(LoyaltyCard(id=chain.cards.new_id(), opening=opening, points=opening + change))


def count_supplies(chain: Chain) -> None:
    """Set `supplied` of each product: all units in stock, in transit, and sold and not returned."""
    units = Counter[str]()
    for stock in chain.stock:
        units[stock.product] += stock.units
    for transfer in chain.transfers.where(status="moving"):
        units[transfer.product] += transfer.quantity
    for purchase in chain.purchases:
        units[purchase.product] += purchase.quantity
    for back in chain.returns:
        units[chain.purchases[back.purchase].product] -= back.quantity
    for product in list(chain.products):
        chain.products.change(product.id, supplied=units[product.id])


Id = TypeVar("Id", bound=str)

OPENINGS = (420, 420, 450, 480, 480, 510, 540, 570, 600)
CLOSINGS = (1_140, 1_200, 1_200, 1_260, 1_320)
SUNDAY = 6


class Size(NamedTuple):
    """How many rows a world has; each product is carried by so many stores, from `fewest` to `most`."""

    places: int
    products: int
    fewest: int
    most: int
    promotions: int
    purchases: int


SIZES = {
    "small": Size(places=40, products=9, fewest=3, most=5, promotions=6, purchases=4),
    "default": Size(places=160, products=80, fewest=2, most=6, promotions=50, purchases=24),
    "large": Size(places=640, products=400, fewest=4, most=12, promotions=500, purchases=300),
}


def seed(seed: int, size: str) -> Chain:
    """Return the chain for this seed; `size` is small, default or large."""
    chain, draw, scale = Chain(seed, get_start_time(seed)), Draw("retail_chain", seed, size), SIZES[size]
    for place in places(seed, scale.places):
        chain.places.put(place)
        if place.kind in ("supermarket", "train station", "airport"):
            chain.stores.put(draw_store(chain, draw, place))
    put_products(chain, draw, scale.products)
    put_stock(chain, draw, scale)
    put_promotions(chain, draw, scale.promotions)
    add_past(chain, draw, scale.purchases)
    return chain


def draw_store(chain: Chain, draw: Draw, place: Place) -> Store:
    """Draw a store; those at stations and airports are open every day from 6:00 to 22:00."""
    travel = place.kind != "supermarket"
    rest = (SUNDAY,) if draw.chance(0.7) else ()
    return Store(
        id=derive_row_id(chain.stores, place.id),
        place=place.id,
        name=place.name,
        opens=360 if travel else draw.choice(OPENINGS),
        closes=1_320 if travel else draw.choice(CLOSINGS),
        closed=() if travel else (draw.integer(0, 4), *rest) if draw.chance(0.12) else rest,
    )


def put_products(chain: Chain, draw: Draw, count: int) -> None:
    for category, name, price in draw.sample(RANGE, count):
        chain.products.put(
            Product(
                id=derive_row_id(chain.products, name),
                name=name,
                category=category,
                price=price + draw.integer(0, 8) * price // 100 * 5,
                limit=draw.choice((3, 4, 4, 5, 6, 8, 10)),
                final_sale=draw.chance(0.15),
                supplied=0,
            )
        )


def put_stock(chain: Chain, draw: Draw, scale: Size) -> None:
    """Add the stock of each store; one row in four has run out."""
    stores = [store.id for store in chain.stores]
    for product in chain.products:
        for store in draw.sample(stores, draw.integer(scale.fewest, scale.most)):
            units = draw.choose_weighted((0, draw.integer(1, 3), draw.integer(4, 25)), (0.25, 0.3, 0.45))
            chain.stock.put(Stock(id=stock_id(store, product.id), store=store, product=product.id, units=units))


def put_promotions(chain: Chain, draw: Draw, count: int) -> None:
    """Add promotions, most of which run today; a few are over or still to come."""
    today = chain.now.date()
    for stock in draw.sample(list(chain.stock), count):
        starts = today + timedelta(days=draw.integer(-12, 1))
        tier: Tier = draw.choose_weighted(("basic", "silver", "gold"), (0.6, 0.25, 0.15))
        chain.promotions.put(
            Promotion(
                id=derive_row_id(chain.promotions, stock.id),
                store=stock.store,
                product=stock.product,
                percent=draw.choice((5, 10, 15, 20, 25, 30, 40, 50)),
                starts=starts,
                ends=starts + timedelta(days=draw.integer(6, 20)),
                tier=tier,
            )
        )
