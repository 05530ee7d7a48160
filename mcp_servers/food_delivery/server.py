"""The server object of the food delivery, and the parameter types of its tools."""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import Field

from ..core import Minute, ObservedField, Server
from ..shared.places import PlaceId
from .seed import seed
from .state import Allergen, Cuisine, DishId, FoodCartLineId, FoodOrderId, FoodOrderLineId, FoodRestaurantId
from .views import OrderStatus

server = Server(
    "food_delivery", "Order food from restaurants in town, follow the delivery, tip, rate and ask for refunds.", seed
)


ROWS = 5
QUANTITIES = [1, 1, 1, 2, 2, 2, 3, 3, 4, 4, 5, 6]
TIPS = [100, 150, 180, 200, 220, 250, 280, 300, 350, 400, 450, 500, 600, 750]
CODES = [
    "BRUNCH10", "DINNER25", "FAMILY20", "FEAST15", "FRESH30", "HUNGRY20", "LUNCH15", "NOODLE10", "SPICY25", "SUNDAY30",
    "TREAT20", "YUMMY10",
]  # fmt: skip
OPTION_NAMES = [
    "double portion", "extra cheese", "extra sauce", "extra spicy", "gluten free", "large", "mild", "no onions",
    "small", "with fries", "with salad", "without sugar",
]  # fmt: skip
NAMES = ["baker", "bistro", "cafe", "garden", "harbour", "lee", "martin", "mill", "restaurant", "smith", "star", "wood"]

RestaurantRef = Annotated[FoodRestaurantId, Field(description="Id of a restaurant that delivers")]
DishRef = Annotated[DishId, Field(description="Id of a dish on a menu")]
LineRef = Annotated[FoodCartLineId, Field(description="Id of a dish in your food cart")]
OrderRef = Annotated[FoodOrderId, Field(description="Id of one of your food orders")]
OrderLineRef = Annotated[FoodOrderLineId, Field(description="Id of a dish in one of your food orders")]
AddressRef = Annotated[PlaceId, Field(description="Id of the place to deliver to")]

Portions = Annotated[int, Field(ge=1, le=20, description="Number of portions", examples=QUANTITIES)]
NewPortions = Annotated[
    int,
    Field(ge=0, le=20, description="New number of portions, 0 to take it out", examples=[0, 0, 1, 1, 2, 2, 3, 3, 4, 5]),
]
OptionName = Annotated[
    str | None,
    Field(max_length=40, pattern=r"\S", description="One of the dish's options", examples=OPTION_NAMES),
    ObservedField("option"),
]
Code = Annotated[
    str,
    Field(pattern=r"^[A-Za-z0-9]{4,20}$", description="Promo code, letters and digits", examples=CODES),
    ObservedField("code"),
]
DeliverAt = Annotated[
    Minute | None,
    Field(
        description="When it should arrive, to the minute, such as 2026-03-05T12:30:00Z; as soon as possible by default"
    ),
]
Tip = Annotated[int, Field(ge=1, le=10_000, description="Tip for the courier in cents", examples=TIPS)]
OrderTip = Annotated[int | None, Field(ge=1, le=10_000, description="Tip for the courier in cents", examples=TIPS)]
Stars = Annotated[int, Field(ge=1, le=5, description="Stars for the food, 1 to 5", examples=[1, 2, 3, 3, 4, 4, 5, 5])]
CourierStars = Annotated[
    int | None, Field(ge=1, le=5, description="Stars for the courier, 1 to 5", examples=[1, 2, 3, 3, 4, 4, 5, 5])
]
Mark = Annotated[Literal["favourite", "not favourite"], Field(description="What the restaurant should be to you")]

CuisineParam = Annotated[Cuisine | None, Field(description="Only restaurants of this cuisine")]
NameParam = Annotated[
    str | None,
    Field(max_length=60, pattern=r"\S", description="Name of the restaurant, or a part of it", examples=NAMES),
    ObservedField("name"),
]
AddressParam = Annotated[PlaceId | None, Field(description="Id of the place to deliver to, your home by default")]
Only = Annotated[Literal["open", "favourite"] | None, Field(description="Only those open now, or your favourites")]
Without = Annotated[Allergen | None, Field(description="Leave out dishes with this allergen")]
StatusParam = Annotated[OrderStatus | None, Field(description="Only food orders of this status")]
RestaurantParam = Annotated[FoodRestaurantId | None, Field(description="Only food orders from this restaurant id")]
Limit = Annotated[int, Field(ge=1, le=50, description="Most rows to return", examples=[1, 2, 3, 4, 6, 8, 10, 15, 20])]
