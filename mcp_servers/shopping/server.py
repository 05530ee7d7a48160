"""Server object of the shop and the parameter types of its tools."""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import Field

from ..core import ObservedField, Sensitive, Server
from ..shared.places import PlaceId
from .seed import seed
from .state import (
    Category,
    Delivery,
    OrderStatus,
    Reason,
    ShopCardId,
    ShopCartLineId,
    ShopCouponId,
    ShopGiftCardId,
    ShopItemId,
    ShopOrderId,
    ShopOrderLineId,
    ShopProductId,
    ShopWishId,
)

server = Server("shopping", "Search an online shop, fill the cart, check out, and track or return orders.", seed)


Sort = Literal["best rated", "cheapest", "dearest", "newest"]

QUERIES = [
    "linen shirt", "headphones", "yoga mat", "cookbook", "boots", "teapot", "wooden", "armchair", "hand cream",
    "watering can", "rucksack", "puzzle", "keyboard", "jacket",
]  # fmt: skip
PRICES = [1500, 2000, 2500, 3000, 4000, 5000, 6500, 8000, 10000, 12500, 15000, 20000, 30000]
PIECES = [1, 1, 2, 2, 3, 4, 5, 6, 8, 10, 12, 15]
POINTS = [50, 75, 100, 120, 150, 180, 200, 250, 300, 350, 400, 500]
TEXTS = [
    "I use it every day and would not want to miss it", "Good, but the colour is darker than in the picture",
    "It arrived with a scratch", "Exactly what I was looking for", "Too small for me, though well made",
    "My children play with it all the time", "Cheap material, it will not last", "A fine present for a friend",
    "The instructions are hard to follow", "Better than the one I had before", "It works, but it is loud",
    "Comfortable from the first day", "I expected more for this price", "Looks lovely in our living room",
]  # fmt: skip

ProductRef = Annotated[ShopProductId, Field(description="Id of a product of the shop")]
ItemRef = Annotated[ShopItemId, Field(description="Id of an item: a product in one size, colour or other option")]
WishRef = Annotated[ShopWishId, Field(description="Id of a wish on the wish list")]
CartLineRef = Annotated[ShopCartLineId, Field(description="Id of a line of the cart")]
OrderedLineRef = Annotated[ShopOrderLineId, Field(description="Id of the line of the order the item was bought in")]
OrderRef = Annotated[ShopOrderId, Field(description="Id of one of your orders at the shop")]
CouponRef = Annotated[ShopCouponId, Field(description="Id of one of your coupons")]
GiftCardRef = Annotated[ShopGiftCardId, Field(description="Id of one of your gift cards")]
CardRef = Annotated[ShopCardId, Field(description="Id of a card stored for paying")]
AddressRef = Annotated[PlaceId, Field(description="Place id of one of your addresses or of a pickup point")]

Quantity = Annotated[int, Field(ge=1, le=20, description="How many pieces", examples=PIECES)]
NewQuantity = Annotated[
    int,
    Field(ge=0, le=20, description="How many pieces from now on; 0 takes it out of the cart", examples=[0, *PIECES]),
]
Cvv = Annotated[str, Field(pattern=r"^[0-9]{3}$", description="CVV of that card, 3 digits"), Sensitive()]
GiftCode = Annotated[
    str, Field(pattern=r"^[0-9]{8}$", description="Code printed on the gift card, 8 digits"), Sensitive()
]
Why = Annotated[Reason, Field(description="Why it goes back")]
Stars = Annotated[int, Field(ge=1, le=5, description="Stars, 5 for the best")]
ReviewText = Annotated[str, Field(max_length=400, pattern=r"\S", description="What you think of it", examples=TEXTS)]

QueryParam = Annotated[
    str | None,
    Field(max_length=80, pattern=r"\S", description="Words of the title", examples=QUERIES),
    ObservedField("title"),
]
CategoryParam = Annotated[Category | None, Field(description="Only products of this category")]
PriceParam = Annotated[int | None, Field(ge=100, le=1_000_000, description="Highest price in cents", examples=PRICES)]
StarsParam = Annotated[int | None, Field(ge=1, le=5, description="Least average rating, 1 to 5 stars")]
StockParam = Annotated[bool | None, Field(description="Whether it must be in stock")]
SortParam = Annotated[Sort, Field(description="Order of the results, best rated first by default")]
StatusParam = Annotated[OrderStatus | None, Field(description="Only orders of this status")]
WayParam = Annotated[
    Delivery | None, Field(description="Way of delivery; standard to a door and pickup at a pickup point by default")
]
PiecesParam = Annotated[int, Field(ge=1, le=20, description="How many pieces go back, 1 by default", examples=PIECES)]
PointsParam = Annotated[
    int, Field(ge=0, le=100_000, description="Points to pay with, worth 1 cent each; none by default", examples=POINTS)
]
CreditParam = Annotated[bool, Field(description="Whether to use up your shop credit before the card")]
Limit = Annotated[
    int, Field(ge=1, le=50, description="Most rows to return, 5 by default", examples=[1, 2, 3, 4, 6, 8, 10, 15, 20])
]

ROWS = 5
