"""What the food delivery does and refuses, checked through its own tools in small worlds."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import datetime, timedelta
from typing import Any

import pytest
from calling import do, refused, small_worlds

from mcp_servers.core import Session, minute_text
from mcp_servers.food_delivery import server
from mcp_servers.food_delivery.engine import (
    MOST_PORTIONS,
    compute_delivery_time,
    compute_riding_time,
    discount_of,
    distance,
    fee_for,
    rating,
)
from mcp_servers.food_delivery.seed import MENUS, menu
from mcp_servers.food_delivery.state import Delivery, Dish, Order, Promo, Restaurant
from mcp_servers.shared.distance import approximate_cosine, metres
from mcp_servers.shared.places import Place, PlaceId

MINUTE, HOUR, DAY = timedelta(minutes=1), timedelta(hours=1), timedelta(days=1)


def worlds() -> Iterator[Session[Delivery]]:
    """Small worlds whose cart is empty."""
    return (session for session in small_worlds(server) if len(session.state.cart) == 0)


def dishes(session: Session[Delivery], restaurant: Restaurant, least: int = 4) -> list[Dish]:
    return [dish for dish in session.state.dishes.where(restaurant=restaurant.id) if dish.left >= least]


def open_restaurant(session: Session[Delivery], besides: str = "") -> Restaurant:
    """A restaurant that is open and delivers home."""
    home = session.state.home.id
    return next(
        row
        for row in session.state.restaurants
        if row.is_open(session.state.now)
        and distance(session.state, row, home) <= row.radius
        and dishes(session, row)
        and row.id != besides
    )


def fill(session: Session[Delivery], restaurant: Restaurant, least: int = 0) -> Any:
    """A cart that reaches the restaurant's minimum, and so many cents."""
    for dish in dishes(session, restaurant):
        cart = do(session, "add_dish_to_cart", dish=dish.id, quantity=4)
        if cart["subtotal"] >= max(least, restaurant.minimum):
            return cart
    raise LookupError("The restaurant has too few dishes.")


def ordered(session: Session[Delivery], **arguments: Any) -> Any:
    """An order of four or more portions, on its way to the user's home."""
    fill(session, open_restaurant(session))
    return do(session, "place_food_order", address=session.state.home.id, **arguments)


def placed(session: Session[Delivery]) -> Order:
    """The row of such an order."""
    made = ordered(session)
    return session.state.orders[made["id"]]


def order_that_is(status: str) -> tuple[Session[Delivery], Order]:
    for session in worlds():
        for row in do(session, "list_food_orders", status=status, limit=1):
            return session, session.state.orders[row["id"]]
    raise LookupError(f"No world has an order that is {status}.")


def promo_for(least: int = 0) -> tuple[Session[Delivery], Promo, Restaurant]:
    """A usable code and an open restaurant it holds for, which can fill its minimum."""
    for session in worlds():
        for promo in session.state.promos:
            fitting = promo.order is None and promo.ends >= session.state.now.date()
            owner = open_restaurant(session)
            enough = 4 * sum(dish.price for dish in dishes(session, owner)) >= max(owner.minimum, promo.minimum)
            if fitting and enough and promo.restaurant in (None, owner.id) and promo.minimum >= least:
                return session, promo, owner
    raise LookupError("No world has such a code.")


@pytest.fixture
def session() -> Session[Delivery]:
    return next(worlds())


def test_restaurants_are_found_by_distance_within_their_radius(session: Session[Delivery]) -> None:
    state = session.state
    for address in [None, *(row.id for row in list(state.places)[:12])]:
        place = address or state.home.id
        rows = do(session, "find_restaurants", **({"address": address} if address else {}), limit=50)
        far = {row.id: distance(state, row, place) for row in state.restaurants}
        assert {row["id"] for row in rows} == {row.id for row in state.restaurants if far[row.id] <= row.radius}
        assert [row["metres"] for row in rows] == sorted(far[row["id"]] for row in rows)
        assert all(row["fee"] == fee_for(state.restaurants[row["id"]], row["metres"]) for row in rows)
        assert all(row["open"] == state.restaurants[row["id"]].is_open(state.now) for row in rows)


