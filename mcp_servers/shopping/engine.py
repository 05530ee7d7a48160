"""Prices of carts, placing and undoing of orders, and the shop's checks that raise ToolError."""

from __future__ import annotations

from datetime import datetime, time
from typing import NamedTuple

from ..core import ToolError
from .state import (
    Address,
    CartLine,
    Category,
    Coupon,
    Delivery,
    Item,
    Line,
    Lines,
    Order,
    PaymentCard,
    PointsKind,
    PointsLine,
    Reason,
    Return,
    Shop,
    ShopCardId,
    ShopOrderId,
)

# Price of a cart: its lines, the coupon that applies, the delivery, and the points it earns.

PRICES: dict[Delivery, int] = {"standard": 490, "express": 990, "same day": 1_490, "pickup": 290}
FREE_FROM = 5_000
CENTS_A_POINT = 100


def subtotal_of(lines: Lines, shop: Shop | None = None, category: Category | None = None) -> int:
    """Return the cents of some lines; with a category, only of its products."""
    if shop is None or category is None:
        return sum([line.price * line.quantity for line in lines])
    return sum([line.price * line.quantity for line in lines if shop.products[line.product].category == category])


def counts(shop: Shop, coupon: Coupon, lines: Lines) -> bool:
    """Return whether a coupon can be used today for these lines."""
    if coupon.order is not None or coupon.expires < shop.now.date():
        return False
    return subtotal_of(lines, shop, coupon.category) >= max(coupon.minimum, 1)


def coupon_of(shop: Shop, lines: Lines) -> Coupon | None:
    """Return the coupon applied to the cart, or None when these lines no longer qualify for it."""
    for row in shop.coupons.where(applied=True):
        if counts(shop, row, lines):
            return row
    return None


def discount_of(shop: Shop, coupon: Coupon | None, lines: Lines) -> int:
    """Return the cents that a coupon takes off these lines."""
    if coupon is None:
        return 0
    fitting = subtotal_of(lines, shop, coupon.category)
    return fitting * coupon.percent // 100 if coupon.percent is not None else min(coupon.amount or 0, fitting)


def shipping_of(delivery: Delivery, subtotal: int) -> int:
    """Return the cents of a delivery; standard delivery and pickup are free for larger carts."""
    return 0 if delivery in ("standard", "pickup") and subtotal >= FREE_FROM else PRICES[delivery]


def net_of(value: int, discount: int, subtotal: int) -> int:
    """Return what was paid for goods of this value in an order of this subtotal, less their share of the discount."""
    return value - discount * value // subtotal


def points_for(cents: int) -> int:
    """Return the points earned: one for each euro or dollar spent on goods."""
    return cents // CENTS_A_POINT


# Placing and undoing orders: lines, stock, coupon, credit and points change together.


class Payment(NamedTuple):
    """How an order is paid: some points, then credit if wanted, the rest by card."""

    card: PaymentCard
    points: int = 0
    use_credit: bool = False


def contents_of(lines: Lines) -> str:
    more = len(lines) - 1
    return lines[0].title + (f" and {more} more" if more else "")


def book_order(shop: Shop, address: Address, delivery: Delivery, payment: Payment) -> Order:
    """Create an order from everything in the cart."""
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
    shop.lines.put(Line.from_row(line, id=shop.lines.new_id(), order=order.id))


def cancel_order(shop: Shop, order: Order) -> Order:
    """Cancel an order: put goods back in stock and give back coupon, credit and points."""
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
    """Take pieces back and refund them: to the card up to what it paid, the rest as credit."""
    value = line.price * quantity
    remaining = sum(row.price * row.remaining for row in shop.lines.where(order=order.id))
    before, after = (net_of(cents, order.discount, order.subtotal) for cents in (remaining, remaining - value))
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
    """Add a points entry, unless `points` is 0."""
    if points:
        row = PointsLine(id=shop.points_lines.new_id(), kind=kind, points=points, at=at, order=order.id)
        shop.points_lines.put(row)


# Checks that raise ToolError: no stock, too many pieces, undeliverable addresses, orders already shipped.

MOST_PIECES = 20
SAME_DAY_UNTIL = time(14)


