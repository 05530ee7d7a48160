"""Tools of the shop."""

from __future__ import annotations

from collections.abc import Callable
from itertools import islice
from operator import attrgetter

from ..core import ToolError
from .engine import (
    Payment,
    add_credit,
    book_order,
    book_return,
    cancel_order,
    counts,
    coupon_of,
    discount_of,
    list_delivery_options,
    require_delivery,
    require_in_time,
    require_stock,
    require_unshipped,
    shipping_of,
    subtotal_of,
    usable_card,
    ways_now,
)
from .goods import UNRETURNABLE
from .server import (
    ROWS,
    AddressRef,
    CardRef,
    CartLineRef,
    CategoryParam,
    CouponRef,
    CreditParam,
    Cvv,
    GiftCardRef,
    GiftCode,
    ItemRef,
    Limit,
    NewQuantity,
    OrderedLineRef,
    OrderRef,
    PiecesParam,
    PointsParam,
    PriceParam,
    ProductRef,
    Quantity,
    QueryParam,
    ReviewText,
    Sort,
    SortParam,
    Stars,
    StarsParam,
    StatusParam,
    StockParam,
    WayParam,
    Why,
    WishRef,
    server,
)
from .state import (
    PACE,
    RETURN_DAYS,
    Address,
    CartLine,
    Category,
    Delivery,
    Line,
    Order,
    Product,
    Return,
    Review,
    Shop,
    ShopCouponId,
    ShopOrderLineId,
    Wish,
    words_of,
)
from .views import (
    AccountDetails,
    CancelledOrder,
    Cart,
    CouponLine,
    DeliveryOption,
    OrderDetails,
    OrderLine,
    ProductDetails,
    ProductLine,
    WishLine,
    account_details,
    cart_of,
    coupon_line,
    order_details,
    order_line,
    product_details,
    product_line,
    wish_line,
)

# Tools for the customer's account: points, credit, gift cards, addresses and delivery options.


@server.read()
def get_shop_account(shop: Shop) -> AccountDetails:
    """Get your account: credit in cents, loyalty points, stored cards and gift cards."""
    return account_details(shop)


@server.write(destructive=True, idempotent=True)
def redeem_shop_gift_card(shop: Shop, gift_card: GiftCardRef, code: GiftCode) -> AccountDetails:
    """Turn a gift card into shop credit."""
    card = shop.gift_cards[gift_card]
    if card.redeemed:
        raise ToolError("gift_card_redeemed", f"{gift_card} was redeemed already; its money is in your shop credit.")
    if card.expires < shop.now.date():
        raise ToolError("gift_card_expired", f"{gift_card} expired on {card.expires}; it cannot be redeemed.")
    if code != card.code:
        raise ToolError("wrong_code", f"This is not the code of {gift_card}; ask for the code printed on it.")
    shop.gift_cards.change(gift_card, redeemed=True)
    add_credit(shop, card.amount)
    return account_details(shop)


@server.known_by_heart
def secrets(shop: Shop) -> dict[tuple[str, str], str]:
    """Return what the user can read off the cards: the CVV of each stored card, the code of each gift card."""
    known: dict[tuple[str, str], str] = {(card.id, "cvv"): card.cvv for card in shop.cards}
    known.update({(card.id, "code"): card.code for card in shop.gift_cards})
    return known


@server.read()
def list_shop_addresses(shop: Shop, limit: Limit = ROWS) -> tuple[Address, ...]:
    """List your addresses, and then the pickup points near you."""
    return tuple(shop.addresses)[:limit]


@server.read()
def list_shop_delivery_options(shop: Shop, address: AddressRef) -> tuple[DeliveryOption, ...]:
    """List ways to deliver the cart to an address, with cents and arrival."""
    lines = shop.cart
    subtotal = subtotal_of(lines)
    return tuple(
        DeliveryOption(delivery=way, price=shipping_of(way, subtotal), arrives=shop.now + PACE[way][2])
        for way in ways_now(shop, shop.addresses[address], lines)
    )


# Tools for the cart and its coupons.

MOST_LINES = 20


@server.read()
def show_shop_cart(shop: Shop) -> Cart:
    """Show the cart with its lines, coupon and total in cents."""
    return cart_of(shop)


