"""What the user ordered before the session: orders under way, of yesterday, of the weeks before, and cancelled ones."""

from __future__ import annotations

from datetime import datetime, timedelta

from ..kit import Draw
from ..people import FIRST
from .cart import discount_of
from .order_lifecycle import MINUTE, STARTING, distance, fee_for, needed, refund_for_missing, times_of
from .state import Delivery, FoodOrderId, Line, Order, Promo, Restaurant


def add_orders(delivery: Delivery, draw: Draw, older: int) -> None:
    """Orders under way, in small worlds not always each kind; some that just came; and `older` ones."""
    now, eve = delivery.now, delivery.now.replace(hour=0) - timedelta(hours=6)
    first, second, third = list(delivery.restaurants)[:3]
    busy = 0.5 if older < 10 else 1.0
    if draw.chance(busy):
        put_order(delivery, draw, first, now - STARTING - (first.prep - draw.integer(1, 6)) * MINUTE)
    if draw.chance(busy):
        put_order(delivery, draw, second, now - STARTING - time_to(delivery, second) + draw.integer(2, 5) * MINUTE)
    if draw.chance(busy):
        soonest = now + time_to(delivery, first) + STARTING
        noon = now.replace(hour=12) + draw.integer(0, 8) * 15 * MINUTE
        put_order(delivery, draw, first, now - draw.integer(20, 60) * MINUTE, max(noon, soonest))
    put_order(delivery, draw, third, now - STARTING - time_to(delivery, third) - draw.integer(5, 30) * MINUTE)
    for restaurant in (second, third):
        put_order(delivery, draw, restaurant, eve + draw.integer(5, 100) * MINUTE)
    put_order(delivery, draw, first, eve - draw.integer(50, 100) * MINUTE, cancelled=True)
    promos = [promo for promo in delivery.promos if promo.restaurant is None][1:2]
    near = [row for row in delivery.restaurants if distance(delivery, row, delivery.home.id) <= row.radius]
    for number in range(older):
        days = draw.integer(2, 12) if number % 3 else draw.integer(16, 200)
        moment = eve - timedelta(days=days) + draw.integer(-280, 60) * MINUTE
        open_then = [row for row in near if row.is_open(moment)]
        order = put_order(delivery, draw, draw.choice(open_then), moment, promo=promos.pop() if promos else None)
        judge(delivery, draw, order)


def time_to(delivery: Delivery, restaurant: Restaurant) -> timedelta:
    """From the first flame to the user's home."""
    return needed(restaurant, distance(delivery, restaurant, delivery.home.id))


def put_order(
    delivery: Delivery,
    draw: Draw,
    restaurant: Restaurant,
    placed: datetime,
    arrives: datetime | None = None,
    cancelled: bool = False,
    promo: Promo | None = None,
) -> Order:
    """An order to the user's home, of enough dishes for the restaurant's minimum, and for a code's."""
    far = distance(delivery, restaurant, delivery.home.id)
    least = max(restaurant.minimum, promo.minimum if promo else 0)
    delivery.orders.cause = f"seed/{restaurant.id}/{placed.isoformat()}"
    id = delivery.orders.new_id()
    lines = put_lines(delivery, draw, restaurant, id, least)
    cents = sum(line.price * line.quantity for line in lines)
    discount, fee = discount_of(promo, cents), fee_for(restaurant, far)
    tip = draw.choice((100, 150, 200, 250)) if draw.chance(0.3) else 0
    order = delivery.orders.put(
        Order(
            id=id,
            restaurant=restaurant.id,
            name=restaurant.name,
            address=delivery.home.id,
            subtotal=cents,
            discount=discount,
            fee=fee,
            tip=tip,
            total=cents - discount + fee + tip,
            courier=draw.choice(FIRST),
            placed=placed,
            **times_of(restaurant, far, placed, arrives)._asdict(),
            scheduled=arrives is not None,
            code=promo.code if promo else None,
            cancelled=placed + draw.integer(1, 6) * MINUTE if cancelled else None,
            refunded=cents - discount + fee + tip if cancelled else 0,
        )
    )
    if promo is not None:
        delivery.promos.change(promo.id, order=order.id)
    for line in lines if not cancelled else ():
        delivery.dishes.change(line.dish, supplied=delivery.dishes[line.dish].supplied + line.quantity)
    return order


def put_lines(delivery: Delivery, draw: Draw, restaurant: Restaurant, order: FoodOrderId, least: int) -> list[Line]:
    """Dishes of a restaurant, one to three of each, that cost at least so many cents."""
    lines, cents = list[Line](), 0
    for dish in draw.shuffled(delivery.dishes.where(restaurant=restaurant.id)):
        extra = draw.choice(dish.options) if dish.options and draw.chance(0.3) else None
        delivery.lines.cause = f"seed/{order}/{dish.id}"
        line = Line(
            id=delivery.lines.new_id(),
            restaurant=restaurant.id,
            order=order,
            dish=dish.id,
            name=dish.name,
            quantity=draw.integer(1, 3),
            price=dish.price + (extra.price if extra else 0),
            option=extra.option if extra else None,
        )
        lines.append(delivery.lines.put(line))
        cents += line.price * line.quantity
        if cents >= max(least, 300) and draw.chance(0.6):
            break
    more = -(-max(0, least - cents) // lines[0].price)
    lines[0] = delivery.lines.change(lines[0].id, quantity=lines[0].quantity + more)
    return lines


def judge(delivery: Delivery, draw: Draw, order: Order) -> None:
    """Stars for most older orders, and money back for a few."""
    if draw.chance(0.5):
        courier = draw.integer(3, 5) if draw.chance(0.6) else None
        delivery.orders.change(order.id, food_stars=draw.integer(2, 5), courier_stars=courier)
    if draw.chance(0.2):
        line = delivery.lines.where(order=order.id)[0]
        delivery.lines.change(line.id, missing=draw.integer(1, line.quantity))
        delivery.orders.change(order.id, refunded=refund_for_missing(delivery, order))
