"""Invariants of the retail chain: they hold in every state that a session can reach."""

from __future__ import annotations

from collections import Counter

from .engine import count_acquired_units, list_open_pickups, status_of, transfer_of
from .server import server
from .state import Chain
from .tools import HOLD, MOST_PICKUPS, RETURN_WINDOW


@server.invariant
def no_unit_is_lost(chain: Chain) -> bool:
    """For each product, units in stores, in transit and with the customer equal the units supplied."""
    units = Counter[str]()
    for stock in chain.stock:
        units[stock.product] += stock.units
    for transfer in chain.transfers:
        units[transfer.product] += transfer.quantity if transfer.status == "moving" else 0
    for purchase in chain.purchases:
        units[purchase.product] += purchase.quantity
    for back in chain.returns:
        units[chain.purchases[back.purchase].product] -= back.quantity
    return all(units[row.id] == row.supplied for row in chain.products) and len(units) <= len(chain.products)


@server.invariant
def no_store_promises_more_than_it_has(chain: Chain) -> bool:
    """In each store there are, of each product, no fewer units than are ready for pick-up."""
    there = Counter[tuple[str, str]]()
    for stock in chain.stock:
        there[stock.store, stock.product] = stock.units
        if stock.units < 0 or stock.id != f"{stock.store}/{stock.product}":
            return False
    for transfer in chain.transfers.where(status="moving"):
        there[transfer.target, transfer.product] += transfer.quantity if transfer.arrives <= chain.now else 0
    for pickup in chain.pickups.where(status="held"):
        there[pickup.store, pickup.product] -= pickup.quantity if status_of(chain, pickup) == "ready" else 0
    return all(units >= 0 for units in there.values())


@server.invariant
def reservations_are_in_order(chain: Chain) -> bool:
    """A reservation is of some units at no more than the usual price, kept 48 hours from when they are there."""
    for row in chain.pickups:
        transfer = transfer_of(chain, row)
        if not 0 < row.price <= chain.products[row.product].price or row.quantity < 1:
            return False
        if row.until != (row.reserved if transfer is None else transfer.arrives) + HOLD:
            return False
    return True


@server.invariant
def transfers_belong_to_reservations(chain: Chain) -> bool:
    """Each transfer runs between two stores for one reservation at its target, which was cancelled in time or not."""
    owners = [row for row in chain.pickups if row.transfer is not None]
    for row in owners:
        transfer = chain.transfers[row.transfer] if row.transfer else None
        if transfer is None or transfer.source == transfer.target or not transfer.departs < transfer.arrives:
            return False
        if (transfer.target, transfer.product, transfer.quantity) != (row.store, row.product, row.quantity):
            return False
        if transfer.status == "cancelled" and row.status != "cancelled":
            return False
        if row.status != "held" and transfer.status == "moving":
            return False
    return len(dict.fromkeys(row.transfer for row in owners)) == len(owners) == len(chain.transfers)


@server.invariant
def customers_keep_to_their_limits(chain: Chain) -> bool:
    """Open reservations are few, and with the purchases of a week they stay under each product's limit."""
    few = len(list_open_pickups(chain)) <= MOST_PICKUPS
    return few and all(count_acquired_units(chain, row.id) <= row.limit for row in chain.products)


@server.invariant
def purchases_are_paid_in_full(chain: Chain) -> bool:
    """Money and points make up the price of a purchase, and points are earned with the money alone."""
    return all(
        row.paid + row.points == row.price * row.quantity
        and min(row.paid, row.points) >= 0
        and row.earned in [row.paid // 100 * rate for rate in (1, 2, 3)]
        for row in chain.purchases
    )


@server.invariant
def points_add_up(chain: Chain) -> bool:
    """The card's points are those it began with and all that was earned, used and given back; never fewer than none."""
    total = chain.card.opening + sum(row.earned - row.points for row in chain.purchases)
    return chain.card.points == total + sum(row.points for row in chain.returns) >= 0


@server.invariant
def returns_stay_within_their_purchase(chain: Chain) -> bool:
    """Returns are part of a returnable purchase, within its period, and refund at most what was paid."""
    units, money = Counter[str](), Counter[str]()
    for row in chain.returns:
        bought = chain.purchases[row.purchase]
        units[row.purchase] += row.quantity
        money[row.purchase] += row.refund
        if chain.products[bought.product].final_sale or not bought.bought <= row.at <= bought.bought + RETURN_WINDOW:
            return False
        if row.quantity < 1 or row.refund < 0:
            return False
    return all(units[row.id] <= row.quantity and money[row.id] <= row.paid for row in chain.purchases)


@server.invariant
def every_purchase_was_picked_up(chain: Chain) -> bool:
    """There are as many purchases of a product in a store as reservations that were picked up there, or older ones."""
    bought = Counter((row.store, row.product) for row in chain.purchases)
    collected = Counter((row.store, row.product) for row in chain.pickups if row.status == "collected")
    return all(collected[key] <= bought[key] for key in collected)