@server.write()
def add_to_shop_cart(shop: Shop, item: ItemRef, quantity: Quantity) -> CartLine:
    """Add pieces of an item to the cart, on top of those in it."""
    row = shop.items[item]
    lines = shop.cart
    line = next((line for line in lines if line.item == item), None)
    require_stock(shop, row, quantity + (line.quantity if line else 0))
    if line is not None:
        return shop.cart_lines.change(line.id, quantity=line.quantity + quantity)
    if len(lines) >= MOST_LINES:
        raise ToolError("cart_full", f"The cart holds {MOST_LINES} different items; check out or take one out first.")
    new = CartLine.from_row(row, id=shop.cart_lines.new_id(), item=item, quantity=quantity)
    return shop.cart_lines.put(new)


@server.write(idempotent=True)
def set_shop_cart_quantity(shop: Shop, line: CartLineRef, quantity: NewQuantity) -> Cart:
    """Set how many pieces of an item the cart holds; 0 takes it out."""
    row = shop.cart_lines[line]
    if quantity > row.quantity:
        require_stock(shop, shop.items[row.item], quantity)
    if quantity:
        shop.cart_lines.change(line, quantity=quantity)
    else:
        shop.cart_lines.remove(line)
    return cart_of(shop)


@server.read()
def list_shop_coupons(shop: Shop, limit: Limit = ROWS) -> tuple[CouponLine, ...]:
    """List your coupons with their conditions, the next to expire first; spent ones last."""
    today = shop.now.date()
    rows = sorted(shop.coupons, key=lambda row: (row.order is not None or row.expires < today, row.expires, row.id))
    return tuple(coupon_line(row) for row in rows[:limit])


@server.write(idempotent=True)
def apply_shop_coupon(shop: Shop, coupon: CouponRef) -> Cart:
    """Apply a coupon to the cart, in place of another one."""
    row = shop.coupons[coupon]
    if row.applied and counts(shop, row, shop.cart):
        raise ToolError("coupon_applied", f"{coupon} is applied to the cart already; check out to use it.")
    require_usable(shop, coupon)
    for other in shop.coupons.where(applied=True):
        shop.coupons.change(other.id, applied=False)
    shop.coupons.change(coupon, applied=True)
    return cart_of(shop)


def require_usable(shop: Shop, id: ShopCouponId) -> None:
    """Raise ToolError unless the coupon can be used for the cart today."""
    coupon, lines = shop.coupons[id], shop.cart
    if coupon.order is not None:
        raise ToolError("coupon_used", f"{id} was used for {coupon.order}; a coupon is used once.")
    if coupon.expires < shop.now.date():
        raise ToolError("coupon_expired", f"{id} expired on {coupon.expires}; use another coupon.")
    if not lines:
        raise ToolError("cart_empty", "There is nothing in the cart; add an item first.")
    fitting = subtotal_of(lines, shop, coupon.category)
    if fitting == 0:
        raise ToolError("wrong_category", f"{id} is for {coupon.category} only; add something of that category.")
    if fitting < coupon.minimum:
        missing = f"{coupon.minimum - fitting} cents more" + (f" of {coupon.category}" if coupon.category else "")
        raise ToolError("minimum_not_met", f"{id} needs {missing} in the cart; add something.")


# Tools for the catalogue: products and their reviews.

SORT_KEYS: dict[Sort, Callable[[Product], int]] = {
    "best rated": lambda product: -1000 * product.stars // max(product.ratings, 1),
    "cheapest": lambda product: product.price,
    "dearest": lambda product: -product.price,
    "newest": lambda product: -product.added.toordinal(),
}


@server.read()
def search_shop_products(
    shop: Shop,
    query: QueryParam = None,
    category: CategoryParam = None,
    max_price: PriceParam = None,
    min_stars: StarsParam = None,
    in_stock: StockParam = None,
    sort: SortParam = "best rated",
    limit: Limit = ROWS,
) -> tuple[ProductLine, ...]:
    """Search the shop's products by words, category, price, rating and stock."""
    lacking = {item.product for item in shop.items.where(sold=True)} if in_stock is False else None
    rows = [
        row
        for row in match_products(shop, query, category)
        if (max_price is None or row.price <= max_price)
        and (min_stars is None or (row.ratings > 0 and row.stars >= min_stars * row.ratings))
        and (lacking is None or row.id in lacking)
    ]
    rows.sort(key=attrgetter("id"))
    rows.sort(key=SORT_KEYS[sort])
    found = (row for row in rows if in_stock is None or shop.in_stock(row.id) == in_stock)
    return tuple([product_line(shop, row) for row in islice(found, limit)])


