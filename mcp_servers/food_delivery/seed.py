"""Initial state of the food delivery: restaurants with menus, promo codes, addresses, and the user's orders."""

from __future__ import annotations

from datetime import datetime, timedelta
from typing import NamedTuple, TypeVar

from ..core import Draw, derive_row_id
from ..shared.distance import metres
from ..shared.people import FIRST, get_start_time
from ..shared.places import Place, places
from .engine import (
    MINUTE,
    STARTING,
    compute_delivery_time,
    discount_of,
    distance,
    fee_for,
    refund_for_missing,
    times_of,
)
from .state import Address, Allergen, Cuisine, Delivery, Dish, Extra, FoodOrderId, Line, Order, Promo, Restaurant

# Menus of each cuisine (name, usual price in cents, allergens), and the options of dishes.

ALLERGENS: dict[str, Allergen] = {
    "d": "dairy", "e": "egg", "f": "fish", "g": "gluten", "n": "nuts", "s": "soy", "t": "sesame", "x": "shellfish",
}  # fmt: skip

# A dish is its name, its price and the first letters of its allergens (t: sesame, x: shellfish).
MENUS: dict[Cuisine, str] = {
    "american": (
        "cheeseburger 1190 dgt, bacon burger 1290 gt, veggie burger 1090 gst, pulled pork sandwich 1250 g, "
        "chicken wings 990 -, onion rings 520 g, mac and cheese 890 dg, caesar salad 950 dfg, fries 420 -, "
        "milkshake 560 d"
    ),
    "bakery": (
        "butter croissant 290 dg, almond croissant 360 dgn, cinnamon roll 380 dg, cheese pretzel 340 dg, "
        "rye loaf 520 g, walnut brownie 410 degn, apple strudel 450 dg, ham sandwich 620 dg, filter coffee 310 -, "
        "lemon tart 480 deg"
    ),
    "breakfast": (
        "pancakes 890 deg, eggs benedict 1150 deg, avocado toast 980 g, granola bowl 790 dn, shakshuka 1090 e, "
        "french toast 940 deg, smoked salmon bagel 1190 dfgt, fruit salad 640 -, porridge 590 d, orange juice 420 -"
    ),
    "chinese": (
        "spring rolls 560 gs, kung pao chicken 1290 ns, mapo tofu 1090 s, fried rice 890 es, wonton soup 790 gx, "
        "sweet and sour pork 1240 gs, chow mein 1050 gs, prawn dumplings 850 gx, sesame beef 1390 st, "
        "jasmine rice 320 -"
    ),
    "greek": (
        "chicken gyros 1090 dg, souvlaki plate 1350 d, moussaka 1290 deg, greek salad 890 d, spanakopita 720 dg, "
        "tzatziki 490 d, stuffed vine leaves 690 -, grilled octopus 1590 x, baklava 520 gn, lemon potatoes 480 -"
    ),
    "indian": (
        "butter chicken 1390 dn, chana masala 1050 -, palak paneer 1150 d, lamb biryani 1490 dn, samosas 540 g, "
        "garlic naan 390 dg, dal tadka 890 d, prawn vindaloo 1590 x, mango lassi 450 d, basmati rice 340 -"
    ),
    "italian": (
        "pizza margherita 990 dg, pizza diavola 1190 dg, spaghetti carbonara 1250 deg, lasagne 1290 deg, "
        "penne arrabbiata 990 g, gnocchi with pesto 1190 dgn, risotto with prawns 1490 dx, caprese salad 850 d, "
        "tiramisu 590 deg, focaccia 420 g"
    ),
    "japanese": (
        "salmon nigiri 1290 fs, tuna maki 890 fst, chicken ramen 1390 egs, vegetable tempura 1090 eg, gyoza 690 gs, "
        "miso soup 420 fs, prawn udon 1350 gsx, teriyaki bowl 1290 st, edamame 480 s, mochi 450 -"
    ),
    "mexican": (
        "beef tacos 1090 -, chicken burrito 1150 dg, fish tacos 1190 f, cheese quesadilla 890 dg, nachos 790 d, "
        "guacamole 560 -, chili con carne 1090 -, prawn fajitas 1490 gx, churros 520 eg, black bean soup 650 -"
    ),
    "thai": (
        "green curry 1290 fx, pad thai 1190 enfx, tom yum soup 890 fx, papaya salad 850 fn, massaman curry 1350 nf, "
        "satay skewers 790 ns, basil chicken 1190 fs, pineapple rice 990 es, mango sticky rice 620 -, "
        "prawn crackers 380 x"
    ),
    "vegan": (
        "lentil bowl 1050 -, tofu poke bowl 1190 st, falafel wrap 890 gt, jackfruit burger 1190 gs, "
        "beetroot hummus 560 t, cauliflower wings 790 s, pumpkin soup 690 -, oat banana bread 420 gn, "
        "raw cacao cake 590 n, ginger kombucha 440 -"
    ),
}
OPTIONS: tuple[tuple[str, int], ...] = (
    ("large", 300), ("small", 0), ("extra spicy", 0), ("mild", 0), ("extra sauce", 90), ("double portion", 650),
    ("with salad", 350), ("with fries", 390), ("no onions", 0), ("gluten free", 150), ("extra cheese", 140),
    ("without sugar", 0),
)  # fmt: skip