def test_restaurants_are_found_by_cuisine_name_and_mark() -> None:
    session = server.open(2, "default")
    rows = do(session, "find_restaurants", limit=50)
    first = rows[0]
    assert len(do(session, "find_restaurants")) == 5
    same = do(session, "find_restaurants", cuisine=first["cuisine"], limit=50)
    assert same == [row for row in rows if row["cuisine"] == first["cuisine"]]
    part = first["name"][1:-1].upper()
    named = do(session, "find_restaurants", name=f" {part} ", limit=50)
    assert named == [row for row in rows if part in row["name"].upper()]
    assert do(session, "find_restaurants", only="open", limit=50) == [row for row in rows if row["open"]]
    liked = do(session, "find_restaurants", only="favourite", limit=50)
    assert liked == [row for row in rows if session.state.restaurants[row["id"]].favourite] != rows


def test_a_favourite_is_made_and_unmade_once(session: Session[Delivery]) -> None:
    row = next(row for row in session.state.restaurants if not row.favourite)
    again = {"restaurant": row.id}
    assert refused(session, "set_favourite_restaurant", **again, mark="not favourite") == "not_favourite"
    assert do(session, "set_favourite_restaurant", **again, mark="favourite")["favourite"] is True
    assert refused(session, "set_favourite_restaurant", **again, mark="favourite") == "already_favourite"
    assert do(session, "set_favourite_restaurant", **again, mark="not favourite")["favourite"] is False


def test_a_restaurant_tells_its_hours_and_offers() -> None:
    session = server.open(2, "default")
    state = session.state
    for row in state.restaurants:
        found = do(session, "get_restaurant", restaurant=row.id)
        assert ("opens" in found) == (not row.is_open(state.now))
        if row.hours(state.now.date()):
            clock = [f"{minutes // 60:02}:{minutes % 60:02}" for minutes in (row.opens, row.closes)]
            assert found["hours"] == "-".join(clock)
        codes = [p.code for p in state.promos if p.restaurant in (None, row.id) and p.order is None]
        assert {offer["code"] for offer in found["offers"]} <= set(codes)
        assert len(found["offers"]) == min(5, len(codes))
        assert (found["rating"], found["votes"]) == rating(state, row)
        assert found["street"] == state.places[row.place].street


def test_a_restaurant_keeps_its_hours(session: Session[Delivery]) -> None:
    row = next(iter(session.state.restaurants))
    resting = Restaurant(**{**vars_of(row), "opens": 600, "closes": 1200, "closed": (6,)})
    monday, sunday = datetime(2026, 3, 2), datetime(2026, 3, 8)
    assert resting.hours(sunday.date()) is None
    moments = [10 * HOUR - MINUTE, 10 * HOUR, 20 * HOUR - MINUTE, 20 * HOUR]
    assert [resting.is_open(monday + moment) for moment in moments] == [False, True, True, False]
    assert resting.next_open(monday) == monday + 10 * HOUR
    assert resting.next_open(monday + 11 * HOUR) == monday + 11 * HOUR
    assert resting.next_open(sunday - HOUR) == sunday + DAY + 10 * HOUR


def vars_of(row: Any) -> dict[str, Any]:
    return {name: value for name, value in vars(row).items() if not name.startswith("_")}


def test_a_menu_leaves_out_the_excluded_allergen() -> None:
    session = server.open(2, "default")
    for row in session.state.restaurants:
        rows = do(session, "list_restaurant_menu", restaurant=row.id, limit=50)
        assert len(rows) == len(session.state.dishes.where(restaurant=row.id))
        free = do(session, "list_restaurant_menu", restaurant=row.id, without="gluten", limit=50)
        assert free == [dish for dish in rows if "gluten" not in dish["allergens"]]
        assert all((dish.get("sold_out") is True) == (session.state.dishes[dish["id"]].left == 0) for dish in rows)
    assert len(do(session, "list_restaurant_menu", restaurant=row.id)) == 5


def test_every_cuisine_has_a_menu_of_ten_different_dishes() -> None:
    for cuisine in MENUS:
        names = [name for name, _, _ in menu(cuisine)]
        assert len(names) == len(set(names)) == 10
    assert menu("italian")[0] == ("pizza margherita", 990, ("dairy", "gluten"))


