"""Tools on orders after checkout: their way, another address, cancelling, returning."""

from __future__ import annotations

from ..kit import ToolError
from .goods import UNRETURNABLE
from .orders import book_return, cancel_order
from .parameters import ROWS, AddressRef, AskedPieces, AskedStatus, Limit, OrderedLineRef, OrderRef, Why
from .rules import require_delivery, unshipped
from .server import server
from .shown import order_details, order_line
from .state import RETURN_DAYS, Line, Order, Return, Shop, ShopLineId
from .views import CancelledOrder, OrderDetails, OrderLine

FAULTS = ("damaged", "wrong item")


@server.read(
    "list my orders at the online shop[ that are {status}][, at most {limit}]",
    "show what I ordered from the shop[, only what is {status}][, no more than {limit}]",
    "tell me which shop orders I have[ with the status {status}][, up to {limit} of them]",
    "look through my shop orders[ for those {status}][, {limit} at most]",
)
def list_shop_orders(shop: Shop, status: AskedStatus = None, limit: Limit = ROWS) -> tuple[OrderLine, ...]:
    """List your orders at the shop, newest first."""
    rows = [row for row in shop.orders if status in (None, row.status(shop.now))]
    rows.sort(key=lambda row: (row.placed, row.id), reverse=True)
    return tuple(order_line(shop, row) for row in rows[:limit])


@server.read(
    "show every detail of {order}",
    "track {order} and tell me when it arrives",
    "look up the items and the total of {order}",
    "tell me where {order} is now",
)
def get_shop_order(shop: Shop, order: OrderRef) -> OrderDetails:
    """Get an order with its status, items, payment and last day of return."""
    return order_details(shop, shop.orders[order])


@server.write(
    "cancel the shop order {order}",
    "call off {order} before it is shipped",
    "stop {order}, I do not need it any more",
    "withdraw {order} and get my money back",
    destructive=True,
    idempotent=True,
)
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


@server.write(
    "send {order} to {address} instead",
    "change the delivery address of {order} to {address}",
    "redirect {order} to {address}",
    "have {order} delivered to {address} rather than where it goes now",
    idempotent=True,
)
def change_shop_order_address(shop: Shop, order: OrderRef, address: AddressRef) -> OrderDetails:
    """Send an order not packed yet to another address, by the same delivery."""
    row, target = unshipped(shop, order), shop.addresses[address]
    if row.status(shop.now) == "packed":
        raise ToolError("order_already_packed", f"Order {order} is packed and labelled; cancel it and order anew.")
    if row.address == address:
        raise ToolError("same_address", f"Order {order} goes to {target.name} already; choose another address.")
    require_delivery(shop, target, row.delivery, shop.lines.where(order=order))
    return order_details(shop, shop.orders.change(order, address=address))


@server.write(
    "return {line} because of this: {reason}[, {quantity} pieces]",
    "send {line} back to the shop, the reason is {reason}[, only {quantity} of them]",
    "give {line} back for a refund, reason {reason}[, quantity {quantity}]",
    "start a return of {line} with the reason {reason}[ for {quantity} pieces]",
    destructive=True,
)
def return_shop_item(shop: Shop, line: OrderedLineRef, reason: Why, quantity: AskedPieces = None) -> Return:
    """Return pieces of an ordered item within 14 days of delivery, for a refund."""
    row, order = returnable(shop, line)
    if shop.products[row.product].category in UNRETURNABLE and reason not in FAULTS:
        raise ToolError("not_returnable", f"The {row.title} goes back only if it is damaged or the wrong item.")
    if row.kept == 0:
        raise ToolError("already_returned", f"All of {line} was returned already; nothing is left to return.")
    if quantity is not None and quantity > row.kept:
        raise ToolError("too_many_pieces", f"Only {row.kept} pieces of {line} are left to return; return fewer.")
    return book_return(shop, order, row, quantity or row.kept, reason)


def returnable(shop: Shop, id: ShopLineId) -> tuple[Line, Order]:
    """A line and its order, which arrived in the last days. Raises ToolError otherwise."""
    line = shop.lines[id]
    if line.order is None:
        raise ToolError("not_ordered", f"{id} is still in the cart; set its quantity to 0 to take it out.")
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
