"""Tools for after the order: a tip, stars, and money back for what did not come."""

from __future__ import annotations

from datetime import timedelta

from ..kit import ToolError, minute_text
from .order_lifecycle import refund_for_missing, require_modest, status_of, view
from .parameters import CourierStars, OrderLineRef, OrderRef, Portions, Stars, Tip
from .server import server
from .state import Delivery, FoodOrderId, Order
from .views import OrderView

TIPPING = timedelta(hours=24)
REPORTING = timedelta(days=3)
RATING = timedelta(days=14)


def not_cancelled(delivery: Delivery, id: FoodOrderId) -> Order:
    row = delivery.orders[id]
    if row.cancelled is not None:
        raise ToolError("order_cancelled", f"{id} was cancelled and refunded; choose another order.")
    return row


def delivered(delivery: Delivery, id: FoodOrderId) -> Order:
    """The order, which has come. Raises ToolError when it was cancelled or is not there yet."""
    row = not_cancelled(delivery, id)
    if status_of(delivery, row) != "delivered":
        raise ToolError("not_delivered_yet", f"{id} arrives at {minute_text(row.delivered)}; wait until then.")
    return row


@server.write(destructive=True, idempotent=True)
def tip_courier(delivery: Delivery, order: OrderRef, amount: Tip) -> OrderView:
    """Tip the courier of an order, once, until a day after delivery."""
    row = not_cancelled(delivery, order)
    if row.tip:
        raise ToolError("already_tipped", f"The courier of {order} got {row.tip} cents; a tip is given once.")
    if delivery.now > row.delivered + TIPPING:
        raise ToolError("tip_too_late", f"{order} was delivered over 24 hours ago; it can no longer be tipped.")
    require_modest(amount, row.subtotal)
    return view(delivery, delivery.orders.change(order, tip=amount, total=row.total + amount))


@server.write(destructive=True, idempotent=True)
def rate_food_order(delivery: Delivery, order: OrderRef, food: Stars, courier: CourierStars = None) -> OrderView:
    """Rate the food, and the courier, of a delivered order, once."""
    row = delivered(delivery, order)
    if row.food_stars is not None:
        raise ToolError("already_rated", f"You gave {order} {row.food_stars} stars; an order is rated once.")
    if delivery.now > row.delivered + RATING:
        raise ToolError("rating_closed", f"{order} was delivered over 14 days ago; it can no longer be rated.")
    return view(delivery, delivery.orders.change(order, food_stars=food, courier_stars=courier))


@server.write(destructive=True, idempotent=True)
def report_missing_items(delivery: Delivery, line: OrderLineRef, quantity: Portions) -> OrderView:
    """Report portions of an ordered dish that did not come, for a refund."""
    lacking = delivery.lines[line]
    if lacking.order is None:
        raise ToolError("not_ordered_yet", f"{line} is still in your cart; place_food_order orders it.")
    order = delivered(delivery, lacking.order)
    if lacking.missing:
        raise ToolError("already_reported", f"{lacking.missing} of {line} were refunded; a dish is reported once.")
    if delivery.now > order.delivered + REPORTING:
        raise ToolError("report_too_late", f"{order.id} was delivered over 3 days ago; nothing can be reported now.")
    if quantity > lacking.quantity:
        raise ToolError("more_than_ordered", f"{line} was {lacking.quantity} portions; report at most these.")
    delivery.lines.change(line, missing=quantity)
    return view(delivery, delivery.orders.change(order.id, refunded=refund_for_missing(delivery, order)))
