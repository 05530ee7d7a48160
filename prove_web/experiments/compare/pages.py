"""The run comparison page for up to twenty runs, and its parts."""

from __future__ import annotations

from typing import Any

from django.http import HttpResponse, JsonResponse
from django.shortcuts import render
from django.views.decorators.http import require_safe

from prove_web.accounts.permissions import Action, ProjectRequest, in_project
from prove_web.parse_int import parse_digits

from ..reward_scale import SCORED, Definition, definitions
from .component_diff import SHOWN, components, tools
from .curves import drawn
from .differences import environments, fields
from .final_eval import finals
from .on_benchmarks import boards
from .params import AXES, BANDS, MOST, Chosen, TooMany, charts, chosen, name_of
from .picker import chips, colour_of, search_runs, suggested

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
        asked = chosen(request.project, request.GET)
    except TooMany as why:
        return render(request, "experiments/compare/page.html", {"why": str(why), "asked": Chosen()}, status=400)
    if part == "curves":
        first, last = (parse_digits(request.GET.get(name, "")) for name in ("from", "to"))
        return JsonResponse(drawn(asked, first or 0, last))
    if part in PARTS:
        context = {"asked": asked, "colours": colour_of(asked), **PARTS[part](request, asked)}
        return render(request, f"experiments/compare/{part}.html", context)
    return render(request, "experiments/compare/page.html", page(request, asked))


def page(request: ProjectRequest, asked: Chosen) -> dict[str, Any]:
    context: dict[str, Any] = {"asked": asked, "chips": chips(asked), "most": MOST}
    if not asked.runs:
        return context | {"suggested": suggested(request.project)}
    settings = fields(asked.runs, asked.base)
    return context | {
        "colours": colour_of(asked),
        "settings": settings,
        "differing": [one for one in settings if one.differs],
        "environments": environments(asked.runs, asked.base),
        "components": components(asked.runs, asked.base),
        "metrics": choices(asked),
        "axes": AXES,
        "bands": BANDS,
        "rewards": rewards(asked),
        "working": any(not run.job.ended for run in asked.runs),
    }


def rewards(asked: Chosen) -> list[Definition]:
    """Return the runs' reward definitions if they differ and a shown metric depends on them."""
    found = definitions(asked.runs)
    return found if len(found) > 1 and any(name in SCORED for name in asked.metrics) else []


def choices(asked: Chosen) -> list[tuple[str, list[tuple[str, str, bool]]]]:
    """Return the metrics by group as (name, title, whether it is shown)."""
    found: dict[str, dict[str, tuple[str, str, bool]]] = {}
    for chart in charts(asked.runs):
        for title, metric in chart.lines:
            name = name_of(chart, metric)
            words = chart.title if len(chart.lines) == 1 else f"{chart.title}: {title}"
            found.setdefault(chart.group, {}).setdefault(name, (name, words, name in asked.metrics))
    return [(group, list(names.values())) for group, names in found.items()]


def finals_part(request: ProjectRequest, asked: Chosen) -> dict[str, Any]:
    return {"rows": finals(asked.runs, asked.base), "boards": boards(asked.runs, asked.base)}


def tools_part(request: ProjectRequest, asked: Chosen) -> dict[str, Any]:
    told = tools(asked.runs, asked.base)
    by_calls = request.GET.get("by") == "calls"
    rows = told.calls if by_calls else told.rates
    every = request.GET.get("tools") == "all"
    return {
        "told": told,
        "by_calls": by_calls,
        "rows": rows if every else rows[:SHOWN],
        "hidden": 0 if every else max(0, len(rows) - SHOWN),
    }


def picker_part(request: ProjectRequest, asked: Chosen) -> dict[str, Any]:
    words = request.GET.get("q", "")[:WORDS]
    return {"found": search_runs(request.project, asked, words), "words": words, "most": MOST}


PARTS = {"finals": finals_part, "tools": tools_part, "picker": picker_part}
