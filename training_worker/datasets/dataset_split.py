"""Train and held-out splits of a dataset, by a hash of worlds or of conversations, without leakage."""

from __future__ import annotations

from collections.abc import Sequence
from hashlib import blake2b
from typing import Literal, get_args

from ..core.trajectory import Split
from .items import Item, flag_leaks

By = Literal["world", "example"]
BY: tuple[By, ...] = get_args(By)


def divide(items: Sequence[Item], share: float, by: By = "world", seed: int = 0) -> list[Split | None]:
    """Return the split of each conversation; None for one left out because it would leak a held-out one into training.

    A hash decides, so with the same seed a world has the same split in every dataset, and a larger share holds out all
    that a smaller share does. Held-out conversations stay held out; one without a world is its own unit.
    """
    held = [item.held_out or hash_to_fraction(unit(item, by), seed) < share for item in items]
    train = [place for place, out in enumerate(held) if not out]
    leaks = flag_leaks((items[place] for place in train), [item for item, out in zip(items, held, strict=True) if out])
    left_out = {place for place, leak in zip(train, leaks, strict=True) if leak}
    return ["held_out" if out else None if place in left_out else "train" for place, out in enumerate(held)]


def unit(item: Item, by: By) -> str:
    """Return the key of the unit that is never divided between splits."""
    return item.world if by == "world" and item.world else item.contents


def hash_to_fraction(unit: str, seed: int) -> float:
    """Return a number from 0 to 1 that depends only on the unit and the seed."""
    digest = blake2b(f"{seed} {unit}".encode(), digest_size=7).digest()
    return int.from_bytes(digest, "big") / (1 << 56)
