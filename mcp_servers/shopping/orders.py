"""How a cart becomes an order, and how an order is undone: lines, stock, coupon, credit and points move together."""

from __future__ import annotations

from datetime import datetime
from typing import NamedTuple

from .pricing import coupon_of, discount_of, net_of, points_for, shipping_of, subtotal_of
from .state import (
    Address,
    CartLine,
    Delivery,
    Line,
    Lines,
    Order,
    PaymentCard,
    PointsKind,
    PointsLine,
    Reason,
    Return,
    Shop,
)


class Payment(NamedTuple):
    """How an order is paid: some points, then credit if wanted, the rest by card."""

    card: PaymentCard
    points: int = 0
    use_credit: bool = False


def contents_of(lines: Lines) -> str:
    more = len(lines) - 1
    return lines[0].title + (f" and {more} more" if more else "")


def book_order(shop: Shop, address: Address, delivery: Delivery, payment: Payment) -> Order:
    """Make an order of all that is in the cart."""
    lines = shop.cart
    coupon, subtotal = coupon_of(shop, lines), subtotal_of(lines)
    discount, shipping = discount_of(shop, coupon, lines), shipping_of(delivery, subtotal)
    total = subtotal - discount + shipping
    credit = min(shop.account.credit, total - payment.points) if payment.use_credit else 0
    order = shop.orders.put(
        Order(
            id=shop.orders.new_id(),
            contents=contents_of(lines),
            placed=shop.now,
            address=address.id,
            delivery=delivery,
            subtotal=subtotal,
            discount=discount,
            shipping=shipping,
            total=total,
            points_paid=payment.points,
            credit_paid=credit,
            card_paid=total - payment.points - credit,
            card=payment.card.id,
            coupon=coupon.id if coupon else None,
        )
    )
    for line in lines:
        item = shop.items[line.item]
        shop.items.change(item.id, stock=item.stock - line.quantity)
        put_line(shop, order, line)
    for row in shop.coupons.where(applied=True):
        shop.coupons.change(row.id, applied=False, order=order.id if coupon and row.id == coupon.id else None)
    add_credit(shop, -credit)
    book_points(shop, order, "spent", -payment.points, shop.now)
    book_points(shop, order, "earned", points_for(subtotal - discount), order.arrives)
    return order


def put_line(shop: Shop, order: Order, line: CartLine) -> None:
    """Move a line from the cart to an order."""
    shop.cart_lines.remove(line.id)
    shop.lines.put(
        Line(
            id=shop.lines.new_id(),
            order=order.id,
            item=line.item,
            product=line.product,
            title=line.title,
            option=line.option,
            price=line.price,
            quantity=line.quantity,
        )
    )


def cancel_order(shop: Shop, order: Order) -> Order:
    """Undo an order: goods, coupon, credit and points go back to where they came from."""
    for line in shop.lines.where(order=order.id):
        item = shop.items[line.item]
        shop.items.change(item.id, stock=item.stock + line.quantity)
    if order.coupon is not None:
        shop.coupons.change(order.coupon, order=None)
    for row in shop.points_lines.where(order=order.id, kind="earned"):
        shop.points_lines.remove(row.id)
    add_credit(shop, order.credit_paid)
    book_points(shop, order, "given back", order.points_paid, shop.now)
    return shop.orders.change(order.id, cancelled=True)


def book_return(shop: Shop, order: Order, line: Line, quantity: int, reason: Reason) -> Return:
    """Take pieces back and refund them: to the card as far as it paid, the rest as credit."""
    value = line.price * quantity
    kept = sum(row.price * row.remaining for row in shop.lines.where(order=order.id))
    before, after = (net_of(cents, order.discount, order.subtotal) for cents in (kept, kept - value))
    refunded = sum(row.to_card for row in shop.returns.where(order=order.id))
    to_card = min(before - after, order.card_paid - refunded)
    to_credit = before - after - to_card
    item = shop.items[line.item]
    shop.items.change(item.id, stock=item.stock + quantity)
    shop.lines.change(line.id, returned=line.returned + quantity)
    add_credit(shop, to_credit)
    back = points_for(before) - points_for(after)
    book_points(shop, order, "taken back", -min(back, shop.points), shop.now)
    return shop.returns.put(
        Return(
            id=shop.returns.new_id(),
            order=order.id,
            line=line.id,
            title=line.title,
            quantity=quantity,
            reason=reason,
            to_card=to_card,
            to_credit=to_credit,
            on=shop.now.date(),
        )
    )


def add_credit(shop: Shop, cents: int) -> None:
    if cents:
        account = shop.account
        shop.accounts.change(account.id, credit=account.credit + cents)


def book_points(shop: Shop, order: Order, kind: PointsKind, points: int, at: datetime) -> None:
    """Write a line of the points, unless there are none."""
    if points:
        row = PointsLine(id=shop.points_lines.new_id(), kind=kind, points=points, at=at, order=order.id)
        shop.points_lines.put(row)
