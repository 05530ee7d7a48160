"""Tools of the retail chain."""

from __future__ import annotations

from collections.abc import Iterable
from datetime import date, datetime, timedelta
from heapq import nlargest
from itertools import islice
from operator import attrgetter

from ..core import ToolError, minute_text
from ..shared.distance import metres
from .engine import (
    RANK,
    TIERS,
    add_units,
    apply_discount,
    available,
    count_acquired_units,
    count_unshelved_units,
    get_loyalty_tier,
    list_open_pickups,
    price_in,
    require_carried_stock,
    require_open,
    status_of,
    sum_yearly_spending,
    take_in,
    tier_for,
    transfer_of,
    view,
)
from .server import (
    ROWS,
    CategoryParam,
    Limit,
    Near,
    OnDay,
    PickupRef,
    Points,
    ProductParam,
    ProductRef,
    PurchaseRef,
    Quantity,
    Query,
    Source,
    StatusParam,
    StoreParam,
    StoreRef,
    Target,
    server,
)
from .state import (
    Chain,
    ChainProductId,
    ChainStoreId,
    Pickup,
    Product,
    Purchase,
    Return,
    Stock,
    Store,
    StorePickupId,
    StorePurchaseId,
    StoreTransferId,
    Transfer,
    words_of,
)
from .views import CardView, PickupView, ProductLine, PromotionLine, PurchaseView, ReturnView, StockLine, StoreLine

# Tools for reservations: reserve, list, pay and pick up, or cancel.

HOLD = timedelta(hours=48)
MOST_PICKUPS = 6


@server.write()
def reserve_at_store(chain: Chain, store: StoreRef, product: ProductRef, quantity: Quantity) -> PickupView:
    """Reserve units of a product in a store for 48 hours."""
    take_in(chain)
    stock = require_carried_stock(chain, store, product)
    left = available(chain, stock)
    if quantity > left:
        raise ToolError(
            "out_of_stock_in_store",
            f"{chain.stores[store].name} has {left} available; take fewer or find another store by check_store_stock.",
        )
    require_within_limits(chain, chain.products[product], quantity)
    return view(chain, add_pickup(chain, stock.store, chain.products[product], quantity, chain.now + HOLD))


def require_within_limits(chain: Chain, product: Product, quantity: int) -> None:
    """Raise ToolError when the user may not get `quantity` more units or have one more reservation."""
    if len(list_open_pickups(chain)) >= MOST_PICKUPS:
        raise ToolError(
            "too_many_reservations", f"You have {MOST_PICKUPS} open reservations; pick one up or cancel one first."
        )
    had = count_acquired_units(chain, product.id)
    if had + quantity > product.limit:
        raise ToolError(
            "over_customer_limit",
            f"A customer gets {product.limit} of the {product.name} a week and you have {had}; take fewer.",
        )


def add_pickup(
    chain: Chain,
    store: ChainStoreId,
    product: Product,
    quantity: int,
    until: datetime,
    transfer: StoreTransferId | None = None,
) -> Pickup:
    """Add a reservation at today's price."""
    return chain.pickups.put(
        Pickup(
            id=chain.pickups.new_id(),
            store=store,
            product=product.id,
            name=product.name,
            quantity=quantity,
            price=price_in(chain, store, product.id),
            reserved=chain.now,
            until=until,
            status="held",
            transfer=transfer,
        )
    )


@server.read()
def list_store_pickups(chain: Chain, status: StatusParam = None, limit: Limit = ROWS) -> tuple[PickupView, ...]:
    """List your reservations and transfers, newest first."""
    rows = sorted(chain.pickups, key=attrgetter("reserved", "id"), reverse=True)
    found = (row for row in rows if status in (None, status_of(chain, row)))
    return tuple(view(chain, row) for row in islice(found, limit))


def still_held(chain: Chain, id: StorePickupId) -> Pickup:
    """Return the reservation. Raises ToolError when it was picked up, cancelled or has expired."""
    pickup = chain.pickups[id]
    status = status_of(chain, pickup)
    if status == "collected":
        raise ToolError("already_picked_up", f"{id} was picked up; return_to_store takes the product back.")
    if status == "cancelled":
        raise ToolError("pickup_cancelled", f"{id} was cancelled; reserve the {pickup.name} again.")
    if status == "expired":
        raise ToolError("reservation_expired", f"{id} was kept until {minute_text(pickup.until)}; reserve it again.")
    return pickup


