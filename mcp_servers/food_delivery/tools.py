"""The tools of the food delivery."""

from __future__ import annotations

from datetime import datetime, timedelta
from itertools import islice
from operator import attrgetter

from ..core import Draw, ToolError, minute_text
from ..shared.distance import metres
from ..shared.people import FIRST
from ..shared.places import PlaceId
from .engine import (
    STARTING,
    Times,
    cart_view,
    compute_delivery_time,
    discount_of,
    distance,
    drop_promo,
    fee_for,
    find_applied_promo,
    offers,
    put_dish,
    rating,
    refund_for_missing,
    require_fitting,
    require_modest,
    require_portions,
    require_usable,
    restaurant_of,
    status_of,
    subtotal,
    times_of,
    view,
)
from .server import (
    ROWS,
    AddressParam,
    AddressRef,
    Code,
    CourierStars,
    CuisineParam,
    DeliverAt,
    DishRef,
    Limit,
    LineRef,
    Mark,
    NameParam,
    NewPortions,
    Only,
    OptionName,
    OrderLineRef,
    OrderRef,
    OrderTip,
    Portions,
    RestaurantParam,
    RestaurantRef,
    Stars,
    StatusParam,
    Tip,
    Without,
    server,
)
from .state import Address, Delivery, Dish, FoodOrderId, FoodOrderLineId, Order, Restaurant
from .views import (
    AddressLine,
    CartView,
    MenuLine,
    OrderDetails,
    OrderLineView,
    OrderView,
    RestaurantDetails,
    RestaurantLine,
)

# Tools for use after ordering: tip, rating, refund of missing dishes.

TIPPING = timedelta(hours=24)
REPORTING = timedelta(days=3)
RATING = timedelta(days=14)


def not_cancelled(delivery: Delivery, id: FoodOrderId) -> Order:
    row = delivery.orders[id]
    if row.cancelled is not None:
        raise ToolError("order_cancelled", f"{id} was cancelled and refunded; choose another order.")
    return row


def require_delivered(delivery: Delivery, id: FoodOrderId) -> Order:
    """Return the order, if it was delivered. Raises ToolError when it was cancelled or is not there yet."""
    row = not_cancelled(delivery, id)
    if status_of(delivery, row) != "delivered":
        raise ToolError("not_delivered_yet", f"{id} arrives at {minute_text(row.delivered)}; wait until then.")
    return row


@server.write(destructive=True, idempotent=True)
def tip_courier(delivery: Delivery, order: OrderRef, amount: Tip) -> OrderView:
    """Tip the courier of an order, once, until a day after delivery."""
    row = not_cancelled(delivery, order)
    if row.tip:
        raise ToolError("already_tipped", f"The courier of {order} got {row.tip} cents; a tip is given once.")
    if delivery.now > row.delivered + TIPPING:
        raise ToolError("tip_too_late", f"{order} was delivered over 24 hours ago; it can no longer be tipped.")
    require_modest(amount, row.subtotal)
    return view(delivery, delivery.orders.change(order, tip=amount, total=row.total + amount))


@server.write(destructive=True, idempotent=True)
def rate_food_order(delivery: Delivery, order: OrderRef, food: Stars, courier: CourierStars = None) -> OrderView:
    """Rate the food, and the courier, of a delivered order, once."""
    row = require_delivered(delivery, order)
    if row.food_stars is not None:
        raise ToolError("already_rated", f"You gave {order} {row.food_stars} stars; an order is rated once.")
    if delivery.now > row.delivered + RATING:
        raise ToolError("rating_closed", f"{order} was delivered over 14 days ago; it can no longer be rated.")
    return view(delivery, delivery.orders.change(order, food_stars=food, courier_stars=courier))


@server.write(destructive=True, idempotent=True)
def report_missing_items(delivery: Delivery, line: OrderLineRef, quantity: Portions) -> OrderView:
    """Report portions of an ordered dish that did not come, for a refund."""
    lacking = delivery.lines[line]
    if lacking.order is None:
        raise ToolError("not_ordered_yet", f"{line} is still in your cart; place_food_order orders it.")
    order = require_delivered(delivery, lacking.order)
    if lacking.missing:
        raise ToolError("already_reported", f"{lacking.missing} of {line} were refunded; a dish is reported once.")
    if delivery.now > order.delivered + REPORTING:
        raise ToolError("report_too_late", f"{order.id} was delivered over 3 days ago; nothing can be reported now.")
    if quantity > lacking.quantity:
        raise ToolError("more_than_ordered", f"{line} was {lacking.quantity} portions; report at most these.")
    delivery.lines.change(line, missing=quantity)
    return view(delivery, delivery.orders.change(order.id, refunded=refund_for_missing(delivery, order)))


