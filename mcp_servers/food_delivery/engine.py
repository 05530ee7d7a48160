"""Orders and the cart: distances, fees, promo codes, and the status changes of an order."""

from __future__ import annotations

from datetime import datetime, timedelta
from typing import NamedTuple

from ..core import ToolError
from ..shared.distance import metres
from ..shared.places import PlaceId
from .state import Delivery, Dish, FoodCartLineId, FoodRestaurantId, Line, Order, Promo, Restaurant
from .views import CartLineView, CartView, Offer, OrderStatus, OrderView

# Orders: distances, fees, and the times at which the status changes.

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
    """Return the metres from a restaurant to a place. Raises ToolError when there is no such place."""
    return metres(delivery.places[restaurant.place], delivery.places[address])


def fee_for(restaurant: Restaurant, far: int) -> int:
    """Return the delivery fee in cents: each kilometre begun beyond the first two costs extra."""
    return restaurant.fee + CENTS_PER_KILOMETRE * max(0, (far - FREE_METRES + 999) // 1_000)


def compute_delivery_time(restaurant: Restaurant, far: int) -> timedelta:
    """Return the time from the start of cooking to the delivery."""
    return restaurant.prep * MINUTE + compute_riding_time(far)


def compute_riding_time(far: int) -> timedelta:
    return RIDING + far // METRES_PER_MINUTE * MINUTE


def times_of(restaurant: Restaurant, far: int, placed: datetime, arrives: datetime | None = None) -> Times:
    """Return the times of an order placed at `placed`, to arrive at `arrives` or as soon as possible."""
    cooking = placed + STARTING if arrives is None else arrives - compute_delivery_time(restaurant, far)
    collected = cooking + restaurant.prep * MINUTE
    return Times(placed + ACCEPTING, cooking, collected, collected + compute_riding_time(far))


def status_of(delivery: Delivery, order: Order) -> OrderStatus:
    """Return the current status of an order."""
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
    """Return the short view of an order."""
    return OrderView.from_row(
        order,
        status=status_of(delivery, order),
        arrives=order.delivered if order.cancelled is None else None,
        refunded=order.refunded or None,
    )


def rating(delivery: Delivery, restaurant: Restaurant) -> tuple[str, int]:
    """Return the mean of all stars to one decimal, such as 4.3, and the number of votes, both including the user's."""
    own = [row.food_stars for row in delivery.orders.where(restaurant=restaurant.id) if row.food_stars is not None]
    votes, stars = restaurant.votes + len(own), restaurant.stars + sum(own)
    tenths = (20 * stars + votes) // (2 * votes)
    return f"{tenths // 10}.{tenths % 10}", votes


def refund_for_missing(delivery: Delivery, order: Order) -> int:
    """Return the cents paid for all missing dishes: their prices less their share of the discount."""
    value = sum(line.price * line.missing for line in delivery.lines.where(order=order.id))
    return value * (order.subtotal - order.discount) // order.subtotal


def require_modest(tip: int, cents: int) -> None:
    """Raise ToolError for a tip above the price of the food."""
    if tip > cents:
        raise ToolError("tip_too_high", f"A tip can be at most the price of the food, {cents} cents; tip less.")


# The cart: its price, the discount of its promo code, and its limits.

MOST_PORTIONS = 30
MOST_OFFERS = 5


def subtotal(cart: list[Line]) -> int:
    """Return the price of all dishes in the cart, in cents."""
    return sum([line.price * line.quantity for line in cart])


def restaurant_of(cart: list[Line]) -> FoodRestaurantId | None:
    """Return the restaurant of the cart, or None when the cart is empty."""
    return cart[0].restaurant if cart else None


def find_applied_promo(delivery: Delivery) -> Promo | None:
    """Return the promo code on the cart, or None."""
    found = delivery.promos.where(applied=True)
    return found[0] if found else None


def discount_of(promo: Promo | None, cents: int) -> int:
    """Return the cents that a promo code takes off a price of `cents`."""
    return 0 if promo is None else min(promo.most, cents * promo.percent // 100)


def offers(delivery: Delivery, restaurant: FoodRestaurantId | None) -> tuple[Offer, ...]:
    """Return the codes for this restaurant and for all restaurants that the user has not used."""
    promos = delivery.promos.where(restaurant=restaurant) if restaurant else []
    unused = [promo for promo in promos + delivery.promos.where(restaurant=None) if promo.order is None]
    return tuple([Offer.from_row(promo) for promo in unused[:MOST_OFFERS]])


def require_portions(cart: list[Line], dish: Dish, quantity: int) -> None:
    """Raise ToolError unless the cart may hold `quantity` more portions of a dish."""
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
            price=dish.price + get_option_surcharge(dish, option),
            option=option,
        )
    )


def get_option_surcharge(dish: Dish, option: str | None) -> int:
    """Return the surcharge of an option in cents. Raises ToolError when the dish does not have the option."""
    if option is None:
        return 0
    for one in dish.options:
        if one.option == option:
            return one.price
    known = ", ".join(one.option for one in dish.options) or "none"
    raise ToolError("no_such_option", f"The {dish.name} has no option {option}; its options are: {known}.")


def require_usable(delivery: Delivery, promo: Promo) -> None:
    """Raise ToolError when a promo code was used or has expired."""
    if promo.order is not None:
        raise ToolError("promo_used", f"You used {promo.code} for {promo.order}; a code can be used once.")
    if promo.ends < delivery.now.date():
        raise ToolError("promo_expired", f"{promo.code} ended on {promo.ends}; use another code or none.")


def require_fitting(delivery: Delivery, promo: Promo) -> None:
    """Raise ToolError unless the promo code is valid for the cart."""
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
    """Remove the promo code from the cart when the cart no longer reaches its minimum."""
    promo = find_applied_promo(delivery)
    if promo is not None and (not delivery.cart or subtotal(delivery.cart) < promo.minimum):
        delivery.promos.change(promo.id, applied=False)


def cart_view(delivery: Delivery, found: tuple[Offer, ...] | None = None) -> CartView:
    """Return the view of the cart, with the promo codes found for it."""
    cart, promo = delivery.cart, find_applied_promo(delivery)
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
