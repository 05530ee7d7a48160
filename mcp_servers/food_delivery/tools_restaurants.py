"""Tools on restaurants: found, looked at, their menus, favourites."""

from __future__ import annotations

from collections.abc import Iterable

from ..kit import ToolError
from .basket import offers
from .kitchen import distance, fee_for, rating
from .parameters import ROWS, AskedAddress, AskedCuisine, AskedName, Limit, Mark, Only, RestaurantRef, Without
from .server import server
from .state import Delivery, Dish, Restaurant
from .views import MenuLine, RestaurantDetails, RestaurantLine


@server.read(
    "find restaurants that deliver[ {cuisine} food][ to {address}][, named {name}][, only {only} ones]"
    "[, at most {limit}]",
    "list where I can order[ {cuisine} food][ for {address}][ from places called {name}][, {only} ones only]"
    "[, no more than {limit}]",
    "show restaurants to order food from[, {cuisine} ones][, bringing it to {address}][, with {name} in the name]"
    "[, just the {only} ones][, up to {limit}]",
    "look for food delivery[ of {cuisine} dishes][ to {address}][ by {name}][, {only} restaurants only]"
    "[, {limit} at most]",
)
def find_restaurants(
    delivery: Delivery,
    cuisine: AskedCuisine = None,
    name: AskedName = None,
    address: AskedAddress = None,
    only: Only = None,
    limit: Limit = ROWS,
) -> tuple[RestaurantLine, ...]:
    """Find restaurants that deliver to an address, nearest first."""
    place, wanted = delivery.home.id if address is None else address, (name or "").strip().casefold()
    delivery.places[place]
    found: Iterable[Restaurant] = delivery.restaurants
    if cuisine is not None:
        found = delivery.restaurants.where(cuisine=cuisine)
    fitting = (row for row in found if wanted in row.name.casefold() and is_wanted(delivery, row, only))
    pairs = ((distance(delivery, row, place), row) for row in fitting)
    near = sorted(((far, row.id, row) for far, row in pairs if far <= row.radius), key=lambda one: one[:2])
    return tuple(
        RestaurantLine(
            id=row.id,
            name=row.name,
            cuisine=row.cuisine,
            metres=far,
            open=row.is_open(delivery.now),
            minimum=row.minimum,
            fee=fee_for(row, far),
            rating=rating(delivery, row)[0],
        )
        for far, _, row in near[:limit]
    )


def is_wanted(delivery: Delivery, row: Restaurant, only: Only) -> bool:
    if only == "open":
        return row.is_open(delivery.now)
    return row.favourite or only is None


@server.read(
    "show the details of the restaurant {restaurant}",
    "tell me when {restaurant} delivers and what its minimum order is",
    "look up the hours, delivery fee and offers of {restaurant}",
    "check which promo codes there are for {restaurant}",
)
def get_restaurant(delivery: Delivery, restaurant: RestaurantRef) -> RestaurantDetails:
    """Get a restaurant's hours, minimum order, fee, radius and offers."""
    row = delivery.restaurants[restaurant]
    stars, votes = rating(delivery, row)
    hours = row.hours(delivery.now.date())
    return RestaurantDetails(
        id=row.id,
        name=row.name,
        cuisine=row.cuisine,
        place=row.place,
        street=delivery.places[row.place].street,
        hours=f"{hours[0]:%H:%M}-{hours[1]:%H:%M}" if hours else None,
        opens=None if row.is_open(delivery.now) else row.next_open(delivery.now),
        minimum=row.minimum,
        fee=row.fee,
        radius=row.radius,
        prep=row.prep,
        rating=stars,
        votes=votes,
        favourite=row.favourite,
        offers=offers(delivery, row.id),
    )


@server.read(
    "show the menu of {restaurant}[ without {without}][, at most {limit} dishes]",
    "list the dishes of {restaurant}[ that are free of {without}][, no more than {limit}]",
    "tell me what {restaurant} cooks[, leaving out anything with {without}][, up to {limit} dishes]",
    "look at what I can eat from {restaurant}[, no {without} please][, {limit} dishes at most]",
)
def list_restaurant_menu(
    delivery: Delivery, restaurant: RestaurantRef, without: Without = None, limit: Limit = ROWS
) -> tuple[MenuLine, ...]:
    """List a restaurant's dishes with price, allergens and options."""
    dishes = delivery.dishes.where(restaurant=delivery.restaurants[restaurant].id)
    return tuple([menu_line(dish) for dish in dishes if without not in dish.allergens][:limit])


def menu_line(dish: Dish) -> MenuLine:
    return MenuLine(
        id=dish.id,
        name=dish.name,
        price=dish.price,
        allergens=dish.allergens,
        options=dish.options,
        sold_out=dish.left == 0 or None,
    )


@server.write(
    "mark {restaurant} as {mark} for ordering food",
    "set the restaurant {restaurant} to {mark}",
    "make {restaurant} {mark} in the delivery app",
    "have {restaurant} count as {mark} when I order food",
    idempotent=True,
)
def set_favourite_restaurant(delivery: Delivery, restaurant: RestaurantRef, mark: Mark) -> RestaurantDetails:
    """Make a restaurant one of your favourites, or no longer one."""
    row, favourite = delivery.restaurants[restaurant], mark == "favourite"
    if row.favourite and favourite:
        raise ToolError("already_favourite", f"{row.name} is one of your favourites already; nothing is left to do.")
    if not row.favourite and not favourite:
        raise ToolError("not_favourite", f"{row.name} is not one of your favourites; nothing is left to do.")
    delivery.restaurants.change(restaurant, favourite=favourite)
    return get_restaurant(delivery, restaurant)
