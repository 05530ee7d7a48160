"""Tools on restaurants: found, looked at, their menus, favourites."""

from __future__ import annotations

from ..distance import metres
from ..kit import ToolError
from .basket import offers
from .kitchen import fee_for, rating
from .parameters import ROWS, AskedAddress, AskedCuisine, AskedName, Limit, Mark, Only, RestaurantRef, Without
from .server import server
from .state import Delivery, Dish
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
    place, wanted = delivery.home if address is None else delivery.places[address], (name or "").strip().casefold()
    found = list(delivery.restaurants) if cuisine is None else delivery.restaurants.where(cuisine=cuisine)
    if wanted:
        found = [row for row in found if wanted in row.name.casefold()]
    if only is not None:
        found = [row for row in found if (row.is_open(delivery.now) if only == "open" else row.favourite)]
    pairs = [(metres(delivery.places[row.place], place), row) for row in found]
    near = sorted([(far, row.id, row) for far, row in pairs if far <= row.radius])
    return tuple(
        [
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
        ]
    )


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
    rests = delivery.now.weekday() in row.closed
    return RestaurantDetails(
        id=row.id,
        name=row.name,
        cuisine=row.cuisine,
        place=row.place,
        street=delivery.places[row.place].street,
        hours=None if rests else f"{clock(row.opens)}-{clock(row.closes)}",
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


def clock(minutes: int) -> str:
    """A time of the day, given in minutes after midnight."""
    return f"{minutes // 60:02d}:{minutes % 60:02d}"


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