def test_dishes_go_into_the_cart_and_out_of_it(session: Session[Delivery]) -> None:
    owner = open_restaurant(session)
    dish = dishes(session, owner)[0]
    cart = do(session, "add_dish_to_cart", dish=dish.id)
    assert (cart["restaurant"], cart["name"], cart["subtotal"]) == (owner.id, owner.name, dish.price)
    assert cart.get("missing") == (owner.minimum - dish.price if owner.minimum > dish.price else None)
    assert refused(session, "add_dish_to_cart", dish=dish.id, quantity=2) == "already_in_cart"
    line = cart["lines"][0]["id"]
    assert do(session, "change_cart_dish", line=line, quantity=3)["subtotal"] == 3 * dish.price
    assert do(session, "change_cart_dish", line=line, quantity=1)["subtotal"] == dish.price
    assert do(session, "view_food_cart")["lines"][0]["quantity"] == 1
    empty = do(session, "change_cart_dish", line=line, quantity=0)
    assert (empty["lines"], empty["subtotal"], empty.get("restaurant")) == ([], 0, None)
    assert refused(session, "change_cart_dish", line=line, quantity=1) == "not_found"


def test_a_dish_with_an_option_is_a_line_of_its_own_and_costs_more() -> None:
    session, dish = next((s, d) for s in worlds() for d in s.state.dishes if d.left >= 4 and len(d.options) > 1)
    extra = dish.options[1]
    do(session, "add_dish_to_cart", dish=dish.id)
    cart = do(session, "add_dish_to_cart", dish=dish.id, option=extra.option)
    assert [line["price"] for line in cart["lines"]] == [dish.price, dish.price + extra.price]
    assert cart["subtotal"] == 2 * dish.price + extra.price
    assert refused(session, "add_dish_to_cart", dish=dish.id, option="on fire") == "no_such_option"
    assert refused(session, "add_dish_to_cart", dish=dish.id, option=extra.option) == "already_in_cart"


def test_a_cart_is_of_one_restaurant(session: Session[Delivery]) -> None:
    first = open_restaurant(session)
    second = open_restaurant(session, besides=first.id)
    cart = do(session, "add_dish_to_cart", dish=dishes(session, first)[0].id)
    other = {"dish": dishes(session, second)[0].id}
    assert refused(session, "add_dish_to_cart", **other) == "other_restaurant_in_cart"
    do(session, "change_cart_dish", line=cart["lines"][0]["id"], quantity=0)
    do(session, "add_dish_to_cart", **other)


def test_no_more_portions_are_in_the_cart_than_are_left() -> None:
    session, dish = next((s, d) for s in worlds() for d in s.state.dishes if 2 <= d.left <= 15 and d.options)
    assert refused(session, "add_dish_to_cart", dish=dish.id, quantity=dish.left + 1) == "item_sold_out"
    cart = do(session, "add_dish_to_cart", dish=dish.id, quantity=dish.left)
    more = {"dish": dish.id, "option": dish.options[0].option}
    assert refused(session, "add_dish_to_cart", **more) == "item_sold_out"
    line = cart["lines"][0]["id"]
    assert refused(session, "change_cart_dish", line=line, quantity=dish.left + 1) == "item_sold_out"
    do(session, "change_cart_dish", line=line, quantity=dish.left)


def test_a_cart_holds_thirty_portions() -> None:
    session, first, second = next(
        (session, *rich[:2])
        for session in worlds()
        for row in session.state.restaurants
        for rich in [dishes(session, row, 20)]
        if len(rich) > 1
    )
    do(session, "add_dish_to_cart", dish=first.id, quantity=20)
    assert refused(session, "add_dish_to_cart", dish=second.id, quantity=MOST_PORTIONS - 19) == "cart_full"
    line = do(session, "add_dish_to_cart", dish=second.id, quantity=10)["lines"][1]["id"]
    assert refused(session, "change_cart_dish", line=line, quantity=11) == "cart_full"


