"""Tools on orders after checkout: their way, another address, cancelling, returning."""

from __future__ import annotations

from itertools import islice
from operator import attrgetter

from ..kit import ToolError
from .goods import UNRETURNABLE
from .orders import book_return, cancel_order
from .parameters import ROWS, AddressRef, AskedPieces, AskedStatus, Limit, OrderedLineRef, OrderRef, Why
from .rules import require_delivery, unshipped
from .serializers import order_details, order_line
from .server import server
from .state import RETURN_DAYS, Line, Order, Return, Shop, ShopOrderLineId
from .views import CancelledOrder, OrderDetails, OrderLine

FAULTS = ("damaged", "wrong item")


@server.read()
def list_shop_orders(shop: Shop, status: AskedStatus = None, limit: Limit = ROWS) -> tuple[OrderLine, ...]:
    """List your orders at the shop, newest first."""
    rows = sorted(shop.orders, key=attrgetter("placed", "id"), reverse=True)
    found = (row for row in rows if status in (None, row.status(shop.now)))
    return tuple([order_line(shop, row) for row in islice(found, limit)])


@server.read()
def get_shop_order(shop: Shop, order: OrderRef) -> OrderDetails:
    """Get an order with its status, items, payment and last day of return."""
    return order_details(shop, shop.orders[order])


@server.write(destructive=True, idempotent=True)
def cancel_shop_order(shop: Shop, order: OrderRef) -> CancelledOrder:
    """Cancel an order that is not shipped yet, and get everything paid back."""
    row = cancel_order(shop, unshipped(shop, order))
    return CancelledOrder(
        id=row.id,
        contents=row.contents,
        status=row.status(shop.now),
        to_card=row.card_paid,
        to_credit=row.credit_paid,
        points_back=row.points_paid,
    )


@server.write(idempotent=True)
def change_shop_order_address(shop: Shop, order: OrderRef, address: AddressRef) -> OrderDetails:
    """Send an order that is not packed yet to another address."""
    row, target = unshipped(shop, order), shop.addresses[address]
    if row.status(shop.now) == "packed":
        raise ToolError("order_already_packed", f"Order {order} is packed and labelled; cancel it and order anew.")
    if row.address == address:
        raise ToolError("same_address", f"Order {order} goes to {target.name} already; choose another address.")
    require_delivery(shop, target, row.delivery, shop.lines.where(order=order))
    return order_details(shop, shop.orders.change(order, address=address))


@server.write(destructive=True)
def return_shop_item(shop: Shop, line: OrderedLineRef, reason: Why, quantity: AskedPieces = 1) -> Return:
    """Return pieces of an ordered item within 14 days of delivery, for a refund."""
    row, order = returnable(shop, line)
    if shop.products[row.product].category in UNRETURNABLE and reason not in FAULTS:
        raise ToolError("not_returnable", f"The {row.title} goes back only if it is damaged or the wrong item.")
    if row.remaining == 0:
        raise ToolError("already_returned", f"All of {line} was returned already; nothing is left to return.")
    if quantity > row.remaining:
        raise ToolError("too_many_pieces", f"Only {row.remaining} pieces of {line} are left to return; return fewer.")
    return book_return(shop, order, row, quantity, reason)


def returnable(shop: Shop, id: ShopOrderLineId) -> tuple[Line, Order]:
    """A line and its order, which arrived in the last days. Raises ToolError otherwise."""
    line = shop.lines[id]
    order = shop.orders[line.order]
    if order.cancelled:
        raise ToolError("order_cancelled", f"Order {order.id} is cancelled; nothing of it came.")
    if order.status(shop.now) != "delivered":
        raise ToolError("not_delivered", f"Order {order.id} is not delivered yet; return it after it has come.")
    if shop.now > order.arrives + RETURN_DAYS:
        raise ToolError(
            "return_window_passed", f"Order {order.id} could be returned until {(order.arrives + RETURN_DAYS).date()}."
        )
    return line, order
