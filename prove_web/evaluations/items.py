"""Item list of an evaluation with filters, sorting and paging."""

from __future__ import annotations

from typing import Any

import django_filters
from django import forms
from django.core.paginator import Paginator
from django.db.models import F, Q, QuerySet
from django.http import HttpResponse, QueryDict
from django.shortcuts import redirect, render
from django.views.decorators.http import require_safe

from prove_web.accounts.permissions import Action, ProjectRequest, in_project
from prove_web.experiments.querysets import column
from prove_web.trajectories.filters import build_query_string

from .models import Evaluation, EvaluationItem
from .querysets import evaluation_of

ROWS = 50
OUTCOMES = (("passed", "Passed"), ("failed", "Failed"))
COLUMNS = (
    ("item", "Item"),
    ("category", "Category"),
    ("outcome", "Outcome"),
    ("value", "Score"),
    ("steps", "Turns"),
    ("calls", "Calls"),
    ("tokens", "Tokens"),
    ("seconds", "Seconds"),
)
SORTS = {key: (key,) for key, _ in COLUMNS} | {"outcome": ("passed", "failure")}


class ItemFilter(django_filters.FilterSet):
    """A filter bound to a query string; invalid values do not filter."""

    q = django_filters.CharFilter(
        label="Search",
        method="filter_words",
        max_length=200,
        widget=forms.TextInput(attrs={"type": "search", "placeholder": "Part of an ID"}),
    )
    category = django_filters.CharFilter(widget=forms.Select, label="Category")
    outcome = django_filters.ChoiceFilter(choices=OUTCOMES, empty_label="Any", method="filter_outcome", label="Outcome")
    failure = django_filters.CharFilter(widget=forms.Select, label="Failure")

    class Meta:
        model = EvaluationItem
        fields: list[str] = []

    def filter_words(self, rows: QuerySet, name: str, value: str) -> QuerySet:
        for word in value.split():
            rows = rows.filter(Q(item__icontains=word))
        return rows

    def filter_outcome(self, rows: QuerySet, name: str, value: str) -> QuerySet:
        return rows.filter(passed=value == "passed")

    def offer(self, **choices: list[str]) -> None:
        """Set the choices of the fields that have no fixed values."""
        for name, values in choices.items():
            current = self.data.get(name, "")
            known = [*values, *([current] if current and current not in values else [])]
            options = [(value, value.replace("_", " ")) for value in known if value]
            self.form.fields[name].widget.choices = [("", "Any"), *options]

    @property
    def sort(self) -> str:
        order = self.data.get("sort", "")
        return order if order.removeprefix("-") in SORTS else ""

    @property
    def ordered(self) -> QuerySet[EvaluationItem]:
        """Return the items in the requested order, by default in order of completion."""
        fields = SORTS.get(self.sort.removeprefix("-"), ())
        orders = [F(name).desc() if self.sort.startswith("-") else F(name).asc() for name in fields]
        return self.qs.order_by(*orders, "id")

    @property
    def narrowed(self) -> bool:
        return bool(build_query_string({name: value for name, value in self.data.items() if name in self.filters}))

    @property
    def address(self) -> str:
        """Return the equivalent query string without empty values and without the page."""
        return build_query_string({name: value for name, value in self.data.items() if name in (*self.filters, "sort")})


def build_item_filter(evaluation: Evaluation, query: QueryDict) -> ItemFilter:
    return ItemFilter(query, queryset=evaluation.items.all())


def build_item_list_context(
    evaluation: Evaluation, query: QueryDict, categories: list[str], failures: list[str]
) -> dict[str, Any]:
    """Return the context of the item list, in two queries."""
    found = build_item_filter(evaluation, query)
    found.offer(category=categories, failure=failures)
    return {
        "evaluation": evaluation,
        "filter": found,
        "page": Paginator(found.ordered, ROWS).get_page(query.get("page")),
        "columns": [column(key, title, found.sort) for key, title in COLUMNS],
    }


@in_project(Action.VIEW)
@require_safe
def evaluation_items(request: ProjectRequest, evaluation: int) -> HttpResponse:
    """Return the item list for htmx; redirect other requests to the page that contains it.

    With `now`, the page refreshes its current list, and its address stays unchanged.
    """
    found = evaluation_of(request.project, evaluation)
    query = build_query_string({name: value for name, value in request.GET.dict().items() if name != "now"})
    address = f"{found.get_absolute_url()}?{query}".removesuffix("?")
    if not request.htmx:
        return redirect(f"{address}#items")
    quiet, request.GET = "now" in request.GET, QueryDict(query)
    rows = found.items.order_by()
    categories = sorted(rows.values_list("category", flat=True).distinct())
    failures = sorted(rows.filter(passed=False).values_list("failure", flat=True).distinct())
    response = render(
        request, "evaluations/items.html", build_item_list_context(found, request.GET, categories, failures)
    )
    if not quiet:
        response["HX-Push-Url"] = address
    return response