def test_an_order_empties_the_cart_and_takes_the_portions() -> None:
    session = next(worlds())
    owner, home = open_restaurant(session), session.state.home.id
    cart = fill(session, owner)
    dish = session.state.dishes[cart["lines"][0]["dish"]]
    order = do(session, "place_food_order", address=home, tip=150)
    placed = session.state.now - MINUTE
    far = distance(session.state, owner, home)
    assert order["total"] == cart["subtotal"] + fee_for(owner, far) + 150
    assert (order["status"], order["name"]) == ("placed", owner.name)
    assert order["arrives"] == text(placed + 8 * MINUTE + compute_delivery_time(owner, far))
    assert do(session, "view_food_cart")["lines"] == []
    assert session.state.dishes[dish.id].left == dish.left - cart["lines"][0]["quantity"]
    found = do(session, "track_food_order", order=order["id"])
    assert [(line["dish"], line["quantity"]) for line in found["lines"]] == [
        (line["dish"], line["quantity"]) for line in cart["lines"]
    ]
    assert (found["tip"], found["fee"], found["address"]) == (150, fee_for(owner, far), home)
    assert "courier" not in found and "scheduled" not in found
    assert do(session, "list_food_orders", limit=1) == [do(session, "list_food_orders", restaurant=owner.id)[0]]
    assert refused(session, "place_food_order", address=home) == "cart_empty"
    line = found["lines"][0]["id"]
    assert line == cart["lines"][0]["id"]
    assert refused(session, "change_cart_dish", line=line, quantity=1) == "already_ordered"


def text(moment: datetime) -> str:
    return minute_text(moment)