@server.write(idempotent=True)
def collect_pickup(chain: Chain, pickup: PickupRef, points: Points = None) -> PurchaseView:
    """Pay for a reservation and pick it up while the store is open."""
    take_in(chain)
    row = still_held(chain, pickup)
    if status_of(chain, row) != "ready":
        arrives = view(chain, row).arrives
        raise ToolError("transfer_in_progress", f"{pickup} reaches the store at {minute_text(arrives)}; come then.")
    require_open(chain, chain.stores[row.store])
    total, used = row.price * row.quantity, points or 0
    require_points(chain, used, total)
    earned = (total - used) // 100 * (RANK[get_loyalty_tier(chain)] + 1)
    add_units(chain, row.store, row.product, -row.quantity)
    chain.pickups.change(pickup, status="collected")
    chain.cards.change(chain.card.id, points=chain.card.points - used + earned)
    return purchase_view(
        chain,
        chain.purchases.put(
            Purchase.from_row(
                row, id=chain.purchases.new_id(), paid=total - used, points=used, earned=earned, bought=chain.now
            )
        ),
    )


def require_points(chain: Chain, points: int, total: int) -> None:
    if points > chain.card.points:
        raise ToolError("not_enough_points", f"Your card has {chain.card.points} points; use no more than these.")
    if points > total:
        raise ToolError("points_exceed_price", f"The price is {total} cents; use at most {total} points.")


def purchase_view(chain: Chain, row: Purchase) -> PurchaseView:
    return PurchaseView.from_row(row, returned=sum([one.quantity for one in chain.returns.where(purchase=row.id)]))


@server.write(destructive=True, idempotent=True)
def cancel_pickup(chain: Chain, pickup: PickupRef) -> PickupView:
    """Cancel a reservation; one that is on the way cannot be cancelled."""
    take_in(chain)
    row = still_held(chain, pickup)
    status, transfer = status_of(chain, row), transfer_of(chain, row)
    if status == "in_transit":
        raise ToolError("transfer_in_progress", f"{pickup} is on its way between stores; cancel it once it is there.")
    if status == "requested" and transfer is not None:
        add_units(chain, transfer.source, transfer.product, transfer.quantity)
        chain.transfers.change(transfer.id, status="cancelled")
    return view(chain, chain.pickups.change(pickup, status="cancelled"))


# Tools for purchases: the loyalty card with its purchases, and returns.

RETURN_WINDOW = timedelta(days=30)


@server.read()
def get_loyalty_card(chain: Chain, limit: Limit = ROWS) -> CardView:
    """Get your loyalty card: tier, points, yearly spending, latest purchases."""
    total = sum_yearly_spending(chain)
    above = [least - total for least in TIERS.values() if least > total]
    rows = nlargest(limit, chain.purchases, key=attrgetter("bought", "id"))
    return CardView(
        id=chain.card.id,
        tier=tier_for(total),
        points=chain.card.points,
        spent=total,
        missing=min(above, default=None),
        purchases=tuple(purchase_view(chain, row) for row in rows),
    )


@server.write(destructive=True)
def return_to_store(chain: Chain, purchase: PurchaseRef, store: StoreRef, quantity: Quantity) -> ReturnView:
    """Return units of a purchase to an open store within 30 days."""
    take_in(chain)
    bought = returnable(chain, purchase, quantity)
    stock = require_carried_stock(chain, store, bought.product)
    require_open(chain, chain.stores[store])
    money, points = refund_of(chain, bought, quantity)
    add_units(chain, stock.store, stock.product, quantity)
    card = chain.cards.change(chain.card.id, points=chain.card.points + points)
    row = chain.returns.put(
        Return(
            id=chain.returns.new_id(),
            purchase=purchase,
            store=store,
            quantity=quantity,
            refund=money,
            points=points,
            at=chain.now,
        )
    )
    return ReturnView(
        id=row.id,
        purchase=purchase,
        store=store,
        quantity=quantity,
        refund=money,
        points=points,
        balance=card.points,
    )


def returnable(chain: Chain, id: StorePurchaseId, quantity: int) -> Purchase:
    """Return the purchase. Raises ToolError unless `quantity` of its units can be returned."""
    bought = chain.purchases[id]
    left = bought.quantity - sum(row.quantity for row in chain.returns.where(purchase=id))
    if chain.products[bought.product].final_sale:
        raise ToolError("final_sale", f"The {bought.name} was sold for good; it cannot be returned.")
    if left == 0:
        raise ToolError("already_returned", f"All of {id} was returned; nothing is left to do.")
    if chain.now > bought.bought + RETURN_WINDOW:
        raise ToolError("return_window_over", f"{id} is from {bought.bought.date()}; returns end after 30 days.")
    if quantity > left:
        raise ToolError("more_than_bought", f"Only {left} of {id} can still be returned; return at most these.")
    return bought


