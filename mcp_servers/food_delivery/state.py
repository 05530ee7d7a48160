"""State of a food delivery service: restaurants and dishes, the user's cart, promo codes, addresses and orders."""

from __future__ import annotations

from datetime import date, datetime, time, timedelta
from typing import Literal, NewType

from ..core import Day, Entity, Minute, State, Table, table
from ..shared.places import Place, PlaceId

FoodRestaurantId = NewType("FoodRestaurantId", str)
DishId = NewType("DishId", str)
FoodPromoId = NewType("FoodPromoId", str)
FoodOrderId = NewType("FoodOrderId", str)
FoodLineId = NewType("FoodLineId", str)
FoodCartLineId = NewType("FoodCartLineId", FoodLineId)
FoodOrderLineId = NewType("FoodOrderLineId", FoodLineId)

Cuisine = Literal[
    "american", "bakery", "breakfast", "chinese", "greek", "indian", "italian", "japanese", "mexican", "thai", "vegan"
]
Allergen = Literal["dairy", "egg", "fish", "gluten", "nuts", "sesame", "shellfish", "soy"]


class Restaurant(Entity):
    """A kitchen at a place: minutes after midnight it opens and closes, weekdays it rests, and what it asks.

    It delivers up to `radius` metres; a dish takes `prep` minutes; `stars` are the sum of other people's `votes`.
    """

    __label__ = "{name}"
    id: FoodRestaurantId
    place: PlaceId
    name: str
    cuisine: Cuisine
    opens: int
    closes: int
    closed: tuple[int, ...]
    minimum: int
    fee: int
    radius: int
    prep: int
    stars: int
    votes: int
    favourite: bool = False

    def hours(self, day: date) -> tuple[datetime, datetime] | None:
        """Return when the restaurant opens and closes on a day, or None when it is closed that day."""
        if day.weekday() in self.closed:
            return None
        midnight = datetime.combine(day, time())
        return midnight + timedelta(minutes=self.opens), midnight + timedelta(minutes=self.closes)

    def is_open(self, moment: datetime) -> bool:
        minutes = moment.hour * 60 + moment.minute
        return self.opens <= minutes < self.closes and moment.weekday() not in self.closed

    def next_open(self, moment: datetime) -> datetime:
        """Return this moment if the restaurant is open then, else its next opening."""
        if self.is_open(moment):
            return moment
        days = (self.hours(moment.date() + timedelta(days=days)) for days in range(8))
        return next(hours[0] for hours in days if hours is not None and hours[0] > moment)


class Extra(Entity):
    """One way a dish can be ordered, for some cents more."""

    option: str
    price: int


class Dish(Entity):
    """Something on a menu: portions `left`, of all that were `supplied`."""

    __label__ = "the {name}"
    id: DishId
    restaurant: FoodRestaurantId
    name: str
    price: int
    allergens: tuple[Allergen, ...]
    options: tuple[Extra, ...]
    left: int
    supplied: int


class Line(Entity):
    """A dish in the cart or, once ordered, in an order, of which `missing` portions did not come.

    `price` is what one costs with its option.
    """

    __label__ = "the ordered {name}"
    id: FoodLineId
    restaurant: FoodRestaurantId
    dish: DishId
    name: str
    quantity: int
    price: int
    option: str | None = None
    missing: int = 0
    order: FoodOrderId | None = None


class Promo(Entity):
    """A code that takes some percent off an order, at most `most` cents, once; of one restaurant or of all."""

    __label__ = "the promo code {code}"
    id: FoodPromoId
    code: str
    percent: int
    most: int
    minimum: int
    ends: Day
    restaurant: FoodRestaurantId | None = None
    applied: bool = False
    order: FoodOrderId | None = None


class Address(Entity):
    """A place the user has food brought to."""

    __label__ = "the address {label}"
    id: PlaceId
    label: str


class Order(Entity):
    """An order with the moments at which it moves on by itself, unless it is cancelled; amounts in cents."""

    __label__ = "the food order from {name}"
    id: FoodOrderId
    restaurant: FoodRestaurantId
    name: str
    address: PlaceId
    subtotal: int
    discount: int
    fee: int
    tip: int
    total: int
    courier: str
    placed: Minute
    accepted: Minute
    cooking: Minute
    collected: Minute
    delivered: Minute
    scheduled: bool = False
    code: str | None = None
    cancelled: Minute | None = None
    refunded: int = 0
    food_stars: int | None = None
    courier_stars: int | None = None


class Delivery(State):
    """The service as one customer uses it."""

    places: Table[PlaceId, Place] = table("PLC", "place")
    restaurants: Table[FoodRestaurantId, Restaurant] = table("FRES", "restaurant", index=("cuisine",))
    dishes: Table[DishId, Dish] = table("FDSH", "dish", index=("restaurant",))
    promos: Table[FoodPromoId, Promo] = table("FPRO", "promo code", index=("code", "restaurant", "applied", "order"))
    addresses: Table[PlaceId, Address] = table("FADR", "delivery address")
    orders: Table[FoodOrderId, Order] = table("FORD", "food order", index=("restaurant",))
    lines: Table[FoodLineId, Line] = table("FLIN", "dish in your cart or orders", index=("order",))

    @property
    def home(self) -> Place:
        """Where the user lives."""
        return next(iter(self.places))

    @property
    def cart(self) -> list[Line]:
        """The dishes in the cart, which are not ordered yet."""
        return self.lines.where(order=None)
