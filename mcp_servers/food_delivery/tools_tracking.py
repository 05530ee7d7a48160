"""Tools on orders that were placed: listed, followed, cancelled."""

from __future__ import annotations

from itertools import islice
from operator import attrgetter

from ..kit import ToolError
from .order_lifecycle import status_of, view
from .parameters import ROWS, AskedRestaurant, AskedStatus, Limit, OrderRef
from .server import server
from .state import Delivery, FoodOrderId, FoodOrderLineId, Order
from .views import OrderDetails, OrderLineView, OrderView


@server.read()
def list_food_orders(
    delivery: Delivery, status: AskedStatus = None, restaurant: AskedRestaurant = None, limit: Limit = ROWS
) -> tuple[OrderView, ...]:
    """List your food orders, newest first."""
    rows = list(delivery.orders)
    if restaurant is not None:
        rows = delivery.orders.where(restaurant=delivery.restaurants[restaurant].id)
    rows.sort(key=attrgetter("placed", "id"), reverse=True)
    found = (row for row in rows if status in (None, status_of(delivery, row)))
    return tuple([view(delivery, row) for row in islice(found, limit)])


@server.read()
def track_food_order(delivery: Delivery, order: OrderRef) -> OrderDetails:
    """Get an order's status, arrival, dishes, costs and courier."""
    row = delivery.orders[order]
    status = status_of(delivery, row)
    return OrderDetails(
        id=row.id,
        restaurant=row.restaurant,
        name=row.name,
        status=status,
        address=row.address,
        lines=tuple(
            OrderLineView(
                id=FoodOrderLineId(line.id),
                dish=line.dish,
                name=line.name,
                quantity=line.quantity,
                price=line.price,
                option=line.option,
                missing=line.missing or None,
            )
            for line in delivery.lines.where(order=order)
        ),
        fee=row.fee,
        total=row.total,
        placed=row.placed,
        discount=row.discount or None,
        code=row.code,
        tip=row.tip or None,
        arrives=row.delivered if row.cancelled is None else None,
        scheduled=row.scheduled or None,
        courier=row.courier if status in ("picked_up", "delivered") else None,
        refunded=row.refunded or None,
        food_stars=row.food_stars,
        courier_stars=row.courier_stars,
    )


@server.write(destructive=True, idempotent=True)
def cancel_food_order(delivery: Delivery, order: OrderRef) -> OrderView:
    """Cancel an order before the kitchen starts; all of it is refunded."""
    row = require_not_cooked(delivery, order)
    for line in delivery.lines.where(order=order):
        delivery.dishes.change(line.dish, left=delivery.dishes[line.dish].left + line.quantity)
    for promo in delivery.promos.where(order=order):
        delivery.promos.change(promo.id, order=None)
    return view(delivery, delivery.orders.change(order, cancelled=delivery.now, refunded=row.total))


def require_not_cooked(delivery: Delivery, id: FoodOrderId) -> Order:
    """The order, which the kitchen has not begun. Raises ToolError otherwise."""
    row = delivery.orders[id]
    match status_of(delivery, row):
        case "cancelled":
            raise ToolError("already_cancelled", f"{id} is cancelled already; nothing is left to do.")
        case "cooking":
            raise ToolError("already_cooking", f"The kitchen of {row.name} is cooking {id}; it cannot be cancelled.")
        case "picked_up":
            raise ToolError(
                "order_already_picked_up", f"{row.courier} is on the way with {id}; it cannot be cancelled."
            )
        case "delivered":
            raise ToolError("order_already_delivered", f"{id} was delivered; use report_missing_items if dishes lack.")
    return row
