"""What the user did at the chain before the session: purchases, returns, reservations and transfers of every kind."""

from __future__ import annotations

from collections import Counter
from datetime import datetime, timedelta

from ..kit import Draw
from .inventory import add_units
from .state import Chain, ChainStoreId, Kept, LoyaltyCard, Pickup, Product, Purchase, Return, Stock, Transfer, Travel

HOLD = timedelta(hours=48)
HOUR = timedelta(hours=1)
MINUTE = timedelta(minutes=1)


def add_past(chain: Chain, draw: Draw, purchases: int) -> None:
    """Each open reservation and each purchase of this week is of a product of its own, so that limits are kept."""
    now, goods = chain.now, draw.shuffled(list(chain.products))
    ready, coming, arrived, expired, collected, dropped, recent = goods[:7]
    store = next(row.id for row in chain.stores if row.is_open(now) and row.closes > 1_300)
    put_aside(chain, draw, ready, stocked(chain, draw, ready, store).store, now - draw.integer(2, 40) * HOUR)
    put_moving(chain, draw, coming, now - draw.integer(16, 30) * MINUTE, now + draw.integer(8, 40) * MINUTE, "moving")
    put_moving(chain, draw, arrived, now - draw.integer(16, 26) * HOUR, now - draw.integer(1, 12) * HOUR, "arrived")
    past: tuple[tuple[Product, Kept, int], ...] = (
        (expired, "held", 60),
        (dropped, "cancelled", 30),
        (collected, "collected", 50),
    )
    for product, status, hours in past:
        moment = now - draw.integer(hours, hours + 40) * HOUR
        pickup = put_aside(chain, draw, product, stocked(chain, draw, product).store, moment, status)
        if status == "collected":
            buy(chain, draw, product, pickup.store, pickup.quantity, moment + draw.integer(2, 40) * HOUR)
    days = [
        draw.integer(2, 6),
        *(draw.integer(9, 28) if draw.chance(0.6) else draw.integer(31, 330) for _ in range(purchases - 1)),
    ]
    for place, ago in enumerate(days):
        product = recent if place == 0 else draw.choice(goods)
        moment = now - timedelta(days=ago, minutes=draw.integer(0, 300))
        buy(chain, draw, product, stocked(chain, draw, product).store, draw.integer(1, 3), moment)
    put_returns(chain, draw, purchases // 4)
    put_card(chain, draw)
    count_supplies(chain)


def stocked(chain: Chain, draw: Draw, product: Product, store: ChainStoreId | None = None) -> Stock:
    """A store's stock of a product: of that store if it carries it, else of any."""
    rows = chain.stock.where(product=product.id)
    return next((row for row in rows if row.store == store), draw.choice(rows))


def put_aside(
    chain: Chain, draw: Draw, product: Product, store: ChainStoreId, moment: datetime, status: Kept = "held"
) -> Pickup:
    """A reservation; the units of one that is held are there besides those on the shelf."""
    quantity = draw.integer(1, 2)
    if status == "held":
        add_units(chain, store, product.id, quantity)
    chain.pickups.cause = f"seed/{product.id}"
    return chain.pickups.put(
        Pickup(
            id=chain.pickups.new_id(),
            store=store,
            product=product.id,
            name=product.name,
            quantity=quantity,
            price=product.price,
            reserved=moment,
            until=moment + HOLD,
            status=status,
        )
    )


def put_moving(
    chain: Chain, draw: Draw, product: Product, departs: datetime, arrives: datetime, status: Travel
) -> None:
    """A reservation that comes, or has come, from another store."""
    source, target = draw.sample(chain.stock.where(product=product.id), 2)
    pickup = put_aside(chain, draw, product, target.store, departs - 15 * MINUTE)
    if status == "moving":
        add_units(chain, target.store, product.id, -pickup.quantity)
    chain.transfers.cause = f"seed/{product.id}"
    transfer = chain.transfers.put(
        Transfer(
            id=chain.transfers.new_id(),
            source=source.store,
            target=target.store,
            product=product.id,
            quantity=pickup.quantity,
            departs=departs,
            arrives=arrives,
            status=status,
        )
    )
    chain.pickups.change(pickup.id, transfer=transfer.id, until=arrives + HOLD)


def buy(chain: Chain, draw: Draw, product: Product, store: ChainStoreId, quantity: int, moment: datetime) -> None:
    total = product.price * quantity
    points = min(total, draw.integer(1, 10) * 50) if draw.chance(0.25) else 0
    chain.purchases.cause = f"seed/{len(chain.purchases.changes)}"
    chain.purchases.put(
        Purchase(
            id=chain.purchases.new_id(),
            store=store,
            product=product.id,
            name=product.name,
            quantity=quantity,
            price=product.price,
            paid=total - points,
            points=points,
            earned=(total - points) // 100,
            bought=moment,
        )
    )


def put_returns(chain: Chain, draw: Draw, count: int) -> None:
    """Some units of older purchases, paid with money alone, were brought back after a few days."""
    sold = [row for row in chain.purchases if row.points == 0 and row.bought < chain.now - timedelta(days=8)]
    sold = [row for row in sold if not chain.products[row.product].final_sale]
    for row in draw.sample(sold, count):
        quantity = draw.integer(1, row.quantity)
        chain.returns.cause = f"seed/{row.id}"
        chain.returns.put(
            Return(
                id=chain.returns.new_id(),
                purchase=row.id,
                store=row.store,
                quantity=quantity,
                refund=row.price * quantity,
                points=-(row.earned * quantity // row.quantity),
                at=row.bought + timedelta(days=draw.integer(1, 7)),
            )
        )


def put_card(chain: Chain, draw: Draw) -> None:
    """A card with some points left."""
    change = sum(row.earned - row.points for row in chain.purchases) + sum(row.points for row in chain.returns)
    points = draw.integer(60, 1_500)
    opening = max(0, points - change)
    chain.cards.put(LoyaltyCard(id=chain.cards.new_id(), opening=opening, points=opening + change))


def count_supplies(chain: Chain) -> None:
    """Set for each product what was ever supplied: all units there are and all that were sold."""
    units = Counter[str]()
    for stock in chain.stock:
        units[stock.product] += stock.units
    for transfer in chain.transfers.where(status="moving"):
        units[transfer.product] += transfer.quantity
    for purchase in chain.purchases:
        units[purchase.product] += purchase.quantity
    for back in chain.returns:
        units[chain.purchases[back.purchase].product] -= back.quantity
    for product in list(chain.products):
        chain.products.change(product.id, supplied=units[product.id])
