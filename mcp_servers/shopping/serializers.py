"""How rows are shown: the short and the full view of products, wishes, the cart, the account and orders."""

from __future__ import annotations

from .pricing import coupon_of, discount_of, subtotal_of
from .state import RETURN_DAYS, Coupon, GiftCard, Item, Line, Order, PaymentCard, Product, Shop, Wish
from .views import (
    AccountDetails,
    CardLine,
    Cart,
    CouponLine,
    GiftCardLine,
    ItemLine,
    OrderDetails,
    OrderedItem,
    OrderLine,
    ProductDetails,
    ProductLine,
    WishLine,
)


def item_line(shop: Shop, item: Item) -> ItemLine:
    later = item.restock_at if item.restock_at is not None and item.restock_at > shop.now else None
    return ItemLine(
        id=item.id,
        title=item.title,
        option=item.option,
        price=item.price,
        stock=shop.available(item),
        restock_at=later,
    )


def product_line(shop: Shop, product: Product) -> ProductLine:
    return ProductLine(
        id=product.id,
        title=product.title,
        price=product.price,
        in_stock=shop.in_stock(product.id),
        rating=product.rating,
    )


def product_details(shop: Shop, product: Product) -> ProductDetails:
    return ProductDetails(
        id=product.id,
        title=product.title,
        category=product.category,
        items=tuple(item_line(shop, item) for item in shop.items.where(product=product.id)),
        ratings=product.ratings,
        rating=product.rating,
        limit=product.limit,
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
    return CouponLine(
        id=coupon.id,
        name=coupon.name,
        minimum=coupon.minimum,
        expires=coupon.expires,
        percent=coupon.percent,
        amount=coupon.amount,
        category=coupon.category,
        used=coupon.order is not None,
        applied=coupon.applied,
    )


def card_line(card: PaymentCard) -> CardLine:
    return CardLine(id=card.id, brand=card.brand, last4=card.last4, expires=card.expires)


def gift_card_line(card: GiftCard) -> GiftCardLine:
    return GiftCardLine(id=card.id, giver=card.giver, amount=card.amount, expires=card.expires, redeemed=card.redeemed)


def account_details(shop: Shop) -> AccountDetails:
    account, points = shop.account, shop.points
    return AccountDetails(
        id=account.id,
        owner=account.owner,
        credit=account.credit,
        points=points,
        points_to_come=sum([row.points for row in shop.points_lines]) - points,
        cards=tuple(map(card_line, shop.cards)),
        gift_cards=tuple(map(gift_card_line, shop.gift_cards)),
    )


def order_line(shop: Shop, order: Order) -> OrderLine:
    return OrderLine(
        id=order.id,
        contents=order.contents,
        status=order.status(shop.now),
        placed=order.placed,
        total=order.total,
    )


def ordered_item(line: Line) -> OrderedItem:
    return OrderedItem(
        id=line.id,
        product=line.product,
        title=line.title,
        option=line.option,
        price=line.price,
        quantity=line.quantity,
        returned=line.returned,
    )


def order_details(shop: Shop, order: Order) -> OrderDetails:
    return OrderDetails(
        id=order.id,
        contents=order.contents,
        status=order.status(shop.now),
        placed=order.placed,
        arrives=order.arrives,
        address=order.address,
        delivery=order.delivery,
        items=tuple(map(ordered_item, shop.lines.where(order=order.id))),
        subtotal=order.subtotal,
        discount=order.discount,
        shipping=order.shipping,
        total=order.total,
        card_paid=order.card_paid,
        credit_paid=order.credit_paid,
        points_paid=order.points_paid,
        return_until=(order.arrives + RETURN_DAYS).date(),
        coupon=order.coupon,
    )
