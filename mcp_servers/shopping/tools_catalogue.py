"""Tools on what the shop sells, and what customers think of it."""

from __future__ import annotations

from collections.abc import Callable
from itertools import islice
from operator import attrgetter

from ..kit import ToolError
from .parameters import (
    ROWS,
    AskedCategory,
    AskedPrice,
    AskedQuery,
    AskedSort,
    AskedStars,
    AskedStock,
    Limit,
    ProductRef,
    ReviewText,
    Sort,
    Stars,
)
from .serializers import product_details, product_line
from .server import server
from .state import Category, Product, Review, Shop, words_of
from .views import ProductDetails, ProductLine

SORT_KEYS: dict[Sort, Callable[[Product], int]] = {
    "best rated": lambda product: -1000 * product.stars // max(product.ratings, 1),
    "cheapest": lambda product: product.price,
    "dearest": lambda product: -product.price,
    "newest": lambda product: -product.added.toordinal(),
}


@server.read()
def search_shop_products(
    shop: Shop,
    query: AskedQuery = None,
    category: AskedCategory = None,
    max_price: AskedPrice = None,
    min_stars: AskedStars = None,
    in_stock: AskedStock = None,
    sort: AskedSort = "best rated",
    limit: Limit = ROWS,
) -> tuple[ProductLine, ...]:
    """Search the shop's products by words, category, price, rating and stock."""
    lacking = {item.product for item in shop.items.where(sold=True)} if in_stock is False else None
    rows = [
        row
        for row in matching(shop, query, category)
        if (max_price is None or row.price <= max_price)
        and (min_stars is None or (row.ratings > 0 and row.stars >= min_stars * row.ratings))
        and (lacking is None or row.id in lacking)
    ]
    rows.sort(key=attrgetter("id"))
    rows.sort(key=SORT_KEYS[sort])
    found = (row for row in rows if in_stock is None or shop.in_stock(row.id) == in_stock)
    return tuple([product_line(shop, row) for row in islice(found, limit)])


def matching(shop: Shop, query: str | None, category: Category | None) -> list[Product]:
    """The products with all these words in the title, of this category."""
    words = words_of(query or "")
    if not words:
        return list(shop.products) if category is None else shop.products.where(category=category)
    rows = shop.products.where(words=words[0])
    return [row for row in rows if category in (None, row.category) and all(word in row.words for word in words[1:])]


@server.read()
def get_shop_product(shop: Shop, product: ProductRef) -> ProductDetails:
    """Get a product with its items: each option with its price and stock."""
    return product_details(shop, shop.products[product])


@server.read()
def list_shop_reviews(shop: Shop, product: ProductRef, limit: Limit = ROWS) -> tuple[Review, ...]:
    """List the reviews of a product, newest first."""
    rows = shop.reviews.where(product=shop.products[product].id)
    return tuple(sorted(reversed(rows), key=lambda row: row.on, reverse=True)[:limit])


@server.write(idempotent=True)
def review_shop_product(shop: Shop, product: ProductRef, stars: Stars, text: ReviewText) -> Review:
    """Review a product that was delivered to you."""
    row = shop.products[product]
    orders = [shop.orders[line.order] for line in shop.bought(product)]
    if not orders:
        raise ToolError("not_bought", f"You never bought the {row.title}; only buyers review a product.")
    if all(order.status(shop.now) != "delivered" for order in orders):
        raise ToolError("not_delivered", f"The {row.title} is still on its way; review it after its delivery.")
    if any(review.mine for review in shop.reviews.where(product=product)):
        raise ToolError("already_reviewed", f"You have reviewed the {row.title}; a product is reviewed once.")
    shop.products.change(product, stars=row.stars + stars, ratings=row.ratings + 1)
    return shop.reviews.put(
        Review(
            id=shop.reviews.new_id(),
            product=product,
            author=shop.account.owner.split()[0],
            stars=stars,
            text=text,
            on=shop.now.date(),
            mine=True,
        )
    )
