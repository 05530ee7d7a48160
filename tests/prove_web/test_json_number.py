"""Numbers in JSON columns: what is no number is null, on every database."""

from __future__ import annotations

from typing import Any

import pytest
from django.db.models import Avg

from prove_web.accounts.models import Project
from prove_web.core.json_number import json_number
from prove_web.experiments.models import Point

from .trained import run_of

NO_NUMBERS: list[Any] = ["NaN", "1.5", "", "12 apples", True, False, None, [], [1], {"a": 1}, [["server", "email"]]]


@pytest.mark.parametrize("odd", NO_NUMBERS, ids=repr)
def test_what_is_no_number_counts_for_nothing(project: Project, odd: Any) -> None:
    run = run_of(project)
    for step, value in enumerate((1, 2.5, odd, -4), 1):
        Point.objects.create(run=run, step=step, metrics={"reward": value})
    Point.objects.create(run=run, step=5, metrics={})
    found = Point.objects.filter(run=run).order_by("step").annotate(number=json_number("reward", "metrics"))
    assert [point.number for point in found] == [1.0, 2.5, None, -4.0, None]
    assert found.aggregate(mean=Avg("number"))["mean"] == pytest.approx(-0.5 / 3)
