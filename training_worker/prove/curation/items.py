"""What of a conversation decides where it may go: its contents, its world, and what names things in it."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from hashlib import sha256

from ..leakage import identifiers
from ..trajectory import Example, dumps


@dataclass(frozen=True)
class Item:
    """A conversation in short. `world` is "" for one that others made: it runs nowhere."""

    contents: str
    world: str = ""
    identifiers: frozenset[str] = frozenset()
    held_out: bool = False


def contents_of(example: Example) -> str:
    """Names what an example says, whatever its id and side: the SHA-256 of its line without them."""
    return sha256(dumps(replace(example, id="", split="train")).encode()).hexdigest()


def item_of(example: Example) -> Item:
    where = example.world
    return Item(
        contents=contents_of(example),
        world=f"{where.seed} {where.size}" if where.servers else "",
        identifiers=frozenset(identifiers([example])) if where.servers else frozenset(),
        held_out=example.split == "held_out",
    )


def leaking(train: Iterable[Item], held_out: Sequence[Item]) -> list[bool]:
    """Of each training conversation, whether it shares contents, world or an identifier with a held-out one."""
    known = {name for item in held_out for name in (*item.identifiers, item.contents)}
    worlds = {item.world for item in held_out if item.world}
    return [item.contents in known or item.world in worlds or not known.isdisjoint(item.identifiers) for item in train]
