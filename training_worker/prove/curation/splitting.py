"""A share of a data set held out: by a hash of worlds or of conversations, and nothing on both sides."""

from __future__ import annotations

from collections.abc import Sequence
from hashlib import blake2b
from typing import Literal, get_args

from ..trajectory import Split
from .items import Item, leaking

By = Literal["world", "example"]
BY: tuple[By, ...] = get_args(By)


def divide(items: Sequence[Item], share: float, by: By = "world", seed: int = 0) -> list[Split | None]:
    """The side of each conversation; None for one that is left out, as it would tell training of a held-out one.

    A hash decides, so with the same seed a world is on the same side in every data set, and a larger share holds out
    all that a smaller one does. What is held out already stays so; one without a world is its own unit.
    """
    held = [item.held_out or falls(unit(item, by), seed) < share for item in items]
    train = [place for place, out in enumerate(held) if not out]
    leaks = leaking((items[place] for place in train), [item for item, out in zip(items, held, strict=True) if out])
    left_out = {place for place, leak in zip(train, leaks, strict=True) if leak}
    return ["held_out" if out else None if place in left_out else "train" for place, out in enumerate(held)]


def unit(item: Item, by: By) -> str:
    """What is on one side as a whole."""
    return item.world if by == "world" and item.world else item.contents


def falls(unit: str, seed: int) -> float:
    """A number from 0 to 1 that only these two decide."""
    digest = blake2b(f"{seed} {unit}".encode(), digest_size=7).digest()
    return int.from_bytes(digest, "big") / (1 << 56)