# Tools for the cart: add and change dishes, apply a promo code, repeat an old order.


@server.write(idempotent=True)
def add_dish_to_cart(delivery: Delivery, dish: DishRef, quantity: Portions = 1, option: OptionName = None) -> CartView:
    """Add a dish to your cart, which holds dishes of one restaurant."""
    row, cart = delivery.dishes[dish], delivery.cart
    owner = restaurant_of(cart)
    if owner is not None and owner != row.restaurant:
        name = delivery.restaurants[owner].name
        raise ToolError(
            "other_restaurant_in_cart", f"Your cart holds dishes from {name}; order these or take them out first."
        )
    for line in cart:
        if (line.dish, line.option) == (dish, option):
            raise ToolError("already_in_cart", f"It is in your cart as {line.id}; change its portions there.")
    require_portions(cart, row, quantity)
    put_dish(delivery, row, quantity, option)
    return cart_view(delivery)


@server.write(idempotent=True)
def change_cart_dish(delivery: Delivery, line: LineRef, quantity: NewPortions) -> CartView:
    """Change how many portions of a dish are in your cart."""
    row = delivery.lines[line]
    if row.order is not None:
        raise ToolError("already_ordered", f"{line} is part of {row.order}; only dishes in the cart can change.")
    if quantity == 0:
        delivery.lines.remove(line)
    else:
        require_portions(delivery.cart, delivery.dishes[row.dish], quantity - row.quantity)
        delivery.lines.change(line, quantity=quantity)
    drop_promo(delivery)
    return cart_view(delivery)


@server.read()
def view_food_cart(delivery: Delivery) -> CartView:
    """View your cart with its dishes, subtotal, discount and promo codes for it."""
    return cart_view(delivery, offers(delivery, restaurant_of(delivery.cart)))


@server.write(idempotent=True)
def apply_food_promo(delivery: Delivery, code: Code) -> CartView:
    """Apply a promo code to your cart, in place of any other."""
    found = delivery.promos.where(code=code.upper())
    if not found:
        raise ToolError("no_such_promo", f"There is no promo code {code}; get_restaurant shows a restaurant's offers.")
    promo, old = found[0], find_applied_promo(delivery)
    if promo.applied:
        raise ToolError("promo_already_applied", f"{promo.code} is on your cart already; nothing is left to do.")
    require_usable(delivery, promo)
    require_fitting(delivery, promo)
    if old is not None:
        delivery.promos.change(old.id, applied=False)
    delivery.promos.change(promo.id, applied=True)
    return cart_view(delivery)


@server.write(idempotent=True)
def reorder_food(delivery: Delivery, order: OrderRef) -> CartView:
    """Fill your empty cart with the dishes of an earlier order."""
    lines = delivery.lines.where(order=delivery.orders[order].id)
    if len(delivery.cart) > 0:
        raise ToolError("cart_not_empty", "Your food cart is not empty; order what is in it or take it out first.")
    for line in lines:
        dish = delivery.dishes[line.dish]
        require_portions(delivery.cart, dish, line.quantity)
        put_dish(delivery, dish, line.quantity, line.option)
    return cart_view(delivery)


# Tools for placing an order: list addresses, place the order.

FURTHEST = timedelta(days=3)


@server.read()
def list_food_addresses(delivery: Delivery) -> tuple[AddressLine, ...]:
    """List the addresses you have food delivered to."""
    return tuple(
        AddressLine(id=row.id, label=row.label, street=delivery.places[row.id].street) for row in delivery.addresses
    )


@server.write(idempotent=True)
def place_food_order(
    delivery: Delivery, address: AddressRef, deliver_at: DeliverAt = None, tip: OrderTip = None
) -> OrderView:
    """Order what is in your cart, for now or for a later time."""
    cart = delivery.cart
    owner = restaurant_of(cart)
    if owner is None:
        raise ToolError("cart_empty", "Your food cart is empty; add dishes first.")
    restaurant, cents = delivery.restaurants[owner], subtotal(cart)
    far = require_range(delivery, restaurant, address)
    if cents < restaurant.minimum:
        raise ToolError(
            "below_minimum", f"{restaurant.name} delivers from {restaurant.minimum} cents on, not {cents}; add dishes."
        )
    require_modest(tip or 0, cents)
    times = require_times(delivery, restaurant, far, deliver_at)
    promo = find_applied_promo(delivery)
    if promo is not None:
        require_usable(delivery, promo)
    order = write_order(delivery, restaurant, address, far, tip or 0, times)
    if deliver_at is not None:
        order = delivery.orders.change(order.id, scheduled=True)
    settle_cart(delivery, order)
    if address not in delivery.addresses:
        delivery.addresses.put(Address(id=address, label=delivery.places[address].name))
    return view(delivery, order)


