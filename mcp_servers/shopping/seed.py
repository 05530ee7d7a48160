"""Seeded initial state of the shop: a catalogue with reviews; a customer's cards, coupons, wishes and past orders."""

from __future__ import annotations

from datetime import datetime, timedelta
from typing import Literal, NamedTuple

from ..core import Draw
from ..shared.people import cast, get_start_time
from ..shared.places import Place, places
from .engine import Payment, book_order, book_return, cancel_order
from .goods import BRANDS, BULKY, CARD_BRANDS, CATALOGUE, COMPLAINT, COUPON_NAMES, DOUBT, PRAISE
from .state import (
    Account,
    Address,
    CartLine,
    Category,
    Coupon,
    Delivery,
    GiftCard,
    Item,
    Order,
    PaymentCard,
    PointsLine,
    Product,
    Review,
    Shop,
    ShopProductId,
    Wish,
    Zone,
)

# The customer's initial means of payment: cards, gift cards with the credit they gave, points, coupons.


def put_cards(shop: Shop, draw: Draw, count: int) -> None:
    """Add payment cards; at least the first is valid."""
    for place, brand in enumerate(draw.sample(CARD_BRANDS, count)):
        days = -draw.integer(5, 200) if place and draw.chance(0.4) else draw.integer(100, 1200)
        shop.cards.put(
            PaymentCard(
                id=shop.cards.new_id(),
                brand=brand,
                last4=f"{draw.integer(0, 9_999):04d}",
                expires=shop.now.date() + timedelta(days=days),
                cvv=f"{draw.integer(0, 999):03d}",
            )
        )


def put_gift_cards(shop: Shop, draw: Draw, count: int, people: list[str]) -> None:
    """Add gift cards, the account with the credit of the redeemed ones, and points; the first card is redeemable."""
    credit, today = 0, shop.now.date()
    for place, giver in enumerate(draw.sample(people[1:], count)):
        state = draw.choose_weighted(("open", "redeemed", "expired"), (4, 4, 2)) if place else "open"
        days = -draw.integer(1, 300) if state == "expired" else draw.integer(20, 600)
        card = shop.gift_cards.put(
            GiftCard(
                id=shop.gift_cards.new_id(),
                giver=giver,
                amount=draw.choice((1_000, 1_500, 2_000, 2_500, 5_000)),
                code=f"{draw.integer(0, 10**8 - 1):08d}",
                expires=today + timedelta(days=days),
                redeemed=state == "redeemed",
            )
        )
        credit += card.amount * card.redeemed
    shop.accounts.put(Account(id=shop.accounts.new_id(), owner=people[0], credit=credit))
    welcome = PointsLine(
        id=shop.points_lines.new_id(),
        kind="welcome",
        points=draw.integer(10, 60) * 10,
        at=shop.now - timedelta(days=300),
    )
    shop.points_lines.put(welcome)


def put_coupons(shop: Shop, draw: Draw, count: int) -> None:
    """Add coupons: the first for any category, the second for a past order, the third expired, then others."""
    today, categories = shop.now.date(), tuple(product.category for product in shop.products)
    for place, name in enumerate(draw.sample(COUPON_NAMES, count)):
        percent = draw.choice((5, 10, 15, 20)) if place < 2 or draw.chance(0.6) else None
        wide = place < 3 or draw.chance(0.3)
        shop.coupons.put(
            Coupon(
                id=shop.coupons.new_id(),
                name=name,
                minimum=0 if place == 1 else draw.choice((1_000, 2_000, 3_000, 5_000)) * (1 if wide else 2),
                expires=today + timedelta(days=-draw.integer(1, 90) if place == 2 else draw.integer(3, 120)),
                percent=percent,
                amount=None if percent else draw.choice((300, 500, 1_000, 1_500)),
                category=None if wide else draw.choice(categories),
            )
        )


# The customer's past: orders in every phase, one of them with a coupon, and a partly filled cart.

Phase = Literal["placed", "packed", "shipped", "recent", "old", "cancelled"]
FIRST: tuple[Phase, ...] = ("placed", "placed", "recent", "recent", "recent", "old")
OTHERS: tuple[Phase, ...] = ("placed", "packed", "shipped", "recent", "recent", "old", "old", "cancelled")


class Age(NamedTuple):
    """How long ago an order of a phase was placed, in minutes."""

    least: int
    most: int


HOUR, DAY = 60, 24 * 60
AGES: dict[Phase, Age] = {
    "placed": Age(3, 50),
    "packed": Age(5 * HOUR, 18 * HOUR),
    "shipped": Age(21 * HOUR, 46 * HOUR),
    "recent": Age(4 * DAY, 14 * DAY),
    "old": Age(20 * DAY, 200 * DAY),
    "cancelled": Age(2 * DAY, 100 * DAY),
}
WAYS: dict[Phase, tuple[Delivery, ...]] = {
    "placed": ("standard", "standard", "express"),
    "packed": ("standard",),
    "shipped": ("standard",),
}


