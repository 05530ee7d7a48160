"""Page that compares the reward with reviewers as an annotator, and creates a queue of their disagreements."""

from __future__ import annotations

from collections.abc import Sequence
from math import isfinite
from typing import Any

from django.contrib import messages
from django.core.paginator import Paginator
from django.http import HttpResponse, QueryDict
from django.shortcuts import redirect, render
from django.urls import reverse
from django.views.decorators.http import require_POST, require_safe

from prove_web.accounts.models import Project
from prove_web.accounts.permissions import Action, ProjectRequest, in_project

from .agreement import ENOUGH
from .agreement_page import queue_of
from .blinding import Blind
from .models import Queue
from .plot import Box, Plot, room
from .reward_agreement import PARTS, Annotator, Cut, Judged, annotator, cut, judged
from .reward_conflicts import disagreements
from .reward_conflicts import queue_of as make_queue

ROWS = 25
TITLES = {"reward": "Total reward"} | {name: name.capitalize() for name in PARTS[1:]}
SIDES = {"": "All", "low": "Accepted, low reward", "high": "Not accepted, high reward"}


class AnnotatorParams:
    """URL parameters: the verdicts, the reward component, the threshold and the side."""

    def __init__(self, project: Project, given: QueryDict, blind: Blind):
        self.queue: Queue | None = queue_of(project, given.get("queue", ""))
        self.basis = "reviews" if given.get("basis") == "reviews" else "settled"
        self.fix = given.get("fix") != "out"
        self.part = part if (part := given.get("part_of", "")) in PARTS else "reward"
        self.side = side if (side := given.get("side", "")) in SIDES else ""
        self.units = judged(project, self.queue, self.basis, self.fix, blind)
        self.given = number(given.get("at", ""))

    def threshold(self, found: Annotator) -> float:
        """Return the requested threshold, or else the initial one."""
        return found.start if self.given is None else self.given

    @property
    def how(self) -> dict[str, Any]:
        return {"part": self.part, "side": self.side, "basis": self.basis, "fix": self.fix}


def number(text: str) -> float | None:
    try:
        found = float(text)
    except ValueError:
        return None
    return found if isfinite(found) and abs(found) < 1e6 else None


@in_project(Action.VIEW)
@require_safe
def reward_annotator(request: ProjectRequest) -> HttpResponse:
    """Show `?queue=`, `?basis=` settled or reviews, `?fix=out`, `?part_of=` the reward, `?at=` threshold, `?side=`."""
    asked = AnnotatorParams(request.project, request.GET, Blind(request.user, request.project))
    found = [annotator(asked.units, part) for part in PARTS]
    chosen = found[PARTS.index(asked.part)]
    threshold = asked.threshold(chosen)
    differ = disagreements(asked.units, asked.part, threshold, asked.side)
    context = {
        "asked": asked,
        "queues": request.project.queues.all(),
        "found": [(one, TITLES[one.part]) for one in found],
        "chosen": chosen,
        "title": TITLES[asked.part],
        "titles": TITLES,
        "threshold": threshold,
        "written": repr(threshold),
        "at": now(asked.units, asked.part, threshold),
        "sides": SIDES,
        "differ": len(differ),
        "page": Paginator([(one, one.scores[asked.part]) for one in differ], ROWS).get_page(request.GET.get("page")),
        "enough": ENOUGH,
        **(pictures(chosen, threshold) if chosen.cuts else {}),
    }
    return render(request, "review/annotator.html", context)


def now(units: Sequence[Judged], part: str, threshold: float) -> Cut | None:
    """Return the agreement at the current threshold."""
    import numpy as np

    having = [one for one in units if part in one.scores]
    if len(having) < ENOUGH:
        return None
    return cut(np.array([o.accepted for o in having]), np.array([o.scores[part] for o in having]), threshold)


def pictures(found: Annotator, threshold: float) -> dict[str, Plot]:
    """Return the plots of the threshold sweep and the ROC curve."""
    places = [one.threshold for one in found.cuts]
    low, high = room(places, (places[0], places[0] + 0.01))
    told = {
        "Percent": [(one.threshold, one.percent.value) for one in found.cuts],
        "AC1": [(one.threshold, one.ac1.value) for one in found.cuts],
        "Alpha": [(one.threshold, one.alpha.value) for one in found.cuts if one.alpha],
    }
    box = Box((low, high), room([y for line in told.values() for _, y in line], (0.0, 1.0)))
    mark = box.across(threshold) if low <= threshold <= high else None
    lines = [box.line(name, points) for name, points in told.items()]
    sweep = Plot("Agreement by threshold", lines, box.ticks_across(), box.ticks_up(), mark)
    return {"sweep": sweep} | ({"roc": roc(found)} if found.auc else {})


def roc(found: Annotator) -> Plot:
    box = Box((0.0, 1.0), (0.0, 1.0))
    curve = [(one.false_alarms, one.hits) for one in reversed(found.cuts)]
    line = box.line("ROC", [(0.0, 0.0), *((x, y) for x, y in curve if x is not None and y is not None)])
    diagonal = f"{box.across(0)},{box.up(0)} {box.across(1)},{box.up(1)}"
    return Plot("ROC curve", [line], box.ticks_across(), box.ticks_up(), None, diagonal)


@in_project(Action.LAUNCH)
@require_POST
def disagreement_queue(request: ProjectRequest) -> HttpResponse:
    """Create a queue of the disagreements that the page shows."""
    asked = AnnotatorParams(request.project, request.POST, Blind(request.user, request.project))
    threshold = asked.threshold(annotator(asked.units, asked.part))
    found = disagreements(asked.units, asked.part, threshold, asked.side)
    try:
        queue = make_queue(request.project, request.user, found, {**asked.how, "threshold": threshold})
    except ValueError as why:
        messages.warning(request, str(why))
    else:
        size = queue.items.count()
        messages.success(request, f"“{queue.name}” has {size} trajector{'y' if size == 1 else 'ies'} to review again.")
        return redirect(queue)
    given = request.POST.copy()
    given.pop("csrfmiddlewaretoken", None)
    return redirect(f"{reverse('reward-annotator', args=request.project.path)}?{given.urlencode()}")
