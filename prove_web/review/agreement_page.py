"""Page of agreement; the URL holds the queue and the question."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from django.http import Http404, HttpResponse
from django.shortcuts import render
from django.views.decorators.http import require_safe

from prove_web.accounts.models import Project, User
from prove_web.accounts.permissions import Action, ProjectRequest, in_project

from .agreement import ENOUGH, START, Figures, Pair, Period, over_time, pairs, summary
from .blinding import Blind
from .coefficients import Estimate, interpret_coefficient
from .confusion import cells, confusion, find_disputed_units, rank_reviewers_by_agreement
from .label_matrix import Answers, collect_answers
from .models import Queue
from .plot import Box, Plot, widen
from .visible_labels import get_visible_items

STATISTICS = {
    "percent": "Percent",
    "kappa": "Cohen\N{RIGHT SINGLE QUOTATION MARK}s kappa",
    "alpha": "Krippendorff\N{RIGHT SINGLE QUOTATION MARK}s alpha",
    "ac1": "Gwet\N{RIGHT SINGLE QUOTATION MARK}s AC1",
}
SHADES = ("poor", "slight", "fair", "moderate", "substantial", "almost perfect")
MOST_PERIODS = 26


@dataclass(frozen=True)
class Cell:
    """Two reviewers in the matrix; without figures if they share no unit."""

    figures: Figures | None
    estimate: Estimate | None = None
    beyond_chance: bool = True  # percent is not, so the usual words do not apply to it

    @property
    def word(self) -> str:
        return interpret_coefficient(self.estimate.value) if self.estimate and self.beyond_chance else ""

    @property
    def shade(self) -> int:
        return SHADES.index(interpret_coefficient(self.estimate.value)) if self.estimate else 0


@in_project(Action.VIEW)
@require_safe
def agreement(request: ProjectRequest) -> HttpResponse:
    """Show agreement; `?queue=` limits it to one queue, `?question=` selects the question for pairs and the time plot.

    `?by=` is day or week, `?as=` is the estimate by which pairs are compared.
    """
    queue = queue_of(request.project, request.GET.get("queue", ""))
    found = [
        each for each in collect_answers(request.project, queue, Blind(request.user, request.project)) if each.given
    ]
    chosen = next((one for one in found if one.facet.key == request.GET.get("question")), found[0] if found else None)
    by = by if (by := request.GET.get("by", "")) in START else "week"
    statistic = named if (named := request.GET.get("as", "")) in STATISTICS else "ac1"
    rows = summary(found)
    context: dict[str, Any] = {
        "queues": request.project.queues.all(),
        "queue": queue,
        "rows": rows,
        "facets": [each.facet for each in found],
        "chosen": chosen.facet if chosen else None,
        "by": by,
        "statistic": statistic,
        "statistics": STATISTICS,
        "enough": ENOUGH,
        "shades": SHADES,
    }
    if chosen:
        periods = over_time(chosen, by)[-MOST_PERIODS:]
        context |= {"matrix": matrix(pairs(chosen), statistic), "periods": periods, "plot": course(periods)}
        context |= disagreement(chosen) | {"unmeasurable": dict(rows)[chosen.facet].unmeasurable}
    return render(request, "review/agreement.html", context)


def disagreement(chosen: Answers) -> dict[str, Any]:
    """Return confusion, outlier reviewers and disputes; those of blind queues only once an item has all reviews."""
    counts, values, people = confusion(chosen), chosen.facet.values, rank_reviewers_by_agreement(chosen)
    names = User.objects.in_bulk([one.person for one in people])
    visible = get_visible_items().filter(pk__in={item for item, _ in chosen.given})
    disputes = find_disputed_units(chosen, visible.values_list("pk", flat=True))
    items = visible.select_related("queue__project__organisation", "trajectory__dataset__project__organisation")
    known = items.defer("trajectory__record", "trajectory__rollout").in_bulk([one.unit[0] for one in disputes])
    rows = [list(zip(values, row, strict=True)) for row in cells(counts)]
    return {
        "confusion": list(zip(values, rows, strict=True)) if counts.any() else [],
        "people": [(str(names.get(one.person, "?")), one) for one in people],
        "disputes": [(known[one.unit[0]], one.unit[1], one) for one in disputes],
    }


def queue_of(project: Project, number: str) -> Queue | None:
    """Return the queue of this number; None for all queues."""
    if not number:
        return None
    found = project.queues.filter(number=int(number)).first() if number.isdecimal() and len(number) < 10 else None
    if found is None:
        raise Http404("There is no such queue in this project.")
    return found


def matrix(found: Sequence[Pair], statistic: str) -> list[tuple[str, list[tuple[str, Cell]]]]:
    """Return a row for every reviewer with a cell for every other, by name."""
    users = {one for pair in found for one in (pair.one, pair.other)}
    names = dict(User.objects.filter(pk__in=users).values_list("pk", "username"))
    order = sorted(users, key=lambda one: (names.get(one, ""), one))
    known = {frozenset((pair.one, pair.other)): pair.figures for pair in found}
    rows = []
    for one in order:
        cells = [(names.get(other, "?"), cell(known.get(frozenset((one, other))), statistic)) for other in order]
        rows.append((names.get(one, "?"), cells))
    return rows


def cell(figures: Figures | None, statistic: str) -> Cell:
    return Cell(figures, getattr(figures, statistic) if figures else None, statistic != "percent")


def course(periods: Sequence[Period]) -> Plot | None:
    """Plot percent and AC1 over time; None unless two periods have enough units."""
    known = [(place, each) for place, each in enumerate(periods) if each.figures.ac1]
    if len(known) < 2:
        return None
    ends = [end for _, each in known for one in (each.figures.ac1, each.figures.percent) for end in ends_of(one)]
    box = Box((0, len(periods) - 1), widen(ends, (0.0, 1.0)))
    lines = []
    for name, title in (("percent", "Percent"), ("ac1", "AC1")):
        points = [(place, one) for place, each in known if (one := getattr(each.figures, name))]
        spans = [(place, one.low, one.high) for place, one in points if one.low is not None]
        lines.append(box.line(title, [(place, one.value) for place, one in points], spans))
    step = -(-len(periods) // 6)
    across = [(box.scale_x(place), f"{each.start:%d %b}") for place, each in enumerate(periods) if not place % step]
    return Plot("Agreement over time", lines, across, box.ticks_up())


def ends_of(one: Estimate | None) -> list[float]:
    return [end for end in (one.value, one.low, one.high) if end is not None] if one else []
