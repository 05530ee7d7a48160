"""The properties of a conversation that decide its split: contents, world and identifiers."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from hashlib import sha256

from ..core.trajectory import Example, dumps
from ..dataflow.leakage import identifiers


@dataclass(frozen=True)
class Item:
    """The properties of one conversation. `world` is "" for an imported conversation, which has no world."""

    contents: str
    world: str = ""
    identifiers: frozenset[str] = frozenset()
    held_out: bool = False


def contents_of(example: Example) -> str:
    """Return the SHA-256 of an example's JSON line without its id and split."""
    return sha256(dumps(replace(example, id="", split="train")).encode()).hexdigest()


def item_of(example: Example) -> Item:
    where = example.world
    return Item(
        contents=contents_of(example),
        world=f"{where.seed} {where.size}" if where.servers else "",
        identifiers=frozenset(identifiers([example])) if where.servers else frozenset(),
        held_out=example.split == "held_out",
    )


def flag_leaks(train: Iterable[Item], held_out: Sequence[Item]) -> list[bool]:
    """Return for each training conversation whether it shares contents, world or an identifier with a held-out one."""
    known = {name for item in held_out for name in (*item.identifiers, item.contents)}
    worlds = {item.world for item in held_out if item.world}
    return [item.contents in known or item.world in worlds or not known.isdisjoint(item.identifiers) for item in train]
