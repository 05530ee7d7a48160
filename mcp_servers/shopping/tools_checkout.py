"""The tool that turns the cart into an order."""

from __future__ import annotations

from ..kit import ToolError
from .orders import Payment, book_order
from .parameters import AddressRef, AskedCredit, AskedPoints, AskedWay, CardRef, Cvv
from .pricing import coupon_of, discount_of, shipping_of, subtotal_of
from .rules import offered, require_delivery, require_in_time, require_stock, usable_card
from .serializers import order_details
from .server import server
from .state import Delivery, Shop
from .views import OrderDetails


@server.write(idempotent=True)
def check_out_shop_cart(
    shop: Shop,
    card: CardRef,
    cvv: Cvv,
    address: AddressRef,
    delivery: AskedWay = None,
    points: AskedPoints = 0,
    use_credit: AskedCredit = False,
) -> OrderDetails:
    """Order all that is in the cart and pay by a stored card."""
    payer, target, lines = shop.cards[card], shop.addresses[address], shop.cart
    if not lines:
        raise ToolError("cart_empty", "There is nothing in the cart; add an item first.")
    for line in lines:
        require_stock(shop, shop.items[line.item], line.quantity)
    way = delivery or offered(target)[0]
    require_delivery(shop, target, way, lines)
    require_in_time(shop, way)
    if points:
        require_points(shop, way, points)
    payer = usable_card(shop, card, cvv)
    order = book_order(shop, target, way, Payment(payer, points, use_credit))
    return order_details(shop, order)


def require_points(shop: Shop, delivery: Delivery, points: int) -> None:
    """Raise ToolError when the points are not there, or more than the order costs."""
    lines, owned = shop.cart, shop.points
    if points > owned:
        raise ToolError("not_enough_points", f"You have {owned} points to spend; use fewer.")
    subtotal = subtotal_of(lines)
    total = subtotal - discount_of(shop, coupon_of(shop, lines), lines) + shipping_of(delivery, subtotal)
    if points > total:
        raise ToolError("too_many_points", f"The order costs {total} cents; use at most {total} points.")
