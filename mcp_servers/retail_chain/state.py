"""State of the retail chain: stores, products, stock, pick-ups, transfers, purchases, returns and the user's card."""

from __future__ import annotations

from datetime import date, datetime, time, timedelta
from functools import cached_property
from typing import Literal, NewType

from ..core import Day, Entity, Minute, State, Table, table
from ..shared.places import Place, PlaceId

ChainStoreId = NewType("ChainStoreId", str)
ChainProductId = NewType("ChainProductId", str)
StockId = NewType("StockId", str)
StorePromotionId = NewType("StorePromotionId", str)
StorePickupId = NewType("StorePickupId", str)
StoreTransferId = NewType("StoreTransferId", str)
StorePurchaseId = NewType("StorePurchaseId", str)
StoreReturnId = NewType("StoreReturnId", str)
LoyaltyCardId = NewType("LoyaltyCardId", str)

Category = Literal["bath", "bedding", "garden", "kitchen", "lighting", "office", "storage", "tools"]
Tier = Literal["basic", "silver", "gold"]
ReservationStatus = Literal["held", "collected", "cancelled"]
Travel = Literal["moving", "arrived", "cancelled"]


class Store(Entity):
    """A store of the chain; it opens and closes so many minutes after midnight, not on its `closed` weekdays."""

    __label__ = "the store at {name}"
    id: ChainStoreId
    place: PlaceId
    name: str
    opens: int
    closes: int
    closed: tuple[int, ...]

    def hours(self, day: date) -> tuple[datetime, datetime] | None:
        """Return when the store opens and closes on a day, or None when it stays closed."""
        if day.weekday() in self.closed:
            return None
        midnight = datetime.combine(day, time())
        return midnight + timedelta(minutes=self.opens), midnight + timedelta(minutes=self.closes)

    @cached_property
    def times(self) -> str:
        """Return the hours of an open day, such as 08:00-20:00."""
        return "-".join(f"{minutes // 60:02}:{minutes % 60:02}" for minutes in (self.opens, self.closes))

    def is_open(self, moment: datetime) -> bool:
        return moment.weekday() not in self.closed and self.opens <= moment.hour * 60 + moment.minute < self.closes

    def next_open(self, moment: datetime) -> datetime:
        """Return this moment if the store is open then, else when it opens next."""
        if self.is_open(moment):
            return moment
        days = (self.hours(moment.date() + timedelta(days=days)) for days in range(8))
        return next(hours[0] for hours in days if hours is not None and hours[0] > moment)


class Product(Entity):
    """Something the chain sells, in cents; a customer gets at most `limit` a week. `supplied` is all there ever was."""

    __label__ = "the {name}"
    id: ChainProductId
    name: str
    category: Category
    price: int
    limit: int
    final_sale: bool
    supplied: int

    @cached_property
    def words(self) -> tuple[str, ...]:
        return words_of(self.name)


class Stock(Entity):
    """How many units of a product are in a store that carries it, reserved ones included."""

    id: StockId
    store: ChainStoreId
    product: ChainProductId
    units: int


class Promotion(Entity):
    """A discount on a product in one store, for holders of a card of this tier or a higher one."""

    id: StorePromotionId
    store: ChainStoreId
    product: ChainProductId
    percent: int
    starts: Day
    ends: Day
    tier: Tier

    @property
    def stock(self) -> StockId:
        """Return the id of the stock that the promotion is for."""
        return stock_id(self.store, self.product)


class Pickup(Entity):
    """Units put aside for the user until a moment, at a price each; with a transfer they come from another store."""

    __label__ = "the reservation of the {name}"
    id: StorePickupId
    store: ChainStoreId
    product: ChainProductId
    name: str
    quantity: int
    price: int
    reserved: Minute
    until: Minute
    status: ReservationStatus
    transfer: StoreTransferId | None = None


class Transfer(Entity):
    """Units on their way from one store to another; until they depart, nothing is lost by calling it off."""

    id: StoreTransferId
    source: ChainStoreId
    target: ChainStoreId
    product: ChainProductId
    quantity: int
    departs: Minute
    arrives: Minute
    status: Travel


class Purchase(Entity):
    """What the user bought: `paid` cents and `points` make up the price of all units; `earned` points came back."""

    __label__ = "the purchase of the {name}"
    id: StorePurchaseId
    store: ChainStoreId
    product: ChainProductId
    name: str
    quantity: int
    price: int
    paid: int
    points: int
    earned: int
    bought: Minute


class Return(Entity):
    """Units brought back: `refund` cents paid out, and the change of the card's points."""

    id: StoreReturnId
    purchase: StorePurchaseId
    store: ChainStoreId
    quantity: int
    refund: int
    points: int
    at: Minute


class LoyaltyCard(Entity):
    """The user's card: a point is worth a cent. `opening` points were on it before the purchases known here."""

    id: LoyaltyCardId
    opening: int
    points: int


class Chain(State):
    """The chain as one customer deals with it."""

    places: Table[PlaceId, Place] = table("PLC", "place")
    stores: Table[ChainStoreId, Store] = table("RSTR", "store", index=("place",))
    products: Table[ChainProductId, Product] = table("RPRD", "product", index=("words", "category"))
    stock: Table[StockId, Stock] = table("RSTK", "stock", index=("store", "product"))
    promotions: Table[StorePromotionId, Promotion] = table("RPRM", "promotion", index=("store", "stock"))
    pickups: Table[StorePickupId, Pickup] = table("RPKU", "reservation", index=("product", "status"))
    transfers: Table[StoreTransferId, Transfer] = table("RTRF", "transfer", index=("status", "product"))
    purchases: Table[StorePurchaseId, Purchase] = table("RBUY", "purchase", index=("product",))
    returns: Table[StoreReturnId, Return] = table("RRET", "return", index=("purchase",))
    cards: Table[LoyaltyCardId, LoyaltyCard] = table("RLOY", "loyalty card")

    @property
    def home(self) -> Place:
        """Return the place where the user lives."""
        return next(iter(self.places))

    @property
    def card(self) -> LoyaltyCard:
        """Return the user's loyalty card."""
        return next(iter(self.cards))


def stock_id(store: ChainStoreId, product: ChainProductId) -> StockId:
    """Return the id of the only stock row of a product in a store."""
    return StockId(f"{store}/{product}")


def words_of(text: str) -> tuple[str, ...]:
    """Return the distinct words of a text in lower case."""
    return tuple(dict.fromkeys(text.casefold().split()))
