"""What the customer pays with at the beginning: cards, gift cards with the credit they gave, points, coupons."""

from __future__ import annotations

from datetime import timedelta

from ..kit import Draw
from .goods import CARD_BRANDS, COUPON_NAMES
from .state import Account, Coupon, GiftCard, PaymentCard, PointsLine, Shop


def put_cards(shop: Shop, draw: Draw, count: int) -> None:
    """Cards for paying; at least the first is valid."""
    for place, brand in enumerate(draw.sample(CARD_BRANDS, count)):
        days = -draw.integer(5, 200) if place and draw.chance(0.4) else draw.integer(100, 1200)
        shop.cards.put(
            PaymentCard(
                id=shop.cards.new_id(),
                brand=brand,
                last4=f"{draw.integer(0, 9_999):04d}",
                expires=shop.now.date() + timedelta(days=days),
                cvv=f"{draw.integer(0, 999):03d}",
            )
        )


def put_gift_cards(shop: Shop, draw: Draw, count: int, people: list[str]) -> None:
    """The account, with the credit of the gift cards redeemed before; at least the first can still be redeemed."""
    credit, today = 0, shop.now.date()
    for place, giver in enumerate(draw.sample(people[1:], count)):
        state = draw.weighted(("open", "redeemed", "expired"), (4, 4, 2)) if place else "open"
        days = -draw.integer(1, 300) if state == "expired" else draw.integer(20, 600)
        card = shop.gift_cards.put(
            GiftCard(
                id=shop.gift_cards.new_id(),
                giver=giver,
                amount=draw.choice((1_000, 1_500, 2_000, 2_500, 5_000)),
                code=f"{draw.integer(0, 10**8 - 1):08d}",
                expires=today + timedelta(days=days),
                redeemed=state == "redeemed",
            )
        )
        credit += card.amount * card.redeemed
    shop.accounts.put(Account(id=shop.accounts.new_id(), owner=people[0], credit=credit))
    welcome = PointsLine(
        id=shop.points_lines.new_id(),
        kind="welcome",
        points=draw.integer(10, 60) * 10,
        at=shop.now - timedelta(days=300),
    )
    shop.points_lines.put(welcome)


def put_coupons(shop: Shop, draw: Draw, count: int) -> None:
    """One coupon for any cart, one to have been used, one expired, and others."""
    today, categories = shop.now.date(), tuple(product.category for product in shop.products)
    for place, name in enumerate(draw.sample(COUPON_NAMES, count)):
        percent = draw.choice((5, 10, 15, 20)) if place < 2 or draw.chance(0.6) else None
        wide = place < 3 or draw.chance(0.3)
        shop.coupons.put(
            Coupon(
                id=shop.coupons.new_id(),
                name=name,
                minimum=0 if place == 1 else draw.choice((1_000, 2_000, 3_000, 5_000)) * (1 if wide else 2),
                expires=today + timedelta(days=-draw.integer(1, 90) if place == 2 else draw.integer(3, 120)),
                percent=percent,
                amount=None if percent else draw.choice((300, 500, 1_000, 1_500)),
                category=None if wide else draw.choice(categories),
            )
        )
