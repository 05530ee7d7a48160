"""The cart as a whole: what it costs, what a promo code takes off, and what it must not hold."""

from __future__ import annotations

from ..kit import ToolError
from .state import Delivery, Dish, FoodCartLineId, FoodRestaurantId, Line, Promo
from .views import CartLineView, CartView, Offer

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
    return tuple(
        [
            Offer(code=promo.code, percent=promo.percent, most=promo.most, minimum=promo.minimum, ends=promo.ends)
            for promo in unused[:MOST_OFFERS]
        ]
    )


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
        lines=tuple(
            [
                CartLineView(
                    id=FoodCartLineId(line.id),
                    dish=line.dish,
                    name=line.name,
                    quantity=line.quantity,
                    price=line.price,
                    option=line.option,
                )
                for line in cart
            ]
        ),
        subtotal=cents,
        code=promo.code if promo else None,
        discount=discount_of(promo, cents) if promo else None,
        missing=lack or None,
        offers=found,
    )
