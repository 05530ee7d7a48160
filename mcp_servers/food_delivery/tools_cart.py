"""Tools on the cart: dishes in and out of it, a promo code, an old order once more."""

from __future__ import annotations

from ..kit import ToolError
from .cart import (
    applied,
    cart_view,
    drop_promo,
    offers,
    put_dish,
    require_fitting,
    require_portions,
    require_usable,
    restaurant_of,
)
from .parameters import Code, DishRef, LineRef, NewPortions, OptionName, OrderRef, Portions
from .server import server
from .state import Delivery
from .views import CartView


@server.write(idempotent=True)
def add_dish_to_cart(delivery: Delivery, dish: DishRef, quantity: Portions = 1, option: OptionName = None) -> CartView:
    """Add a dish to your cart, which holds dishes of one restaurant."""
    row, cart = delivery.dishes[dish], delivery.cart
    owner = restaurant_of(cart)
    if owner is not None and owner != row.restaurant:
        name = delivery.restaurants[owner].name
        raise ToolError(
            "other_restaurant_in_cart", f"Your cart holds dishes from {name}; order these or take them out first."
        )
    for line in cart:
        if (line.dish, line.option) == (dish, option):
            raise ToolError("already_in_cart", f"It is in your cart as {line.id}; change its portions there.")
    require_portions(cart, row, quantity)
    put_dish(delivery, row, quantity, option)
    return cart_view(delivery)


@server.write(idempotent=True)
def change_cart_dish(delivery: Delivery, line: LineRef, quantity: NewPortions) -> CartView:
    """Change how many portions of a dish are in your cart."""
    row = delivery.lines[line]
    if row.order is not None:
        raise ToolError("already_ordered", f"{line} is part of {row.order}; only dishes in the cart can change.")
    if quantity == 0:
        delivery.lines.remove(line)
    else:
        require_portions(delivery.cart, delivery.dishes[row.dish], quantity - row.quantity)
        delivery.lines.change(line, quantity=quantity)
    drop_promo(delivery)
    return cart_view(delivery)


@server.read()
def view_food_cart(delivery: Delivery) -> CartView:
    """View your cart with its dishes, subtotal, discount and promo codes for it."""
    return cart_view(delivery, offers(delivery, restaurant_of(delivery.cart)))


@server.write(idempotent=True)
def apply_food_promo(delivery: Delivery, code: Code) -> CartView:
    """Apply a promo code to your cart, in place of any other."""
    found = delivery.promos.where(code=code.upper())
    if not found:
        raise ToolError("no_such_promo", f"There is no promo code {code}; get_restaurant shows a restaurant's offers.")
    promo, old = found[0], applied(delivery)
    if promo.applied:
        raise ToolError("promo_already_applied", f"{promo.code} is on your cart already; nothing is left to do.")
    require_usable(delivery, promo)
    require_fitting(delivery, promo)
    if old is not None:
        delivery.promos.change(old.id, applied=False)
    delivery.promos.change(promo.id, applied=True)
    return cart_view(delivery)


@server.write(idempotent=True)
def reorder_food(delivery: Delivery, order: OrderRef) -> CartView:
    """Fill your empty cart with the dishes of an earlier order."""
    lines = delivery.lines.where(order=delivery.orders[order].id)
    if len(delivery.cart) > 0:
        raise ToolError("cart_not_empty", "Your food cart is not empty; order what is in it or take it out first.")
    for line in lines:
        dish = delivery.dishes[line.dish]
        require_portions(delivery.cart, dish, line.quantity)
        put_dish(delivery, dish, line.quantity, line.option)
    return cart_view(delivery)
