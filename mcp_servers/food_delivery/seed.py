"""The food delivery as a session finds it: restaurants with menus, codes, addresses, and what the user ordered."""

from __future__ import annotations

from datetime import timedelta
from typing import NamedTuple, TypeVar

from ..distance import metres
from ..kit import Draw, fresh
from ..people import beginning
from ..places import Place, places
from .menus import OPTIONS, menu
from .seed_orders import add_orders
from .state import Address, Cuisine, Delivery, Dish, Extra, Line, Promo, Restaurant

Id = TypeVar("Id", bound=str)

CAFES: tuple[Cuisine, ...] = ("bakery", "breakfast", "vegan", "american")
KITCHENS: tuple[Cuisine, ...] = (
    "american", "chinese", "greek", "indian", "italian", "japanese", "mexican", "thai", "vegan",
)  # fmt: skip
OPENINGS = (420, 450, 480, 510, 540, 600, 660, 690)
CODES = (
    "BITE", "BRUNCH", "CRAVE", "DINNER", "FAMILY", "FEAST", "FORK", "FRESH", "HUNGRY", "LUNCH", "NOODLE", "PLATE",
    "SAVOUR", "SNACK", "SPICY", "SPOON", "SUNDAY", "TASTY", "TREAT", "YUMMY",
)  # fmt: skip


class Size(NamedTuple):
    """How many rows a world has; a restaurant has from `fewest` to `most` dishes."""

    places: int
    fewest: int
    most: int
    promos: int
    orders: int


SIZES = {
    "small": Size(places=40, fewest=4, most=5, promos=5, orders=3),
    "default": Size(places=160, fewest=8, most=10, promos=14, orders=24),
    "large": Size(places=800, fewest=9, most=10, promos=60, orders=600),
}


def seed(seed: int, size: str) -> Delivery:
    """The food delivery of this seed; sizes are small, default and large."""
    delivery, draw, scale = Delivery(seed, beginning(seed)), Draw("food_delivery", seed, size), SIZES[size]
    if size == "large":
        delivery.dishes.width = delivery.orders.width = delivery.lines.width = 6
    for place in places(seed, scale.places):
        delivery.places.put(place)
        if place.kind in ("restaurant", "cafe"):
            delivery.restaurants.put(draw_restaurant(delivery, draw, place))
    for restaurant in delivery.restaurants:
        put_menu(delivery, draw, restaurant, draw.integer(scale.fewest, scale.most))
    put_addresses(delivery, draw)
    put_promos(delivery, draw, scale.promos)
    add_orders(delivery, draw, scale.orders)
    put_cart(delivery, draw)
    return delivery


def draw_restaurant(delivery: Delivery, draw: Draw, place: Place) -> Restaurant:
    """A restaurant; the first three are open all week from seven and reach the user's home."""
    early = len(delivery.restaurants) < 3
    radius, far = draw.choice((2_000, 3_000, 4_000, 5_000, 6_000, 8_000)), metres(place, delivery.home)
    votes = draw.integer(20, 900)
    return Restaurant(
        id=fresh(delivery.restaurants, place.id),
        place=place.id,
        name=place.name,
        cuisine=draw.choice(CAFES if place.kind == "cafe" else KITCHENS),
        opens=420 if early else draw.choice(OPENINGS),
        closes=draw.choice((1_200, 1_260, 1_320, 1_380)),
        closed=() if early or draw.chance(0.7) else (draw.integer(0, 6),),
        minimum=draw.choice((0, 800, 1_000, 1_200, 1_500, 2_000)),
        fee=draw.choice((0, 99, 149, 199, 249, 299, 349)),
        radius=max(radius, (far // 500 + 1) * 500) if early else radius,
        prep=draw.choice((8, 10, 12, 15, 18, 20, 25)),
        stars=votes * draw.integer(31, 48) // 10,
        votes=votes,
        favourite=draw.chance(0.2),
    )


def put_menu(delivery: Delivery, draw: Draw, restaurant: Restaurant, count: int) -> None:
    """Dishes at this restaurant's prices; one in seven is sold out or nearly."""
    for name, price, allergens in draw.sample(menu(restaurant.cuisine), count):
        left = draw.integer(0, 2) if draw.chance(0.15) else draw.integer(6, 40)
        options = draw.sample(OPTIONS, draw.integer(0, 3))
        delivery.dishes.put(
            Dish(
                id=fresh(delivery.dishes, f"{restaurant.id}/{name}"),
                restaurant=restaurant.id,
                name=name,
                price=price + draw.integer(-2, 6) * price // 200 * 10,
                allergens=allergens,
                options=tuple(Extra(option=option, price=cents) for option, cents in options),
                left=left,
                supplied=left,
            )
        )


def put_addresses(delivery: Delivery, draw: Draw) -> None:
    """Home, the office, and sometimes another place."""
    rows = list(delivery.places)
    for place in [*rows[:2], *draw.sample(rows[4:], draw.integer(0, 2))]:
        delivery.addresses.put(Address(id=place.id, label=place.name.lower() if place in rows[:2] else place.name))


def put_promos(delivery: Delivery, draw: Draw, count: int) -> None:
    """Codes for all restaurants or one; a few have ended."""
    names = [f"{name}{percent}" for name in CODES for percent in (10, 15, 20, 25, 30)]
    owners = [row.id for row in delivery.restaurants]
    for number, code in enumerate(draw.sample(names, count)):
        delivery.promos.put(
            Promo(
                id=fresh(delivery.promos, code),
                code=code,
                percent=int(code[-2:]),
                most=draw.choice((300, 400, 500, 800, 1_000)),
                minimum=draw.choice((0, 1_000, 1_500, 2_000, 2_500)),
                ends=delivery.now.date() + timedelta(days=draw.integer(-4, -1) if number == 0 else draw.integer(0, 20)),
                restaurant=None if number < 2 or draw.chance(0.4) else draw.choice(owners),
            )
        )


def put_cart(delivery: Delivery, draw: Draw) -> None:
    """In one world of three a dish already waits in the cart."""
    ready = [dish for dish in delivery.dishes if dish.left > 5]
    if draw.chance(0.35):
        dish = draw.choice(ready)
        delivery.lines.put(
            Line(
                id=fresh(delivery.lines, "cart"),
                restaurant=dish.restaurant,
                dish=dish.id,
                name=dish.name,
                quantity=draw.integer(1, 2),
                price=dish.price,
            )
        )
