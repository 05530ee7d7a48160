"""Prefix tree of the calls of a group's rollouts: equal prefixes share a path, and rollouts diverge at forks.

A node is a call after all the calls above it; the root precedes the first call. A rollout is a path from the root to
the node of its last call. The *ways* on from a node are its children, and one more for the rollouts that end there.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from math import fsum, isfinite
from statistics import fmean
from unicodedata import normalize

from ..core.trajectory import Json, ToolCall

EQUAL = 1e-6  # rewards that differ by less count as equal
Key = tuple[str, str]
By = Callable[[ToolCall], Key]


@dataclass
class Node:
    """A call that the rollouts `through` it made after the same calls; the rollouts `ending` here made no later call.

    Rollouts are indices, from 0. `number` counts the nodes in depth-first order from 0, the root; `depth` is the number
    of calls that lead here.
    """

    call: ToolCall | None = None
    depth: int = 0
    number: int = 0
    through: list[int] = field(default_factory=list)
    ending: list[int] = field(default_factory=list)
    children: list[Node] = field(default_factory=list)

    @property
    def ways(self) -> list[list[int]]:
        """Return the rollouts of each way; together they are the rollouts through this node."""
        return [*(child.through for child in self.children), *([self.ending] if self.ending else [])]

    @property
    def forks(self) -> bool:
        return len(self.ways) > 1

    def walk(self) -> Iterator[Node]:
        """Yield this node and all nodes below it, each before its children."""
        waiting = [self]
        while waiting:
            node = waiting.pop()
            yield node
            waiting.extend(reversed(node.children))


def with_arguments(call: ToolCall) -> Key:
    """Return a key that is equal for calls of the same tool with equal JSON arguments, in any key order."""
    return call.name, "malformed" if call.arguments is None else canonical(call.arguments)


def by_tool(call: ToolCall) -> Key:
    """Return a key that is equal for calls of the same tool."""
    return call.name, ""


def canonical(arguments: dict[str, Json]) -> str:
    """Return JSON text that is the same for equal values: keys sorted, 1.0 as 1, text in NFC and stripped."""
    return json.dumps(normalize_value(arguments), sort_keys=True, ensure_ascii=False, separators=(",", ":"))


def normalize_value(value: Json) -> Json:
    match value:
        case float() if value.is_integer():
            return int(value)
        case str():
            return normalize("NFC", value).strip()
        case dict():
            return {key: normalize_value(each) for key, each in value.items()}
        case list():
            return [normalize_value(each) for each in value]
    return value


def tree(rollouts: Sequence[Sequence[ToolCall]], key: By = with_arguments) -> Node:
    """Build the tree of these rollouts' calls; children are in the order of the first rollout that made them."""
    root = Node(through=list(range(len(rollouts))))
    waiting = [root]
    while waiting:
        node = waiting.pop()
        found: dict[Key, Node] = {}
        for at in node.through:
            if len(rollouts[at]) == node.depth:
                node.ending.append(at)
                continue
            call = rollouts[at][node.depth]
            found.setdefault(key(call), Node(call, node.depth + 1)).through.append(at)
        node.children = list(found.values())
        waiting.extend(node.children)
    for number, node in enumerate(root.walk()):
        node.number = number
    return root


@dataclass(frozen=True)
class Divergence:
    """A fork with winners and losers whose ways differ in mean reward.

    Winners have more than the group's mean reward, losers less. `share` is the share of the group's variance that the
    choice at this fork explains: the sum of squares between the ways over that of the whole group, from 0 to 1.
    """

    node: Node
    share: float


def partings(root: Node, rewards: Sequence[float | None]) -> list[Divergence]:
    """Return the forks that separate winners from losers, by depth and then by falling share of explained variance.

    The first one is where winners and losers diverge. There is none if all rewards are equal.
    """
    known = {at: reward for at, reward in enumerate(rewards) if reward is not None and isfinite(reward)}
    if not known:
        return []
    mean = fmean(known.values())
    total_variation = fsum((reward - mean) ** 2 for reward in known.values())
    found = []
    for node in root.walk():
        if not node.forks:
            continue
        here = [known[at] for at in node.through if at in known]
        ways = [[known[at] for at in way if at in known] for way in node.ways]
        means = [fmean(way) for way in ways if way]
        won, lost = any(r > mean + EQUAL for r in here), any(r < mean - EQUAL for r in here)
        if won and lost and max(means) - min(means) > EQUAL:
            centre = fmean(here)
            between = fsum(len(way) * (fmean(way) - centre) ** 2 for way in ways if way)
            found.append(Divergence(node, min(1.0, between / total_variation)))
    return sorted(found, key=lambda one: (one.node.depth, -one.share, one.node.number))


def first_difference(a: Sequence[ToolCall], b: Sequence[ToolCall], key: By = with_arguments) -> int | None:
    """Return the number of calls after which two rollouts diverge; None if their calls are the same."""
    for at, (one, other) in enumerate(zip(a, b, strict=False)):
        if key(one) != key(other):
            return at
    return None if len(a) == len(b) else min(len(a), len(b))


def arguments_that_differ(a: ToolCall, b: ToolCall) -> tuple[str, ...]:
    """Return the names of the arguments that only one call has or whose values differ."""
    left, right = ({name: canonical({"": value}) for name, value in (one.arguments or {}).items()} for one in (a, b))
    return tuple(name for name in {**left, **right} if left.get(name) != right.get(name))
