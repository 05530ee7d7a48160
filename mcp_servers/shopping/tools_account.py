"""Tools on the customer's account: points, credit, gift cards, and where things may be delivered."""

from __future__ import annotations

from ..kit import ToolError
from .orders import add_credit
from .parameters import ROWS, AddressRef, GiftCardRef, GiftCode, Limit
from .pricing import shipping_of, subtotal_of
from .rules import ways_now
from .serializers import account_details
from .server import server
from .state import PACE, Address, Shop
from .views import AccountDetails, DeliveryOption


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
    """The user has the cards at hand: the CVV of each stored card, the code of each gift card."""
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
