"""The shop as a session finds it: a catalogue with reviews, and a customer with cards, coupons, wishes and a past."""

from __future__ import annotations

from datetime import timedelta
from typing import NamedTuple

from ..kit import Draw
from ..people import beginning, cast
from ..places import Place, places
from .goods import BRANDS, BULKY, CATALOGUE, COMPLAINT, DOUBT, PRAISE
from .seed_orders import put_cart, put_past
from .seed_payment_methods import put_cards, put_coupons, put_gift_cards
from .state import (
    Address,
    Category,
    Item,
    Product,
    Review,
    Shop,
    ShopProductId,
    Wish,
    Zone,
)


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
    """The shop of this seed; sizes are small, default and large."""
    shop = Shop(seed, beginning(seed))
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
    """Products of all categories in turn; at least one item is sold out."""
    categories = draw.shuffled(tuple(CATALOGUE))
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
    """A product and its reviews, the oldest first."""
    id, today, total = shop.products.new_id(), shop.now.date(), 0
    for days in sorted((draw.integer(1, 300) for _ in range(reviews)), reverse=True):
        stars = draw.weighted((5, 4, 3, 2, 1), (5, 4, 2, 1, 1))
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
    """The options of a product; those of a large one cost more. Some are sold out and come back on a later day."""
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
    """Home, office, the airport and a hotel, of which the airport is out of reach; then the pickup points."""
    office: Zone = draw.choice(("inner", "inner", "outer"))
    hotel = next(place for place in town if place.kind == "hotel")
    doors: list[tuple[Place, Zone]] = [(town[0], "inner"), (town[1], office), (hotel, "outer"), (town[3], "beyond")]
    for place, zone in doors:
        shop.addresses.put(Address(id=place.id, name=place.name, street=place.street, kind="door", zone=zone))
    for place in (place for place in town if place.kind in PICKUP_KINDS):
        shop.addresses.put(
            Address(id=place.id, name=place.name, street=place.street, kind="pickup point", zone="inner")
        )


def put_wishes(shop: Shop, draw: Draw, count: int) -> None:
    """Wishes for different items; the first is for one that is sold out."""
    items = draw.shuffled(list(shop.items))
    gone = next(item for item in items if item.stock == 0)
    for item in [gone, *(item for item in items if item is not gone)][:count]:
        alert = item is not gone and item.stock == 0
        shop.wishes.put(Wish(id=shop.wishes.new_id(), item=item.id, title=item.title, option=item.option, alert=alert))