def match_products(shop: Shop, query: str | None, category: Category | None) -> list[Product]:
    """Return the products with all these words in the title, of this category."""
    words = words_of(query or "")
    if not words:
        return list(shop.products) if category is None else shop.products.where(category=category)
    rows = shop.products.where(words=words[0])
    return [row for row in rows if category in (None, row.category) and all(word in row.words for word in words[1:])]


@server.read()
def get_shop_product(shop: Shop, product: ProductRef) -> ProductDetails:
    """Get a product with its items: each option with its price and stock."""
    return product_details(shop, shop.products[product])


@server.read()
def list_shop_reviews(shop: Shop, product: ProductRef, limit: Limit = ROWS) -> tuple[Review, ...]:
    """List the reviews of a product, newest first."""
    rows = shop.reviews.where(product=shop.products[product].id)
    return tuple(sorted(reversed(rows), key=lambda row: row.on, reverse=True)[:limit])


@server.write(idempotent=True)
def review_shop_product(shop: Shop, product: ProductRef, stars: Stars, text: ReviewText) -> Review:
    """Review a product that was delivered to you."""
    row = shop.products[product]
    orders = [shop.orders[line.order] for line in shop.list_ordered_lines(product)]
    if not orders:
        raise ToolError("not_bought", f"You never bought the {row.title}; only buyers review a product.")
    if all(order.status(shop.now) != "delivered" for order in orders):
        raise ToolError("not_delivered", f"The {row.title} is still on its way; review it after its delivery.")
    if any(review.mine for review in shop.reviews.where(product=product)):
        raise ToolError("already_reviewed", f"You have reviewed the {row.title}; a product is reviewed once.")
    shop.products.change(product, stars=row.stars + stars, ratings=row.ratings + 1)
    return shop.reviews.put(
        Review(
            id=shop.reviews.new_id(),
            product=product,
            author=shop.account.owner.split()[0],
            stars=stars,
            text=text,
            on=shop.now.date(),
            mine=True,
        )
    )


# The tool that turns the cart into an order.


@server.write(idempotent=True)
def check_out_shop_cart(
    shop: Shop,
    card: CardRef,
    cvv: Cvv,
    address: AddressRef,
    delivery: WayParam = None,
    points: PointsParam = 0,
    use_credit: CreditParam = False,
) -> OrderDetails:
    """Order all that is in the cart and pay by a stored card."""
    payer, target, lines = shop.cards[card], shop.addresses[address], shop.cart
    if not lines:
        raise ToolError("cart_empty", "There is nothing in the cart; add an item first.")
    for line in lines:
        require_stock(shop, shop.items[line.item], line.quantity)
    way = delivery or list_delivery_options(target)[0]
    require_delivery(shop, target, way, lines)
    require_in_time(shop, way)
    if points:
        require_points(shop, way, points)
    payer = usable_card(shop, card, cvv)
    order = book_order(shop, target, way, Payment(payer, points, use_credit))
    return order_details(shop, order)


def require_points(shop: Shop, delivery: Delivery, points: int) -> None:
    """Raise ToolError when the points exceed the customer's points or the cost of the order."""
    lines, owned = shop.cart, shop.points
    if points > owned:
        raise ToolError("not_enough_points", f"You have {owned} points to spend; use fewer.")
    subtotal = subtotal_of(lines)
    total = subtotal - discount_of(shop, coupon_of(shop, lines), lines) + shipping_of(delivery, subtotal)
    if points > total:
        raise ToolError("too_many_points", f"The order costs {total} cents; use at most {total} points.")


# Tools for orders after checkout: tracking, changing the address, cancelling, returning.

FAULTS = ("damaged", "wrong item")


@server.read()
def list_shop_orders(shop: Shop, status: StatusParam = None, limit: Limit = ROWS) -> tuple[OrderLine, ...]:
    """List your orders at the shop, newest first."""
    rows = sorted(shop.orders, key=attrgetter("placed", "id"), reverse=True)
    found = (row for row in rows if status in (None, row.status(shop.now)))
    return tuple([order_line(shop, row) for row in islice(found, limit)])


@server.read()
def get_shop_order(shop: Shop, order: OrderRef) -> OrderDetails:
    """Get an order with its status, items, payment and last day of return."""
    return order_details(shop, shop.orders[order])


