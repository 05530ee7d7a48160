"""Tools that look: stores, products, stock, promotions."""

from __future__ import annotations

from collections.abc import Iterable
from datetime import date
from itertools import islice
from operator import attrgetter

from ..distance import metres
from .inventory import carried, discounted, price_in, unsettled
from .parameters import (
    ROWS,
    AskedCategory,
    AskedProduct,
    AskedStore,
    Limit,
    Near,
    OnDay,
    ProductRef,
    Query,
    StoreRef,
)
from .server import server
from .state import Chain, ChainProductId, Product, Stock, Store, words_of
from .views import ProductLine, PromotionLine, StockLine, StoreLine


@server.read()
def find_stores(
    chain: Chain, near: Near = None, product: AskedProduct = None, day: OnDay = None, limit: Limit = ROWS
) -> tuple[StoreLine, ...]:
    """Find the chain's stores, nearest first, with a day's opening hours."""
    here = chain.home if near is None else chain.places[near]
    found: Iterable[Store] = chain.stores
    if product is not None:
        found = [chain.stores[row.store] for row in on_shelves(chain, chain.products[product].id)]
    nearest = sorted([(metres(here, chain.places[store.place]), store.id) for store in found])
    return tuple([store_line(chain, chain.stores[id], distance, day) for distance, id in nearest[:limit]])


def on_shelves(chain: Chain, product: ChainProductId) -> list[Stock]:
    """Where a product is available."""
    units = unsettled(chain, product)
    return [row for row in chain.stock.where(product=product) if row.units + units[row.store] > 0]


def store_line(chain: Chain, store: Store, distance: int, day: date | None) -> StoreLine:
    return StoreLine(
        id=store.id,
        name=store.name,
        place=store.place,
        street=chain.places[store.place].street,
        metres=distance,
        open=store.is_open(chain.now),
        hours=None if (day or chain.now).weekday() in store.closed else store.times,
    )


@server.read()
def find_chain_products(
    chain: Chain, query: Query = None, category: AskedCategory = None, limit: Limit = ROWS
) -> tuple[ProductLine, ...]:
    """Find products of the chain by words of the name or by category."""
    words = words_of(query or "")
    found: Iterable[Product] = chain.products
    if words:
        found = [row for row in chain.products.where(words=words[0]) if all(word in row.words for word in words)]
    elif category:
        found = chain.products.where(category=category)
    rows = (row for row in found if category in (None, row.category))
    return tuple(product_line(chain, row) for row in islice(rows, limit))


def product_line(chain: Chain, row: Product) -> ProductLine:
    return ProductLine(
        id=row.id,
        name=row.name,
        category=row.category,
        price=row.price,
        limit=row.limit,
        stores=len(on_shelves(chain, row.id)),
        final_sale=row.final_sale or None,
    )


@server.read()
def check_store_stock(
    chain: Chain, product: ProductRef, store: AskedStore = None, limit: Limit = ROWS
) -> tuple[StockLine, ...]:
    """Check how much of a product each store has available, nearest first."""
    chain.products[product]
    rows = chain.stock.where(product=product) if store is None else [carried(chain, store, product)]
    units = unsettled(chain, product)
    lines = [stock_line(chain, row, row.units + units[row.store]) for row in rows]
    return tuple(sorted(lines, key=attrgetter("metres", "store"))[:limit])


def stock_line(chain: Chain, row: Stock, available: int) -> StockLine:
    store = chain.stores[row.store]
    return StockLine(
        store=row.store,
        name=store.name,
        metres=metres(chain.home, chain.places[store.place]),
        available=available,
        price=price_in(chain, row.store, row.product),
    )


@server.read()
def list_store_promotions(chain: Chain, store: StoreRef, limit: Limit = ROWS) -> tuple[PromotionLine, ...]:
    """List today's promotions of a store, the largest discounts first."""
    today = chain.now.date()
    rows = [row for row in chain.promotions.where(store=chain.stores[store].id) if row.starts <= today <= row.ends]
    return tuple(
        PromotionLine(
            product=row.product,
            name=chain.products[row.product].name,
            percent=row.percent,
            price=discounted(chain.products[row.product].price, row.percent),
            ends=row.ends,
            tier=row.tier,
        )
        for row in sorted(rows, key=lambda row: (-row.percent, row.id))[:limit]
    )