def put_past(shop: Shop, draw: Draw, count: int) -> None:
    """Add `count` orders, oldest first; the second coupon is used for the first of them."""
    now = shop.now
    phases = [*FIRST, *(draw.choice(OTHERS) for _ in range(count - len(FIRST)))]
    moments = [(now - timedelta(minutes=draw.integer(*AGES[phase])), phase) for phase in phases]
    coupon = list(shop.coupons)[1]
    for place, (at, phase) in enumerate(sorted(moments)):
        shop.now = at
        if place == 0:
            shop.coupons.change(coupon.id, applied=True)
        order = put_order(shop, draw, phase)
        if order is None:
            continue
        if phase == "cancelled":
            shop.now = at + timedelta(minutes=30)
            cancel_order(shop, order)
        elif phase == "old" and draw.chance(0.3):
            put_return(shop, draw, order)
    shop.now = now


def put_order(shop: Shop, draw: Draw, phase: Phase) -> Order | None:
    """Place an order of one to three items, home or to a pickup point. Returns None when nothing is left to buy."""
    pickup = next(row for row in shop.addresses if row.kind == "pickup point")
    ways: tuple[Delivery, ...] = ("standard", "standard", "express", "pickup")
    delivery = draw.choice(WAYS.get(phase, ways))
    address = pickup if delivery == "pickup" else next(iter(shop.addresses))
    count = draw.integer(2, 3) if phase == "recent" else draw.choose_weighted((1, 2, 3), (5, 2, 1))
    for quantity in draw.sample((1, 2, 2, 3), count):
        put_line(shop, draw, quantity, bulky=delivery == "standard")
    return book_order(shop, address, delivery, Payment(draw.choice(list(shop.cards)))) if shop.cart else None


def put_line(shop: Shop, draw: Draw, quantity: int, bulky: bool) -> None:
    """Put `quantity` pieces of an item in the cart: one not in it yet and within the customer's limit, if any."""
    items = draw.sample(list(shop.items), 30)
    item = next((item for item in items if can_add_to_cart(shop, item, quantity, bulky)), None)
    if item is not None:
        put_in_cart(shop, item, quantity)


def can_add_to_cart(shop: Shop, item: Item, quantity: int, bulky: bool) -> bool:
    product = shop.products[item.product]
    owned = sum(line.remaining for line in shop.list_ordered_lines(product.id))
    within = product.limit is None or owned + quantity <= product.limit
    fresh = all(line.product != product.id for line in shop.cart)
    return item.stock >= quantity and within and fresh and (bulky or not product.bulky)


def put_in_cart(shop: Shop, item: Item, quantity: int) -> None:
    shop.cart_lines.put(CartLine.from_row(item, id=shop.cart_lines.new_id(), item=item.id, quantity=quantity))


def put_return(shop: Shop, draw: Draw, order: Order) -> None:
    """Send back all pieces of an order's first line some days after their arrival."""
    line = shop.lines.where(order=order.id)[0]
    shop.now = latest(order, draw)
    book_return(shop, order, line, line.quantity, draw.choice(("does not fit", "not as described")))


def latest(order: Order, draw: Draw) -> datetime:
    return order.arrives + timedelta(days=draw.integer(1, 10), minutes=draw.integer(0, 600))


def put_cart(shop: Shop, draw: Draw) -> None:
    """Put one item in the cart, and sometimes another that has sold out since it was added."""
    put_line(shop, draw, draw.choice((1, 2)), bulky=True)
    if draw.chance(0.06):
        gone = next(item for item in shop.items if item.stock == 0)
        if all(line.product != gone.product for line in shop.cart):
            put_in_cart(shop, gone, 1)


class Size(NamedTuple):
    """How many of each a world begins with; `options` and `reviews` are the most of one product."""

    products: int
    options: int
    reviews: int
    places: int
    orders: int
    coupons: int
    gift_cards: int
    cards: int
    wishes: int


SIZES = {
    "small": Size(6, 2, 2, 12, 6, 4, 3, 2, 3),
    "default": Size(200, 3, 3, 60, 14, 8, 5, 3, 8),
    "large": Size(1200, 4, 4, 300, 120, 12, 20, 4, 40),
}
PICKUP_KINDS = ("supermarket", "library")
LIMITS = (None, None, None, 6, 10)