def test_an_order_moves_on_by_itself() -> None:
    session = next(worlds())
    order = placed(session)
    restaurant, far = session.state.restaurants[order.restaurant], distance_of(session, order)
    stages = {
        "placed": order.placed,
        "accepted": order.placed + 3 * MINUTE,
        "cooking": order.placed + 8 * MINUTE,
        "picked_up": order.placed + (8 + restaurant.prep) * MINUTE,
        "delivered": order.placed + (8 + restaurant.prep + 5 + far // 250) * MINUTE,
    }
    names = list(stages)
    for place, (name, moment) in enumerate(stages.items()):
        before = do(session, "track_food_order", moment - MINUTE, order=order.id) if place else None
        at = do(session, "track_food_order", moment, order=order.id)
        assert at["status"] == name and (before is None or before["status"] == names[place - 1])
        assert ("courier" in at) == (name in ("picked_up", "delivered"))
        codes = {
            "cooking": "already_cooking",
            "picked_up": "order_already_picked_up",
            "delivered": "order_already_delivered",
        }
        if name in codes:
            assert refused(session, "cancel_food_order", moment, order=order.id) == codes[name]
    assert compute_riding_time(far) == (5 + far // 250) * MINUTE


def distance_of(session: Session[Delivery], order: Order) -> int:
    return distance(session.state, session.state.restaurants[order.restaurant], order.address)


def test_an_order_is_cancelled_until_the_kitchen_starts() -> None:
    session = next(worlds())
    order = ordered(session)
    row, left = session.state.orders[order["id"]], {dish.id: dish.left for dish in session.state.dishes}
    cancelled = do(session, "cancel_food_order", row.cooking - MINUTE, order=row.id)
    assert (cancelled["status"], cancelled["refunded"]) == ("cancelled", order["total"])
    assert "arrives" not in cancelled
    for line in session.state.lines.where(order=row.id):
        assert session.state.dishes[line.dish].left == left[line.dish] + line.quantity
    assert refused(session, "cancel_food_order", order=row.id) == "already_cancelled"
    late = row.delivered + HOUR
    for tool, arguments in {"tip_courier": {"amount": 100}, "rate_food_order": {"food": 4}}.items():
        assert refused(session, tool, late, order=row.id, **arguments) == "order_cancelled"
    line = session.state.lines.where(order=row.id)[0]
    assert refused(session, "report_missing_items", late, line=line.id, quantity=1) == "order_cancelled"


def test_an_order_reaches_its_minimum_and_is_within_range() -> None:
    session, dish, owner = next(
        (session, dish, owner)
        for session in worlds()
        for owner in [open_restaurant(session)]
        for dish in dishes(session, owner, 20)
        if owner.minimum > dish.price
    )
    home = {"address": session.state.home.id}
    cart = do(session, "add_dish_to_cart", dish=dish.id, quantity=(owner.minimum - 1) // dish.price)
    assert refused(session, "place_food_order", **home) == "below_minimum"
    do(session, "change_cart_dish", line=cart["lines"][0]["id"], quantity=-(-owner.minimum // dish.price))
    far = [row.id for row in session.state.places if distance(session.state, owner, row.id) > owner.radius]
    if far:
        assert refused(session, "place_food_order", address=far[0]) == "out_of_range"
    do(session, "place_food_order", **home)


def test_a_restaurant_delivers_to_the_edge_of_its_radius() -> None:
    session = next(s for s in worlds() if any(far > row.radius for row, far in reach(s)))
    owner = next(row for row, far in reach(session) if far > row.radius and row.is_open(session.state.now))
    place = next(row for row in session.state.places if distance(session.state, owner, row.id) > owner.radius)
    assert owner.id not in [row["id"] for row in do(session, "find_restaurants", address=place.id, limit=50)]
    fill(session, owner)
    assert refused(session, "place_food_order", address=place.id) == "out_of_range"


def reach(session: Session[Delivery]) -> list[tuple[Restaurant, int]]:
    return [
        (row, max(distance(session.state, row, place.id) for place in session.state.places))
        for row in session.state.restaurants
        if dishes(session, row)
    ]


def test_a_new_address_is_remembered() -> None:
    session = next(worlds())
    owner, known = open_restaurant(session), do(session, "list_food_addresses")
    assert [row["label"] for row in known[:2]] == ["home", "office"]
    place = next(
        row
        for row in session.state.places
        if row.id not in session.state.addresses and distance(session.state, owner, row.id) <= owner.radius
    )
    fill(session, owner)
    do(session, "place_food_order", address=place.id)
    assert do(session, "list_food_addresses") == [*known, {"id": place.id, "label": place.name, "street": place.street}]


def test_a_closed_restaurant_takes_orders_for_later() -> None:
    session, owner = next(
        (session, row)
        for session in worlds()
        for row in session.state.restaurants
        if not row.is_open(session.state.now) and not row.closed and row.opens > 570 and dishes(session, row)
        if distance(session.state, row, session.state.home.id) <= row.radius
    )
    fill(session, owner)
    home = {"address": session.state.home.id}
    opens = owner.next_open(session.state.now)
    first = opens + compute_delivery_time(owner, distance(session.state, owner, session.state.home.id))
    assert refused(session, "place_food_order", **home) == "restaurant_closed"
    assert refused(session, "place_food_order", **home, deliver_at=text(first - MINUTE)) == "restaurant_closed"
    order = do(session, "place_food_order", **home, deliver_at=text(first))
    found = do(session, "track_food_order", order=order["id"])
    assert (found["arrives"], found["scheduled"]) == (text(first), True)
    accepted = session.state.orders[order["id"]].accepted
    assert do(session, "track_food_order", accepted, order=order["id"])["status"] == "accepted"
    assert do(session, "track_food_order", opens, order=order["id"])["status"] == "cooking"
    do(session, "cancel_food_order", opens - MINUTE, order=order["id"])


def test_an_order_is_scheduled_neither_too_soon_nor_too_far_ahead() -> None:
    session = next(worlds())
    owner = open_restaurant(session)
    fill(session, owner)
    home, now = session.state.home.id, session.state.now
    first = now + 8 * MINUTE + compute_delivery_time(owner, distance(session.state, owner, home))
    at = {"address": home}
    for moment in (text(first - MINUTE), text(now - DAY), "0001-01-01T00:00:00Z"):
        assert refused(session, "place_food_order", **at, deliver_at=moment) == "too_soon"
    assert refused(session, "place_food_order", **at, deliver_at="9999-12-31T23:59:00Z") == "too_far_ahead"
    assert refused(session, "place_food_order", **at, deliver_at=text(now + 3 * DAY + MINUTE)) == "too_far_ahead"
    assert session.fork().call("place_food_order", {**at, "deliver_at": text(first)}).ok
    assert session.fork().call("place_food_order", {**at, "deliver_at": text(now + 3 * DAY)}).ok
    night = now.replace(hour=23, minute=59)
    assert refused(session, "place_food_order", **at, deliver_at=text(night + HOUR)) == "restaurant_closed"


def test_a_code_takes_its_share_off_once() -> None:
    session, promo, owner = promo_for(least=1000)
    cart = fill(session, owner, promo.minimum)
    assert promo.code in [offer["code"] for offer in do(session, "view_food_cart")["offers"]]
    after = do(session, "apply_food_promo", code=promo.code.lower())
    discount = min(promo.most, cart["subtotal"] * promo.percent // 100)
    assert (after["code"], after["discount"], after["subtotal"]) == (promo.code, discount, cart["subtotal"])
    assert refused(session, "apply_food_promo", code=promo.code) == "promo_already_applied"
    order = do(session, "place_food_order", address=session.state.home.id)
    found = do(session, "track_food_order", order=order["id"])
    assert (found["code"], found["discount"]) == (promo.code, discount)
    assert found["total"] == cart["subtotal"] - discount + found["fee"]
    do(session, "reorder_food", order=order["id"])
    assert "code" not in do(session, "view_food_cart")
    assert refused(session, "apply_food_promo", code=promo.code) == "promo_used"
    assert promo.code not in [offer["code"] for offer in do(session, "view_food_cart")["offers"]]
    do(session, "cancel_food_order", order=order["id"])
    do(session, "apply_food_promo", code=promo.code)


def test_a_code_needs_a_cart_that_it_is_for() -> None:
    session, promo, owner = promo_for(least=1000)
    assert refused(session, "apply_food_promo", code="NOSUCHCODE") == "no_such_promo"
    assert refused(session, "apply_food_promo", code=promo.code) == "cart_empty"
    cart = fill(session, owner, promo.minimum)
    last = datetime.combine(promo.ends, datetime.min.time()) + 23 * HOUR
    assert refused(session, "apply_food_promo", last + HOUR, code=promo.code) == "promo_expired"
    assert session.fork().call("apply_food_promo", {"code": promo.code}, now=last).ok
    for line in cart["lines"][1:]:
        do(session, "change_cart_dish", line=line["id"], quantity=0)
    line = cart["lines"][0]
    few = (promo.minimum - 1) // line["price"]
    if 0 < few < session.state.dishes[line["dish"]].left:
        do(session, "change_cart_dish", line=line["id"], quantity=few)
        assert refused(session, "apply_food_promo", code=promo.code) == "below_promo_minimum"


def test_a_code_of_another_restaurant_does_not_hold() -> None:
    session, promo = next(
        (session, promo)
        for session in worlds()
        for promo in session.state.promos
        if promo.restaurant not in (None, open_restaurant(session).id) and promo.ends >= session.state.now.date()
    )
    fill(session, open_restaurant(session))
    assert refused(session, "apply_food_promo", code=promo.code) == "promo_not_valid_here"


def test_a_code_comes_off_a_cart_that_grows_too_small() -> None:
    session, promo, owner = promo_for(least=1000)
    cart = fill(session, owner, promo.minimum)
    do(session, "apply_food_promo", code=promo.code)
    for line in cart["lines"]:
        cart = do(session, "change_cart_dish", line=line["id"], quantity=0)
    assert "code" not in cart and not any(row.applied for row in session.state.promos)


def test_a_code_stays_while_its_minimum_is_reached_and_takes_the_place_of_another() -> None:
    session, first, second = next(
        (session, *fitting[:2])
        for session in worlds()
        for owner in [open_restaurant(session)]
        for fitting in [
            [
                promo
                for promo in session.state.promos
                if promo.restaurant in (None, owner.id)
                and promo.order is None
                and promo.ends >= session.state.now.date()
                and promo.minimum <= 1500
            ]
        ]
        if len(fitting) > 1 and len(dishes(session, owner)) > 2
    )
    cart = fill(session, open_restaurant(session), 2500)
    do(session, "apply_food_promo", code=first.code)
    assert do(session, "apply_food_promo", code=second.code)["code"] == second.code
    line = cart["lines"][0]
    after = do(session, "change_cart_dish", line=line["id"], quantity=3)
    assert after.get("code") == (second.code if after["subtotal"] >= second.minimum else None)


def test_a_code_that_ended_meanwhile_stops_the_order() -> None:
    session, promo, owner = promo_for()
    fill(session, owner, promo.minimum)
    do(session, "apply_food_promo", code=promo.code)
    later = datetime.combine(promo.ends + DAY, datetime.min.time()) + 12 * HOUR
    assert refused(session, "place_food_order", later, address=session.state.home.id) == "promo_expired"


def test_seeded_codes_that_ended_or_were_used_are_refused() -> None:
    session, promo = next((s, p) for s in worlds() for p in s.state.promos if p.order is not None)
    fill(session, open_restaurant(session))
    assert refused(session, "apply_food_promo", code=promo.code) == "promo_used"
    over = next(row for row in session.state.promos if row.ends < session.state.now.date() and row.order is None)
    assert refused(session, "apply_food_promo", code=over.code) == "promo_expired"


def test_reordering_takes_an_empty_cart_and_what_is_left() -> None:
    session, order = next(
        (session, order)
        for session in worlds()
        for order in session.state.orders
        if all(
            session.state.dishes[line.dish].left >= line.quantity for line in session.state.lines.where(order=order.id)
        )
    )
    lines = session.state.lines.where(order=order.id)
    cart = do(session, "reorder_food", order=order.id)
    assert [(line["dish"], line["quantity"], line.get("option")) for line in cart["lines"]] == [
        (line.dish, line.quantity, line.option) for line in lines
    ]
    assert refused(session, "reorder_food", order=order.id) == "cart_not_empty"
    session, order = next(
        (session, order)
        for session in worlds()
        for order in session.state.orders
        if any(
            session.state.dishes[line.dish].left < line.quantity for line in session.state.lines.where(order=order.id)
        )
    )
    assert refused(session, "reorder_food", order=order.id) == "item_sold_out"


def test_a_courier_is_tipped_once_until_a_day_after_delivery() -> None:
    fresh = next(worlds())
    made = placed(fresh)
    end = made.delivered + DAY
    late = {"order": made.id, "amount": 200}
    assert refused(fresh, "tip_courier", end + MINUTE, **late) == "tip_too_late"
    assert refused(fresh, "tip_courier", order=made.id, amount=made.subtotal + 1) == "tip_too_high"
    assert fresh.fork().call("tip_courier", {"order": made.id, "amount": made.subtotal}).ok
    tipped = do(fresh, "tip_courier", end, **late)
    assert tipped["total"] == made.total + 200
    assert do(fresh, "track_food_order", order=made.id)["tip"] == 200
    assert refused(fresh, "tip_courier", **late) == "already_tipped"


def test_a_tip_with_the_order_is_at_most_the_price_of_the_food() -> None:
    session = next(worlds())
    cart, home = fill(session, open_restaurant(session)), session.state.home.id
    assert refused(session, "place_food_order", address=home, tip=cart["subtotal"] + 1) == "tip_too_high"
    order = do(session, "place_food_order", address=home, tip=cart["subtotal"])
    assert refused(session, "tip_courier", order=order["id"], amount=1) == "already_tipped"


def test_an_order_is_rated_once_after_it_came() -> None:
    session = next(worlds())
    row = placed(session)
    restaurant = session.state.restaurants[row.restaurant]
    votes = rating(session.state, restaurant)[1]
    stars = {"order": row.id, "food": 5, "courier": 3}
    assert refused(session, "rate_food_order", row.delivered - MINUTE, **stars) == "not_delivered_yet"
    end = row.delivered + 14 * DAY
    assert refused(session, "rate_food_order", end + MINUTE, **stars) == "rating_closed"
    do(session, "rate_food_order", end, **stars)
    found = do(session, "track_food_order", order=row.id)
    assert (found["food_stars"], found["courier_stars"]) == (5, 3)
    assert do(session, "get_restaurant", restaurant=restaurant.id)["votes"] == votes + 1
    assert refused(session, "rate_food_order", **stars) == "already_rated"


def test_ratings_are_means_to_one_decimal(session: Session[Delivery]) -> None:
    row = next(row for row in session.state.restaurants if not session.state.orders.where(restaurant=row.id))
    for stars, votes, mean in ((9, 2, "4.5"), (13, 3, "4.3"), (14, 3, "4.7"), (100, 20, "5.0"), (83, 20, "4.2")):
        assert rating(session.state, Restaurant(**{**vars_of(row), "stars": stars, "votes": votes})) == (mean, votes)


def test_what_is_missing_is_refunded_once_within_three_days() -> None:
    session, promo, owner = promo_for()
    fill(session, owner, promo.minimum)
    do(session, "apply_food_promo", code=promo.code)
    made = do(session, "place_food_order", address=session.state.home.id)
    row = session.state.orders[made["id"]]
    line = session.state.lines.where(order=row.id)[0]
    missing = {"line": line.id, "quantity": 2}
    assert refused(session, "report_missing_items", row.delivered - MINUTE, **missing) == "not_delivered_yet"
    end = row.delivered + 3 * DAY
    assert refused(session, "report_missing_items", end + MINUTE, **missing) == "report_too_late"
    assert refused(session, "report_missing_items", end, line=line.id, quantity=5) == "more_than_ordered"
    assert session.fork().call("report_missing_items", {"line": line.id, "quantity": 4}, now=end).ok
    done = do(session, "report_missing_items", end, **missing)
    assert done["refunded"] == 2 * line.price * (row.subtotal - row.discount) // row.subtotal
    assert do(session, "track_food_order", order=row.id)["lines"][0]["missing"] == 2
    assert refused(session, "report_missing_items", **missing) == "already_reported"


def test_a_dish_in_the_cart_is_not_missing_yet(session: Session[Delivery]) -> None:
    line = fill(session, open_restaurant(session))["lines"][0]["id"]
    assert refused(session, "report_missing_items", line=line, quantity=1) == "not_ordered_yet"


def test_all_that_is_missing_is_refunded_together() -> None:
    session, row, lines = next(
        (session, order, lines)
        for session in worlds()
        for order in session.state.orders
        for lines in [session.state.lines.where(order=order.id)]
        if len(lines) > 1 and order.cancelled is None and session.state.now - DAY < order.delivered < session.state.now
    )
    for line in lines:
        done = do(session, "report_missing_items", line=line.id, quantity=line.quantity)
    assert done["refunded"] == row.subtotal - row.discount


def test_orders_are_listed_newest_first_by_status_and_restaurant() -> None:
    session = server.open(2, "default")
    rows = do(session, "list_food_orders", limit=50)
    assert [row["placed"] for row in rows] == sorted((row["placed"] for row in rows), reverse=True)
    assert len(rows) == len(session.state.orders) and len(do(session, "list_food_orders")) == 5
    for status in ("accepted", "cooking", "picked_up", "delivered", "cancelled"):
        found = do(session, "list_food_orders", status=status, limit=50)
        assert found and found == [row for row in rows if row["status"] == status]
    owner = session.state.orders[rows[0]["id"]].restaurant
    mine = do(session, "list_food_orders", restaurant=owner, limit=50)
    assert mine == [row for row in rows if session.state.orders[row["id"]].restaurant == owner]


@pytest.mark.parametrize(
    ("status", "tool", "arguments", "code"),
    [
        ("cooking", "cancel_food_order", {}, "already_cooking"),
        ("picked_up", "cancel_food_order", {}, "order_already_picked_up"),
        ("delivered", "cancel_food_order", {}, "order_already_delivered"),
        ("cancelled", "cancel_food_order", {}, "already_cancelled"),
        ("cancelled", "tip_courier", {"amount": 100}, "order_cancelled"),
        ("cooking", "rate_food_order", {"food": 5}, "not_delivered_yet"),
    ],
)
def test_seeded_orders_refuse_what_their_status_forbids(
    status: str, tool: str, arguments: dict[str, Any], code: str
) -> None:
    session, order = order_that_is(status)
    assert refused(session, tool, order=order.id, **arguments) == code


@pytest.mark.parametrize(("far", "more"), [(0, 0), (2000, 0), (2001, 50), (3000, 50), (3001, 100), (7900, 300)])
def test_the_fee_grows_by_the_kilometre(session: Session[Delivery], far: int, more: int) -> None:
    row = next(iter(session.state.restaurants))
    assert fee_for(row, far) == row.fee + more


def test_a_discount_is_a_share_with_a_ceiling(session: Session[Delivery]) -> None:
    row = next(iter(session.state.promos))
    promo = Promo(**{**vars_of(row), "percent": 15, "most": 300})
    assert [discount_of(promo, cents) for cents in (0, 999, 2000, 2100, 9000)] == [0, 149, 300, 300, 300]
    assert discount_of(None, 9000) == 0


def test_metres_shrink_eastwards_with_the_latitude() -> None:
    def place(latitude: int, longitude: int) -> Place:
        kinds: dict[str, Any] = {"name": "x", "kind": "park", "street": "1 x", "city": "x"}
        return Place(id=PlaceId("x"), latitude=latitude, longitude=longitude, **kinds)

    assert metres(place(0, 0), place(10_000, 0)) == metres(place(0, 0), place(0, 10_000)) == 1113
    assert metres(place(60_000_000, 0), place(60_000_000, 10_000)) == 556
    assert [approximate_cosine(degrees) for degrees in (0, 60, 90)] == [1000, 500, 0]
