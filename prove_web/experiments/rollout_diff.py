"""Comparison of two rollouts of a group, call by call: a common prefix, then aligned calls."""

from __future__ import annotations

import json
from dataclasses import dataclass
from difflib import SequenceMatcher
from itertools import zip_longest

from training_worker.core.trajectory import ExecutedCall, Rollout
from training_worker.environment.outcomes import outcomes
from training_worker.environment.prefix_tree import By, arguments_that_differ, first_difference

from .groups import Member


@dataclass(frozen=True)
class ArgumentText:
    """One argument as text."""

    name: str
    text: str
    differs: bool


@dataclass(frozen=True)
class Side:
    """A call of one of the two rollouts; `number` counts from 1."""

    number: int
    tool: str
    outcome: str
    arguments: tuple[ArgumentText, ...] | None
    result: str


@dataclass(frozen=True)
class Row:
    """An aligned row: the `same` call, two different calls, or a call that only one side made."""

    left: Side | None
    right: Side | None
    same: bool
    first: bool = False

    @property
    def sides(self) -> tuple[Side | None, Side | None]:
        return self.left, self.right


@dataclass(frozen=True)
class Pair:
    """Two rollouts, their common prefix of calls, and the rest; they diverge after `parts` calls, None if never."""

    a: Member
    b: Member
    alike: list[Row]
    rest: list[Row]
    parts: int | None

    @property
    def ends(self) -> tuple[Member, Member]:
        return self.a, self.b


def pair(a: Rollout, b: Rollout, members: tuple[Member, Member], key: By) -> Pair:
    parts = first_difference([one.call for one in a.calls], [one.call for one in b.calls], key)
    until = len(a.calls) if parts is None else parts
    alike = [row(a, b, at, at, same=True) for at in range(until)]
    rest: list[Row] = []
    left, right = ([key(one.call) for one in side.calls[until:]] for side in (a, b))
    for tag, low, high, below, above in SequenceMatcher(None, left, right, autojunk=False).get_opcodes():
        for i, j in zip_longest(range(low, high), range(below, above)):
            where = (None if i is None else until + i, None if j is None else until + j)
            rest.append(row(a, b, *where, same=tag == "equal", first=not rest))
    return Pair(*members, alike, rest, parts)


def row(a: Rollout, b: Rollout, i: int | None, j: int | None, *, same: bool, first: bool = False) -> Row:
    left, right = (None if i is None else a.calls[i]), (None if j is None else b.calls[j])
    differing = set(arguments_that_differ(left.call, right.call)) if left and right else set()
    return Row(side(a, i, left, differing), side(b, j, right, differing), same, first)


def side(rollout: Rollout, at: int | None, made: ExecutedCall | None, differing: set[str]) -> Side | None:
    if made is None or at is None:
        return None
    given = made.call.arguments
    words = outcomes(rollout)
    return Side(
        number=at + 1,
        tool=made.call.name,
        outcome=words[at] if words else "",
        arguments=None
        if given is None
        else tuple(ArgumentText(n, format_value(v), n in differing) for n, v in given.items()),
        result=made.observation,
    )


def format_value(value: object) -> str:
    return value if isinstance(value, str) else json.dumps(value, ensure_ascii=False, indent=1)
