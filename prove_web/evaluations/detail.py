"""The page of one evaluation: state, scores next to the paper's, failure categories and items."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass
from typing import Any

from django.db.models import Count, Max, Sum
from django.http import HttpResponse
from django.shortcuts import render
from django.views.decorators.http import require_safe

from prove_web.accounts.permissions import Action, ProjectRequest, in_project
from prove_web.experiments.evaluation import act_rows
from prove_web.live.hints import advice
from training_worker.evaluation import published_scores
from training_worker.evaluation.report import Report

from .items import build_item_list_context
from .models import Evaluation
from .querysets import choices, evaluation_of
from .reports import groups_of, lines_of, paper_model, reasons, references, report_of, so_far, sum_lines, title_of

# Failure table: a row per kind of failure with its count in each category.


@dataclass(frozen=True)
class Cell:
    """Number of a category's items with this failure; `heat`, 0 to 100, is relative to the largest cell."""

    category: str
    count: int
    heat: int


@dataclass(frozen=True)
class Failure:
    """A kind of failure; `width` is relative to the most frequent kind, `share` to all failures, in percent."""

    kind: str
    count: int
    width: float
    share: float
    cells: tuple[Cell, ...]

    @property
    def title(self) -> str:
        return self.kind.replace("_", " ") or "unknown"


def failures_of(evaluation: Evaluation, categories: list[str]) -> list[Failure]:
    """Return the failures, most frequent first, in one query."""
    failed = evaluation.items.order_by().filter(passed=False).values_list("failure", "category")
    counts = {(kind, category): n for kind, category, n in failed.annotate(Count("id"))}
    totals = Counter[str]()
    for (kind, _), n in counts.items():
        totals[kind] += n
    most, hottest = max(totals.values(), default=1), max(counts.values(), default=1)
    return [
        Failure(
            kind,
            total,
            round(100 * total / most, 1),
            round(100 * total / totals.total(), 1),
            tuple(
                Cell(name, counts.get((kind, name), 0), round(100 * counts.get((kind, name), 0) / hottest))
                for name in categories
            ),
        )
        for kind, total in sorted(totals.items(), key=lambda one: (-one[1], one[0]))
    ]


SPEC_FIELDS = ("categories", "limit", "trials", "temperature", "options")


@in_project(Action.VIEW)
@require_safe
def evaluation_page(request: ProjectRequest, evaluation: int) -> HttpResponse:
    """Show the page, or for htmx only its changing part. `?beside=` is the paper's model to compare with."""
    found = evaluation_of(request.project, evaluation)
    context = build_live_context(found, request.GET.get("beside", ""))
    if request.htmx:
        return render(request, "evaluations/now.html", context)
    categories, failures = [line.name for line in context["lines"]], [one.kind for one in context["failures"]]
    context |= build_item_list_context(found, request.GET, categories, failures)
    context |= {
        "facts": facts(found, context["report"]),
        "choices": choices(found),
        "cursor": found.job.events.aggregate(last=Max("id"))["last"] or 0,
    }
    return render(request, "evaluations/evaluation.html", context)


def build_live_context(evaluation: Evaluation, beside: str) -> dict[str, Any]:
    report = report_of(evaluation)
    model = paper_model(evaluation, beside) if evaluation.benchmark in published_scores.BENCHMARKS else ""
    marked = references(evaluation.benchmark, model)
    lines, overall = lines_of(report, marked) if report else (so_far(evaluation), None)
    return {
        "evaluation": evaluation,
        "job": evaluation.job,
        "title": title_of(evaluation.benchmark),
        "advice": advice(evaluation.job),
        "report": report,
        "lines": lines,
        "groups": groups_of(report, marked) if report else [],
        "absent": getattr(report, "absent", {}),
        "has_goals": any(line.goal_success is not None for line in lines),
        "acts": act_rows(report.acts) if report else [],
        "overall": overall,
        "so_far": None if report else sum_lines(lines),
        "trials": max((len(line.pass_hat) for line in lines), default=0),
        "failures": failures_of(evaluation, [line.name for line in lines]),
        "reasons": reasons(report) if report else [],
        "cost": cost(evaluation),
        "beside": model,
        "papers": published_scores.MODELS if model else (),
    }


def cost(evaluation: Evaluation) -> dict[str, Any]:
    """Return the total and mean cost of the items; empty before the first has finished."""
    names = ("steps", "calls", "tokens", "seconds")
    sums = evaluation.items.order_by().aggregate(items=Count("id"), **{name: Sum(name) for name in names})
    items = sums.pop("items")
    return {name: (sums[name], sums[name] / items) for name in names} if items else {}


def facts(evaluation: Evaluation, report: Report | None) -> list[tuple[str, Any]]:
    """Return the evaluated model, benchmark and settings as (label, value)."""
    spec = evaluation.job.spec
    rows = [("Benchmark", title_of(evaluation.benchmark)), ("Version", evaluation.version or "unknown")]
    rows.append(("Model", evaluation.model or "unknown"))
    identity = report.identity if report else None
    style = identity.style if identity else spec.get("style", "")
    rows += [("Tool format", {"tools": "tool calls", "prompt": "in the prompt"}.get(style, style))] if style else []
    rows += [
        (name.replace("_", " ").capitalize(), format_setting_value(value))
        for name, value in evaluation.settings.items()
    ]
    rows += [
        (name.replace("_", " ").capitalize(), value) for name, value in (identity.sampling if identity else {}).items()
    ]
    requested = {name: spec[name] for name in SPEC_FIELDS if spec.get(name) and (name != "temperature" or not identity)}
    if requested.get("trials") == 1:
        del requested["trials"]
    if "limit" in requested:
        requested["limit"] = f"the first {requested['limit']} of each category"
    return [*rows, *((name.capitalize(), format_setting_value(value)) for name, value in requested.items())]


def format_setting_value(value: Any) -> Any:
    if isinstance(value, dict):
        return ", ".join(f"{name}={given}" for name, given in value.items())
    return ", ".join(map(str, value)) if isinstance(value, list | tuple) else value
