"""The call tree of a group of rollouts, its forks, and the query parameters that select parts of it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from django.http import QueryDict

from prove_web.core.parse_int import parse_digits
from training_worker.core.trajectory import Rollout
from training_worker.environment.prefix_tree import By, Divergence, Node, by_tool, partings, tree, with_arguments

from .call_tree_layout import Branch, build_tree_layout
from .groups import Group, Member
from .rollout_diff import Pair, pair

KEYS: dict[str, tuple[str, By]] = {
    "arguments": ("Tool and arguments", with_arguments),
    "tool": ("Tool only", by_tool),
}


@dataclass(frozen=True)
class CallTree:
    """The tree, its forks that separate winners from losers (earliest first), and the layout in which it is drawn."""

    root: Node
    forks: Sequence[Divergence]
    drawn: Branch


def build_call_tree(group: Group, rollouts: Sequence[Rollout], by: str) -> CallTree:
    """Build the tree of a group; `by` is one of KEYS and says which calls count as the same."""
    root = tree([[made.call for made in rollout.calls] for rollout in rollouts], KEYS[by][1])
    forks = partings(root, [member.reward for member in group.members])
    return CallTree(root, forks, build_tree_layout(root, rollouts, group, forks, arguments=by == "arguments"))


def looked_at(query: QueryDict, group: Group, rollouts: Sequence[Rollout]) -> dict[str, Any]:
    """Return the page context.

    `by=tool` merges calls by tool alone, `node` keeps only the rollouts through one call, and two `pair` parameters
    select the rollouts to compare.
    """
    by = query.get("by", "") if query.get("by", "") in KEYS else "arguments"
    found = build_call_tree(group, rollouts, by)
    node = node_of(found.root, query.get("node", ""))
    return {
        "group": group,
        "root": found.drawn,
        "parted": found.forks[0] if found.forks else None,
        "by": by,
        "keys": [(name, title) for name, (title, _) in KEYS.items()],
        "node": node,
        "members": list_members(group, node),
        "pair": choose_pair(query, group, rollouts, KEYS[by][1]),
    }


def node_of(root: Node, text: str) -> Node | None:
    """Return the node with this number; None for the root or an unknown number."""
    number = parse_digits(text) or 0
    return next((node for node in root.walk() if node.number == number and number), None)


def list_members(group: Group, node: Node | None) -> list[Member]:
    """Return the rollouts through a node, or all of them, highest reward first and unscored ones last."""
    members = [group.members[at] for at in node.through] if node else list(group.members)
    return sorted(members, key=lambda one: (one.reward is None, -(one.reward or 0.0), one.index))


def choose_pair(query: QueryDict, group: Group, rollouts: Sequence[Rollout], key: By) -> Pair | None:
    """Return the two rollouts that the query names, else the best and the worst; None for a group of one."""
    places = {str(member.index): member.place - 1 for member in group.members}
    chosen = list(dict.fromkeys(places[one] for one in query.getlist("pair") if one in places))[:2]
    ranked = [member.place - 1 for member in list_members(group, None)]
    chosen += [place for place in (ranked[0], ranked[-1], *ranked) if place not in chosen]
    if len(ranked) < 2:
        return None
    a, b = chosen[:2]
    return pair(rollouts[a], rollouts[b], (group.members[a], group.members[b]), key)