def require_range(delivery: Delivery, restaurant: Restaurant, address: PlaceId) -> int:
    """Return the metres to an address. Raises ToolError when it is too far from the restaurant."""
    far = distance(delivery, restaurant, address)
    if far > restaurant.radius:
        raise ToolError(
            "out_of_range",
            f"{restaurant.name} delivers up to {restaurant.radius} metres and {address} is {far} away; "
            "choose another address or restaurant.",
        )
    return far


def require_times(delivery: Delivery, restaurant: Restaurant, far: int, arrives: datetime | None) -> Times:
    """Return the times of an order placed now. Raises ToolError when the restaurant cannot deliver at that time."""
    now = delivery.now
    first = now + STARTING + compute_delivery_time(restaurant, far)
    if arrives is not None and arrives < first:
        moment = minute_text(first)
        raise ToolError("too_soon", f"It can arrive at {moment} at the earliest; choose that time or a later one.")
    if arrives is not None and arrives > now + FURTHEST:
        raise ToolError("too_far_ahead", "Food can be scheduled up to 3 days ahead; choose an earlier time.")
    times = times_of(restaurant, far, now, arrives)
    when = now if arrives is None else times.cooking
    if not restaurant.is_open(when):
        opens = minute_text(restaurant.next_open(when))
        raise ToolError(
            "restaurant_closed", f"{restaurant.name} cooks again from {opens} on; schedule the order for after that."
        )
    return times


def write_order(
    delivery: Delivery, restaurant: Restaurant, address: PlaceId, far: int, tip: int, times: Times
) -> Order:
    cents, promo, fee = subtotal(delivery.cart), find_applied_promo(delivery), fee_for(restaurant, far)
    discount, id = discount_of(promo, cents), delivery.orders.new_id()
    return delivery.orders.put(
        Order(
            id=id,
            restaurant=restaurant.id,
            name=restaurant.name,
            address=address,
            subtotal=cents,
            discount=discount,
            fee=fee,
            tip=tip,
            total=cents - discount + fee + tip,
            courier=Draw("courier", delivery.seed, id).choice(FIRST),
            placed=delivery.now,
            **times._asdict(),
            code=promo.code if promo else None,
        )
    )


def settle_cart(delivery: Delivery, order: Order) -> None:
    """Move the cart to an order: its portions leave the stock, and its promo code becomes used."""
    promo = find_applied_promo(delivery)
    if promo is not None:
        delivery.promos.change(promo.id, applied=False, order=order.id)
    for line in delivery.cart:
        delivery.lines.change(line.id, order=order.id)
        delivery.dishes.change(line.dish, left=delivery.dishes[line.dish].left - line.quantity)


# Tools for restaurants: search, details, menus, favourites.


@server.read()
def find_restaurants(
    delivery: Delivery,
    cuisine: CuisineParam = None,
    name: NameParam = None,
    address: AddressParam = None,
    only: Only = None,
    limit: Limit = ROWS,
) -> tuple[RestaurantLine, ...]:
    """Find restaurants that deliver to an address, nearest first."""
    place, wanted = delivery.home if address is None else delivery.places[address], (name or "").strip().casefold()
    found = list(delivery.restaurants) if cuisine is None else delivery.restaurants.where(cuisine=cuisine)
    if wanted:
        found = [row for row in found if wanted in row.name.casefold()]
    if only is not None:
        found = [row for row in found if (row.is_open(delivery.now) if only == "open" else row.favourite)]
    pairs = [(metres(delivery.places[row.place], place), row) for row in found]
    near = sorted([(far, row.id, row) for far, row in pairs if far <= row.radius])
    return tuple(
        [
            RestaurantLine.from_row(
                row, metres=far, open=row.is_open(delivery.now), fee=fee_for(row, far), rating=rating(delivery, row)[0]
            )
            for far, _, row in near[:limit]
        ]
    )


