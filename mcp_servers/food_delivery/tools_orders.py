"""Tools that place an order: the addresses there are, and the order itself."""

from __future__ import annotations

from datetime import datetime, timedelta

from ..kit import Draw, ToolError, minute_text
from ..people import FIRST
from ..places import PlaceId
from .cart import applied, discount_of, require_usable, restaurant_of, subtotal
from .order_lifecycle import STARTING, Times, distance, fee_for, needed, require_modest, times_of, view
from .parameters import AddressRef, DeliverAt, OrderTip
from .server import server
from .state import Address, Delivery, Order, Restaurant
from .views import AddressLine, OrderView

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
    promo = applied(delivery)
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
    """The metres to an address. Raises ToolError when it is too far from the restaurant."""
    far = distance(delivery, restaurant, address)
    if far > restaurant.radius:
        raise ToolError(
            "out_of_range",
            f"{restaurant.name} delivers up to {restaurant.radius} metres and {address} is {far} away; "
            "choose another address or restaurant.",
        )
    return far


def require_times(delivery: Delivery, restaurant: Restaurant, far: int, arrives: datetime | None) -> Times:
    """The life of an order placed now. Raises ToolError when the kitchen cannot make it then."""
    now = delivery.now
    first = now + STARTING + needed(restaurant, far)
    if arrives is not None and arrives < first:
        moment = minute_text(first)
        raise ToolError("too_soon", f"It can arrive at {moment} at the earliest; choose that time or a later one.")
    if arrives is not None and arrives > now + FURTHEST:
        raise ToolError("too_far_ahead", "Food can be scheduled up to 3 days ahead; choose an earlier time.")
    times = times_of(restaurant, far, now, arrives)
    asked = now if arrives is None else times.cooking
    if not restaurant.is_open(asked):
        opens = minute_text(restaurant.next_open(asked))
        raise ToolError(
            "restaurant_closed", f"{restaurant.name} cooks again from {opens} on; schedule the order for after that."
        )
    return times


def write_order(
    delivery: Delivery, restaurant: Restaurant, address: PlaceId, far: int, tip: int, times: Times
) -> Order:
    cents, promo, fee = subtotal(delivery.cart), applied(delivery), fee_for(restaurant, far)
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
    """Make the cart the lines of an order: its portions are gone, its code is used."""
    promo = applied(delivery)
    if promo is not None:
        delivery.promos.change(promo.id, applied=False, order=order.id)
    for line in delivery.cart:
        delivery.lines.change(line.id, order=order.id)
        delivery.dishes.change(line.dish, left=delivery.dishes[line.dish].left - line.quantity)