def require_stock(shop: Shop, item: Item, quantity: int) -> None:
    """Raise ToolError unless `quantity` pieces are in stock and within the limit of one customer."""
    left = shop.available(item)
    if left == 0:
        raise ToolError("out_of_stock", f"{item.id} ({item.title}) is out of stock; set a restock alert on a wish.")
    if quantity > left:
        raise ToolError("out_of_stock", f"Only {left} pieces of {item.id} ({item.title}) are left; take fewer.")
    require_within_limit(shop, item, quantity)


def require_within_limit(shop: Shop, item: Item, quantity: int) -> None:
    """Raise ToolError when the pieces would exceed what one customer may have of the product."""
    limit = shop.products[item.product].limit
    if limit is not None:
        besides = sum(line.quantity for line in shop.cart if line.product == item.product and line.item != item.id)
        owned = sum(line.remaining for line in shop.list_ordered_lines(item.product))
        if besides + owned + quantity > limit:
            raise ToolError(
                "quantity_limit",
                f"One customer may have {limit} of the {item.title}; you have {owned}, and {besides} more in the cart; "
                "take fewer.",
            )
    if quantity > MOST_PIECES:
        raise ToolError("quantity_limit", f"A cart holds at most {MOST_PIECES} pieces of one item; take fewer.")


def list_delivery_options(address: Address) -> tuple[Delivery, ...]:
    """Return the ways in which the shop delivers to an address. Raises ToolError when there is none."""
    if address.zone == "beyond":
        raise ToolError(
            "address_not_deliverable", f"The shop does not deliver to {address.name}; choose another address."
        )
    if address.kind == "pickup point":
        return ("pickup",)
    return ("standard", "express", "same day") if address.zone == "inner" else ("standard", "express")


def require_delivery(shop: Shop, address: Address, delivery: Delivery, lines: Lines) -> None:
    """Raise ToolError unless these goods can be delivered to the address in this way."""
    ways = list_delivery_options(address)
    if delivery not in ways:
        raise ToolError(
            "delivery_not_offered", f"{address.name} is served by {', '.join(ways)} delivery; choose one of these."
        )
    if delivery != "standard":
        require_handy(shop, lines)


def require_handy(shop: Shop, lines: Lines) -> None:
    """Raise ToolError when any of these goods is bulky."""
    for line in lines:
        if shop.products[line.product].bulky:
            raise ToolError(
                "bulky_goods", f"The {line.title} is too large; it goes to a door by standard delivery alone."
            )


def is_late(shop: Shop, delivery: Delivery) -> bool:
    """Return whether it is too late in the day for this delivery."""
    return delivery == "same day" and shop.now.time() >= SAME_DAY_UNTIL


def require_in_time(shop: Shop, delivery: Delivery) -> None:
    """Raise ToolError for same-day delivery in the afternoon."""
    if is_late(shop, delivery):
        raise ToolError(
            "too_late_today", f"Same-day delivery ends at {SAME_DAY_UNTIL.hour} o'clock; choose express delivery."
        )


def ways_now(shop: Shop, address: Address, lines: Lines) -> tuple[Delivery, ...]:
    """Return the ways in which these goods can be delivered there now. Raises ToolError when there is none."""
    ways = list_delivery_options(address)
    if "standard" not in ways:
        require_handy(shop, lines)
    if any(shop.products[line.product].bulky for line in lines):
        return ("standard",)
    return tuple(way for way in ways if not is_late(shop, way))


def usable_card(shop: Shop, id: ShopCardId, cvv: str) -> PaymentCard:
    """Return the stored card. Raises ToolError when it has expired or the CVV is wrong."""
    card = shop.cards[id]
    if card.expires < shop.now.date():
        raise ToolError("card_expired", f"Card {id} expired on {card.expires}; pay with another card.")
    if cvv != card.cvv:
        raise ToolError("wrong_cvv", f"This is not the CVV of card {id}; ask for the right one.")
    return card


def require_unshipped(shop: Shop, id: ShopOrderId) -> Order:
    """Return the order. Raises ToolError when it is cancelled or already shipped."""
    order = shop.orders[id]
    status = order.status(shop.now)
    if status == "cancelled":
        raise ToolError("order_cancelled", f"Order {id} is cancelled; nothing about it can change.")
    if status in ("shipped", "delivered"):
        raise ToolError("order_already_shipped", f"Order {id} is {status}; return what you do not want to keep.")
    return order