def menu(cuisine: Cuisine) -> list[tuple[str, int, tuple[Allergen, ...]]]:
    """Return the dishes of a cuisine: name, usual price in cents, allergens."""
    found = []
    for text in MENUS[cuisine].split(", "):
        name, price, marks = text.rsplit(" ", 2)
        found.append((name, int(price), tuple(ALLERGENS[mark] for mark in sorted(marks) if mark != "-")))
    return found


# Orders from before the session: in progress, from yesterday, from earlier weeks, and cancelled ones.


def add_orders(delivery: Delivery, draw: Draw, older: int) -> None:
    """Add orders in progress (in small worlds not always of each kind), recent ones, and `older` ones."""
    now, eve = delivery.now, delivery.now.replace(hour=0) - timedelta(hours=6)
    first, second, third = list(delivery.restaurants)[:3]
    busy = 0.5 if older < 10 else 1.0
    if draw.chance(busy):
        put_order(delivery, draw, first, now - STARTING - (first.prep - draw.integer(1, 6)) * MINUTE)
    if draw.chance(busy):
        put_order(delivery, draw, second, now - STARTING - time_to(delivery, second) + draw.integer(2, 5) * MINUTE)
    if draw.chance(busy):
        soonest = now + time_to(delivery, first) + STARTING
        noon = now.replace(hour=12) + draw.integer(0, 8) * 15 * MINUTE
        put_order(delivery, draw, first, now - draw.integer(20, 60) * MINUTE, max(noon, soonest))
    put_order(delivery, draw, third, now - STARTING - time_to(delivery, third) - draw.integer(5, 30) * MINUTE)
    for restaurant in (second, third):
        put_order(delivery, draw, restaurant, eve + draw.integer(5, 100) * MINUTE)
    put_order(delivery, draw, first, eve - draw.integer(50, 100) * MINUTE, cancelled=True)
    promos = [promo for promo in delivery.promos if promo.restaurant is None][1:2]
    near = [row for row in delivery.restaurants if distance(delivery, row, delivery.home.id) <= row.radius]
    for number in range(older):
        days = draw.integer(2, 12) if number % 3 else draw.integer(16, 200)
        moment = eve - timedelta(days=days) + draw.integer(-280, 60) * MINUTE
        open_then = [row for row in near if row.is_open(moment)]
        order = put_order(delivery, draw, draw.choice(open_then), moment, promo=promos.pop() if promos else None)
        judge(delivery, draw, order)


def time_to(delivery: Delivery, restaurant: Restaurant) -> timedelta:
    """Return the time from the start of cooking to the arrival at the user's home."""
    return compute_delivery_time(restaurant, distance(delivery, restaurant, delivery.home.id))


def put_order(
    delivery: Delivery,
    draw: Draw,
    restaurant: Restaurant,
    placed: datetime,
    arrives: datetime | None = None,
    cancelled: bool = False,
    promo: Promo | None = None,
) -> Order:
    """Add an order to the user's home that meets the minimum of the restaurant and of the promo code."""
    far = distance(delivery, restaurant, delivery.home.id)
    least = max(restaurant.minimum, promo.minimum if promo else 0)
    delivery.orders.cause = f"seed/{restaurant.id}/{placed.isoformat()}"
    id = delivery.orders.new_id()
    lines = put_lines(delivery, draw, restaurant, id, least)
    cents = sum(line.price * line.quantity for line in lines)
    discount, fee = discount_of(promo, cents), fee_for(restaurant, far)
    tip = draw.choice((100, 150, 200, 250)) if draw.chance(0.3) else 0
    order = delivery.orders.put(
        Order(
            id=id,
            restaurant=restaurant.id,
            name=restaurant.name,
            address=delivery.home.id,
            subtotal=cents,
            discount=discount,
            fee=fee,
            tip=tip,
            total=cents - discount + fee + tip,
            courier=draw.choice(FIRST),
            placed=placed,
            **times_of(restaurant, far, placed, arrives)._asdict(),
            scheduled=arrives is not None,
            code=promo.code if promo else None,
            cancelled=placed + draw.integer(1, 6) * MINUTE if cancelled else None,
            refunded=cents - discount + fee + tip if cancelled else 0,
        )
    )
    if promo is not None:
        delivery.promos.change(promo.id, order=order.id)
    for line in lines if not cancelled else ():
        delivery.dishes.change(line.dish, supplied=delivery.dishes[line.dish].supplied + line.quantity)
    return order


