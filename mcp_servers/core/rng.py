"""Seeded choice, the same on every Python and machine, and the split of all values into training and held-out ones.

Only `random.Random.random` is the same on all Pythons, so everything here is derived from it.
"""

from __future__ import annotations

from collections.abc import Container, Sequence
from functools import lru_cache
from hashlib import blake2b
from random import Random
from typing import TypeVar

T = TypeVar("T")
FIRST_HELD_OUT_SEED = 1_000_000_000
HELD_OUT_SHARE = 5


def is_held_out_seed(seed: int) -> bool:
    """Return whether a seed opens a held-out world, as those from 1,000,000,000 on do."""
    return seed >= FIRST_HELD_OUT_SEED


@lru_cache(maxsize=1 << 16)
def is_held_out(value: str) -> bool:
    """Return whether a name or id is held out: one in five is, by a hash (a residue would hide whole tokens)."""
    return blake2b(value.encode(), digest_size=2).digest()[0] % HELD_OUT_SHARE == 0


def belongs(value: str, seed: int) -> bool:
    """Return whether a world of this seed may hold this value."""
    return is_held_out(value) == is_held_out_seed(seed)


class Draw:
    """A stream of choices named by its key: the same key, the same choices."""

    def __init__(self, *key: object):
        self.random = Random("/".join(map(str, key))).random

    def integer(self, low: int, high: int) -> int:
        """Return a whole number from low to high, both included."""
        return low + int(self.random() * (high - low + 1))

    def chance(self, probability: float) -> bool:
        return self.random() < probability

    def choice(self, options: Sequence[T]) -> T:
        return options[self.integer(0, len(options) - 1)]

    def sample(self, options: Sequence[T], count: int) -> list[T]:
        """Return up to `count` elements from different positions of `options`, in the order drawn."""
        pool = list(options)
        taken: list[T] = []
        while pool and len(taken) < count:
            taken.append(pool.pop(self.integer(0, len(pool) - 1)))
        return taken

    def shuffle_items(self, options: Sequence[T]) -> list[T]:
        return self.sample(options, len(options))

    def choose_weighted(self, options: Sequence[T], weights: Sequence[float]) -> T:
        """Return one option, with a probability proportional to its weight."""
        mark = self.random() * sum(weights)
        for option, weight in zip(options, weights, strict=True):
            mark -= weight
            if mark < 0:
                return option
        return options[-1]


def derive_id(prefix: str, width: int, seed: int, cause: str, taken: Container[str], tried: int = 0) -> tuple[str, int]:
    """Return an id such as ACC-4823, and the number of tries used for this cause, to be passed as `tried` next time.

    The id depends on the seed, the table's prefix and the call that creates the row (`cause`): the same call in the
    same world gives the same id, whatever was called before, and the next one when it is repeated.
    """
    for occurrence in range(tried, 10**width * 20):
        key = f"{seed}/{prefix}/{cause}/{occurrence}".encode()
        number = int.from_bytes(blake2b(key, digest_size=8).digest(), "big") % 10**width
        id = f"{prefix}-{number:0{width}d}"
        if id not in taken and belongs(id, seed):
            return id, occurrence + 1
    raise OverflowError(f"The table {prefix} is full: give it a larger width.")
