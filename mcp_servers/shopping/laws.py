"""Invariants of the shop: they hold in every state that a session can reach."""

from __future__ import annotations

from collections import Counter

from .engine import MOST_PIECES, contents_of, net_of, points_for, shipping_of
from .server import server
from .state import PACE, RETURN_DAYS, Shop


@server.invariant
def stock_is_conserved(shop: Shop) -> bool:
    """Stock plus sold units of an item equal its supply, and the available units are never negative."""
    sold = Counter[str]()
    for line in shop.lines:
        if not shop.orders[line.order].cancelled:
            sold[line.item] += line.remaining
    return all(row.stock + sold[row.id] == row.supply and shop.available(row) >= 0 for row in shop.items)


@server.invariant
def products_cost_what_their_cheapest_item_does(shop: Shop) -> bool:
    """Every item is an option of a product, no two the same one, and a product's price is its lowest."""
    for product in shop.products:
        items = shop.items.where(product=product.id)
        options = [item.option for item in items]
        if not items or len(dict.fromkeys(options)) < len(options) or product.price != min(row.price for row in items):
            return False
    return all(item.product in shop.products and item.price > 0 for item in shop.items)


@server.invariant
def the_cart_is_in_order(shop: Shop) -> bool:
    """Lines are of existing items at their prices; the cart has one line for each item, and some pieces of each."""
    cart, lines = [line.item for line in shop.cart], [*shop.cart, *shop.lines]
    return len(dict.fromkeys(cart)) == len(cart) and all(
        line.item in shop.items
        and (line.product, line.price) == (shop.items[line.item].product, shop.items[line.item].price)
        and 0 < line.quantity <= MOST_PIECES
        for line in lines
    )


@server.invariant
def totals_add_up(shop: Shop) -> bool:
    """An order's total is its lines less the discount plus shipping, and is what points, credit and card paid."""
    if any(line.order not in shop.orders for line in shop.lines):
        return False
    for order in shop.orders:
        lines = shop.lines.where(order=order.id)
        if not lines or order.contents != contents_of(lines):
            return False
        subtotal, paid = sum(line.price * line.quantity for line in lines), (order.points_paid, order.credit_paid)
        if order.subtotal != subtotal or not 0 <= order.discount <= subtotal:
            return False
        if order.shipping != shipping_of(order.delivery, subtotal) or min(*paid, order.card_paid) < 0:
            return False
        if not order.total == subtotal - order.discount + order.shipping == sum(paid) + order.card_paid:
            return False
    return True


@server.invariant
def a_coupon_is_used_once(shop: Shop) -> bool:
    """A used coupon and its order, which is not cancelled, know each other; one unused coupon at most is applied."""
    used = {str(row.id): row.order for row in shop.coupons if row.order is not None}
    live = [row for row in shop.orders if row.coupon is not None and not row.cancelled]
    applied = [row for row in shop.coupons if row.applied]
    return (
        {str(row.coupon): row.id for row in live} == used
        and len(live) == len(used)
        and len(applied) <= 1
        and all(row.order is None for row in applied)
        and all(row.coupon is not None or row.discount == 0 for row in shop.orders)
    )


@server.invariant
def credit_equals_its_sources(shop: Shop) -> bool:
    """The credit is what gift cards and returns brought less what orders took, and never below zero."""
    brought = sum(card.amount for card in shop.gift_cards if card.redeemed) + sum(r.to_credit for r in shop.returns)
    taken = sum(order.credit_paid for order in shop.orders if not order.cancelled)
    return shop.account.credit == brought - taken >= 0


@server.invariant
def points_follow_the_orders(shop: Shop) -> bool:
    """Each order spends, earns, gives back and takes back the points it should, and the points never run below zero."""
    for order in shop.orders:
        lines = shop.points_lines.where(order=order.id)
        sums = Counter[str]()
        for line in lines:
            sums[line.kind] += line.points
        earned = 0 if order.cancelled else points_for(order.subtotal - order.discount)
        back = order.points_paid if order.cancelled else 0
        if (sums["spent"], sums["earned"], sums["given back"]) != (-order.points_paid, earned, back):
            return False
        if not -earned <= sums["taken back"] <= 0:
            return False
        if any(line.kind == "earned" and line.at != order.arrives for line in lines):
            return False
    return shop.points >= 0


@server.invariant
def refunds_are_for_what_went_back(shop: Shop) -> bool:
    """Returned pieces are those of the returns, no more than bought, from delivered orders, refunded to the cent."""
    pieces = Counter[str]()
    for row in shop.returns:
        order, line = shop.orders[row.order], shop.lines[row.line]
        pieces[row.line] += row.quantity
        first, last = order.arrives.date(), (order.arrives + RETURN_DAYS).date()
        if order.cancelled or line.order != order.id or row.quantity < 1 or not first <= row.on <= last:
            return False
    for order in shop.orders:
        rows, lines = shop.returns.where(order=order.id), shop.lines.where(order=order.id)
        remaining = net_of(sum(line.price * line.remaining for line in lines), order.discount, order.subtotal)
        back = [(row.to_card, row.to_credit) for row in rows]
        if sum(map(sum, back)) != order.subtotal - order.discount - remaining or min(map(min, back), default=0) < 0:
            return False
        if sum(card for card, _ in back) > order.card_paid:
            return False
    return all(line.returned == pieces[line.id] <= line.quantity for line in shop.lines)


@server.invariant
def nobody_has_more_than_the_limit(shop: Shop) -> bool:
    """Of a limited product, the customer's bought units and those in the cart stay within the limit."""
    count = Counter[str]()
    for waiting in shop.cart:
        count[waiting.product] += waiting.quantity
    for line in shop.lines:
        if not shop.orders[line.order].cancelled:
            count[line.product] += line.remaining
    return all(row.limit is None or count[row.id] <= row.limit for row in shop.products)


@server.invariant
def ratings_equal_the_reviews(shop: Shop) -> bool:
    """A product's stars are those of its reviews; the customer's own are one for each product, all of it delivered."""
    stars, ratings, mine = Counter[str](), Counter[str](), Counter[str]()
    for review in shop.reviews:
        stars[review.product] += review.stars
        ratings[review.product] += 1
        mine[review.product] += bool(review.mine)
    if any((row.stars, row.ratings) != (stars[row.id], ratings[row.id]) or mine[row.id] > 1 for row in shop.products):
        return False
    arrived = {line.product for line in shop.lines if shop.orders[line.order].arrives <= shop.now}
    return all(not review.mine or review.product in arrived for review in shop.reviews)


@server.invariant
def orders_go_where_the_shop_delivers(shop: Shop) -> bool:
    """An order goes to an address within reach, in a way that is offered there; bulky goods go to doors alone."""
    for order in shop.orders:
        address = shop.addresses[order.address]
        bulky = any(shop.products[line.product].bulky for line in shop.lines.where(order=order.id))
        if address.zone == "beyond" or order.delivery not in PACE or order.card not in shop.cards:
            return False
        if (address.kind == "pickup point") != (order.delivery == "pickup") or (bulky and order.delivery != "standard"):
            return False
        if order.delivery == "same day" and address.zone != "inner":
            return False
    return True


@server.invariant
def a_wish_is_made_once(shop: Shop) -> bool:
    """Every wish is for an existing item, and no two are for one."""
    items = [wish.item for wish in shop.wishes]
    return len(dict.fromkeys(items)) == len(items) and all(item in shop.items for item in items)
