"""What a list of trajectories can be narrowed to; the address holds all of it."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

import django_filters
from django import forms
from django.db.models import Q, QuerySet, Value
from django.db.models.functions import Concat
from django.http import QueryDict

from .models import Trajectory

SPLITS = (("train", "Training"), ("held_out", "Held-out"))
KINDS = (("chain", "Chain"), ("missing_function", "Missing function"), ("irrelevance", "Irrelevance"))
LEVELS = (("complete", "Everything"), ("missing", "All but one value"), ("minimal", "No more than needed"))


class TrajectoryFilter(django_filters.FilterSet):
    """Bound to a query string. What makes no sense in it narrows nothing and is named as an error of its field."""

    q = django_filters.CharFilter(
        label="Search",
        method="words",
        widget=forms.TextInput(attrs={"type": "search", "placeholder": "Words of the first user turn"}),
    )
    split = django_filters.ChoiceFilter(choices=SPLITS, empty_label="Any")
    kind = django_filters.ChoiceFilter(choices=KINDS, empty_label="Any")
    level = django_filters.ChoiceFilter(
        choices=LEVELS, empty_label="Any", label="Told at first", field_name="record__level"
    )
    steps = django_filters.NumberFilter(widget=forms.Select, min_value=0, max_value=100, decimal_places=0)
    server = django_filters.CharFilter(field_name="servers", method="listed", widget=forms.Select, label="Server")
    tool = django_filters.CharFilter(field_name="tools", method="listed", widget=forms.Select, label="Tool")

    class Meta:
        model = Trajectory
        fields: list[str] = []

    def words(self, rows: QuerySet, name: str, value: str) -> QuerySet:
        """Those whose query holds every word, or whose id does."""
        for word in value.split():
            rows = rows.filter(Q(query__icontains=word) | Q(example__icontains=word))
        return rows

    def listed(self, rows: QuerySet, name: str, value: str) -> QuerySet:
        """Those in whose comma-separated list the value is one whole entry."""
        whole = f"{name}_listed"
        return rows.alias(**{whole: Concat(Value(","), name, Value(","))}).filter(
            **{f"{whole}__contains": f",{value},"}
        )

    def offer(self, **choices: Iterable[Any]) -> None:
        """What the fields that know no values of their own let people choose from."""
        for name, values in choices.items():
            asked = self.data.get(name, "")
            known = [str(value) for value in values]
            known += [asked] if asked and asked not in known else []
            self.form.fields[name].widget.choices = [("", "Any"), *((value, value) for value in known)]

    @property
    def narrowed(self) -> bool:
        return bool(self.address)

    @property
    def address(self) -> str:
        """The query string that says the same, without what is empty and without the page."""
        return tidy({name: value for name, value in (self.data or {}).items() if name in self.filters})


def tidy(query: Mapping[str, str]) -> str:
    """A query string without the fields that were left empty."""
    kept = QueryDict(mutable=True)
    kept.update({name: value for name, value in query.items() if value})
    return kept.urlencode()
