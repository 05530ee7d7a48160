"""Tools on reservations: put aside, listed, paid and picked up, or cancelled."""

from __future__ import annotations

from datetime import datetime, timedelta
from itertools import islice
from operator import attrgetter

from ..kit import ToolError, minute_text
from .inventory import (
    RANK,
    add_units,
    available,
    carried,
    opened,
    price_in,
    require_open,
    status_of,
    take_in,
    taken,
    tier,
    transfer_of,
    view,
)
from .parameters import ROWS, AskedStatus, Limit, PickupRef, Points, ProductRef, Quantity, StoreRef
from .server import server
from .state import Chain, ChainStoreId, Pickup, Product, Purchase, StorePickupId, StoreTransferId
from .views import PickupView, PurchaseView

HOLD = timedelta(hours=48)
MOST_PICKUPS = 6


@server.write()
def reserve_at_store(chain: Chain, store: StoreRef, product: ProductRef, quantity: Quantity) -> PickupView:
    """Reserve units of a product in a store for 48 hours."""
    take_in(chain)
    stock = carried(chain, store, product)
    left = available(chain, stock)
    if quantity > left:
        raise ToolError(
            "out_of_stock_in_store",
            f"{chain.stores[store].name} has {left} available; take fewer or find another store by check_store_stock.",
        )
    require_within_limits(chain, chain.products[product], quantity)
    return view(chain, hold(chain, stock.store, chain.products[product], quantity, chain.now + HOLD))


def require_within_limits(chain: Chain, product: Product, quantity: int) -> None:
    """Raise ToolError when a customer may not get so many more units or have one more reservation."""
    if len(opened(chain)) >= MOST_PICKUPS:
        raise ToolError(
            "too_many_reservations", f"You have {MOST_PICKUPS} open reservations; pick one up or cancel one first."
        )
    had = taken(chain, product.id)
    if had + quantity > product.limit:
        raise ToolError(
            "over_customer_limit",
            f"A customer gets {product.limit} of the {product.name} a week and you have {had}; take fewer.",
        )


def hold(
    chain: Chain,
    store: ChainStoreId,
    product: Product,
    quantity: int,
    until: datetime,
    transfer: StoreTransferId | None = None,
) -> Pickup:
    """Write a reservation at today's price."""
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
def list_store_pickups(chain: Chain, status: AskedStatus = None, limit: Limit = ROWS) -> tuple[PickupView, ...]:
    """List your reservations and transfers, newest first."""
    rows = sorted(chain.pickups, key=attrgetter("reserved", "id"), reverse=True)
    found = (row for row in rows if status in (None, status_of(chain, row)))
    return tuple(view(chain, row) for row in islice(found, limit))


def still_held(chain: Chain, id: StorePickupId) -> Pickup:
    """The reservation, which still holds. Raises ToolError when it was picked up, cancelled or has expired."""
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
    earned = (total - used) // 100 * (RANK[tier(chain)] + 1)
    add_units(chain, row.store, row.product, -row.quantity)
    chain.pickups.change(pickup, status="collected")
    chain.cards.change(chain.card.id, points=chain.card.points - used + earned)
    return purchase_view(
        chain,
        chain.purchases.put(
            Purchase(
                id=chain.purchases.new_id(),
                store=row.store,
                product=row.product,
                name=row.name,
                quantity=row.quantity,
                price=row.price,
                paid=total - used,
                points=used,
                earned=earned,
                bought=chain.now,
            )
        ),
    )


def require_points(chain: Chain, points: int, total: int) -> None:
    if points > chain.card.points:
        raise ToolError("not_enough_points", f"Your card has {chain.card.points} points; use no more than these.")
    if points > total:
        raise ToolError("points_exceed_price", f"The price is {total} cents; use at most {total} points.")


def purchase_view(chain: Chain, row: Purchase) -> PurchaseView:
    return PurchaseView(
        id=row.id,
        name=row.name,
        product=row.product,
        store=row.store,
        quantity=row.quantity,
        paid=row.paid,
        points=row.points,
        earned=row.earned,
        returned=sum([one.quantity for one in chain.returns.where(purchase=row.id)]),
        bought=row.bought,
    )


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