def refund_of(chain: Chain, bought: Purchase, quantity: int) -> tuple[int, int]:
    """Return the cents paid out and the change of the card's points.

    The money paid is refunded first, then the points used. Points earned with these units are taken back; those
    that the card no longer has are deducted from the money.
    """
    earlier = chain.returns.where(purchase=bought.id)
    before = sum(row.quantity for row in earlier)
    value, owed = bought.price * quantity, max(0, bought.paid - bought.price * before)
    money = min(value, owed)
    taken = bought.earned * (before + quantity) // bought.quantity - bought.earned * before // bought.quantity
    change = value - money - taken
    short = max(0, -(chain.card.points + change))
    return money - short, change + short


# Read-only tools: stores, products, stock and promotions.


@server.read()
def find_stores(
    chain: Chain, near: Near = None, product: ProductParam = None, day: OnDay = None, limit: Limit = ROWS
) -> tuple[StoreLine, ...]:
    """Find the chain's stores, nearest first, with a day's opening hours."""
    here = chain.home if near is None else chain.places[near]
    found: Iterable[Store] = chain.stores
    if product is not None:
        found = [chain.stores[row.store] for row in on_shelves(chain, chain.products[product].id)]
    nearest = sorted([(metres(here, chain.places[store.place]), store.id) for store in found])
    return tuple([store_line(chain, chain.stores[id], distance, day) for distance, id in nearest[:limit]])


def on_shelves(chain: Chain, product: ChainProductId) -> list[Stock]:
    """Return the stock rows of the stores where a product is available."""
    units = count_unshelved_units(chain, product)
    return [row for row in chain.stock.where(product=product) if row.units + units[row.store] > 0]


def store_line(chain: Chain, store: Store, distance: int, day: date | None) -> StoreLine:
    return StoreLine.from_row(
        store,
        street=chain.places[store.place].street,
        metres=distance,
        open=store.is_open(chain.now),
        hours=None if (day or chain.now).weekday() in store.closed else store.times,
    )


@server.read()
def find_chain_products(
    chain: Chain, query: Query = None, category: CategoryParam = None, limit: Limit = ROWS
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
    return ProductLine.from_row(row, stores=len(on_shelves(chain, row.id)), final_sale=row.final_sale or None)


@server.read()
def check_store_stock(
    chain: Chain, product: ProductRef, store: StoreParam = None, limit: Limit = ROWS
) -> tuple[StockLine, ...]:
    """Check how much of a product each store has available, nearest first."""
    chain.products[product]
    rows = chain.stock.where(product=product) if store is None else [require_carried_stock(chain, store, product)]
    units = count_unshelved_units(chain, product)
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
        PromotionLine.from_row(
            row,
            name=chain.products[row.product].name,
            price=apply_discount(chain.products[row.product].price, row.percent),
        )
        for row in sorted(rows, key=lambda row: (-row.percent, row.id))[:limit]
    )


# The tool that moves a product from one store to another.

PACKING = timedelta(minutes=15)
LOADING = timedelta(minutes=20)
METRES_PER_MINUTE = 300


@server.write()
def request_store_transfer(
    chain: Chain, source: Source, target: Target, product: ProductRef, quantity: Quantity
) -> PickupView:
    """Have units moved between stores and kept for you at the target."""
    take_in(chain)
    if source == target:
        raise ToolError("same_store", "Source and target are the same store; use reserve_at_store there.")
    giving, taking, goods = (
        require_carried_stock(chain, source, product),
        require_carried_stock(chain, target, product),
        chain.products[product],
    )
    giver, taker = chain.stores[source], chain.stores[target]
    if available(chain, taking) >= quantity:
        raise ToolError("in_stock_at_target", f"{taker.name} has {quantity} available itself; use reserve_at_store.")
    left = available(chain, giving)
    if quantity > left:
        raise ToolError("out_of_stock_in_store", f"{giver.name} has {left} available; take fewer or another store.")
    require_within_limits(chain, goods, quantity)
    require_open(chain, giver)
    departs = chain.now + PACKING
    ride = metres(chain.places[giver.place], chain.places[taker.place]) // METRES_PER_MINUTE
    arrives = taker.next_open(departs + LOADING + timedelta(minutes=ride))
    add_units(chain, source, product, -quantity)
    transfer = chain.transfers.put(
        Transfer(
            id=chain.transfers.new_id(),
            source=source,
            target=target,
            product=product,
            quantity=quantity,
            departs=departs,
            arrives=arrives,
            status="moving",
        )
    )
    return view(chain, add_pickup(chain, target, goods, quantity, arrives + HOLD, transfer.id))