@server.write(destructive=True, idempotent=True)
def cancel_shop_order(shop: Shop, order: OrderRef) -> CancelledOrder:
    """Cancel an order that is not shipped yet, and get everything paid back."""
    row = cancel_order(shop, require_unshipped(shop, order))
    return CancelledOrder(
        id=row.id,
        contents=row.contents,
        status=row.status(shop.now),
        to_card=row.card_paid,
        to_credit=row.credit_paid,
        points_back=row.points_paid,
    )


@server.write(idempotent=True)
def change_shop_order_address(shop: Shop, order: OrderRef, address: AddressRef) -> OrderDetails:
    """Send an order that is not packed yet to another address."""
    row, target = require_unshipped(shop, order), shop.addresses[address]
    if row.status(shop.now) == "packed":
        raise ToolError("order_already_packed", f"Order {order} is packed and labelled; cancel it and order anew.")
    if row.address == address:
        raise ToolError("same_address", f"Order {order} goes to {target.name} already; choose another address.")
    require_delivery(shop, target, row.delivery, shop.lines.where(order=order))
    return order_details(shop, shop.orders.change(order, address=address))


@server.write(destructive=True)
def return_shop_item(shop: Shop, line: OrderedLineRef, reason: Why, quantity: PiecesParam = 1) -> Return:
    """Return pieces of an ordered item within 14 days of delivery, for a refund."""
    row, order = returnable(shop, line)
    if shop.products[row.product].category in UNRETURNABLE and reason not in FAULTS:
        raise ToolError("not_returnable", f"The {row.title} goes back only if it is damaged or the wrong item.")
    if row.remaining == 0:
        raise ToolError("already_returned", f"All of {line} was returned already; nothing is left to return.")
    if quantity > row.remaining:
        raise ToolError("too_many_pieces", f"Only {row.remaining} pieces of {line} are left to return; return fewer.")
    return book_return(shop, order, row, quantity, reason)


def returnable(shop: Shop, id: ShopOrderLineId) -> tuple[Line, Order]:
    """Return a line and its order. Raises ToolError unless the order arrived within the return period."""
    line = shop.lines[id]
    order = shop.orders[line.order]
    if order.cancelled:
        raise ToolError("order_cancelled", f"Order {order.id} is cancelled; nothing of it came.")
    if order.status(shop.now) != "delivered":
        raise ToolError("not_delivered", f"Order {order.id} is not delivered yet; return it after it has come.")
    if shop.now > order.arrives + RETURN_DAYS:
        raise ToolError(
            "return_window_passed", f"Order {order.id} could be returned until {(order.arrives + RETURN_DAYS).date()}."
        )
    return line, order


# Tools for the wish list and its back-in-stock alerts.

MOST_WISHES = 50


@server.read()
def show_shop_wish_list(shop: Shop, limit: Limit = ROWS) -> tuple[WishLine, ...]:
    """Show the wish list with prices, stock and alerts, the latest wishes first."""
    return tuple(wish_line(shop, row) for row in list(shop.wishes)[::-1][:limit])


@server.write(idempotent=True)
def add_to_shop_wish_list(shop: Shop, item: ItemRef) -> Wish:
    """Add an item to the wish list."""
    row = shop.items[item]
    known = shop.wishes.where(item=item)
    if known:
        raise ToolError("already_wished", f"{known[0].id} is a wish for {item} already; choose another item.")
    if len(shop.wishes) >= MOST_WISHES:
        raise ToolError("wish_list_full", f"The wish list holds {MOST_WISHES} items; remove one first.")
    return shop.wishes.put(Wish(id=shop.wishes.new_id(), item=item, title=row.title, option=row.option))


@server.write(idempotent=True)
def remove_from_shop_wish_list(shop: Shop, wish: WishRef) -> Wish:
    """Remove a wish, and its alert, from the wish list."""
    return shop.wishes.remove(wish)


@server.write(idempotent=True)
def set_shop_restock_alert(shop: Shop, wish: WishRef) -> Wish:
    """Set an alert for a wish that is out of stock."""
    row = shop.wishes[wish]
    left = shop.available(shop.items[row.item])
    if left:
        raise ToolError("in_stock", f"The {row.title} is in stock, {left} pieces; add it to the cart right away.")
    if row.alert:
        raise ToolError("alert_exists", f"{wish} has an alert already; nothing is left to do.")
    return shop.wishes.change(wish, alert=True)
