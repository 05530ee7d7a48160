"""Views of the shop that the tools return: short rows for lists, full details for one product or order."""

from __future__ import annotations

from ..core import Day, Entity, Minute
from ..shared.places import PlaceId
from .engine import coupon_of, discount_of, subtotal_of
from .state import (
    RETURN_DAYS,
    CartLine,
    Category,
    Coupon,
    Delivery,
    GiftCard,
    Item,
    Line,
    Order,
    OrderStatus,
    PaymentCard,
    Product,
    Shop,
    ShopAccountId,
    ShopCardId,
    ShopCouponId,
    ShopGiftCardId,
    ShopItemId,
    ShopOrderId,
    ShopOrderLineId,
    ShopProductId,
    ShopWishId,
    Wish,
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


# Functions that build the short and full views of products, wishes, the cart, the account and orders.


def item_line(shop: Shop, item: Item) -> ItemLine:
    later = item.restock_at if item.restock_at is not None and item.restock_at > shop.now else None
    return ItemLine.from_row(item, stock=shop.available(item), restock_at=later)


def product_line(shop: Shop, product: Product) -> ProductLine:
    return ProductLine.from_row(product, in_stock=shop.in_stock(product.id))


def product_details(shop: Shop, product: Product) -> ProductDetails:
    return ProductDetails.from_row(
        product,
        items=tuple(item_line(shop, item) for item in shop.items.where(product=product.id)),
        bulky=product.bulky or None,
    )


def wish_line(shop: Shop, wish: Wish) -> WishLine:
    item = shop.items[wish.item]
    return WishLine(
        id=wish.id,
        item=item.id,
        title=item.title,
        option=item.option,
        price=item.price,
        stock=shop.available(item),
        alert=wish.alert,
    )


def cart_of(shop: Shop) -> Cart:
    lines = shop.cart
    coupon, subtotal = coupon_of(shop, lines), subtotal_of(lines)
    discount = discount_of(shop, coupon, lines)
    return Cart(
        lines=tuple(lines),
        subtotal=subtotal,
        discount=discount,
        total=subtotal - discount,
        coupon=coupon.id if coupon else None,
    )


def coupon_line(coupon: Coupon) -> CouponLine:
    return CouponLine.from_row(coupon, used=coupon.order is not None)


def card_line(card: PaymentCard) -> CardLine:
    return CardLine.from_row(card)


def gift_card_line(card: GiftCard) -> GiftCardLine:
    return GiftCardLine.from_row(card)


def account_details(shop: Shop) -> AccountDetails:
    account, points = shop.account, shop.points
    return AccountDetails.from_row(
        account,
        points=points,
        points_to_come=sum([row.points for row in shop.points_lines]) - points,
        cards=tuple(map(card_line, shop.cards)),
        gift_cards=tuple(map(gift_card_line, shop.gift_cards)),
    )


def order_line(shop: Shop, order: Order) -> OrderLine:
    return OrderLine.from_row(order, status=order.status(shop.now))


def ordered_item(line: Line) -> OrderedItem:
    return OrderedItem.from_row(line)


def order_details(shop: Shop, order: Order) -> OrderDetails:
    return OrderDetails.from_row(
        order,
        status=order.status(shop.now),
        items=tuple(map(ordered_item, shop.lines.where(order=order.id))),
        return_until=(order.arrives + RETURN_DAYS).date(),
    )