@server.read()
def get_restaurant(delivery: Delivery, restaurant: RestaurantRef) -> RestaurantDetails:
    """Get a restaurant's hours, minimum order, fee, radius and offers."""
    row = delivery.restaurants[restaurant]
    stars, votes = rating(delivery, row)
    rests = delivery.now.weekday() in row.closed
    return RestaurantDetails.from_row(
        row,
        street=delivery.places[row.place].street,
        hours=None if rests else f"{clock(row.opens)}-{clock(row.closes)}",
        opens=None if row.is_open(delivery.now) else row.next_open(delivery.now),
        rating=stars,
        votes=votes,
        offers=offers(delivery, row.id),
    )


def clock(minutes: int) -> str:
    """Format minutes after midnight as a time of day, such as 07:30."""
    return f"{minutes // 60:02d}:{minutes % 60:02d}"


@server.read()
def list_restaurant_menu(
    delivery: Delivery, restaurant: RestaurantRef, without: Without = None, limit: Limit = ROWS
) -> tuple[MenuLine, ...]:
    """List a restaurant's dishes with price, allergens and options."""
    dishes = delivery.dishes.where(restaurant=delivery.restaurants[restaurant].id)
    return tuple([menu_line(dish) for dish in dishes if without not in dish.allergens][:limit])


def menu_line(dish: Dish) -> MenuLine:
    return MenuLine.from_row(dish, sold_out=dish.left == 0 or None)


@server.write(idempotent=True)
def set_favourite_restaurant(delivery: Delivery, restaurant: RestaurantRef, mark: Mark) -> RestaurantDetails:
    """Make a restaurant one of your favourites, or no longer one."""
    row, favourite = delivery.restaurants[restaurant], mark == "favourite"
    if row.favourite and favourite:
        raise ToolError("already_favourite", f"{row.name} is one of your favourites already; nothing is left to do.")
    if not row.favourite and not favourite:
        raise ToolError("not_favourite", f"{row.name} is not one of your favourites; nothing is left to do.")
    delivery.restaurants.change(restaurant, favourite=favourite)
    return get_restaurant(delivery, restaurant)


# Tools for placed orders: list, track, cancel.


@server.read()
def list_food_orders(
    delivery: Delivery, status: StatusParam = None, restaurant: RestaurantParam = None, limit: Limit = ROWS
) -> tuple[OrderView, ...]:
    """List your food orders, newest first."""
    rows = list(delivery.orders)
    if restaurant is not None:
        rows = delivery.orders.where(restaurant=delivery.restaurants[restaurant].id)
    rows.sort(key=attrgetter("placed", "id"), reverse=True)
    found = (row for row in rows if status in (None, status_of(delivery, row)))
    return tuple([view(delivery, row) for row in islice(found, limit)])


@server.read()
def track_food_order(delivery: Delivery, order: OrderRef) -> OrderDetails:
    """Get an order's status, arrival, dishes, costs and courier."""
    row = delivery.orders[order]
    status = status_of(delivery, row)
    return OrderDetails.from_row(
        row,
        status=status,
        lines=tuple(
            OrderLineView.from_row(line, id=FoodOrderLineId(line.id), missing=line.missing or None)
            for line in delivery.lines.where(order=order)
        ),
        discount=row.discount or None,
        tip=row.tip or None,
        arrives=row.delivered if row.cancelled is None else None,
        scheduled=row.scheduled or None,
        courier=row.courier if status in ("picked_up", "delivered") else None,
        refunded=row.refunded or None,
    )


@server.write(destructive=True, idempotent=True)
def cancel_food_order(delivery: Delivery, order: OrderRef) -> OrderView:
    """Cancel an order before the kitchen starts; all of it is refunded."""
    row = require_not_cooked(delivery, order)
    for line in delivery.lines.where(order=order):
        delivery.dishes.change(line.dish, left=delivery.dishes[line.dish].left + line.quantity)
    for promo in delivery.promos.where(order=order):
        delivery.promos.change(promo.id, order=None)
    return view(delivery, delivery.orders.change(order, cancelled=delivery.now, refunded=row.total))


def require_not_cooked(delivery: Delivery, id: FoodOrderId) -> Order:
    """Return the order, if the kitchen has not begun to cook it. Raises ToolError otherwise."""
    row = delivery.orders[id]
    match status_of(delivery, row):
        case "cancelled":
            raise ToolError("already_cancelled", f"{id} is cancelled already; nothing is left to do.")
        case "cooking":
            raise ToolError("already_cooking", f"The kitchen of {row.name} is cooking {id}; it cannot be cancelled.")
        case "picked_up":
            raise ToolError(
                "order_already_picked_up", f"{row.courier} is on the way with {id}; it cannot be cancelled."
            )
        case "delivered":
            raise ToolError("order_already_delivered", f"{id} was delivered; use report_missing_items if dishes lack.")
    return row
