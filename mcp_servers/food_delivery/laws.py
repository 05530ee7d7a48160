"""Invariants of the food delivery: they hold in every state that a session can reach."""

from __future__ import annotations

from collections import Counter
from itertools import pairwise

from .engine import (
    MOST_PORTIONS,
    compute_delivery_time,
    distance,
    fee_for,
    get_option_surcharge,
    refund_for_missing,
    restaurant_of,
    status_of,
    subtotal,
)
from .server import server
from .state import Delivery, Line, Order


def list_ordered_lines(delivery: Delivery) -> list[Line]:
    return [line for line in delivery.lines if line.order is not None]


@server.invariant
def totals_add_up(delivery: Delivery) -> bool:
    """An order costs its dishes less the discount, the fee of its distance and the tip; neither exceeds the dishes."""
    costs = Counter[str]()
    for line in list_ordered_lines(delivery):
        costs[str(line.order)] += line.price * line.quantity
    return len(costs) == len(delivery.orders) and all(
        row.subtotal == costs[row.id]
        and row.total == row.subtotal - row.discount + row.fee + row.tip
        and row.fee == fee_for(delivery.restaurants[row.restaurant], get_delivery_distance(delivery, row))
        and 0 <= row.discount <= row.subtotal
        and 0 <= row.tip <= row.subtotal
        for row in delivery.orders
    )


def get_delivery_distance(delivery: Delivery, order: Order) -> int:
    return distance(delivery, delivery.restaurants[order.restaurant], order.address)


@server.invariant
def orders_keep_to_their_restaurant(delivery: Delivery) -> bool:
    """An order has dishes of one restaurant, for at least its minimum, to a known address within its radius."""
    owners = {str(row.id): row.restaurant for row in delivery.orders}
    if not all(
        delivery.dishes[line.dish].restaurant == line.restaurant == owners.get(str(line.order))
        for line in list_ordered_lines(delivery)
    ):
        return False
    return all(
        row.subtotal >= delivery.restaurants[row.restaurant].minimum
        and get_delivery_distance(delivery, row) <= delivery.restaurants[row.restaurant].radius
        and row.address in delivery.addresses
        for row in delivery.orders
    )


@server.invariant
def the_cart_is_of_one_restaurant(delivery: Delivery) -> bool:
    """All dishes of the cart are of one restaurant, each in one line for each option, at the price of the menu."""
    owner, ways = restaurant_of(delivery.cart), [(line.dish, line.option) for line in delivery.cart]
    for line in delivery.cart:
        dish = delivery.dishes[line.dish]
        if not line.restaurant == dish.restaurant == owner or line.price != dish.price + get_option_surcharge(
            dish, line.option
        ):
            return False
    return len(dict.fromkeys(ways)) == len(ways)


@server.invariant
def the_cart_can_be_cooked(delivery: Delivery) -> bool:
    """The cart holds some portions, no more than are left of a dish, nor than a cart may."""
    portions = Counter[str]()
    for line in delivery.cart:
        portions[line.dish] += line.quantity
        if line.quantity < 1:
            return False
    enough = all(delivery.dishes[line.dish].left >= portions[line.dish] for line in delivery.cart)
    return enough and sum(portions.values()) <= MOST_PORTIONS


@server.invariant
def no_portion_is_lost(delivery: Delivery) -> bool:
    """For each dish, remaining portions plus ordered ones that were not cancelled equal the portions supplied."""
    cancelled = dict.fromkeys(row.id for row in delivery.orders if row.cancelled is not None)
    sold = Counter[str]()
    for line in list_ordered_lines(delivery):
        sold[line.dish] += 0 if line.order in cancelled else line.quantity
    return all(row.left >= 0 and row.left + sold[row.id] == row.supplied for row in delivery.dishes)


@server.invariant
def a_promo_is_used_once(delivery: Delivery) -> bool:
    """A code belongs to one order that was not cancelled, and each such order with a code to that code."""
    live = {row.id: row.code for row in delivery.orders if row.code is not None and row.cancelled is None}
    used = {promo.order: promo.code for promo in delivery.promos if promo.order is not None}
    codes = [promo.code for promo in delivery.promos]
    return live == used and len(dict.fromkeys(codes)) == len(codes)


@server.invariant
def at_most_one_promo_is_applied(delivery: Delivery) -> bool:
    """The code on the cart is one, unused, of its restaurant and within its minimum."""
    found = [promo for promo in delivery.promos if promo.applied]
    return len(found) <= 1 and all(
        promo.order is None
        and len(delivery.cart) > 0
        and subtotal(delivery.cart) >= promo.minimum
        and promo.restaurant in (None, restaurant_of(delivery.cart))
        for promo in found
    )


@server.invariant
def orders_only_move_on(delivery: Delivery) -> bool:
    """An order is placed, accepted, cooked, picked up and delivered in this order, and cancelled only before cooking.

    It was not placed in the future, and the kitchen was open when it began to cook or took the order.
    """
    for row in delivery.orders:
        restaurant = delivery.restaurants[row.restaurant]
        moments = (row.placed, row.accepted, row.cooking, row.collected, row.delivered)
        if not all(before < after for before, after in pairwise(moments)) or row.placed > delivery.now:
            return False
        if row.delivered - row.cooking != compute_delivery_time(restaurant, get_delivery_distance(delivery, row)):
            return False
        if row.cancelled is not None and not row.placed <= row.cancelled < row.cooking:
            return False
        if not restaurant.is_open(row.cooking if row.scheduled else row.placed):
            return False
    return True


@server.invariant
def money_goes_back_for_what_did_not_come(delivery: Delivery) -> bool:
    """A cancelled order is refunded whole; another one for what is missing, which is no more than was ordered."""
    return all(
        row.refunded == (row.total if row.cancelled is not None else refund_for_missing(delivery, row))
        for row in delivery.orders
    ) and all(0 <= line.missing <= line.quantity > 0 for line in delivery.lines)


@server.invariant
def only_what_was_delivered_is_judged(delivery: Delivery) -> bool:
    """Stars and missing dishes are of delivered orders; the courier has stars only where the food has, one to five."""
    reported = dict.fromkeys(line.order for line in delivery.lines if line.missing)
    for row in delivery.orders:
        judged = row.food_stars is not None or row.courier_stars is not None or row.id in reported
        if judged and status_of(delivery, row) != "delivered":
            return False
        if row.food_stars is None and row.courier_stars is not None:
            return False
        if row.food_stars not in (None, 1, 2, 3, 4, 5) or row.courier_stars not in (None, 1, 2, 3, 4, 5):
            return False
    return True
