"""Views of the food delivery in tool results: short rows in lists, full details of single items."""

from __future__ import annotations

from typing import Literal

from ..core import Day, Entity, Minute
from ..shared.places import PlaceId
from .state import Allergen, Cuisine, DishId, Extra, FoodCartLineId, FoodOrderId, FoodOrderLineId, FoodRestaurantId

OrderStatus = Literal["placed", "accepted", "cooking", "picked_up", "delivered", "cancelled"]


class RestaurantLine(Entity):
    """A restaurant in a list: metres to the address, minimum order and delivery fee in cents, stars of five."""

    __label__ = "{name}"
    id: FoodRestaurantId
    name: str
    cuisine: Cuisine
    metres: int
    open: bool
    minimum: int
    fee: int
    rating: str


class Offer(Entity):
    """A promo code: percent off, at most `most` cents, for orders from `minimum` cents on, until a day."""

    code: str
    percent: int
    most: int
    minimum: int
    ends: Day


class RestaurantDetails(Entity):
    """Everything about a restaurant: when it takes orders, how far it delivers in metres, its offers."""

    __label__ = "{name}"
    id: FoodRestaurantId
    name: str
    cuisine: Cuisine
    place: PlaceId
    street: str
    hours: str | None
    opens: Minute | None
    minimum: int
    fee: int
    radius: int
    prep: int
    rating: str
    votes: int
    favourite: bool
    offers: tuple[Offer, ...]


class MenuLine(Entity):
    """A dish of a menu: price in cents, what may not agree with you, and options with what they cost more."""

    __label__ = "the {name}"
    id: DishId
    name: str
    price: int
    allergens: tuple[Allergen, ...]
    options: tuple[Extra, ...]
    sold_out: bool | None = None


class AddressLine(Entity):
    """A place to deliver to."""

    __label__ = "the address {label}"
    id: PlaceId
    label: str
    street: str


class CartLineView(Entity):
    """A dish in the cart; `price` in cents for one."""

    __label__ = "the {name} in my cart"
    id: FoodCartLineId
    dish: DishId
    name: str
    quantity: int
    price: int
    option: str | None = None


class CartView(Entity):
    """The cart in cents, without the delivery fee; `missing` is what it lacks to the minimum order.

    The promo codes for it are in `offers` when the cart is viewed.
    """

    restaurant: FoodRestaurantId | None
    name: str | None
    lines: tuple[CartLineView, ...]
    subtotal: int
    code: str | None = None
    discount: int | None = None
    missing: int | None = None
    offers: tuple[Offer, ...] | None = None


class OrderView(Entity):
    """An order in short: cents in all, and when it arrives or arrived."""

    __label__ = "the food order from {name}"
    id: FoodOrderId
    name: str
    status: OrderStatus
    total: int
    placed: Minute
    arrives: Minute | None = None
    refunded: int | None = None


class OrderLineView(Entity):
    """A dish of an order; `missing` of them were reported not to have come."""

    __label__ = "the {name} I ordered"
    id: FoodOrderLineId
    dish: DishId
    name: str
    quantity: int
    price: int
    option: str | None = None
    missing: int | None = None


class OrderDetails(Entity):
    """Everything about an order; the courier is known once the food is picked up."""

    __label__ = "the food order from {name}"
    id: FoodOrderId
    restaurant: FoodRestaurantId
    name: str
    status: OrderStatus
    address: PlaceId
    lines: tuple[OrderLineView, ...]
    fee: int
    total: int
    placed: Minute
    discount: int | None = None
    code: str | None = None
    tip: int | None = None
    arrives: Minute | None = None
    scheduled: bool | None = None
    courier: str | None = None
    refunded: int | None = None
    food_stars: int | None = None
    courier_stars: int | None = None
