"""Orders and the cart: distances, fees, promo codes, and the moments of an order's life."""

from __future__ import annotations

from datetime import datetime, timedelta
from typing import NamedTuple

from ..distance import metres
from ..kit import ToolError
from ..places import PlaceId
from .state import Delivery, Dish, FoodCartLineId, FoodRestaurantId, Line, Order, Promo, Restaurant
from .views import CartLineView, CartView, Offer, OrderStatus, OrderView

# How an order comes to be and moves on by itself: distances, fees, and the moments of its life.

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
    return OrderView.from_row(
        order,
        status=status_of(delivery, order),
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


# The cart as a whole: what it costs, what a promo code takes off, and what it must not hold.

MOST_PORTIONS = 30
MOST_OFFERS = 5


def subtotal(cart: list[Line]) -> int:
    """What all dishes of the cart cost, in cents."""
    return sum([line.price * line.quantity for line in cart])


def restaurant_of(cart: list[Line]) -> FoodRestaurantId | None:
    """The one restaurant the cart is from, or None when it is empty."""
    return cart[0].restaurant if cart else None


def applied(delivery: Delivery) -> Promo | None:
    """The promo code on the cart."""
    found = delivery.promos.where(applied=True)
    return found[0] if found else None


def discount_of(promo: Promo | None, cents: int) -> int:
    """What a code takes off so many cents."""
    return 0 if promo is None else min(promo.most, cents * promo.percent // 100)


def offers(delivery: Delivery, restaurant: FoodRestaurantId | None) -> tuple[Offer, ...]:
    """The codes that are for all restaurants, and those for this one, unless the user has used them."""
    promos = delivery.promos.where(restaurant=restaurant) if restaurant else []
    unused = [promo for promo in promos + delivery.promos.where(restaurant=None) if promo.order is None]
    return tuple([Offer.from_row(promo) for promo in unused[:MOST_OFFERS]])


def require_portions(cart: list[Line], dish: Dish, quantity: int) -> None:
    """Raise ToolError unless the cart may hold so many more of a dish."""
    inside = sum([line.quantity for line in cart if line.dish == dish.id])
    if inside + quantity > dish.left:
        raise ToolError(
            "item_sold_out",
            f"The {dish.name} has {dish.left} portions left and {inside} are in the cart; take fewer or another dish.",
        )
    if sum([line.quantity for line in cart]) + quantity > MOST_PORTIONS:
        raise ToolError("cart_full", f"A cart holds {MOST_PORTIONS} portions; order these first or take fewer.")


def put_dish(delivery: Delivery, dish: Dish, quantity: int, option: str | None) -> None:
    """Put portions of a dish into the cart."""
    delivery.lines.put(
        Line(
            id=delivery.lines.new_id(),
            restaurant=dish.restaurant,
            dish=dish.id,
            name=dish.name,
            quantity=quantity,
            price=dish.price + extra(dish, option),
            option=option,
        )
    )


def extra(dish: Dish, option: str | None) -> int:
    """What an option costs more. Raises ToolError when the dish cannot be ordered that way."""
    if option is None:
        return 0
    for one in dish.options:
        if one.option == option:
            return one.price
    known = ", ".join(one.option for one in dish.options) or "none"
    raise ToolError("no_such_option", f"The {dish.name} has no option {option}; its options are: {known}.")


def require_usable(delivery: Delivery, promo: Promo) -> None:
    """Raise ToolError when a code was used or has ended."""
    if promo.order is not None:
        raise ToolError("promo_used", f"You used {promo.code} for {promo.order}; a code can be used once.")
    if promo.ends < delivery.now.date():
        raise ToolError("promo_expired", f"{promo.code} ended on {promo.ends}; use another code or none.")


def require_fitting(delivery: Delivery, promo: Promo) -> None:
    """Raise ToolError unless the cart is one that the code is for."""
    cart = delivery.cart
    owner, cents = restaurant_of(cart), subtotal(cart)
    if owner is None:
        raise ToolError("cart_empty", "Your food cart is empty; add dishes first.")
    if promo.restaurant is not None and promo.restaurant != owner:
        name = delivery.restaurants[promo.restaurant].name
        raise ToolError("promo_not_valid_here", f"{promo.code} is only for {name}; use another code.")
    if cents < promo.minimum:
        raise ToolError(
            "below_promo_minimum", f"{promo.code} takes {promo.minimum} cents and the cart has {cents}; add dishes."
        )


def drop_promo(delivery: Delivery) -> None:
    """Take the code off the cart when the cart no longer reaches its minimum."""
    promo = applied(delivery)
    if promo is not None and (not delivery.cart or subtotal(delivery.cart) < promo.minimum):
        delivery.promos.change(promo.id, applied=False)


def cart_view(delivery: Delivery, found: tuple[Offer, ...] | None = None) -> CartView:
    """The cart as the user sees it, with the promo codes found for it."""
    cart, promo = delivery.cart, applied(delivery)
    owner, cents = restaurant_of(cart), subtotal(cart)
    restaurant = None if owner is None else delivery.restaurants[owner]
    lack = 0 if restaurant is None else max(0, restaurant.minimum - cents)
    return CartView(
        restaurant=owner,
        name=restaurant.name if restaurant else None,
        lines=tuple([CartLineView.from_row(line, id=FoodCartLineId(line.id)) for line in cart]),
        subtotal=cents,
        code=promo.code if promo else None,
        discount=discount_of(promo, cents) if promo else None,
        missing=lack or None,
        offers=found,
    )
