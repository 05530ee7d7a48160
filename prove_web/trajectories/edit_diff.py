"""Side-by-side comparison of an edited trajectory with its parent: messages and calls."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from difflib import SequenceMatcher
from itertools import zip_longest
from typing import Any

from django.http import HttpResponse
from django.shortcuts import get_object_or_404, redirect, render
from django.views.decorators.http import require_safe

from prove_web.accounts.permissions import Action, ProjectRequest, in_project
from prove_web.review.blinding import blind_since
from training_worker.core.trajectory import Example

from .models import Trajectory
from .replay_score import example_of

WORDS = re.compile(r"\s+|\w+|[^\w\s]")
MOST_PAIRS = 200_000  # pairs of words to compare; with many more, difflib would take minutes
RELATED = ("dataset__project__organisation", "parent__dataset__project__organisation")


@dataclass(frozen=True)
class DiffItem:
    """An item of a conversation: role, tool (of a call) and text."""

    role: str
    tool: str
    text: str


@dataclass(frozen=True)
class Pair:
    """The items of both at one place, None if missing; `old` and `new` are text parts with whether each differs."""

    before: DiffItem | None
    after: DiffItem | None
    old: tuple[tuple[str, bool], ...] = ()
    new: tuple[tuple[str, bool], ...] = ()

    @property
    def state(self) -> str:
        if self.before is None or self.after is None:
            return "added" if self.before is None else "removed"
        return "same" if self.before == self.after else "changed"


@in_project(Action.VIEW)
@require_safe
def show_edit_diff(request: ProjectRequest, dataset: int, example: str) -> HttpResponse:
    """Show what changed from the parent; without an accessible parent redirect to the trajectory."""
    rows = Trajectory.objects.filter_by_project(request.project).select_related(*RELATED)
    found = get_object_or_404(rows, dataset__number=dataset, example=example)
    parent = found.parent.dataset if found.parent else None
    if parent is None or parent.deleted_at or parent.project_id != request.project.pk:
        return redirect(found)
    if blind_since(found.parent, request.user) is not None:
        return redirect(found)
    before, after = example_of(found.parent), example_of(found)
    pairs = list(side_by_side(before, after)) if before and after else None
    context: dict[str, Any] = {"trajectory": found, "parent": found.parent, "dataset": found.dataset, "pairs": pairs}
    context["differing"] = sum(pair.state != "same" for pair in pairs or ())
    return render(request, "trajectories/edited.html", context)


def side_by_side(before: Example, after: Example) -> Iterator[Pair]:
    """Yield both conversations in pairs of items that are equal or of one kind."""
    old, new = list(iter_messages(before)), list(iter_messages(after))
    matcher = SequenceMatcher(None, [(one.role, one.tool) for one in old], [(one.role, one.tool) for one in new], False)
    for _, a, b, c, d in matcher.get_opcodes():
        for left, right in zip_longest(old[a:b], new[c:d]):
            if left and right and (left.role, left.tool) != (right.role, right.tool) and left.role != right.role:
                yield from (pair(left, None), pair(None, right))
            else:
                yield pair(left, right)


def iter_messages(example: Example) -> Iterator[DiffItem]:
    for number, words in enumerate(example.turns):
        yield DiffItem("user", "", words)
        for call in (call for step in example.steps if step.turn == number for call in step.calls):
            yield DiffItem("call", call.name, json.dumps(call.arguments, indent=2, ensure_ascii=False))
        yield from (DiffItem("assistant", "", answer) for answer in example.answers[number : number + 1] if answer)


def pair(before: DiffItem | None, after: DiffItem | None) -> Pair:
    if before is None or after is None or before == after:
        return Pair(before, after, ((before.text, False),) if before else (), ((after.text, False),) if after else ())
    old, new = WORDS.findall(before.text), WORDS.findall(after.text)
    codes = list(iter_opcodes(old, new))
    return Pair(
        before,
        after,
        tuple(("".join(old[a:b]), tag != "equal") for tag, a, b, _, _ in codes if b > a),
        tuple(("".join(new[c:d]), tag != "equal") for tag, _, _, c, d in codes if d > c),
    )


Code = tuple[str, int, int, int, int]


def iter_opcodes(old: Sequence[str], new: Sequence[str]) -> Iterator[Code]:
    """Yield difflib opcodes; equal ends are set aside first, and a long middle is a single replacement."""
    alike = [one == other for one, other in zip(old, new, strict=False)]
    head = alike.index(False) if False in alike else len(alike)
    most, tail = min(len(old), len(new)) - head, 0
    while tail < most and old[-1 - tail] == new[-1 - tail]:
        tail += 1
    a, c = len(old) - tail, len(new) - tail
    if head:
        yield "equal", 0, head, 0, head
    if (a - head) * (c - head) > MOST_PAIRS:
        yield "replace", head, a, head, c
    else:
        codes = SequenceMatcher(None, old[head:a], new[head:c], False).get_opcodes()
        yield from ((tag, i + head, j + head, k + head, m + head) for tag, i, j, k, m in codes)
    if tail:
        yield "equal", a, len(old), c, len(new)
