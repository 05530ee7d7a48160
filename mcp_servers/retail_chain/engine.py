"""Inventory (units on the shelf, reserved and in transit) and the price of a product in a store."""

from __future__ import annotations

from collections import defaultdict
from datetime import timedelta

from ..core import ToolError, minute_text
from .state import Chain, ChainProductId, ChainStoreId, Pickup, Stock, Store, Tier, Transfer, stock_id
from .views import PickupStatus, PickupView

TIERS: dict[Tier, int] = {"basic": 0, "silver": 30_000, "gold": 100_000}
RANK: dict[Tier, int] = {"basic": 0, "silver": 1, "gold": 2}
YEAR, WEEK = timedelta(days=365), timedelta(days=7)


def take_in(chain: Chain) -> None:
    """Add the units of arrived transfers to the stock; every write tool calls this first."""
    for transfer in chain.transfers.where(status="moving"):
        if transfer.arrives <= chain.now:
            add_units(chain, transfer.target, transfer.product, transfer.quantity)
            chain.transfers.change(transfer.id, status="arrived")


def add_units(chain: Chain, store: ChainStoreId, product: ChainProductId, units: int) -> None:
    id = stock_id(store, product)
    chain.stock.change(id, units=chain.stock[id].units + units)


def status_of(chain: Chain, pickup: Pickup) -> PickupStatus:
    """Return the current status of a reservation."""
    if pickup.status != "held":
        return pickup.status
    transfer = transfer_of(chain, pickup)
    if transfer is not None and chain.now < transfer.departs:
        return "requested"
    if transfer is not None and chain.now < transfer.arrives:
        return "in_transit"
    return "ready" if chain.now <= pickup.until else "expired"


def transfer_of(chain: Chain, pickup: Pickup) -> Transfer | None:
    return None if pickup.transfer is None else chain.transfers[pickup.transfer]


def view(chain: Chain, pickup: Pickup) -> PickupView:
    """Return a reservation as the user sees it."""
    transfer = transfer_of(chain, pickup)
    return PickupView.from_row(
        pickup,
        total=pickup.price * pickup.quantity,
        status=status_of(chain, pickup),
        departs=transfer.departs if transfer else None,
        arrives=transfer.arrives if transfer else None,
    )


def require_carried_stock(chain: Chain, store: ChainStoreId, product: ChainProductId) -> Stock:
    """Return the stock of a product in a store. Raises ToolError when the store does not carry it."""
    name, goods = chain.stores[store].name, chain.products[product].name
    found = chain.stock.get(stock_id(store, product))
    if found is None:
        raise ToolError("not_stocked_here", f"{name} does not carry the {goods}; check_store_stock shows who does.")
    return found


def available(chain: Chain, stock: Stock) -> int:
    """Return the units of a product in a store that nobody has reserved."""
    return stock.units + count_unshelved_units(chain, stock.product)[stock.store]


def count_unshelved_units(chain: Chain, product: ChainProductId) -> dict[ChainStoreId, int]:
    """Return by store the units of a product that have arrived but are not on the shelf yet, less the reserved ones."""
    units = defaultdict[ChainStoreId, int](int)
    for transfer in chain.transfers.where(product=product):
        if transfer.status == "moving" and transfer.arrives <= chain.now:
            units[transfer.target] += transfer.quantity
    for pickup in chain.pickups.where(product=product):
        if status_of(chain, pickup) == "ready":
            units[pickup.store] -= pickup.quantity
    return units


def list_open_pickups(chain: Chain) -> list[Pickup]:
    """Return the open reservations: ready for the user, requested or in transit."""
    return [row for row in chain.pickups.where(status="held") if status_of(chain, row) != "expired"]


def count_acquired_units(chain: Chain, product: ChainProductId) -> int:
    """Return the units of a product that the user has reserved now or bought in the last 7 days."""
    since = chain.now - WEEK
    bought = [row.quantity for row in chain.purchases.where(product=product) if row.bought > since]
    return sum([row.quantity for row in list_open_pickups(chain) if row.product == product]) + sum(bought)


def require_open(chain: Chain, store: Store) -> None:
    """Raise ToolError unless the store is open now."""
    if not store.is_open(chain.now):
        opens = minute_text(store.next_open(chain.now))
        raise ToolError("store_closed", f"{store.name} is closed and opens at {opens}; come then or use another store.")


def sum_yearly_spending(chain: Chain) -> int:
    """Return the cents the user paid in the last 365 days, less refunds."""
    since = chain.now - YEAR
    paid = sum([row.paid for row in chain.purchases if row.bought > since])
    return paid - sum([row.refund for row in chain.returns if chain.purchases[row.purchase].bought > since])


def get_loyalty_tier(chain: Chain) -> Tier:
    return tier_for(sum_yearly_spending(chain))


def tier_for(total: int) -> Tier:
    """Return the highest tier whose yearly spending threshold `total` cents reach."""
    return [name for name, least in TIERS.items() if total >= least][-1]


def price_in(chain: Chain, store: ChainStoreId, product: ChainProductId) -> int:
    """Return what a unit costs the user in a store today, in cents, after the best promotion that applies."""
    today, full = chain.now.date(), chain.products[product].price
    offers = [row for row in chain.promotions.where(stock=stock_id(store, product)) if row.starts <= today <= row.ends]
    if not offers:
        return full
    rank = RANK[get_loyalty_tier(chain)]
    return apply_discount(full, max([row.percent for row in offers if RANK[row.tier] <= rank], default=0))


def apply_discount(price: int, percent: int) -> int:
    """Return a price less `percent` percent, rounded to the nearest cent."""
    return (price * (100 - percent) + 50) // 100
