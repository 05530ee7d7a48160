"""The tool that moves a product from one store to another."""

from __future__ import annotations

from datetime import timedelta

from ..distance import metres
from ..kit import ToolError
from .inventory import add_units, available, carried, require_open, take_in, view
from .parameters import ProductRef, Quantity, Source, Target
from .server import server
from .state import Chain, Transfer
from .tools_pickups import HOLD, hold, require_within_limits
from .views import PickupView

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
    giving, taking, goods = carried(chain, source, product), carried(chain, target, product), chain.products[product]
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
    return view(chain, hold(chain, target, goods, quantity, arrives + HOLD, transfer.id))
