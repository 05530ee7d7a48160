"""Tools on the cart and the coupons that make it cheaper."""

from __future__ import annotations

from ..kit import ToolError
from .parameters import ROWS, CartLineRef, CouponRef, ItemRef, Limit, NewQuantity, Quantity
from .pricing import counts, subtotal_of
from .rules import require_stock
from .serializers import cart_of, coupon_line
from .server import server
from .state import CartLine, Shop, ShopCouponId
from .views import Cart, CouponLine

MOST_LINES = 20


@server.read()
def show_shop_cart(shop: Shop) -> Cart:
    """Show the cart with its lines, coupon and total in cents."""
    return cart_of(shop)


@server.write()
def add_to_shop_cart(shop: Shop, item: ItemRef, quantity: Quantity) -> CartLine:
    """Add pieces of an item to the cart, on top of those in it."""
    row = shop.items[item]
    lines = shop.cart
    line = next((line for line in lines if line.item == item), None)
    require_stock(shop, row, quantity + (line.quantity if line else 0))
    if line is not None:
        return shop.cart_lines.change(line.id, quantity=line.quantity + quantity)
    if len(lines) >= MOST_LINES:
        raise ToolError("cart_full", f"The cart holds {MOST_LINES} different items; check out or take one out first.")
    new = CartLine(
        id=shop.cart_lines.new_id(),
        item=item,
        product=row.product,
        title=row.title,
        option=row.option,
        price=row.price,
        quantity=quantity,
    )
    return shop.cart_lines.put(new)


@server.write(idempotent=True)
def set_shop_cart_quantity(shop: Shop, line: CartLineRef, quantity: NewQuantity) -> Cart:
    """Set how many pieces of an item the cart holds; 0 takes it out."""
    row = shop.cart_lines[line]
    if quantity > row.quantity:
        require_stock(shop, shop.items[row.item], quantity)
    if quantity:
        shop.cart_lines.change(line, quantity=quantity)
    else:
        shop.cart_lines.remove(line)
    return cart_of(shop)


@server.read()
def list_shop_coupons(shop: Shop, limit: Limit = ROWS) -> tuple[CouponLine, ...]:
    """List your coupons with their conditions, the next to expire first; spent ones last."""
    today = shop.now.date()
    rows = sorted(shop.coupons, key=lambda row: (row.order is not None or row.expires < today, row.expires, row.id))
    return tuple(coupon_line(row) for row in rows[:limit])


@server.write(idempotent=True)
def apply_shop_coupon(shop: Shop, coupon: CouponRef) -> Cart:
    """Apply a coupon to the cart, in place of another one."""
    row = shop.coupons[coupon]
    if row.applied and counts(shop, row, shop.cart):
        raise ToolError("coupon_applied", f"{coupon} is applied to the cart already; check out to use it.")
    require_usable(shop, coupon)
    for other in shop.coupons.where(applied=True):
        shop.coupons.change(other.id, applied=False)
    shop.coupons.change(coupon, applied=True)
    return cart_of(shop)


def require_usable(shop: Shop, id: ShopCouponId) -> None:
    """Raise ToolError unless the coupon can be used for the cart today."""
    coupon, lines = shop.coupons[id], shop.cart
    if coupon.order is not None:
        raise ToolError("coupon_used", f"{id} was used for {coupon.order}; a coupon is used once.")
    if coupon.expires < shop.now.date():
        raise ToolError("coupon_expired", f"{id} expired on {coupon.expires}; use another coupon.")
    if not lines:
        raise ToolError("cart_empty", "There is nothing in the cart; add an item first.")
    fitting = subtotal_of(lines, shop, coupon.category)
    if fitting == 0:
        raise ToolError("wrong_category", f"{id} is for {coupon.category} only; add something of that category.")
    if fitting < coupon.minimum:
        missing = f"{coupon.minimum - fitting} cents more" + (f" of {coupon.category}" if coupon.category else "")
        raise ToolError("minimum_not_met", f"{id} needs {missing} in the cart; add something.")
