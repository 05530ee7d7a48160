"""Server object of the retail chain and the parameter types of its tools."""

from __future__ import annotations

from typing import Annotated

from pydantic import Field

from ..core import Day, ObservedField, Server
from ..shared.places import PlaceId
from .seed import seed
from .state import Category, ChainProductId, ChainStoreId, StorePickupId, StorePurchaseId
from .views import PickupStatus

server = Server(
    "retail_chain", "Find a chain's stores and stock, reserve products for pick-up, move them and return them.", seed
)


ROWS = 5
QUANTITIES = [1, 1, 1, 2, 2, 2, 3, 3, 4, 5, 6, 8]
POINTS = [50, 75, 100, 120, 150, 200, 250, 300, 350, 400, 500, 600, 750, 900, 1000, 1200]
QUERIES = [
    "bamboo", "board", "brass", "brass lamp", "chair", "cotton", "folding", "glass", "hammer", "lamp", "linen", "oak",
    "oak shelf", "pillow", "steel", "towel",
]  # fmt: skip

StoreRef = Annotated[ChainStoreId, Field(description="Id of a store")]
ProductRef = Annotated[ChainProductId, Field(description="Id of a product of the chain")]
PickupRef = Annotated[StorePickupId, Field(description="Id of one of your reservations")]
PurchaseRef = Annotated[StorePurchaseId, Field(description="Id of one of your purchases")]
Source = Annotated[ChainStoreId, Field(description="Id of the store that has the product")]
Target = Annotated[ChainStoreId, Field(description="Id of the store where you want to pick it up")]

Quantity = Annotated[int, Field(ge=1, le=50, description="Number of units", examples=QUANTITIES)]
Points = Annotated[
    int | None,
    Field(ge=1, le=100_000, description="Loyalty points to pay with, each worth a cent", examples=POINTS),
]
Query = Annotated[
    str | None,
    Field(max_length=80, pattern=r"\S", description="Words of the product's name", examples=QUERIES),
    ObservedField("name"),
]
CategoryParam = Annotated[Category | None, Field(description="Only products of this category")]
ProductParam = Annotated[ChainProductId | None, Field(description="Only stores that have this product id available")]
StoreParam = Annotated[ChainStoreId | None, Field(description="Only this store id")]
StatusParam = Annotated[PickupStatus | None, Field(description="Only reservations of this status")]
Near = Annotated[PlaceId | None, Field(description="Id of the place to measure from, your home by default")]
OnDay = Annotated[Day | None, Field(description="Day of the opening hours, such as 2026-03-05; today by default")]
Limit = Annotated[int, Field(ge=1, le=50, description="Most rows to return", examples=[1, 2, 3, 4, 6, 8, 10, 15, 20])]
