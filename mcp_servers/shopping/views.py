"""What callers see: short rows in lists, everything about one product or order."""

from __future__ import annotations

from ..kit import Day, Entity, Minute
from ..places import PlaceId
from .state import (
    CartLine,
    Category,
    Delivery,
    OrderStatus,
    ShopAccountId,
    ShopCardId,
    ShopCouponId,
    ShopGiftCardId,
    ShopItemId,
    ShopOrderId,
    ShopOrderLineId,
    ShopProductId,
    ShopWishId,
)


class ProductLine(Entity):
    """A product in a list; `price` is that of its cheapest option, in cents."""

    __label__ = "the {title}"
    id: ShopProductId
    title: str
    price: int
    in_stock: bool
    rating: str | None = None


class ItemLine(Entity):
    """A product in one option, and how many pieces can be bought now."""

    __label__ = "the {title} in {option}"
    id: ShopItemId
    title: str
    option: str
    price: int
    stock: int
    restock_at: Minute | None = None


class ProductDetails(Entity):
    """Everything about a product; `limit` is how many one customer may have."""

    __label__ = "the {title}"
    id: ShopProductId
    title: str
    category: Category
    items: tuple[ItemLine, ...]
    ratings: int
    rating: str | None = None
    limit: int | None = None
    bulky: bool | None = None


class WishLine(Entity):
    """An item on the wish list."""

    __label__ = "the wish for the {title}"
    id: ShopWishId
    item: ShopItemId
    title: str
    option: str
    price: int
    stock: int
    alert: bool


class Cart(Entity):
    """All that is in the cart, and what it costs in cents before delivery."""

    lines: tuple[CartLine, ...]
    subtotal: int
    discount: int
    total: int
    coupon: ShopCouponId | None = None


class CouponLine(Entity):
    """A coupon; `minimum` is what must be in the cart, of its category if it has one, in cents."""

    __label__ = "the {name} coupon"
    id: ShopCouponId
    name: str
    minimum: int
    expires: Day
    percent: int | None = None
    amount: int | None = None
    category: Category | None = None
    used: bool = False
    applied: bool = False


class CardLine(Entity):
    """A stored card without its CVV."""

    __label__ = "the {brand} card ending in {last4}"
    id: ShopCardId
    brand: str
    last4: str
    expires: Day


class GiftCardLine(Entity):
    """A gift card without its code; the amount is in cents."""

    __label__ = "the shop gift card from {giver}"
    id: ShopGiftCardId
    giver: str
    amount: int
    expires: Day
    redeemed: bool


class AccountDetails(Entity):
    """The customer's account: credit in cents, points to spend and points still to come."""

    __label__ = "my shop account"
    id: ShopAccountId
    owner: str
    credit: int
    points: int
    points_to_come: int
    cards: tuple[CardLine, ...]
    gift_cards: tuple[GiftCardLine, ...]


class DeliveryOption(Entity):
    """A way of delivery, its price in cents, and when it would arrive if ordered now."""

    delivery: Delivery
    price: int
    arrives: Minute


class OrderLine(Entity):
    """An order in a list; the total is in cents."""

    __label__ = "the shop order of the {contents}"
    id: ShopOrderId
    contents: str
    status: OrderStatus
    placed: Minute
    total: int


class OrderedItem(Entity):
    """Some of one item that was ordered; `returned` pieces of it went back."""

    __label__ = "the ordered {title}"
    id: ShopOrderLineId
    product: ShopProductId
    title: str
    option: str
    price: int
    quantity: int
    returned: int


class OrderDetails(Entity):
    """Everything about an order; amounts in cents."""

    __label__ = "the shop order of the {contents}"
    id: ShopOrderId
    contents: str
    status: OrderStatus
    placed: Minute
    arrives: Minute
    address: PlaceId
    delivery: Delivery
    items: tuple[OrderedItem, ...]
    subtotal: int
    discount: int
    shipping: int
    total: int
    card_paid: int
    credit_paid: int
    points_paid: int
    return_until: Day
    coupon: ShopCouponId | None = None


class CancelledOrder(Entity):
    """An order that was cancelled, and what came back."""

    __label__ = "the shop order of the {contents}"
    id: ShopOrderId
    contents: str
    status: OrderStatus
    to_card: int
    to_credit: int
    points_back: int
