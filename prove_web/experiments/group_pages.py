"""One group of a step: its rollouts beside each other, as a tree of their calls, and two of them call by call."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

from django.http import Http404, HttpResponse, QueryDict
from django.shortcuts import render
from django.views.decorators.http import require_safe

from prove_web.accounts.permissions import Action, ProjectRequest, in_project
from training_worker.prove.prefix_tree import By, Node, by_tool, partings, tree, with_arguments
from training_worker.prove.store.kept import COMPONENTS
from training_worker.prove.trajectory import Rollout

from .beside import Pair, pair
from .branches import drawn
from .detail import run_of
from .groups import EQUAL, Group, Member
from .models import Run
from .rollouts import NoRollouts, examples_of, groups_in, rollouts_of, table_of

KEYS: dict[str, tuple[str, By]] = {
    "arguments": ("Tool and arguments", with_arguments),
    "tool": ("Tool alone", by_tool),
}
PARTS = {"members": "group_members", "": "group"}


@in_project(Action.VIEW)
@require_safe
def group(request: ProjectRequest, run: int, step: int, group: int) -> HttpResponse:
    """`by=tool` merges calls by tool alone, `node` narrows to the rollouts through one call, `pair` twice compares two.

    `part=members` is the table of rollouts alone.
    """
    found = run_of(request.project, run)
    context: dict[str, Any] = {"run": found, "step": step, "number": group}
    try:
        one, whole, numbers = opened(found, step, group)
    except NoRollouts as error:
        return render(request, "experiments/group.html", context | {"why": str(error)}, status=404)
    by = request.GET.get("by", "") if request.GET.get("by", "") in KEYS else "arguments"
    key = KEYS[by][1]
    root = tree([[made.call for made in rollout.calls] for rollout in whole], key)
    parted = partings(root, [member.reward for member in one.members])
    node = node_of(root, request.GET.get("node", ""))
    here = numbers.index(group)
    context |= {
        "group": one,
        "around": [("prev", numbers[here - 1] if here else None), ("next", (*numbers, None)[here + 1])],
        "root": drawn(root, whole, one, parted, arguments=by == "arguments"),
        "parted": parted[0] if parted else None,
        "by": by,
        "keys": [(name, title) for name, (title, _) in KEYS.items()],
        "node": node,
        "members": shown(one, node),
        "components": COMPONENTS,
        "pair": compared(request.GET, one, whole, key),
        "winners": sum(member.reward > one.mean + EQUAL for member in one.members if member.reward is not None),
        "losers": sum(member.reward < one.mean - EQUAL for member in one.members if member.reward is not None),
    }
    return render(request, f"experiments/{PARTS.get(request.GET.get('part', ''), 'group')}.html", context)


def opened(run: Run, step: int, number: int) -> tuple[Group, list[Rollout], list[int]]:
    """A group with its rollouts, and the numbers of all groups of the step. Raises NoRollouts, Http404."""
    table = table_of(run, step)
    numbers = list(dict.fromkeys(table.column("group")))
    if number not in numbers:
        raise Http404(f"Step {step} has no group {number}.")
    [one] = groups_in(table.of_groups([number]), run)
    whole = rollouts_of(run, step, one)
    return replace(one, example=examples_of(run, [one.name]).get(one.name)), list(whole), numbers


def node_of(root: Node, asked: str) -> Node | None:
    """The node of this number; None for the root, and for none."""
    number = int(asked) if asked.isdecimal() and asked.isascii() and len(asked) < 7 else 0
    return next((node for node in root.walk() if node.number == number and number), None)


def shown(group: Group, node: Node | None) -> list[Member]:
    """The rollouts through a node, or all of them, the best first; without a reward last."""
    members = [group.members[at] for at in node.through] if node else list(group.members)
    return sorted(members, key=lambda one: (one.reward is None, -(one.reward or 0.0), one.index))


def compared(asked: QueryDict, group: Group, whole: Sequence[Rollout], key: By) -> Pair | None:
    """The two rollouts that the address names, or the best and the worst; None for a group of one."""
    places = {str(member.index): member.place - 1 for member in group.members}
    chosen = list(dict.fromkeys(places[one] for one in asked.getlist("pair") if one in places))[:2]
    ranked = [member.place - 1 for member in shown(group, None)]
    chosen += [place for place in (ranked[0], ranked[-1], *ranked) if place not in chosen]
    if len(ranked) < 2:
        return None
    a, b = chosen[:2]
    return pair(whole[a], whole[b], (group.members[a], group.members[b]), key)
