"""State of the shop: its catalogue, and the wishes, cart, orders and money of one customer."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime, timedelta
from functools import cached_property
from typing import Literal, NewType, TypeAlias

from ..core import Day, Entity, Minute, State, Table, table
from ..shared.places import PlaceId

ShopProductId = NewType("ShopProductId", str)
ShopItemId = NewType("ShopItemId", str)
ShopReviewId = NewType("ShopReviewId", str)
ShopWishId = NewType("ShopWishId", str)
ShopCartLineId = NewType("ShopCartLineId", str)
ShopOrderLineId = NewType("ShopOrderLineId", str)
ShopOrderId = NewType("ShopOrderId", str)
ShopReturnId = NewType("ShopReturnId", str)
ShopCouponId = NewType("ShopCouponId", str)
ShopGiftCardId = NewType("ShopGiftCardId", str)
ShopCardId = NewType("ShopCardId", str)
ShopAccountId = NewType("ShopAccountId", str)
ShopPointsLineId = NewType("ShopPointsLineId", str)

Category = Literal[
    "clothing", "shoes", "electronics", "books", "kitchen", "sports", "toys", "beauty", "garden", "furniture"
]
Delivery = Literal["standard", "express", "same day", "pickup"]
OrderStatus = Literal["placed", "packed", "shipped", "delivered", "cancelled"]
Zone = Literal["inner", "outer", "beyond"]
Reason = Literal["does not fit", "changed my mind", "not as described", "damaged", "wrong item"]
PointsKind = Literal["welcome", "earned", "spent", "given back", "taken back"]

RETURN_DAYS = timedelta(days=14)
PACE = {
    "standard": (timedelta(hours=4), timedelta(hours=20), timedelta(days=3)),
    "express": (timedelta(hours=1), timedelta(hours=4), timedelta(days=1)),
    "same day": (timedelta(minutes=10), timedelta(minutes=20), timedelta(hours=5)),
    "pickup": (timedelta(hours=4), timedelta(hours=20), timedelta(days=2)),
}


class Product(Entity):
    """Something the shop sells; `price` is its cheapest option's, `limit` how many pieces one customer may have."""

    __label__ = "the {title}"
    id: ShopProductId
    title: str
    category: Category
    price: int
    added: Day
    bulky: bool
    stars: int = 0
    ratings: int = 0
    limit: int | None = None

    @cached_property
    def words(self) -> tuple[str, ...]:
        """Return the distinct words of the title."""
        return words_of(self.title)

    @property
    def rating(self) -> str | None:
        """Return the average stars of the reviews, rounded down to a tenth, such as 4.3, or None without reviews."""
        tenths = 10 * self.stars // self.ratings if self.ratings else None
        return None if tenths is None else f"{tenths // 10}.{tenths % 10}"


class Item(Entity):
    """A product in one option; `supply` is all the shop had before a restock, and `stock` what is left of it."""

    __label__ = "the {title} in {option}"
    id: ShopItemId
    product: ShopProductId
    title: str
    option: str
    price: int
    stock: int
    supply: int
    restock: int = 0
    restock_at: Minute | None = None

    @property
    def sold(self) -> bool:
        """Return whether everything stocked before a restock is sold."""
        return self.stock <= 0


class Review(Entity):
    """What a customer thinks of a product; `mine` marks the user's own."""

    id: ShopReviewId
    product: ShopProductId
    author: str
    stars: int
    text: str
    on: Day
    mine: bool | None = None


class Wish(Entity):
    """An item on the wish list; with an alert the shop tells when it is back in stock."""

    __label__ = "the wish for the {title}"
    id: ShopWishId
    item: ShopItemId
    title: str
    option: str
    alert: bool = False


class CartLine(Entity):
    """Some of one item in the cart; `price` is in cents for one piece."""

    __label__ = "the {title} in the cart"
    id: ShopCartLineId
    item: ShopItemId
    product: ShopProductId
    title: str
    option: str
    price: int
    quantity: int


class Line(Entity):
    """Some of one item that was ordered; `returned` pieces of it went back."""

    __label__ = "the ordered {title}"
    id: ShopOrderLineId
    order: ShopOrderId
    item: ShopItemId
    product: ShopProductId
    title: str
    option: str
    price: int
    quantity: int
    returned: int = 0

    @property
    def remaining(self) -> int:
        return self.quantity - self.returned


Lines: TypeAlias = Sequence[CartLine] | Sequence[Line]


