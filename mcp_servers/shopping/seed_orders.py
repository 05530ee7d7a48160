"""The past of the customer: orders in every phase of their life, one of them with a coupon, and a cart half filled."""

from __future__ import annotations

from datetime import datetime, timedelta
from typing import Literal, NamedTuple

from ..kit import Draw
from .orders import Payment, book_order, book_return, cancel_order
from .state import CartLine, Delivery, Item, Order, Shop

Phase = Literal["placed", "packed", "shipped", "recent", "old", "cancelled"]
FIRST: tuple[Phase, ...] = ("placed", "placed", "recent", "recent", "recent", "old")
OTHERS: tuple[Phase, ...] = ("placed", "packed", "shipped", "recent", "recent", "old", "old", "cancelled")


class Age(NamedTuple):
    """How long ago an order of a phase was placed, in minutes."""

    least: int
    most: int


HOUR, DAY = 60, 24 * 60
AGES: dict[Phase, Age] = {
    "placed": Age(3, 50),
    "packed": Age(5 * HOUR, 18 * HOUR),
    "shipped": Age(21 * HOUR, 46 * HOUR),
    "recent": Age(4 * DAY, 14 * DAY),
    "old": Age(20 * DAY, 200 * DAY),
    "cancelled": Age(2 * DAY, 100 * DAY),
}
WAYS: dict[Phase, tuple[Delivery, ...]] = {
    "placed": ("standard", "standard", "express"),
    "packed": ("standard",),
    "shipped": ("standard",),
}


def put_past(shop: Shop, draw: Draw, count: int) -> None:
    """So many orders, the oldest first. The second coupon was used for the first of them."""
    now = shop.now
    phases = [*FIRST, *(draw.choice(OTHERS) for _ in range(count - len(FIRST)))]
    moments = [(now - timedelta(minutes=draw.integer(*AGES[phase])), phase) for phase in phases]
    coupon = list(shop.coupons)[1]
    for place, (at, phase) in enumerate(sorted(moments)):
        shop.now = at
        if place == 0:
            shop.coupons.change(coupon.id, applied=True)
        order = put_order(shop, draw, phase)
        if order is None:
            continue
        if phase == "cancelled":
            shop.now = at + timedelta(minutes=30)
            cancel_order(shop, order)
        elif phase == "old" and draw.chance(0.3):
            put_return(shop, draw, order)
    shop.now = now


def put_order(shop: Shop, draw: Draw, phase: Phase) -> Order | None:
    """An order of one to three items, delivered home or to a pickup point; none when nothing is left to buy."""
    pickup = next(row for row in shop.addresses if row.kind == "pickup point")
    ways: tuple[Delivery, ...] = ("standard", "standard", "express", "pickup")
    delivery = draw.choice(WAYS.get(phase, ways))
    address = pickup if delivery == "pickup" else next(iter(shop.addresses))
    count = draw.integer(2, 3) if phase == "recent" else draw.weighted((1, 2, 3), (5, 2, 1))
    for quantity in draw.sample((1, 2, 2, 3), count):
        put_line(shop, draw, quantity, bulky=delivery == "standard")
    return book_order(shop, address, delivery, Payment(draw.choice(list(shop.cards)))) if shop.cart else None


def put_line(shop: Shop, draw: Draw, quantity: int, bulky: bool) -> None:
    """Some of an item that is not in the cart yet and of which the customer may have so many more, if there is one."""
    items = draw.sample(list(shop.items), 30)
    item = next((item for item in items if fits(shop, item, quantity, bulky)), None)
    if item is not None:
        put_in_cart(shop, item, quantity)


def fits(shop: Shop, item: Item, quantity: int, bulky: bool) -> bool:
    product = shop.products[item.product]
    owned = sum(line.remaining for line in shop.bought(product.id))
    within = product.limit is None or owned + quantity <= product.limit
    fresh = all(line.product != product.id for line in shop.cart)
    return item.stock >= quantity and within and fresh and (bulky or not product.bulky)


def put_in_cart(shop: Shop, item: Item, quantity: int) -> None:
    shop.cart_lines.put(
        CartLine(
            id=shop.cart_lines.new_id(),
            item=item.id,
            product=item.product,
            title=item.title,
            option=item.option,
            price=item.price,
            quantity=quantity,
        )
    )


def put_return(shop: Shop, draw: Draw, order: Order) -> None:
    """All pieces of the first line of an order went back some days after they came."""
    line = shop.lines.where(order=order.id)[0]
    shop.now = latest(order, draw)
    book_return(shop, order, line, line.quantity, draw.choice(("does not fit", "not as described")))


def latest(order: Order, draw: Draw) -> datetime:
    return order.arrives + timedelta(days=draw.integer(1, 10), minutes=draw.integer(0, 600))


def put_cart(shop: Shop, draw: Draw) -> None:
    """One thing in the cart, and at times another that has sold out since it was put there."""
    put_line(shop, draw, draw.choice((1, 2)), bulky=True)
    if draw.chance(0.06):
        gone = next(item for item in shop.items if item.stock == 0)
        if all(line.product != gone.product for line in shop.cart):
            put_in_cart(shop, gone, 1)
