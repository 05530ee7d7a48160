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
from .plot import Box, Plot, widen
from .reward_agreement import PARTS, Annotator, Cut, JudgedTrajectory, annotator, cut, list_judged_trajectories
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
        self.units = list_judged_trajectories(project, self.queue, self.basis, self.fix, blind)
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
    params = AnnotatorParams(request.project, request.GET, Blind(request.user, request.project))
    found = [annotator(params.units, part) for part in PARTS]
    chosen = found[PARTS.index(params.part)]
    threshold = params.threshold(chosen)
    differ = disagreements(params.units, params.part, threshold, params.side)
    context = {
        "params": params,
        "queues": request.project.queues.all(),
        "found": [(one, TITLES[one.part]) for one in found],
        "chosen": chosen,
        "title": TITLES[params.part],
        "titles": TITLES,
        "threshold": threshold,
        "written": repr(threshold),
        "at": compute_threshold_agreement(params.units, params.part, threshold),
        "sides": SIDES,
        "differ": len(differ),
        "page": Paginator([(one, one.scores[params.part]) for one in differ], ROWS).get_page(request.GET.get("page")),
        "enough": ENOUGH,
        **(pictures(chosen, threshold) if chosen.cuts else {}),
    }
    return render(request, "review/annotator.html", context)


def compute_threshold_agreement(units: Sequence[JudgedTrajectory], part: str, threshold: float) -> Cut | None:
    """Return the agreement at the current threshold."""
    import numpy as np

    having = [one for one in units if part in one.scores]
    if len(having) < ENOUGH:
        return None
    return cut(np.array([o.accepted for o in having]), np.array([o.scores[part] for o in having]), threshold)


def pictures(found: Annotator, threshold: float) -> dict[str, Plot]:
    """Return the plots of the threshold sweep and the ROC curve."""
    places = [one.threshold for one in found.cuts]
    low, high = widen(places, (places[0], places[0] + 0.01))
    curves = {
        "Percent": [(one.threshold, one.percent.value) for one in found.cuts],
        "AC1": [(one.threshold, one.ac1.value) for one in found.cuts],
        "Alpha": [(one.threshold, one.alpha.value) for one in found.cuts if one.alpha],
    }
    box = Box((low, high), widen([y for line in curves.values() for _, y in line], (0.0, 1.0)))
    mark = box.scale_x(threshold) if low <= threshold <= high else None
    lines = [box.line(name, points) for name, points in curves.items()]
    sweep = Plot("Agreement by threshold", lines, box.ticks_across(), box.ticks_up(), mark)
    return {"sweep": sweep} | ({"roc": roc(found)} if found.auc else {})


def roc(found: Annotator) -> Plot:
    box = Box((0.0, 1.0), (0.0, 1.0))
    curve = [(one.false_alarms, one.hits) for one in reversed(found.cuts)]
    line = box.line("ROC", [(0.0, 0.0), *((x, y) for x, y in curve if x is not None and y is not None)])
    diagonal = f"{box.scale_x(0)},{box.scale_y(0)} {box.scale_x(1)},{box.scale_y(1)}"
    return Plot("ROC curve", [line], box.ticks_across(), box.ticks_up(), None, diagonal)


@in_project(Action.LAUNCH)
@require_POST
def disagreement_queue(request: ProjectRequest) -> HttpResponse:
    """Create a queue of the disagreements that the page shows."""
    params = AnnotatorParams(request.project, request.POST, Blind(request.user, request.project))
    threshold = params.threshold(annotator(params.units, params.part))
    found = disagreements(params.units, params.part, threshold, params.side)
    try:
        queue = make_queue(request.project, request.user, found, {**params.how, "threshold": threshold})
    except ValueError as why:
        messages.warning(request, str(why))
    else:
        size = queue.items.count()
        messages.success(request, f"“{queue.name}” has {size} trajector{'y' if size == 1 else 'ies'} to review again.")
        return redirect(queue)
    given = request.POST.copy()
    given.pop("csrfmiddlewaretoken", None)
    return redirect(f"{reverse('reward-annotator', args=request.project.path)}?{given.urlencode()}")
