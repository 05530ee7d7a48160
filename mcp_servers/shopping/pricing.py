"""What a cart costs: its lines, the coupon that counts for it, the delivery, and the points it earns."""

from __future__ import annotations

from .state import Category, Coupon, Delivery, Lines, Shop

PRICES: dict[Delivery, int] = {"standard": 490, "express": 990, "same day": 1_490, "pickup": 290}
FREE_FROM = 5_000
CENTS_A_POINT = 100


def subtotal_of(lines: Lines, shop: Shop | None = None, category: Category | None = None) -> int:
    """The cents of some lines; with a category, of those of its products alone."""
    if shop is None or category is None:
        return sum([line.price * line.quantity for line in lines])
    return sum([line.price * line.quantity for line in lines if shop.products[line.product].category == category])


def counts(shop: Shop, coupon: Coupon, lines: Lines) -> bool:
    """Whether a coupon can be used today for these lines."""
    if coupon.order is not None or coupon.expires < shop.now.date():
        return False
    return subtotal_of(lines, shop, coupon.category) >= max(coupon.minimum, 1)


def coupon_of(shop: Shop, lines: Lines) -> Coupon | None:
    """The coupon that is applied to the cart, as long as the cart still deserves it."""
    for row in shop.coupons.where(applied=True):
        if counts(shop, row, lines):
            return row
    return None


def discount_of(shop: Shop, coupon: Coupon | None, lines: Lines) -> int:
    """The cents a coupon takes off these lines."""
    if coupon is None:
        return 0
    fitting = subtotal_of(lines, shop, coupon.category)
    return fitting * coupon.percent // 100 if coupon.percent is not None else min(coupon.amount or 0, fitting)


def shipping_of(delivery: Delivery, subtotal: int) -> int:
    """The cents of a delivery; standard delivery and pickup are free for larger carts."""
    return 0 if delivery in ("standard", "pickup") and subtotal >= FREE_FROM else PRICES[delivery]


def net_of(value: int, discount: int, subtotal: int) -> int:
    """What was paid for goods of this value in an order of this subtotal: their part of the discount is off."""
    return value - discount * value // subtotal


def points_for(cents: int) -> int:
    """One point for each euro or dollar spent on goods."""
    return cents // CENTS_A_POINT
