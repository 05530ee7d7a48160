"""The chain as a session finds it: stores with stock and promotions, and what the user did there before."""

from __future__ import annotations

from datetime import timedelta
from typing import NamedTuple, TypeVar

from ..kit import Draw, fresh
from ..people import beginning
from ..places import Place, places
from .goods import RANGE
from .seed_purchases import add_past
from .state import Chain, Product, Promotion, Stock, Store, Tier, stock_id

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
    """The chain of this seed; sizes are small, default and large."""
    chain, draw, scale = Chain(seed, beginning(seed)), Draw("retail_chain", seed, size), SIZES[size]
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
    """A store; those where people travel are open every day from six to ten."""
    travel = place.kind != "supermarket"
    rest = (SUNDAY,) if draw.chance(0.7) else ()
    return Store(
        id=fresh(chain.stores, place.id),
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
                id=fresh(chain.products, name),
                name=name,
                category=category,
                price=price + draw.integer(0, 8) * price // 100 * 5,
                limit=draw.choice((3, 4, 4, 5, 6, 8, 10)),
                final_sale=draw.chance(0.15),
                supplied=0,
            )
        )


def put_stock(chain: Chain, draw: Draw, scale: Size) -> None:
    """What each store carries; one row in four has run out."""
    stores = [store.id for store in chain.stores]
    for product in chain.products:
        for store in draw.sample(stores, draw.integer(scale.fewest, scale.most)):
            units = draw.weighted((0, draw.integer(1, 3), draw.integer(4, 25)), (0.25, 0.3, 0.45))
            chain.stock.put(Stock(id=stock_id(store, product.id), store=store, product=product.id, units=units))


def put_promotions(chain: Chain, draw: Draw, count: int) -> None:
    """Promotions of which most run today; a few are over or still to come."""
    today = chain.now.date()
    for stock in draw.sample(list(chain.stock), count):
        starts = today + timedelta(days=draw.integer(-12, 1))
        tier: Tier = draw.weighted(("basic", "silver", "gold"), (0.6, 0.25, 0.15))
        chain.promotions.put(
            Promotion(
                id=fresh(chain.promotions, stock.id),
                store=stock.store,
                product=stock.product,
                percent=draw.choice((5, 10, 15, 20, 25, 30, 40, 50)),
                starts=starts,
                ends=starts + timedelta(days=draw.integer(6, 20)),
                tier=tier,
            )
        )
