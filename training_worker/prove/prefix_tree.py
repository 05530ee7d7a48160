"""The calls of a group's rollouts as one tree: equal beginnings are one path, and where they part is a fork.

A node is a call after all the calls above it, and the root is before the first. A rollout is a path from the root to
the node of its last call. Of a node's *ways on*, each child is one, and ending there is one more, where both happen.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from math import fsum, isfinite
from statistics import fmean
from unicodedata import normalize

from .trajectory import Json, ToolCall

EQUAL = 1e-6  # rewards that differ by less are the same
Key = tuple[str, str]
By = Callable[[ToolCall], Key]


@dataclass
class Node:
    """A call that the rollouts `through` it made after the same calls; those of `ending` made none after it.

    Rollouts are indices, from 0. `number` counts the nodes from 0, the root, as one reads the tree; `depth` is how many
    calls lead here.
    """

    call: ToolCall | None = None
    depth: int = 0
    number: int = 0
    through: list[int] = field(default_factory=list)
    ending: list[int] = field(default_factory=list)
    children: list[Node] = field(default_factory=list)

    @property
    def ways(self) -> list[list[int]]:
        """The rollouts of each way on; together they are those through it."""
        return [*(child.through for child in self.children), *([self.ending] if self.ending else [])]

    @property
    def forks(self) -> bool:
        return len(self.ways) > 1

    def walk(self) -> Iterator[Node]:
        """This node and all below it, each before its children."""
        waiting = [self]
        while waiting:
            node = waiting.pop()
            yield node
            waiting.extend(reversed(node.children))


def with_arguments(call: ToolCall) -> Key:
    """Calls are equal that name one tool with arguments that are equal as JSON; their keys have no order."""
    return call.name, "malformed" if call.arguments is None else canonical(call.arguments)


def by_tool(call: ToolCall) -> Key:
    """Calls are equal that name one tool."""
    return call.name, ""


def canonical(arguments: dict[str, Json]) -> str:
    """JSON text that is the same for equal values: keys sorted, 1.0 as 1, text after NFC without outer white space."""
    return json.dumps(plain(arguments), sort_keys=True, ensure_ascii=False, separators=(",", ":"))


def plain(value: Json) -> Json:
    match value:
        case float() if value.is_integer():
            return int(value)
        case str():
            return normalize("NFC", value).strip()
        case dict():
            return {key: plain(each) for key, each in value.items()}
        case list():
            return [plain(each) for each in value]
    return value


def tree(rollouts: Sequence[Sequence[ToolCall]], key: By = with_arguments) -> Node:
    """The tree of these rollouts' calls; children in the order of the rollouts that made them first."""
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
class Parting:
    """A fork at which rollouts go ways of different mean reward, winners and losers among them.

    Winners have more than the mean of the group, losers less. `share` is how much of the group's spread goes by the
    way that was taken here: the sum of squares between the ways, over that of the whole group, from 0 to 1.
    """

    node: Node
    share: float


def partings(root: Node, rewards: Sequence[float | None]) -> list[Parting]:
    """The forks that tell winners from losers, the earliest first; of those after as many calls, what tells most.

    The first of them is where winners and losers part. There is none where all rewards are the same.
    """
    known = {at: reward for at, reward in enumerate(rewards) if reward is not None and isfinite(reward)}
    if not known:
        return []
    mean = fmean(known.values())
    whole_spread = fsum((reward - mean) ** 2 for reward in known.values())
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
            found.append(Parting(node, min(1.0, between / whole_spread)))
    return sorted(found, key=lambda one: (one.node.depth, -one.share, one.node.number))


def first_difference(a: Sequence[ToolCall], b: Sequence[ToolCall], key: By = with_arguments) -> int | None:
    """At how many calls two rollouts part; None where their calls are the same."""
    for at, (one, other) in enumerate(zip(a, b, strict=False)):
        if key(one) != key(other):
            return at
    return None if len(a) == len(b) else min(len(a), len(b))


def arguments_that_differ(a: ToolCall, b: ToolCall) -> tuple[str, ...]:
    """The names of arguments that only one has, or whose values are not equal."""
    left, right = ({name: canonical({"": value}) for name, value in (one.arguments or {}).items()} for one in (a, b))
    return tuple(name for name in {**left, **right} if left.get(name) != right.get(name))
