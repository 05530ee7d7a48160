"""Tools on what was bought: the loyalty card with its purchases, and returns."""

from __future__ import annotations

from datetime import timedelta
from heapq import nlargest
from operator import attrgetter

from ..kit import ToolError
from .inventory import TIERS, add_units, carried, require_open, spent, take_in, tier_for
from .parameters import ROWS, Limit, PurchaseRef, Quantity, StoreRef
from .server import server
from .state import Chain, Purchase, Return, StorePurchaseId
from .tools_pickups import purchase_view
from .views import CardView, ReturnView

RETURN_WINDOW = timedelta(days=30)


@server.read()
def get_loyalty_card(chain: Chain, limit: Limit = ROWS) -> CardView:
    """Get your loyalty card: tier, points, yearly spending, latest purchases."""
    total = spent(chain)
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
    stock = carried(chain, store, bought.product)
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
    """The purchase, of which so many units may come back. Raises ToolError otherwise."""
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
    """The cents paid out and the change of the card's points.

    Money that was paid goes back first, then the points that were used. Points earned with these units are taken
    back; those the card no longer has are kept from the money.
    """
    earlier = chain.returns.where(purchase=bought.id)
    before = sum(row.quantity for row in earlier)
    value, owed = bought.price * quantity, max(0, bought.paid - bought.price * before)
    money = min(value, owed)
    taken = bought.earned * (before + quantity) // bought.quantity - bought.earned * before // bought.quantity
    change = value - money - taken
    short = max(0, -(chain.card.points + change))
    return money - short, change + short
