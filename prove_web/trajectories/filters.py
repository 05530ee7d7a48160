"""Filters of a trajectory list; the URL holds all of them."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import django_filters
from django import forms
from django.db.models import QuerySet, Value
from django.db.models.functions import Concat

from prove_web.query_language.query_string import build_query_string, parse_search
from prove_web.review.blinding import Blind

from .choices import KINDS, LEVELS, SPLITS
from .models import Dataset, Trajectory
from .paging import SORTS
from .search import Fault, search


class TrajectoryFilter(django_filters.FilterSet):
    """Filter bound to a query string. An invalid value filters nothing and is reported as an error of its field."""

    q = django_filters.CharFilter(
        label="Search",
        method="filter_by_search",
        widget=forms.TextInput(attrs={"type": "search"}),
    )
    split = django_filters.ChoiceFilter(choices=SPLITS, empty_label="Any")
    kind = django_filters.ChoiceFilter(choices=KINDS, empty_label="Any")
    level = django_filters.ChoiceFilter(choices=LEVELS, empty_label="Any", label="Information level")
    steps = django_filters.NumberFilter(widget=forms.Select, min_value=0, max_value=100, decimal_places=0)
    server = django_filters.CharFilter(
        field_name="servers", method="filter_by_entry", widget=forms.Select, label="Server"
    )
    tool = django_filters.CharFilter(field_name="tools", method="filter_by_entry", widget=forms.Select, label="Tool")

    class Meta:
        model = Trajectory
        fields: list[str] = []

    def __init__(
        self, data: Any, *, dataset: Dataset | None = None, rows: QuerySet | None = None, blind: Blind | None = None
    ):
        """Filter a dataset, or rows that were already found."""
        every = Trajectory.objects.filter(dataset=dataset).defer("record", "rollout")
        super().__init__(data, queryset=every if rows is None else rows)
        self.dataset, self.blind = dataset, blind
        self.fault: Fault | None = None
        self.covered = False

    def filter_by_search(self, rows: QuerySet, name: str, value: str) -> QuerySet:
        """Return the rows that match the search; none, with the error in `fault`, for an invalid query."""
        assert self.dataset
        found = search(self.dataset.project, parse_search(self.data), self.dataset, self.blind)
        self.fault, self.covered = found.fault, found.covered
        return rows.filter(pk__in=found.rows.order_by().values("pk")) if not found.fault else rows.none()

    def filter_by_entry(self, rows: QuerySet, name: str, value: str) -> QuerySet:
        """Return the rows whose comma-separated list has the value as a whole entry."""
        alias = f"{name}_listed"
        return rows.alias(**{alias: Concat(Value(","), name, Value(","))}).filter(
            **{f"{alias}__contains": f",{value},"}
        )

    def offer(self, **choices: Iterable[Any]) -> None:
        """Set the choices of fields that have no fixed ones."""
        for name, values in choices.items():
            current = self.data.get(name, "")
            known = [str(value) for value in values]
            known += [current] if current and current not in known else []
            self.form.fields[name].widget.choices = [("", "Any"), *((value, value) for value in known)]

    @property
    def narrowed(self) -> bool:
        return any(value for name, value in (self.data or {}).items() if name in self.filters)

    @property
    def address(self) -> str:
        """The query string of these filters, without empty values and without the page."""
        values = {name: value for name, value in (self.data or {}).items() if name in self.filters}
        sort = (self.data or {}).get("sort", "")
        return build_query_string({**values, "sort": sort if sort in SORTS else ""})
