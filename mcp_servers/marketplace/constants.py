"""The numbers of the marketplace: increments, fees, limits, periods; money in cents."""

from __future__ import annotations

from datetime import timedelta

from .state import Market, MarketTrade

MOST_OPEN, MOST_WATCHED, MOST_OFFERS, MOST_PAYOUTS = 8, 15, 3, 2
LEAST_PAYOUT = 1_000
FEE_PERCENT, LEAST_OFFER_PERCENT = 8, 40
LONGEST_AUCTION = 10
HELD_FOR, PAYOUT_TAKES = timedelta(days=3), timedelta(days=2)
OFFER_LASTS, RATING_LASTS = timedelta(days=2), timedelta(days=60)
EXTENSION = timedelta(minutes=5)
LOW_STARS = 2
PROHIBITED = frozenset(
    "alcohol ammunition antibiotics beer cigarettes explosives fireworks gun ivory medicine passport pistol "
    "rifle steroids tobacco vodka whisky wine".split()
)
STEPS = ((2_000, 100), (10_000, 250), (50_000, 500))


def increment(amount: int) -> int:
    """By how much a bid must exceed this one."""
    return next((step for below, step in STEPS if amount < below), 1_000)


def fee(price: int) -> int:
    """What the marketplace keeps of a sale."""
    return price * FEE_PERCENT // 100


def least_offer(price: int) -> int:
    """The lowest offer that is passed on for something at this price."""
    return -(-price * LEAST_OFFER_PERCENT // 100)


def net(trade: MarketTrade) -> int:
    """What the seller gets."""
    return trade.price - trade.fee


def available(market: Market) -> int:
    """What the user can be paid out now."""
    now = market.now
    freed = sum([net(trade) for trade in market.trades.where(seller=market.me) if trade.freed <= now])
    return freed - sum([payout.amount for payout in market.payouts])


def held(market: Market) -> int:
    """What the user has earned and cannot be paid out yet."""
    now = market.now
    return sum([net(trade) for trade in market.trades.where(seller=market.me) if trade.freed > now])
