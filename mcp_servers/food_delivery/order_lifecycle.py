"""How an order comes to be and moves on by itself: distances, fees, and the moments of its life."""

from __future__ import annotations

from datetime import datetime, timedelta
from typing import NamedTuple

from ..distance import metres
from ..kit import ToolError
from ..places import PlaceId
from .state import Delivery, Order, Restaurant
from .views import OrderStatus, OrderView

MINUTE = timedelta(minutes=1)
ACCEPTING, STARTING, RIDING = 3 * MINUTE, 8 * MINUTE, 5 * MINUTE
METRES_PER_MINUTE = 250
FREE_METRES, CENTS_PER_KILOMETRE = 2_000, 50


class Times(NamedTuple):
    """When an order is accepted, cooked, picked up and delivered."""

    accepted: datetime
    cooking: datetime
    collected: datetime
    delivered: datetime


def distance(delivery: Delivery, restaurant: Restaurant, address: PlaceId) -> int:
    """Metres from a restaurant to a place. Raises ToolError when there is no such place."""
    return metres(delivery.places[restaurant.place], delivery.places[address])


def fee_for(restaurant: Restaurant, far: int) -> int:
    """The delivery fee in cents: each kilometre begun beyond the first two costs extra."""
    return restaurant.fee + CENTS_PER_KILOMETRE * max(0, (far - FREE_METRES + 999) // 1_000)


def needed(restaurant: Restaurant, far: int) -> timedelta:
    """The time from the first flame to the door."""
    return restaurant.prep * MINUTE + riding(far)


def riding(far: int) -> timedelta:
    return RIDING + far // METRES_PER_MINUTE * MINUTE


def times_of(restaurant: Restaurant, far: int, placed: datetime, arrives: datetime | None = None) -> Times:
    """The life of an order placed at a moment, as soon as possible or to arrive at another one."""
    cooking = placed + STARTING if arrives is None else arrives - needed(restaurant, far)
    collected = cooking + restaurant.prep * MINUTE
    return Times(placed + ACCEPTING, cooking, collected, collected + riding(far))


def status_of(delivery: Delivery, order: Order) -> OrderStatus:
    """Where an order is now."""
    if order.cancelled is not None:
        return "cancelled"
    if delivery.now < order.accepted:
        return "placed"
    if delivery.now < order.cooking:
        return "accepted"
    if delivery.now < order.collected:
        return "cooking"
    return "picked_up" if delivery.now < order.delivered else "delivered"


def view(delivery: Delivery, order: Order) -> OrderView:
    """An order in short."""
    return OrderView(
        id=order.id,
        name=order.name,
        status=status_of(delivery, order),
        total=order.total,
        placed=order.placed,
        arrives=order.delivered if order.cancelled is None else None,
        refunded=order.refunded or None,
    )


def rating(delivery: Delivery, restaurant: Restaurant) -> tuple[str, int]:
    """The mean of all stars to one decimal, such as 4.3, and the number of votes: other people's and the user's."""
    own = [row.food_stars for row in delivery.orders.where(restaurant=restaurant.id) if row.food_stars is not None]
    votes, stars = restaurant.votes + len(own), restaurant.stars + sum(own)
    tenths = (20 * stars + votes) // (2 * votes)
    return f"{tenths // 10}.{tenths % 10}", votes


def refund_for_missing(delivery: Delivery, order: Order) -> int:
    """What was paid for all that is missing, in cents: the prices less their share of the discount."""
    value = sum(line.price * line.missing for line in delivery.lines.where(order=order.id))
    return value * (order.subtotal - order.discount) // order.subtotal


def require_modest(tip: int, cents: int) -> None:
    """Raise ToolError for a tip above the price of the food."""
    if tip > cents:
        raise ToolError("tip_too_high", f"A tip can be at most the price of the food, {cents} cents; tip less.")
