"""The run comparison page for up to twenty runs, and its parts."""

from __future__ import annotations

from typing import Any

from django.http import HttpResponse, JsonResponse
from django.shortcuts import render
from django.views.decorators.http import require_safe

from prove_web.accounts.permissions import Action, ProjectRequest, in_project
from prove_web.core.parse_int import parse_digits
from prove_web.experiments.charts import MOST_COMPARED
from prove_web.experiments.reward_scale import SCORED, Definition, definitions

from .component_diff import MAX_TOOLS, components, tools
from .curves import build_chart_data
from .differences import environments, fields
from .final_eval import finals
from .on_benchmarks import boards
from .params import AXES, BANDS, ComparisonParams, TooMany, charts, name_of, parse_comparison_params
from .picker import chips, colour_of, search_runs, suggest_comparisons

WORDS = 100  # characters of a search


@in_project(Action.VIEW)
@require_safe
def run_compare(request: ProjectRequest) -> HttpResponse:
    """Show the comparison page or one of its parts.

    Optional parameters: `?run=3&run=7&base=3&metric=reward&axis=step&group=seed&band=sd&all=1`. `part` selects a part
    of the page: `curves` as JSON (steps `from` to `to`), `finals`, `tools`, or `picker` (with the search `q`).
    """
    part = request.GET.get("part", "")
    try:
        selection = parse_comparison_params(request.project, request.GET)
    except TooMany as why:
        return render(request, "comparisons/page.html", {"why": str(why), "params": ComparisonParams()}, status=400)
    if part == "curves":
        first, last = (parse_digits(request.GET.get(name, "")) for name in ("from", "to"))
        return JsonResponse(build_chart_data(selection, first or 0, last))
    if part in PARTS:
        context = {"params": selection, "colours": colour_of(selection), **PARTS[part](request, selection)}
        return render(request, f"comparisons/{part}.html", context)
    return render(request, "comparisons/page.html", page(request, selection))


def page(request: ProjectRequest, selection: ComparisonParams) -> dict[str, Any]:
    context: dict[str, Any] = {"params": selection, "chips": chips(selection), "most": MOST_COMPARED}
    if not selection.runs:
        return context | {"suggested": suggest_comparisons(request.project)}
    settings = fields(selection.runs, selection.base)
    return context | {
        "colours": colour_of(selection),
        "settings": settings,
        "differing": [one for one in settings if one.differs],
        "environments": environments(selection.runs, selection.base),
        "components": components(selection.runs, selection.base),
        "metrics": choices(selection),
        "axes": AXES,
        "bands": BANDS,
        "rewards": rewards(selection),
        "working": any(not run.job.ended for run in selection.runs),
    }


def rewards(selection: ComparisonParams) -> list[Definition]:
    """Return the runs' reward definitions if they differ and a shown metric depends on them."""
    found = definitions(selection.runs)
    return found if len(found) > 1 and any(name in SCORED for name in selection.metrics) else []


def choices(selection: ComparisonParams) -> list[tuple[str, list[tuple[str, str, bool]]]]:
    """Return the metrics by group as (name, title, whether it is shown)."""
    found: dict[str, dict[str, tuple[str, str, bool]]] = {}
    for chart in charts(selection.runs):
        for title, metric in chart.lines:
            name = name_of(chart, metric)
            words = chart.title if len(chart.lines) == 1 else f"{chart.title}: {title}"
            found.setdefault(chart.group, {}).setdefault(name, (name, words, name in selection.metrics))
    return [(group, list(names.values())) for group, names in found.items()]


def finals_part(request: ProjectRequest, selection: ComparisonParams) -> dict[str, Any]:
    return {"rows": finals(selection.runs, selection.base), "boards": boards(selection.runs, selection.base)}


def tools_part(request: ProjectRequest, selection: ComparisonParams) -> dict[str, Any]:
    usage = tools(selection.runs, selection.base)
    by_calls = request.GET.get("by") == "calls"
    rows = usage.calls if by_calls else usage.rates
    every = request.GET.get("tools") == "all"
    return {
        "usage": usage,
        "by_calls": by_calls,
        "rows": rows if every else rows[:MAX_TOOLS],
        "hidden": 0 if every else max(0, len(rows) - MAX_TOOLS),
    }


def picker_part(request: ProjectRequest, selection: ComparisonParams) -> dict[str, Any]:
    words = request.GET.get("q", "")[:WORDS]
    return {"found": search_runs(request.project, selection, words), "words": words, "most": MOST_COMPARED}


PARTS = {"finals": finals_part, "tools": tools_part, "picker": picker_part}
