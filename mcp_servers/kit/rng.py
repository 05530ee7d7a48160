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
    """Seeds from 1,000,000,000 on open held-out worlds."""
    return seed >= FIRST_HELD_OUT_SEED


@lru_cache(maxsize=1 << 16)
def is_held_out(value: str) -> bool:
    """Whether a name or id belongs to held-out worlds: one in five, by a hash (a residue would hide whole tokens)."""
    return blake2b(value.encode(), digest_size=2).digest()[0] % HELD_OUT_SHARE == 0


def belongs(value: str, seed: int) -> bool:
    """Whether a world of this seed may hold this value."""
    return is_held_out(value) == is_held_out_seed(seed)


class Draw:
    """A stream of choices named by its key: the same key, the same choices."""

    def __init__(self, *key: object):
        self.random = Random("/".join(map(str, key))).random

    def integer(self, low: int, high: int) -> int:
        """A whole number from low to high, both included."""
        return low + int(self.random() * (high - low + 1))

    def chance(self, probability: float) -> bool:
        return self.random() < probability

    def choice(self, options: Sequence[T]) -> T:
        return options[self.integer(0, len(options) - 1)]

    def sample(self, options: Sequence[T], count: int) -> list[T]:
        """Up to `count` different places of `options`, in drawn order."""
        pool = list(options)
        taken: list[T] = []
        while pool and len(taken) < count:
            taken.append(pool.pop(self.integer(0, len(pool) - 1)))
        return taken

    def shuffled(self, options: Sequence[T]) -> list[T]:
        return self.sample(options, len(options))

    def weighted(self, options: Sequence[T], weights: Sequence[float]) -> T:
        """One option, as likely as its weight says."""
        mark = self.random() * sum(weights)
        for option, weight in zip(options, weights, strict=True):
            mark -= weight
            if mark < 0:
                return option
        return options[-1]


def derive_id(prefix: str, width: int, seed: int, cause: str, taken: Container[str], tried: int = 0) -> tuple[str, int]:
    """An id such as ACC-4823, from the seed, the table's prefix and the call that creates the row; and how many tries
    of this cause are spent now, to be given as `tried` next time.

    The same call in the same world gives the same id whatever else was called before; called again, the next one.
    """
    for occurrence in range(tried, 10**width * 20):
        key = f"{seed}/{prefix}/{cause}/{occurrence}".encode()
        number = int.from_bytes(blake2b(key, digest_size=8).digest(), "big") % 10**width
        id = f"{prefix}-{number:0{width}d}"
        if id not in taken and belongs(id, seed):
            return id, occurrence + 1
    raise OverflowError(f"The table {prefix} is full: give it a larger width.")