def seed(seed: int, size: str) -> Shop:
    """Return the shop for this seed; `size` is small, default or large."""
    shop = Shop(seed, get_start_time(seed))
    draw, scale = Draw("shopping", seed, size), SIZES[size]
    if size == "large":
        shop.products.width = shop.items.width = shop.reviews.width = 6
    people = [person.name for person in cast(seed, 16)]
    put_catalogue(shop, draw, scale, [name.split()[0] for name in people[1:]])
    put_addresses(shop, draw, places(seed, scale.places))
    put_cards(shop, draw, scale.cards)
    put_gift_cards(shop, draw, scale.gift_cards, people)
    put_coupons(shop, draw, scale.coupons)
    put_past(shop, draw, scale.orders)
    put_wishes(shop, draw, scale.wishes)
    put_cart(shop, draw)
    return shop


def put_catalogue(shop: Shop, draw: Draw, scale: Size, authors: list[str]) -> None:
    """Add products of all categories in turn; at least one item is sold out."""
    categories = draw.shuffle_items(tuple(CATALOGUE))
    titles, sold_out = dict[str, None](), draw.integer(0, min(scale.products, 20) - 1)
    for place in range(scale.products):
        category = categories[place % len(categories)]
        goods, title = CATALOGUE[category], ""
        while not title or title in titles:
            title = f"{draw.choice(BRANDS)} {draw.choice(goods.qualities)} {draw.choice(goods.nouns)}"
        titles[title] = None
        price = draw.integer(*goods.prices) // 10 * 10 + 9
        product = put_product(shop, draw, title, category, price, draw.integer(0, scale.reviews), authors)
        put_items(shop, draw, product, goods.options, draw.integer(1, scale.options), place == sold_out)


def put_product(
    shop: Shop, draw: Draw, title: str, category: Category, price: int, reviews: int, authors: list[str]
) -> Product:
    """Add a product and its reviews, oldest first."""
    id, today, total = shop.products.new_id(), shop.now.date(), 0
    for days in sorted((draw.integer(1, 300) for _ in range(reviews)), reverse=True):
        stars = draw.choose_weighted((5, 4, 3, 2, 1), (5, 4, 2, 1, 1))
        put_review(shop, draw, id, authors, stars, days)
        total += stars
    return shop.products.put(
        Product(
            id=id,
            title=title,
            category=category,
            price=price,
            added=today - timedelta(days=draw.integer(301, 900)),
            bulky=category in BULKY,
            stars=total,
            ratings=reviews,
            limit=draw.choice(LIMITS),
        )
    )


def put_review(shop: Shop, draw: Draw, product: ShopProductId, authors: list[str], stars: int, days: int) -> None:
    texts = PRAISE if stars > 3 else DOUBT if stars == 3 else COMPLAINT
    shop.reviews.put(
        Review(
            id=shop.reviews.new_id(),
            product=product,
            author=draw.choice(authors),
            stars=stars,
            text=draw.choice(texts),
            on=shop.now.date() - timedelta(days=days),
        )
    )


def put_items(shop: Shop, draw: Draw, product: Product, options: tuple[str, ...], count: int, sold_out: bool) -> None:
    """Add a product's items, one per option; later options cost more. Some are sold out, most until a later day."""
    price, chosen = product.price, sorted(draw.sample(range(len(options)), count))
    for place, option in enumerate(chosen):
        gone = (sold_out and place == 0) or draw.chance(0.1)
        stock = 0 if gone else draw.integer(1, 3) if draw.chance(0.15) else draw.integer(8, 60)
        back = gone and draw.chance(0.6)
        shop.items.put(
            Item(
                id=shop.items.new_id(),
                product=product.id,
                title=product.title,
                option=options[option],
                price=price + place * (price // 100) * 10,
                stock=stock,
                supply=stock,
                restock=draw.integer(5, 40) if back else 0,
                restock_at=shop.now + timedelta(days=draw.integer(1, 12), hours=draw.integer(0, 8)) if back else None,
            )
        )


def put_addresses(shop: Shop, draw: Draw, town: tuple[Place, ...]) -> None:
    """Add the home, the office, a hotel and the airport, which is out of reach; then the pickup points."""
    office: Zone = draw.choice(("inner", "inner", "outer"))
    hotel = next(place for place in town if place.kind == "hotel")
    doors: list[tuple[Place, Zone]] = [(town[0], "inner"), (town[1], office), (hotel, "outer"), (town[3], "beyond")]
    for place, zone in doors:
        shop.addresses.put(Address.from_row(place, kind="door", zone=zone))
    for place in (place for place in town if place.kind in PICKUP_KINDS):
        shop.addresses.put(Address.from_row(place, kind="pickup point", zone="inner"))


def put_wishes(shop: Shop, draw: Draw, count: int) -> None:
    """Add wishes for different items; the first is for one that is sold out."""
    items = draw.shuffle_items(list(shop.items))
    gone = next(item for item in items if item.stock == 0)
    for item in [gone, *(item for item in items if item is not gone)][:count]:
        alert = item is not gone and item.stock == 0
        shop.wishes.put(Wish(id=shop.wishes.new_id(), item=item.id, title=item.title, option=item.option, alert=alert))
