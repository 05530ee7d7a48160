"""When the shop refuses: no stock, too many, an address that cannot be reached, an order too far gone."""

from __future__ import annotations

from datetime import time

from ..kit import ToolError
from .state import Address, Delivery, Item, Lines, Order, PaymentCard, Shop, ShopCardId, ShopOrderId

MOST_PIECES = 20
SAME_DAY_UNTIL = time(14)


def require_stock(shop: Shop, item: Item, quantity: int) -> None:
    """Raise ToolError unless so many pieces are there and one customer may have them besides those bought."""
    left = shop.available(item)
    if left == 0:
        raise ToolError("out_of_stock", f"{item.id} ({item.title}) is out of stock; set a restock alert on a wish.")
    if quantity > left:
        raise ToolError("out_of_stock", f"Only {left} pieces of {item.id} ({item.title}) are left; take fewer.")
    require_within_limit(shop, item, quantity)


def require_within_limit(shop: Shop, item: Item, quantity: int) -> None:
    """Raise ToolError when the pieces would exceed what one customer may have of the product."""
    limit = shop.products[item.product].limit
    if limit is not None:
        besides = sum(line.quantity for line in shop.cart if line.product == item.product and line.item != item.id)
        owned = sum(line.remaining for line in shop.bought(item.product))
        if besides + owned + quantity > limit:
            raise ToolError(
                "quantity_limit",
                f"One customer may have {limit} of the {item.title}; you have {owned}, and {besides} more in the cart; "
                "take fewer.",
            )
    if quantity > MOST_PIECES:
        raise ToolError("quantity_limit", f"A cart holds at most {MOST_PIECES} pieces of one item; take fewer.")


def offered(address: Address) -> tuple[Delivery, ...]:
    """The ways the shop delivers to an address. Raises ToolError when there is none."""
    if address.zone == "beyond":
        raise ToolError(
            "address_not_deliverable", f"The shop does not deliver to {address.name}; choose another address."
        )
    if address.kind == "pickup point":
        return ("pickup",)
    return ("standard", "express", "same day") if address.zone == "inner" else ("standard", "express")


def require_delivery(shop: Shop, address: Address, delivery: Delivery, lines: Lines) -> None:
    """Raise ToolError unless these goods can be delivered there in this way."""
    ways = offered(address)
    if delivery not in ways:
        raise ToolError(
            "delivery_not_offered", f"{address.name} is served by {', '.join(ways)} delivery; choose one of these."
        )
    if delivery != "standard":
        require_handy(shop, lines)


def require_handy(shop: Shop, lines: Lines) -> None:
    """Raise ToolError when something among these goods is bulky."""
    for line in lines:
        if shop.products[line.product].bulky:
            raise ToolError(
                "bulky_goods", f"The {line.title} is too large; it goes to a door by standard delivery alone."
            )


def is_late(shop: Shop, delivery: Delivery) -> bool:
    """Whether it is too late in the day for this delivery."""
    return delivery == "same day" and shop.now.time() >= SAME_DAY_UNTIL


def require_in_time(shop: Shop, delivery: Delivery) -> None:
    """Raise ToolError for same-day delivery in the afternoon."""
    if is_late(shop, delivery):
        raise ToolError(
            "too_late_today", f"Same-day delivery ends at {SAME_DAY_UNTIL.hour} o'clock; choose express delivery."
        )


def ways_now(shop: Shop, address: Address, lines: Lines) -> tuple[Delivery, ...]:
    """The ways in which these goods can be delivered there now. Raises ToolError when there is none."""
    ways = offered(address)
    if "standard" not in ways:
        require_handy(shop, lines)
    if any(shop.products[line.product].bulky for line in lines):
        return ("standard",)
    return tuple(way for way in ways if not is_late(shop, way))


def usable_card(shop: Shop, id: ShopCardId, cvv: str) -> PaymentCard:
    """The stored card. Raises ToolError when it has expired or the CVV is another."""
    card = shop.cards[id]
    if card.expires < shop.now.date():
        raise ToolError("card_expired", f"Card {id} expired on {card.expires}; pay with another card.")
    if cvv != card.cvv:
        raise ToolError("wrong_cvv", f"This is not the CVV of card {id}; ask for the right one.")
    return card


def unshipped(shop: Shop, id: ShopOrderId) -> Order:
    """The order, which is still in the shop's house. Raises ToolError otherwise."""
    order = shop.orders[id]
    status = order.status(shop.now)
    if status == "cancelled":
        raise ToolError("order_cancelled", f"Order {id} is cancelled; nothing about it can change.")
    if status in ("shipped", "delivered"):
        raise ToolError("order_already_shipped", f"Order {id} is {status}; return what you do not want to keep.")
    return order