class Order(Entity):
    """Something bought. All amounts are in cents; what was paid by points, credit and card is the total."""

    __label__ = "the shop order of the {contents}"
    id: ShopOrderId
    contents: str
    placed: Minute
    address: PlaceId
    delivery: Delivery
    subtotal: int
    discount: int
    shipping: int
    total: int
    points_paid: int
    credit_paid: int
    card_paid: int
    card: ShopCardId
    coupon: ShopCouponId | None = None
    cancelled: bool = False

    @property
    def arrives(self) -> datetime:
        return self.placed + PACE[self.delivery][2]

    def status(self, now: datetime) -> OrderStatus:
        """Return the status of the order at the moment `now`."""
        packed, shipped, delivered = PACE[self.delivery]
        if self.cancelled:
            return "cancelled"
        if now >= self.placed + delivered:
            return "delivered"
        if now >= self.placed + shipped:
            return "shipped"
        return "packed" if now >= self.placed + packed else "placed"


class Return(Entity):
    """Pieces of an ordered item sent back, and the cents that came back for them."""

    __label__ = "the return of the {title}"
    id: ShopReturnId
    order: ShopOrderId
    line: ShopOrderLineId
    title: str
    quantity: int
    reason: Reason
    to_card: int
    to_credit: int
    on: Day


class Coupon(Entity):
    """A discount, by percent or cents, on the whole cart or on one category; `order` is the one it was used for."""

    __label__ = "the {name} coupon"
    id: ShopCouponId
    name: str
    minimum: int
    expires: Day
    percent: int | None = None
    amount: int | None = None
    category: Category | None = None
    applied: bool = False
    order: ShopOrderId | None = None


class GiftCard(Entity):
    """Cents somebody gave; the code is printed on the card and known to its holder alone."""

    __label__ = "the shop gift card from {giver}"
    id: ShopGiftCardId
    giver: str
    amount: int
    code: str
    expires: Day
    redeemed: bool = False


class PaymentCard(Entity):
    """A card stored for paying; its CVV never leaves the shop."""

    __label__ = "the {brand} card ending in {last4}"
    id: ShopCardId
    brand: str
    last4: str
    expires: Day
    cvv: str


class Address(Entity):
    """Where the shop may deliver to: a door of the user's, or a pickup point. Nothing goes beyond the outer zone."""

    __label__ = "{name}"
    id: PlaceId
    name: str
    street: str
    kind: Literal["door", "pickup point"]
    zone: Zone


class PointsLine(Entity):
    """A line of the loyalty points; what an order earns counts from its delivery on."""

    id: ShopPointsLineId
    kind: PointsKind
    points: int
    at: Minute
    order: ShopOrderId | None = None


class Account(Entity):
    """The customer; `credit` is in cents."""

    __label__ = "my shop account"
    id: ShopAccountId
    owner: str
    credit: int


class Shop(State):
    """The shop as one customer meets it."""

    products: Table[ShopProductId, Product] = table("SHPR", "product", index=("words", "category"))
    items: Table[ShopItemId, Item] = table("SHVA", "item", index=("product", "sold"))
    reviews: Table[ShopReviewId, Review] = table("SHRV", "review", index=("product",))
    wishes: Table[ShopWishId, Wish] = table("SHWI", "wish", index=("item",))
    cart_lines: Table[ShopCartLineId, CartLine] = table("SHCL", "line of the cart")
    lines: Table[ShopOrderLineId, Line] = table("SHLN", "line of an order", index=("order", "product"))
    orders: Table[ShopOrderId, Order] = table("SHOR", "shop order")
    returns: Table[ShopReturnId, Return] = table("SHRT", "return", index=("order",))
    coupons: Table[ShopCouponId, Coupon] = table("SHCP", "coupon", index=("applied",))
    gift_cards: Table[ShopGiftCardId, GiftCard] = table("SHGC", "gift card")
    cards: Table[ShopCardId, PaymentCard] = table("SHCC", "payment card")
    addresses: Table[PlaceId, Address] = table("PLC", "delivery address")
    points_lines: Table[ShopPointsLineId, PointsLine] = table("SHPT", "line of points", index=("order",))
    accounts: Table[ShopAccountId, Account] = table("SHAC", "shop account")

    @property
    def account(self) -> Account:
        return next(iter(self.accounts))

    @property
    def cart(self) -> list[CartLine]:
        """Return the lines of the cart."""
        return list(self.cart_lines)

    @property
    def points(self) -> int:
        """Return the points that can be spent now."""
        now = self.now
        return sum([row.points for row in self.points_lines if row.at <= now])

    def available(self, item: Item) -> int:
        """Return how many pieces of an item can be bought now."""
        arrived = item.restock_at is not None and item.restock_at <= self.now
        return item.stock + (item.restock if arrived else 0)

    def in_stock(self, product: ShopProductId) -> bool:
        """Return whether a product can be bought now in one of its options."""
        return any(self.available(item) > 0 for item in self.items.where(product=product))

    def list_ordered_lines(self, product: ShopProductId) -> list[Line]:
        """Return the ordered lines of a product whose order was not cancelled."""
        rows = self.lines.where(product=product)
        return [row for row in rows if not self.orders[row.order].cancelled]


def words_of(text: str) -> tuple[str, ...]:
    """Return the distinct words of a text in lower case."""
    return tuple(dict.fromkeys(text.casefold().split()))
