"""Tools on restaurants: found, looked at, their menus, favourites."""

from __future__ import annotations

from ..distance import metres
from ..kit import ToolError
from .cart import offers
from .order_lifecycle import fee_for, rating
from .parameters import ROWS, AskedAddress, AskedCuisine, AskedName, Limit, Mark, Only, RestaurantRef, Without
from .server import server
from .state import Delivery, Dish
from .views import MenuLine, RestaurantDetails, RestaurantLine


@server.read()
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


@server.read()
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


@server.read()
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


@server.write(idempotent=True)
def set_favourite_restaurant(delivery: Delivery, restaurant: RestaurantRef, mark: Mark) -> RestaurantDetails:
    """Make a restaurant one of your favourites, or no longer one."""
    row, favourite = delivery.restaurants[restaurant], mark == "favourite"
    if row.favourite and favourite:
        raise ToolError("already_favourite", f"{row.name} is one of your favourites already; nothing is left to do.")
    if not row.favourite and not favourite:
        raise ToolError("not_favourite", f"{row.name} is not one of your favourites; nothing is left to do.")
    delivery.restaurants.change(restaurant, favourite=favourite)
    return get_restaurant(delivery, restaurant)
