"""Tools on cards: what they may spend, whether they work, their PIN."""

from __future__ import annotations

from itertools import pairwise

from ..kit import ToolError
from .parameters import ROWS, AskedAccount, CardRef, CurrentPin, Limit, MonthlyLimit, NewPin
from .server import server
from .state import Bank, Card, CardId, CardView


def view(card: Card) -> CardView:
    return CardView(
        id=card.id, kind=card.kind, account=card.account, status=card.status, monthly_limit=card.monthly_limit
    )


def unexpired(bank: Bank, id: CardId) -> Card:
    """The card. Raises ToolError when it has expired, which nothing can change."""
    card = bank.cards[id]
    if card.status == "expired":
        raise ToolError("card_expired", f"Card {id} has expired; use another card.")
    return card


def usable(bank: Bank, id: CardId) -> Card:
    card = unexpired(bank, id)
    if card.status == "frozen":
        raise ToolError("card_frozen", f"Card {id} is frozen; unfreeze it first.")
    return card


@server.read()
def list_cards(bank: Bank, account: AskedAccount = None, limit: Limit = None) -> tuple[CardView, ...]:
    """List your cards with their status and monthly limit in cents."""
    wanted = None if account is None else bank.accounts[account].id
    rows = [card for card in bank.cards if wanted in (None, card.account)]
    return tuple(view(card) for card in rows[: limit or ROWS])


@server.write(idempotent=True)
def freeze_card(bank: Bank, card: CardRef) -> CardView:
    """Freeze a card, so that it stops working until unfrozen."""
    if unexpired(bank, card).status == "frozen":
        raise ToolError("already_frozen", f"Card {card} is frozen already; nothing is left to do.")
    return view(bank.cards.change(card, status="frozen"))


@server.write(idempotent=True)
def unfreeze_card(bank: Bank, card: CardRef) -> CardView:
    """Unfreeze a frozen card, so that it works again."""
    if unexpired(bank, card).status != "frozen":
        raise ToolError("not_frozen", f"Card {card} is not frozen; nothing is left to do.")
    return view(bank.cards.change(card, status="active"))


@server.write(idempotent=True)
def set_card_limit(bank: Bank, card: CardRef, monthly_limit: MonthlyLimit) -> CardView:
    """Set how much a card may spend in a month."""
    ceiling = usable(bank, card).ceiling
    if monthly_limit > ceiling:
        raise ToolError("limit_too_high", f"Card {card} can have at most {ceiling} cents a month; set a lower limit.")
    return view(bank.cards.change(card, monthly_limit=monthly_limit))


@server.write(idempotent=True)
def change_card_pin(bank: Bank, card: CardRef, pin: CurrentPin, new_pin: NewPin) -> CardView:
    """Change a card's PIN, given the current one."""
    if pin != usable(bank, card).pin:
        raise ToolError("wrong_pin", f"This is not the current PIN of card {card}; ask for the right one.")
    if new_pin == pin:
        raise ToolError("pin_unchanged", "The new PIN is the current one; choose another.")
    if is_weak(new_pin):
        raise ToolError("weak_pin", "The new PIN is too easy to guess; avoid equal or consecutive digits.")
    return view(bank.cards.change(card, pin=new_pin))


@server.known_by_heart
def pins(bank: Bank) -> dict[tuple[str, str], str]:
    """The user knows the PIN of every card."""
    return {(card.id, "pin"): card.pin for card in bank.cards}


def is_weak(pin: str) -> bool:
    """Whether all digits go on by the same step of -1, 0 or 1: 4321, 7777, 1234."""
    steps = [int(right) - int(left) for left, right in pairwise(pin)]
    return steps[0] in (-1, 0, 1) and len(dict.fromkeys(steps)) == 1
