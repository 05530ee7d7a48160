"""The other participants: where the price of a stock stands in a round, and the orders resting in its book.

All of it follows from the seed, the stock and the number of the round, so every session of a world has one market.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from datetime import datetime
from functools import lru_cache
from hashlib import blake2b
from typing import NamedTuple

from .hours import last_closing, open_rounds, round_at, start_of
from .state import Side, Stock

LEVELS = 5
BAND_PERCENT = 25
WAVES = ((288, 500), (12, 120), (1, 40))
"""How the price swings: over so many rounds, by up to so many ten-thousandths of the stock's usual price."""


class Level(NamedTuple):
    """The orders resting at one price, in order of time: what each still wants or offers."""

    price: int
    orders: tuple[int, ...]

    @property
    def quantity(self) -> int:
        return sum(self.orders)


def noise(*key: object) -> bytes:
    """Sixteen bytes that follow from a key."""
    return blake2b("/".join(map(str, key)).encode(), digest_size=16).digest()


@lru_cache(maxsize=1 << 15)
def anchor(seed: int, stock: str, period: int, place: int) -> int:
    """One of the points a wave runs through, from -32,768 to 32,767."""
    return int.from_bytes(noise(seed, stock, period, place)[:2], "big") - (1 << 15)


@lru_cache(maxsize=1 << 15)
def middle(seed: int, stock: Stock, number: int) -> int:
    """The price in cents around which a stock trades in a round, a multiple of its tick."""
    swing = 0
    for period, height in WAVES:
        place, part = divmod(number, period)
        left, right = (anchor(seed, stock.id, period, place + side) for side in (0, 1))
        swing += (left * (period - part) + right * part) * height // (period << 15)
    return stock.base * (10_000 + swing) // (10_000 * stock.tick) * stock.tick


def crosses(side: Side, limit: int | None, price: int) -> bool:
    """Whether an order of this side and limit trades at a price of the other side."""
    if limit is None:
        return True
    return price <= limit if side == "buy" else price >= limit


def meets(seed: int, stock: Stock, side: Side, limit: int | None, number: int) -> bool:
    """Whether the market comes to the limit of an order in a round."""
    step = stock.tick if side == "buy" else -stock.tick
    return crosses(side, limit, middle(seed, stock, number) + step)


@lru_cache(maxsize=1 << 14)
def has_met(seed: int, stock: Stock, side: Side, limit: int | None, live: datetime, last: int) -> bool:
    """Whether the market came to the limit of an order between the moment it went live and the last of the rounds."""
    rounds = open_rounds(stock.exchange, live, start_of(last))
    return any(meets(seed, stock, side, limit, number) for number in rounds)


def previous_close(seed: int, stock: Stock, now: datetime) -> int:
    """The price in cents at which the last session ended."""
    return middle(seed, stock, round_at(last_closing(stock.exchange, now)) - 1)


def band(seed: int, stock: Stock, now: datetime) -> tuple[int, int]:
    """The lowest and the highest limit the exchange takes, around the previous close."""
    close = previous_close(seed, stock, now)
    return -(-close * (100 - BAND_PERCENT) // 100), close * (100 + BAND_PERCENT) // 100


@lru_cache(maxsize=1 << 12)
def resting(seed: int, stock: Stock, number: int, side: Side) -> tuple[Level, ...]:
    """What the others bid (buy) or ask (sell) in a round, best price first."""
    price, step = middle(seed, stock, number), -stock.tick if side == "buy" else stock.tick
    levels = []
    for place in range(LEVELS):
        gap, count, *sizes = noise(seed, stock.id, number, side, place)
        price += step * (1 + gap % 3)
        orders = tuple(stock.lot * (1 + size % (120 // stock.lot)) for size in sizes[: 1 + count % 3])
        levels.append(Level(price, orders))
    return tuple(levels)


def without(levels: Iterable[Level], taken: int) -> Iterator[Level]:
    """The levels after so many shares were taken from them: the best price first, and at one price the oldest."""
    for level in levels:
        left = []
        for size in level.orders:
            used = min(size, taken)
            taken -= used
            if size > used:
                left.append(size - used)
        if left:
            yield Level(level.price, tuple(left))
