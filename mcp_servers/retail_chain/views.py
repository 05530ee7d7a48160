"""Views that the tools of the retail chain return: short rows for lists, full details for one."""

from __future__ import annotations

from typing import Literal

from ..core import Day, Entity, Minute
from ..shared.places import PlaceId
from .state import (
    Category,
    ChainProductId,
    ChainStoreId,
    LoyaltyCardId,
    StorePickupId,
    StorePurchaseId,
    StoreReturnId,
    Tier,
)

PickupStatus = Literal["requested", "in_transit", "ready", "expired", "collected", "cancelled"]


class StoreLine(Entity):
    """A store in a list, `metres` away; its hours of the day asked for are left out when it is closed all day."""

    __label__ = "the store at {name}"
    id: ChainStoreId
    name: str
    place: PlaceId
    street: str
    metres: int
    open: bool
    hours: str | None = None


class ProductLine(Entity):
    """A product in a list: usual price in cents, most units a customer gets a week, number of stores that have it."""

    __label__ = "the {name}"
    id: ChainProductId
    name: str
    category: Category
    price: int
    limit: int
    stores: int
    final_sale: bool | None = None


class StockLine(Entity):
    """How many units of a product can be reserved in a store, and what one costs the user there today."""

    __label__ = "the store at {name}"
    store: ChainStoreId
    name: str
    metres: int
    available: int
    price: int


class PromotionLine(Entity):
    """A promotion in a list; `tier` is the loyalty tier it takes, `price` what one unit costs with it."""

    product: ChainProductId
    name: str
    percent: int
    price: int
    ends: Day
    tier: Tier


class PickupView(Entity):
    """A reservation: `total` in cents, kept `until` a moment; `departs` and `arrives` when it comes by transfer."""

    __label__ = "the reservation of the {name}"
    id: StorePickupId
    name: str
    product: ChainProductId
    store: ChainStoreId
    quantity: int
    total: int
    status: PickupStatus
    until: Minute
    departs: Minute | None = None
    arrives: Minute | None = None


class PurchaseView(Entity):
    """A purchase: cents and points paid, points earned, units brought back since."""

    __label__ = "the purchase of the {name}"
    id: StorePurchaseId
    name: str
    product: ChainProductId
    store: ChainStoreId
    quantity: int
    paid: int
    points: int
    earned: int
    returned: int
    bought: Minute


class ReturnView(Entity):
    """A return: cents refunded, the change of the card's points, and the points on the card now."""

    id: StoreReturnId
    purchase: StorePurchaseId
    store: ChainStoreId
    quantity: int
    refund: int
    points: int
    balance: int


class CardView(Entity):
    """The loyalty card: tier, points, cents spent in a year, cents missing for the next tier, latest purchases."""

    id: LoyaltyCardId
    tier: Tier
    points: int
    spent: int
    missing: int | None
    purchases: tuple[PurchaseView, ...]
