"""What the shop sells, delivers, refunds and refuses, checked through its own tools in small worlds."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from datetime import datetime, time, timedelta
from typing import Any

import pytest
from calling import change_state, do, refused, small_worlds

from mcp_servers.core import Session
from mcp_servers.shopping import server
from mcp_servers.shopping.state import Address, CartLine, GiftCard, Item, PaymentCard, Product, Shop

STANDARD = {"delivery": "standard"}


def worlds(size: str = "small") -> Iterator[Session[Shop]]:
    return small_worlds(server, size)


def a_world(holds: Callable[[Shop], Any], size: str = "small") -> Session[Shop]:
    """A fresh session in the first world of which this holds."""
    return next(session for session in worlds(size) if holds(session.state))


def wait(session: Session[Shop], **time: int) -> None:
    """Let time pass, as writes on other servers of a world do."""
    now = session.state.now + timedelta(**time)
    assert session.call("add_to_shop_wish_list", {"item": next(unwished(session.state)).id}, now=now).ok


def unwished(shop: Shop) -> Iterator[Item]:
    return (item for item in shop.items if not shop.wishes.where(item=item.id))


def card_of(session: Session[Shop]) -> dict[str, str]:
    """A valid card and its CVV, as arguments."""
    card = next(iter(session.state.cards))
    return {"card": card.id, "cvv": card.cvv}


def door(session: Session[Shop]) -> str:
    return next(row.id for row in session.state.addresses)


def pickup(session: Session[Shop]) -> Address:
    return next(row for row in session.state.addresses if row.kind == "pickup point")


def product_of(shop: Shop, item: Item) -> Product:
    return shop.products[item.product]


def handy(shop: Shop) -> Item | None:
    """An item new to this customer, of which anybody may have many and that goes anywhere."""
    for item in shop.items:
        product = product_of(shop, item)
        if shop.list_ordered_lines(product.id):
            continue
        if item.stock >= 8 and not product.bulky and product.limit is None and product.category != "beauty":
            return item
    return None


@pytest.fixture
def shop() -> Session[Shop]:
    """A shop with a handy item, and a cart that holds three pieces of it and nothing else."""
    session = a_world(handy)
    for line in session.state.cart:
        do(session, "set_shop_cart_quantity", line=line.id, quantity=0)
    item = handy(session.state)
    assert item is not None
    do(session, "add_to_shop_cart", item=item.id, quantity=3)
    return session


def cart_line(session: Session[Shop]) -> CartLine:
    return session.state.cart[0]


def buy(session: Session[Shop], **changes: Any) -> Any:
    wanted = {**card_of(session), "address": door(session), "delivery": "standard", **changes}
    return do(session, "check_out_shop_cart", **wanted)


def not_bought(session: Session[Shop], **changes: Any) -> str:
    wanted = {**card_of(session), "address": door(session), "delivery": "standard", **changes}
    return refused(session, "check_out_shop_cart", **wanted)


def test_a_search_narrows_by_words_category_price_rating_and_stock() -> None:
    session = server.open(3, "default")
    everything = do(session, "search_shop_products", limit=50, sort="cheapest")
    assert len(everything) == 50
    assert [row["price"] for row in everything] == sorted(row["price"] for row in everything)
    brand, _, *rest = everything[0]["title"].upper().split()
    found = do(session, "search_shop_products", query=" ".join([*rest, brand]), limit=50)
    assert everything[0] in found
    assert all({brand.lower(), *map(str.lower, rest)} <= set(row["title"].lower().split()) for row in found)
    assert do(session, "search_shop_products", query="no such thing") == []
    price = everything[3]["price"]
    cheap = do(session, "search_shop_products", max_price=price, limit=50)
    assert {row["id"] for row in cheap} == {row["id"] for row in everything if row["price"] <= price}
    shoes = do(session, "search_shop_products", category="shoes", limit=50)
    assert {session.state.products[row["id"]].category for row in shoes} == {"shoes"} and len(shoes) == 20
    word = shoes[0]["title"].split()[0]
    both = do(session, "search_shop_products", category="shoes", query=word, limit=50)
    assert both == [row for row in shoes if word in row["title"].split()]
    assert len(do(session, "search_shop_products")) == 5


def test_the_best_rated_and_the_newest_and_the_dearest_come_first() -> None:
    session = server.open(3, "default")
    products = session.state.products
    best = do(session, "search_shop_products", min_stars=4, limit=50)
    assert all(row["rating"] >= "4.0" for row in best)
    averages = [products[row["id"]].stars / products[row["id"]].ratings for row in best]
    assert averages == sorted(averages, reverse=True) and averages[0] == 5 > averages[-1]
    some = do(session, "search_shop_products", category="toys", min_stars=4, limit=50)
    assert {row["id"] for row in some} == {
        row.id for row in products if row.category == "toys" and row.ratings and row.stars / row.ratings >= 4
    }
    newest = [products[row["id"]].added for row in do(session, "search_shop_products", sort="newest", limit=50)]
    assert newest == sorted(newest, reverse=True) and newest[0] == max(row.added for row in products)
    dear = [row["price"] for row in do(session, "search_shop_products", sort="dearest", limit=50)]
    assert dear == sorted(dear, reverse=True)


def test_what_is_in_stock_is_distinguished_from_what_is_not() -> None:
    session = server.open(3, "default")
    gone = do(session, "search_shop_products", in_stock=False, limit=50)
    here = do(session, "search_shop_products", in_stock=True, limit=50)
    for rows, there in ((gone, False), (here, True)):
        for row in rows:
            items = do(session, "get_shop_product", product=row["id"])["items"]
            assert row["in_stock"] == there == any(item["stock"] > 0 for item in items)
            assert row["price"] == min(item["price"] for item in items)
    assert gone and here


def test_a_product_shows_its_options_its_rating_and_its_limit() -> None:
    session = a_world(lambda shop: any(row.limit and row.ratings and row.bulky for row in shop.products), "default")
    row = next(row for row in session.state.products if row.limit and row.ratings and row.bulky)
    details = do(session, "get_shop_product", product=row.id)
    assert (details["limit"], details["ratings"], details["bulky"]) == (row.limit, row.ratings, True)
    assert details["rating"] == f"{10 * row.stars // row.ratings / 10:.1f}"
    assert [item["id"] for item in details["items"]] == [item.id for item in session.state.items.where(product=row.id)]


def test_reviews_are_newest_first() -> None:
    session = server.open(3, "default")
    row = max(session.state.products, key=lambda row: row.ratings)
    days = [review["on"] for review in do(session, "list_shop_reviews", product=row.id)]
    assert days == sorted(days, reverse=True) and len(days) == 3
    assert len(do(session, "list_shop_reviews", product=row.id, limit=1)) == 1


def test_a_delivered_product_is_reviewed_once(shop: Session[Shop]) -> None:
    product = cart_line(shop).product
    review = {"product": product, "stars": 2, "text": "It arrived with a scratch"}
    assert refused(shop, "review_shop_product", **review) == "not_bought"
    buy(shop)
    assert refused(shop, "review_shop_product", **review) == "not_delivered"
    wait(shop, days=4)
    before = shop.state.products[product]
    new = do(shop, "review_shop_product", **review)
    assert new["mine"] and new["author"] == shop.state.account.owner.split()[0]
    after = shop.state.products[product]
    assert (after.stars, after.ratings) == (before.stars + 2, before.ratings + 1)
    assert do(shop, "list_shop_reviews", product=product)[0] == new
    assert refused(shop, "review_shop_product", **review) == "already_reviewed"


def test_a_cancelled_order_gives_no_right_to_review(shop: Session[Shop]) -> None:
    product = cart_line(shop).product
    do(shop, "cancel_shop_order", order=buy(shop)["id"])
    assert refused(shop, "review_shop_product", product=product, stars=5, text="Lovely") == "not_bought"


def test_a_wish_is_made_listed_and_removed(shop: Session[Shop]) -> None:
    item = next(unwished(shop.state))
    wish = do(shop, "add_to_shop_wish_list", item=item.id)
    assert refused(shop, "add_to_shop_wish_list", item=item.id) == "already_wished"
    first = do(shop, "show_shop_wish_list")[0]
    assert (first["id"], first["price"], first["stock"]) == (wish["id"], item.price, shop.state.available(item))
    do(shop, "remove_from_shop_wish_list", wish=wish["id"])
    assert refused(shop, "remove_from_shop_wish_list", wish=wish["id"]) == "not_found"
    assert wish["id"] not in [row["id"] for row in do(shop, "show_shop_wish_list", limit=50)]


def test_the_wish_list_holds_fifty() -> None:
    session = server.open(1, "default")
    for item in list(unwished(session.state))[: 50 - len(session.state.wishes)]:
        do(session, "add_to_shop_wish_list", item=item.id)
    assert refused(session, "add_to_shop_wish_list", item=next(unwished(session.state)).id) == "wish_list_full"


def test_an_alert_is_for_what_is_sold_out_until_it_is_back() -> None:
    def sold_out(shop: Shop) -> Any:
        return [wish for wish in shop.wishes if shop.items[wish.item].restock_at and not wish.alert]

    session = a_world(sold_out)
    wish = sold_out(session.state)[0]
    item = session.state.items[wish.item]
    assert do(session, "set_shop_restock_alert", wish=wish.id)["alert"]
    assert refused(session, "set_shop_restock_alert", wish=wish.id) == "alert_exists"
    assert refused(session, "add_to_shop_cart", item=item.id, quantity=1) == "out_of_stock"
    listed = next(row for row in do(session, "get_shop_product", product=item.product)["items"] if row["id"] == item.id)
    assert listed["stock"] == 0 and "restock_at" in listed
    wait(session, days=13)
    assert refused(session, "set_shop_restock_alert", wish=wish.id) == "in_stock"
    listed = next(row for row in do(session, "get_shop_product", product=item.product)["items"] if row["id"] == item.id)
    assert listed["stock"] == item.restock and "restock_at" not in listed
    do(session, "add_to_shop_cart", item=item.id, quantity=1)


def test_adding_adds_up_and_stops_at_the_stock(shop: Session[Shop]) -> None:
    line = cart_line(shop)
    left = shop.state.items[line.item].stock
    assert do(shop, "add_to_shop_cart", item=line.item, quantity=2)["quantity"] == 5
    assert do(shop, "show_shop_cart")["subtotal"] == 5 * line.price
    if left <= 20:
        do(shop, "set_shop_cart_quantity", line=line.id, quantity=left)
        assert refused(shop, "add_to_shop_cart", item=line.item, quantity=1) == "out_of_stock"


def test_all_that_is_left_can_be_bought_and_no_more() -> None:
    def scarce(shop: Shop) -> Any:
        return [
            item
            for item in shop.items
            if 0 < item.stock <= 3 and product_of(shop, item).limit is None and not product_of(shop, item).bulky
        ]

    session = a_world(scarce, "default")
    item = scarce(session.state)[0]
    assert refused(session, "add_to_shop_cart", item=item.id, quantity=item.stock + 1) == "out_of_stock"
    line = do(session, "add_to_shop_cart", item=item.id, quantity=item.stock)
    assert refused(session, "set_shop_cart_quantity", line=line["id"], quantity=item.stock + 1) == "out_of_stock"
    buy(session)
    assert refused(session, "add_to_shop_cart", item=item.id, quantity=1) == "out_of_stock"


def test_nobody_gets_more_than_the_limit_over_options_orders_and_cart() -> None:
    def limited(shop: Shop) -> Any:
        for row in shop.products:
            items = shop.items.where(product=row.id)
            untouched = not shop.lines.where(product=row.id)
            if row.limit == 6 and len(items) > 1 and min(item.stock for item in items) > 6 and untouched:
                return items
        return None

    session = a_world(limited, "default")
    one, other, *_ = limited(session.state)
    do(session, "add_to_shop_cart", item=one.id, quantity=2)
    assert refused(session, "add_to_shop_cart", item=other.id, quantity=5) == "quantity_limit"
    order = buy(session)
    line = do(session, "add_to_shop_cart", item=other.id, quantity=4)
    assert refused(session, "add_to_shop_cart", item=one.id, quantity=1) == "quantity_limit"
    assert refused(session, "set_shop_cart_quantity", line=line["id"], quantity=5) == "quantity_limit"
    do(session, "cancel_shop_order", order=order["id"])
    assert do(session, "add_to_shop_cart", item=one.id, quantity=2)["quantity"] == 2


def test_a_cart_holds_twenty_pieces_of_twenty_items() -> None:
    session = a_world(lambda shop: any(item.stock > 20 and not product_of(shop, item).limit for item in shop.items))
    item = next(item for item in session.state.items if item.stock > 20 and not product_of(session.state, item).limit)
    for line in session.state.cart:
        do(session, "set_shop_cart_quantity", line=line.id, quantity=0)
    do(session, "add_to_shop_cart", item=item.id, quantity=20)
    assert refused(session, "add_to_shop_cart", item=item.id, quantity=1) == "quantity_limit"
    session = server.open(2, "default")
    wanted = [item.id for item in session.state.items if item.stock > 1 and not product_of(session.state, item).limit]
    fresh = [item for item in wanted if item not in [line.item for line in session.state.cart]]
    for item in fresh[: 20 - len(session.state.cart)]:
        do(session, "add_to_shop_cart", item=item, quantity=1)
    assert refused(session, "add_to_shop_cart", item=fresh[20], quantity=1) == "cart_full"
    assert session.call("add_to_shop_cart", {"item": fresh[0], "quantity": 1}).ok


def test_a_quantity_of_zero_takes_a_line_out(shop: Session[Shop]) -> None:
    line = cart_line(shop)
    assert do(shop, "set_shop_cart_quantity", line=line.id, quantity=1)["subtotal"] == line.price
    cart = do(shop, "set_shop_cart_quantity", line=line.id, quantity=0)
    assert cart == {"lines": [], "subtotal": 0, "discount": 0, "total": 0}
    assert not_bought(shop) == "cart_empty"
    assert refused(shop, "set_shop_cart_quantity", line=line.id, quantity=1) == "not_found"


def coupons(session: Session[Shop]) -> Any:
    return list(session.state.coupons)


def test_a_coupon_takes_its_percent_off_and_is_then_used(shop: Session[Shop]) -> None:
    good, used, expired, *_ = coupons(shop)
    line = cart_line(shop)
    pieces = -(-good.minimum // line.price)
    do(shop, "set_shop_cart_quantity", line=line.id, quantity=max(pieces, 1))
    subtotal = line.price * max(pieces, 1)
    assert refused(shop, "apply_shop_coupon", coupon=used.id) == "coupon_used"
    assert refused(shop, "apply_shop_coupon", coupon=expired.id) == "coupon_expired"
    cart = do(shop, "apply_shop_coupon", coupon=good.id)
    off = subtotal * good.percent // 100
    assert (cart["discount"], cart["total"], cart["coupon"]) == (off, subtotal - off, good.id)
    assert refused(shop, "apply_shop_coupon", coupon=good.id) == "coupon_applied"
    order = buy(shop)
    assert (order["discount"], order["coupon"]) == (off, good.id)
    row = next(row for row in do(shop, "list_shop_coupons", limit=50) if row["id"] == good.id)
    assert row["used"] and not row["applied"]
    do(shop, "add_to_shop_cart", item=line.item, quantity=1)
    assert refused(shop, "apply_shop_coupon", coupon=good.id) == "coupon_used"


def test_a_coupon_that_the_cart_no_longer_deserves_does_not_count() -> None:
    session = a_world(lambda shop: handy(shop) and next(iter(shop.coupons)).minimum > handy(shop).price)  # type: ignore[union-attr]
    item, good = handy(session.state), coupons(session)[0]
    assert item is not None
    for line in session.state.cart:
        do(session, "set_shop_cart_quantity", line=line.id, quantity=0)
    assert refused(session, "apply_shop_coupon", coupon=good.id) == "cart_empty"
    line = do(session, "add_to_shop_cart", item=item.id, quantity=1)
    assert refused(session, "apply_shop_coupon", coupon=good.id) == "minimum_not_met"
    do(session, "set_shop_cart_quantity", line=line["id"], quantity=-(-good.minimum // item.price))
    do(session, "apply_shop_coupon", coupon=good.id)
    cart = do(session, "set_shop_cart_quantity", line=line["id"], quantity=1)
    assert cart["discount"] == 0 and "coupon" not in cart
    assert refused(session, "apply_shop_coupon", coupon=good.id) == "minimum_not_met"
    assert buy(session)["discount"] == 0
    assert not any(row["applied"] for row in do(session, "list_shop_coupons", limit=50))
    do(session, "add_to_shop_cart", item=item.id, quantity=-(-good.minimum // item.price))
    assert do(session, "apply_shop_coupon", coupon=good.id)["discount"] > 0


def test_a_coupon_for_a_category_counts_its_products_alone() -> None:
    def bound(shop: Shop) -> Any:
        return [
            (row, item)
            for row in shop.coupons
            if row.category and row.amount and row.expires > shop.now.date()
            for item in shop.items
            if product_of(shop, item).category == row.category and not product_of(shop, item).limit
            if item.stock >= 20
        ]

    session = a_world(lambda shop: bound(shop) and handy(shop), "default")
    coupon, item = bound(session.state)[0]
    for line in session.state.cart:
        do(session, "set_shop_cart_quantity", line=line.id, quantity=0)
    other = next(
        row for row in session.state.items if product_of(session.state, row).category != coupon.category and row.stock
    )
    do(session, "add_to_shop_cart", item=other.id, quantity=1)
    assert refused(session, "apply_shop_coupon", coupon=coupon.id) == "wrong_category"
    pieces = max(1, -(-coupon.minimum // item.price))
    do(session, "add_to_shop_cart", item=item.id, quantity=pieces)
    cart = do(session, "apply_shop_coupon", coupon=coupon.id)
    assert cart["discount"] == min(coupon.amount, item.price * pieces)
    good = coupons(session)[0]
    if cart["subtotal"] >= good.minimum:
        assert do(session, "apply_shop_coupon", coupon=good.id)["coupon"] == good.id
    used = [row.applied for row in session.state.coupons]
    assert used.count(True) == 1


def test_coupons_and_gift_cards_are_good_until_their_last_day(shop: Session[Shop]) -> None:
    coupon, gift = coupons(shop)[0], next(iter(shop.state.gift_cards))
    line = cart_line(shop)
    do(shop, "set_shop_cart_quantity", line=line.id, quantity=max(3, -(-coupon.minimum // line.price)))
    for tool, arguments, last in (
        ("apply_shop_coupon", {"coupon": coupon.id}, coupon.expires),
        ("redeem_shop_gift_card", {"gift_card": gift.id, "code": gift.code}, gift.expires),
    ):
        at = datetime.combine(last, time(23, 59))
        late = shop.fork().call(tool, arguments, now=at + timedelta(minutes=1))
        assert late.data["error"] in ("coupon_expired", "gift_card_expired")
        reply = shop.fork().call(tool, arguments, now=at)
        assert reply.ok, reply.text
    do(shop, "apply_shop_coupon", coupon=coupon.id)
    at = datetime.combine(coupon.expires, time(23, 59))
    assert shop.call("show_shop_cart", {}, now=at).data["discount"] > 0
    assert shop.call("show_shop_cart", {}, now=at + timedelta(minutes=1)).data["discount"] == 0


def test_wishes_are_listed_latest_first() -> None:
    session = server.open(4, "default")
    made = [do(session, "add_to_shop_wish_list", item=item.id)["id"] for item in list(unwished(session.state))[:6]]
    assert [row["id"] for row in do(session, "show_shop_wish_list")] == made[:0:-1]


def test_coupons_are_listed_by_their_last_day_and_spent_ones_last(shop: Session[Shop]) -> None:
    rows, today = do(shop, "list_shop_coupons", limit=50), shop.state.now.date().isoformat()
    spent = [row["used"] or row["expires"] < today for row in rows]
    assert spent == sorted(spent) and set(spent) == {True, False} and len(rows) == 4
    days = [row["expires"] for row, over in zip(rows, spent, strict=True) if not over]
    assert days == sorted(days)
    assert len(do(shop, "list_shop_coupons", limit=2)) == 2


def test_a_gift_card_becomes_credit_once_and_credit_pays() -> None:
    def usable(shop: Shop) -> list[GiftCard]:
        return [card for card in shop.gift_cards if not card.redeemed]

    session = a_world(lambda shop: any(card.redeemed for card in shop.gift_cards) and len(usable(shop)) > 1)
    yesterday = session.state.now.date() - timedelta(days=1)
    change_state(session, lambda shop: shop.gift_cards.change(usable(shop)[-1].id, expires=yesterday))
    card, credit = next(iter(session.state.gift_cards)), session.state.account.credit
    wrong = "00000000" if card.code != "00000000" else "00000001"
    assert refused(session, "redeem_shop_gift_card", gift_card=card.id, code=wrong) == "wrong_code"
    after = do(session, "redeem_shop_gift_card", gift_card=card.id, code=card.code)
    assert after["credit"] == credit + card.amount
    assert refused(session, "redeem_shop_gift_card", gift_card=card.id, code=card.code) == "gift_card_redeemed"
    expired = next(c for c in session.state.gift_cards if c.expires < session.state.now.date() and not c.redeemed)
    assert refused(session, "redeem_shop_gift_card", gift_card=expired.id, code=expired.code) == "gift_card_expired"
    item = next(row for row in session.state.items if row.stock > 2 and not product_of(session.state, row).limit)
    do(session, "add_to_shop_cart", item=item.id, quantity=1)
    for line in [line for line in session.state.cart if session.state.items[line.item].stock < line.quantity]:
        do(session, "set_shop_cart_quantity", line=line.id, quantity=0)
    order = buy(session, use_credit=True)
    assert order["credit_paid"] == min(after["credit"], order["total"])
    assert order["card_paid"] == order["total"] - order["credit_paid"]
    left = do(session, "get_shop_account")["credit"]
    assert left == after["credit"] - order["credit_paid"]
    assert do(session, "cancel_shop_order", order=order["id"])["to_credit"] == order["credit_paid"]
    assert do(session, "get_shop_account")["credit"] == after["credit"]


def test_addresses_and_pickup_points_differ_in_how_they_are_served(shop: Session[Shop]) -> None:
    rows = do(shop, "list_shop_addresses", limit=50)
    assert [row["name"] for row in rows[:2]] == ["Home", "Office"] and rows[-1]["kind"] == "pickup point"
    options = do(shop, "list_shop_delivery_options", address=door(shop))
    assert [row["delivery"] for row in options] == ["standard", "express", "same day"]
    free = cart_line(shop).price * 3 >= 5_000
    assert [row["price"] for row in options] == [0 if free else 490, 990, 1_490]
    at_point = do(shop, "list_shop_delivery_options", address=pickup(shop).id)
    assert [(row["delivery"], row["price"]) for row in at_point] == [("pickup", 0 if free else 290)]
    hotel = next(row.id for row in shop.state.addresses if row.zone == "outer" and row.name not in ("Home", "Office"))
    assert [row["delivery"] for row in do(shop, "list_shop_delivery_options", address=hotel)] == ["standard", "express"]
    far = next(row.id for row in shop.state.addresses if row.zone == "beyond")
    assert refused(shop, "list_shop_delivery_options", address=far) == "address_not_deliverable"
    assert not_bought(shop, address=far) == "address_not_deliverable"
    assert not_bought(shop, address=hotel, delivery="same day") == "delivery_not_offered"
    assert not_bought(shop, address=pickup(shop).id) == "delivery_not_offered"
    assert not_bought(shop, delivery="pickup") == "delivery_not_offered"


def test_small_carts_pay_for_standard_delivery_and_large_ones_do_not() -> None:
    session = a_world(lambda shop: handy(shop) and handy(shop).price < 4_000)  # type: ignore[union-attr]
    item = handy(session.state)
    assert item is not None
    for line in session.state.cart:
        do(session, "set_shop_cart_quantity", line=line.id, quantity=0)
    line = do(session, "add_to_shop_cart", item=item.id, quantity=1)
    assert do(session, "list_shop_delivery_options", address=door(session))[0]["price"] == 490
    assert do(session, "list_shop_delivery_options", address=pickup(session).id)[0]["price"] == 290
    do(session, "set_shop_cart_quantity", line=line["id"], quantity=-(-5_000 // item.price))
    assert do(session, "list_shop_delivery_options", address=door(session))[0]["price"] == 0
    assert buy(session)["shipping"] == 0


def test_same_day_delivery_ends_at_two(shop: Session[Shop]) -> None:
    two = shop.state.now.replace(hour=14, minute=0)
    wanted = {**card_of(shop), "address": door(shop), "delivery": "same day"}
    late = shop.fork().call("check_out_shop_cart", wanted, now=two)
    assert late.data["error"] == "too_late_today"
    assert shop.fork().call("check_out_shop_cart", wanted, now=two - timedelta(minutes=1)).ok
    for minutes, ways in ((-1, ["standard", "express", "same day"]), (0, ["standard", "express"])):
        reply = shop.call("list_shop_delivery_options", {"address": door(shop)}, now=two + timedelta(minutes=minutes))
        assert [row["delivery"] for row in reply.data] == ways


def test_bulky_goods_go_to_doors_by_standard_delivery() -> None:
    def large(shop: Shop) -> Any:
        return [
            row for row in shop.items if product_of(shop, row).bulky and row.stock and not product_of(shop, row).limit
        ]

    session = a_world(large)
    do(session, "add_to_shop_cart", item=large(session.state)[0].id, quantity=1)
    for line in [line for line in session.state.cart if session.state.items[line.item].stock < line.quantity]:
        do(session, "set_shop_cart_quantity", line=line.id, quantity=0)
    assert [row["delivery"] for row in do(session, "list_shop_delivery_options", address=door(session))] == ["standard"]
    assert refused(session, "list_shop_delivery_options", address=pickup(session).id) == "bulky_goods"
    assert not_bought(session, delivery="express") == "bulky_goods"
    assert not_bought(session, delivery="pickup", address=pickup(session).id) == "bulky_goods"
    assert buy(session)["delivery"] == "standard"


def test_paying_takes_a_valid_card_and_its_cvv(shop: Session[Shop]) -> None:
    right = card_of(shop)["cvv"]
    assert not_bought(shop, cvv="000" if right != "000" else "111") == "wrong_cvv"
    order = buy(shop)
    assert order["card_paid"] == order["total"] == order["subtotal"] + order["shipping"]
    assert not_bought(shop) == "cart_empty"


def expired_card(shop: Shop) -> PaymentCard | None:
    return next((card for card in shop.cards if card.expires < shop.now.date()), None)


def test_an_expired_card_pays_nothing() -> None:
    session = a_world(expired_card)
    card = expired_card(session.state)
    assert card is not None
    assert not_bought(session, card=card.id, cvv=card.cvv) in ("card_expired", "out_of_stock")


def test_points_pay_cent_by_cent_and_come_with_the_delivery(shop: Session[Shop]) -> None:
    before = do(shop, "get_shop_account")
    assert not_bought(shop, points=before["points"] + 1) == "not_enough_points"
    order = buy(shop, points=7)
    assert order["points_paid"] == 7 and order["card_paid"] == order["total"] - 7
    after = do(shop, "get_shop_account")
    assert after["points"] == before["points"] - 7
    assert after["points_to_come"] == before["points_to_come"] + order["subtotal"] // 100
    wait(shop, days=4)
    later = do(shop, "get_shop_account")
    assert later["points"] == after["points"] + after["points_to_come"] and later["points_to_come"] == 0


def test_points_never_pay_more_than_the_order_costs() -> None:
    def rich(shop: Shop) -> Any:
        return [row for row in shop.items if row.stock and row.price + 290 < shop.points and row.price < 5_000]

    session = a_world(rich)
    item = next(row for row in rich(session.state))
    for line in session.state.cart:
        do(session, "set_shop_cart_quantity", line=line.id, quantity=0)
    do(session, "add_to_shop_cart", item=item.id, quantity=1)
    at = {"address": pickup(session).id, "delivery": "pickup"}
    assert not_bought(session, **at, points=item.price + 291) == "too_many_points"
    order = buy(session, **at, points=item.price + 290, use_credit=True)
    assert (order["total"], order["card_paid"], order["credit_paid"]) == (item.price + 290, 0, 0)
    back = do(session, "cancel_shop_order", order=order["id"])
    assert (back["to_card"], back["to_credit"], back["points_back"]) == (0, 0, item.price + 290)


def test_what_sold_out_in_the_cart_is_not_ordered(shop: Session[Shop]) -> None:
    def sell_out(state: Shop) -> None:
        item = state.items[state.cart[0].item]
        state.items.change(item.id, stock=0, supply=item.supply - item.stock, restock_at=None)

    other = next(
        item
        for item in shop.state.items
        if item.stock and item.id != cart_line(shop).item and product_of(shop.state, item).limit is None
    )
    do(shop, "add_to_shop_cart", item=other.id, quantity=1)
    change_state(shop, sell_out)
    assert not_bought(shop) == "out_of_stock"
    do(shop, "set_shop_cart_quantity", line=cart_line(shop).id, quantity=0)
    buy(shop)


@pytest.mark.parametrize(
    ("delivery", "packed", "shipped", "delivered"),
    [("standard", 240, 1_200, 4_320), ("express", 60, 240, 1_440), ("same day", 10, 20, 300)],
)
def test_an_order_is_packed_shipped_and_delivered_as_time_passes(
    shop: Session[Shop], delivery: str, packed: int, shipped: int, delivered: int
) -> None:
    order = buy(shop, delivery=delivery)
    placed = shop.state.orders[order["id"]].placed
    assert shop.state.orders[order["id"]].arrives == placed + timedelta(minutes=delivered)
    for minutes, before, after in (
        (packed, "placed", "packed"),
        (shipped, "packed", "shipped"),
        (delivered, "shipped", "delivered"),
    ):
        for late, status in ((-1, before), (0, after)):
            now = placed + timedelta(minutes=minutes + late)
            assert shop.call("get_shop_order", {"order": order["id"]}, now=now).data["status"] == status


def test_an_order_is_cancelled_before_it_is_shipped_and_all_goes_back(shop: Session[Shop]) -> None:
    item = shop.state.items[cart_line(shop).item]
    good = coupons(shop)[0]
    if good.minimum <= item.price * 3:
        do(shop, "apply_shop_coupon", coupon=good.id)
    before = do(shop, "get_shop_account")
    order = buy(shop, points=5)
    assert shop.state.items[item.id].stock == item.stock - 3
    back = do(shop, "cancel_shop_order", order=order["id"])
    assert (back["status"], back["to_card"], back["points_back"]) == ("cancelled", order["card_paid"], 5)
    assert do(shop, "get_shop_account") == before
    assert shop.state.items[item.id].stock == item.stock
    assert shop.state.coupons[good.id].order is None
    assert refused(shop, "cancel_shop_order", order=order["id"]) == "order_cancelled"
    assert refused(shop, "change_shop_order_address", order=order["id"], address=door(shop)) == "order_cancelled"
    line = next(line for line in shop.state.lines if line.order == order["id"])
    assert refused(shop, "return_shop_item", line=line.id, reason="damaged") == "order_cancelled"


def test_a_shipped_order_is_neither_cancelled_nor_sent_elsewhere(shop: Session[Shop]) -> None:
    order = buy(shop)["id"]
    for status, hours in (("shipped", 20), ("delivered", 52)):
        wait(shop, hours=hours)
        assert do(shop, "get_shop_order", order=order)["status"] == status
        assert refused(shop, "cancel_shop_order", order=order) == "order_already_shipped"
        assert refused(shop, "change_shop_order_address", order=order, address=door(shop)) == "order_already_shipped"


def test_without_a_wish_doors_get_standard_delivery_and_pickup_points_pickup(shop: Session[Shop]) -> None:
    item, paid = cart_line(shop).item, card_of(shop)
    assert do(shop, "check_out_shop_cart", **paid, address=door(shop))["delivery"] == "standard"
    do(shop, "add_to_shop_cart", item=item, quantity=1)
    assert do(shop, "check_out_shop_cart", **paid, address=pickup(shop).id)["delivery"] == "pickup"


def test_an_order_is_sent_elsewhere_until_it_is_packed(shop: Session[Shop]) -> None:
    home, office = [row.id for row in shop.state.addresses][:2]
    order = buy(shop)["id"]
    assert refused(shop, "change_shop_order_address", order=order, address=home) == "same_address"
    assert refused(shop, "change_shop_order_address", order=order, address=pickup(shop).id) == "delivery_not_offered"
    assert do(shop, "change_shop_order_address", order=order, address=office)["address"] == office
    wait(shop, hours=4)
    assert refused(shop, "change_shop_order_address", order=order, address=home) == "order_already_packed"
    assert do(shop, "cancel_shop_order", order=order)["status"] == "cancelled"


def test_orders_are_listed_newest_first_and_by_status(shop: Session[Shop]) -> None:
    new = buy(shop)
    rows = do(shop, "list_shop_orders", limit=50)
    assert rows[0]["id"] == new["id"] and rows[0]["total"] == new["total"]
    assert [row["placed"] for row in rows] == sorted((row["placed"] for row in rows), reverse=True)
    for status in ("placed", "shipped", "delivered", "cancelled"):
        assert do(shop, "list_shop_orders", status=status, limit=50) == [r for r in rows if r["status"] == status]
    assert len(do(shop, "list_shop_orders")) == 5


def test_goods_go_back_piece_by_piece_for_their_part_of_what_was_paid(shop: Session[Shop]) -> None:
    good, price = coupons(shop)[0], cart_line(shop).price
    if good.minimum > 3 * price:
        do(shop, "set_shop_cart_quantity", line=cart_line(shop).id, quantity=-(-good.minimum // price))
    do(shop, "apply_shop_coupon", coupon=good.id)
    order = buy(shop, points=9)
    line, stock = order["items"][0], shop.state.items[shop.state.lines[order["items"][0]["id"]].item].stock
    assert refused(shop, "return_shop_item", line=line["id"], reason="damaged") == "not_delivered"
    wait(shop, days=4)
    points = shop.state.points
    back = do(shop, "return_shop_item", line=line["id"], reason="damaged")
    net = order["subtotal"] - order["discount"]
    left = line["price"] * (line["quantity"] - 1)
    rest = left - order["discount"] * left // order["subtotal"]
    assert (back["quantity"], back["to_card"], back["to_credit"]) == (1, net - rest, 0)
    assert shop.state.points == points - (net // 100 - rest // 100)
    assert refused(shop, "return_shop_item", line=line["id"], reason="damaged", quantity=20) == "too_many_pieces"
    again = do(shop, "return_shop_item", line=line["id"], reason="changed my mind", quantity=line["quantity"] - 1)
    assert again["quantity"] == line["quantity"] - 1
    assert back["to_card"] + again["to_card"] + again["to_credit"] == net
    assert again["to_credit"] == max(0, net - order["card_paid"])
    assert shop.state.items[shop.state.lines[line["id"]].item].stock == stock + line["quantity"]
    assert refused(shop, "return_shop_item", line=line["id"], reason="damaged") == "already_returned"
    assert do(shop, "get_shop_order", order=order["id"])["items"][0]["returned"] == line["quantity"]


def test_what_was_paid_by_credit_comes_back_as_credit() -> None:
    session = a_world(lambda shop: handy(shop) and shop.account.credit > 500)
    item, credit = handy(session.state), session.state.account.credit
    assert item is not None
    for line in session.state.cart:
        do(session, "set_shop_cart_quantity", line=line.id, quantity=0)
    do(session, "add_to_shop_cart", item=item.id, quantity=1)
    order = buy(session, use_credit=True)
    wait(session, days=4)
    back = do(session, "return_shop_item", line=order["items"][0]["id"], reason="does not fit")
    assert back["to_card"] == min(item.price, order["card_paid"])
    assert back["to_credit"] == item.price - back["to_card"]
    assert do(session, "get_shop_account")["credit"] == credit - order["credit_paid"] + back["to_credit"]


def test_taking_points_back_stops_at_none(shop: Session[Shop]) -> None:
    order = buy(shop)
    wait(shop, days=4)
    line = order["items"][0]["id"]
    item = shop.state.lines[line].item
    do(shop, "add_to_shop_cart", item=item, quantity=-(-shop.state.points // shop.state.items[item].price))
    buy(shop, points=shop.state.points)
    assert shop.state.points == 0
    do(shop, "return_shop_item", line=line, reason="damaged", quantity=3)
    assert shop.state.points == 0


def test_goods_go_back_within_two_weeks(shop: Session[Shop]) -> None:
    item = cart_line(shop).item
    first = buy(shop)
    do(shop, "add_to_shop_cart", item=item, quantity=1)
    second = buy(shop)
    last = shop.state.orders[first["id"]].arrives + timedelta(days=14)
    assert first["return_until"] == last.date().isoformat()
    gone = {"line": first["items"][0]["id"], "reason": "does not fit", "quantity": 1}
    assert shop.call("return_shop_item", gone, now=last).ok
    assert refused(shop, "return_shop_item", **gone) == "return_window_passed"
    wait(shop, minutes=1)
    late = {"line": second["items"][0]["id"], "reason": "does not fit"}
    assert refused(shop, "return_shop_item", **late) == "return_window_passed"


def test_beauty_products_go_back_only_when_something_is_wrong_with_them() -> None:
    def delivered(shop: Shop) -> Any:
        return [
            line
            for line in shop.lines
            if shop.products[line.product].category == "beauty"
            if shop.orders[line.order].status(shop.now) == "delivered"
            if shop.now <= shop.orders[line.order].arrives + timedelta(days=14)
        ]

    session = a_world(delivered)
    line = delivered(session.state)[0].id
    for reason in ("changed my mind", "does not fit", "not as described"):
        assert refused(session, "return_shop_item", line=line, reason=reason) == "not_returnable"
    do(session, "return_shop_item", line=line, reason="wrong item")


def test_no_tool_tells_a_cvv_or_a_code_but_the_user_knows_both(shop: Session[Shop]) -> None:
    schemas = "".join(str(tool.output_schema) for tool in server.tools.values())
    assert "'cvv'" not in schemas and "'code'" not in schemas
    card, gift = next(iter(shop.state.cards)), next(iter(shop.state.gift_cards))
    known = server.known(shop.state)
    assert (known[card.id, "cvv"], known[gift.id, "code"]) == (card.cvv, gift.code)


@pytest.mark.parametrize("seed", [*range(20), *range(1_000_000_000, 1_000_000_010)])
def test_every_world_lets_something_be_bought_and_its_first_gift_card_redeemed(seed: int) -> None:
    session = server.open(seed, "small")
    assert server.find_broken_invariants(session.state) == []
    for line in [line for line in session.state.cart if session.state.items[line.item].stock < line.quantity]:
        do(session, "set_shop_cart_quantity", line=line.id, quantity=0)
    buy(session)
    card = next(iter(session.state.gift_cards))
    do(session, "redeem_shop_gift_card", gift_card=card.id, code=card.code)


@pytest.mark.parametrize("size", ["default", "large"])
def test_larger_worlds_keep_the_laws(size: str) -> None:
    assert server.find_broken_invariants(server.open(11, size).state) == []