def put_lines(delivery: Delivery, draw: Draw, restaurant: Restaurant, order: FoodOrderId, least: int) -> list[Line]:
    """Add dishes to an order, one to three of each (more of the first if needed), for `least` cents or more."""
    lines, cents = list[Line](), 0
    for dish in draw.shuffle_items(delivery.dishes.where(restaurant=restaurant.id)):
        extra = draw.choice(dish.options) if dish.options and draw.chance(0.3) else None
        delivery.lines.cause = f"seed/{order}/{dish.id}"
        line = Line(
            id=delivery.lines.new_id(),
            restaurant=restaurant.id,
            order=order,
            dish=dish.id,
            name=dish.name,
            quantity=draw.integer(1, 3),
            price=dish.price + (extra.price if extra else 0),
            option=extra.option if extra else None,
        )
        lines.append(delivery.lines.put(line))
        cents += line.price * line.quantity
        if cents >= max(least, 300) and draw.chance(0.6):
            break
    more = -(-max(0, least - cents) // lines[0].price)
    lines[0] = delivery.lines.change(lines[0].id, quantity=lines[0].quantity + more)
    return lines


def judge(delivery: Delivery, draw: Draw, order: Order) -> None:
    """Rate half of the older orders, and refund missing dishes of a few."""
    if draw.chance(0.5):
        courier = draw.integer(3, 5) if draw.chance(0.6) else None
        delivery.orders.change(order.id, food_stars=draw.integer(2, 5), courier_stars=courier)
    if draw.chance(0.2):
        line = delivery.lines.where(order=order.id)[0]
        delivery.lines.change(line.id, missing=draw.integer(1, line.quantity))
        delivery.orders.change(order.id, refunded=refund_for_missing(delivery, order))


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
    """Return the food delivery of a seed; sizes are small, default and large."""
    delivery, draw, scale = Delivery(seed, get_start_time(seed)), Draw("food_delivery", seed, size), SIZES[size]
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
    """Return a restaurant; the first three open at seven every day and deliver to the user's home."""
    early = len(delivery.restaurants) < 3
    radius, far = draw.choice((2_000, 3_000, 4_000, 5_000, 6_000, 8_000)), metres(place, delivery.home)
    votes = draw.integer(20, 900)
    return Restaurant(
        id=derive_row_id(delivery.restaurants, place.id),
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
    """Add dishes at this restaurant's prices; one in seven is sold out or nearly so."""
    for name, price, allergens in draw.sample(menu(restaurant.cuisine), count):
        left = draw.integer(0, 2) if draw.chance(0.15) else draw.integer(6, 40)
        options = draw.sample(OPTIONS, draw.integer(0, 3))
        delivery.dishes.put(
            Dish(
                id=derive_row_id(delivery.dishes, f"{restaurant.id}/{name}"),
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
    """Add home, the office, and sometimes one or two other places."""
    rows = list(delivery.places)
    for place in [*rows[:2], *draw.sample(rows[4:], draw.integer(0, 2))]:
        delivery.addresses.put(Address(id=place.id, label=place.name.lower() if place in rows[:2] else place.name))


def put_promos(delivery: Delivery, draw: Draw, count: int) -> None:
    """Add promo codes for all restaurants or for one; the first has expired."""
    names = [f"{name}{percent}" for name in CODES for percent in (10, 15, 20, 25, 30)]
    owners = [row.id for row in delivery.restaurants]
    for number, code in enumerate(draw.sample(names, count)):
        delivery.promos.put(
            Promo(
                id=derive_row_id(delivery.promos, code),
                code=code,
                percent=int(code[-2:]),
                most=draw.choice((300, 400, 500, 800, 1_000)),
                minimum=draw.choice((0, 1_000, 1_500, 2_000, 2_500)),
                ends=delivery.now.date() + timedelta(days=draw.integer(-4, -1) if number == 0 else draw.integer(0, 20)),
                restaurant=None if number < 2 or draw.chance(0.4) else draw.choice(owners),
            )
        )


def put_cart(delivery: Delivery, draw: Draw) -> None:
    """Put a dish into the cart in about one world of three."""
    ready = [dish for dish in delivery.dishes if dish.left > 5]
    if draw.chance(0.35):
        dish = draw.choice(ready)
        delivery.lines.put(
            Line.from_row(dish, id=derive_row_id(delivery.lines, "cart"), dish=dish.id, quantity=draw.integer(1, 2))
        )
