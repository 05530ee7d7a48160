"""The summaries of a run's curves agree with all of its points, also after repeated and rewound steps."""

from __future__ import annotations

from collections.abc import Mapping
from importlib import import_module
from math import isclose
from typing import Any

import pytest
from django.apps import apps
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra.django import TestCase

from prove_web.accounts.models import Organisation, Project
from prove_web.experiments.metric_stats import PLACES, build_sparkline_buckets, compute_bucket_means, digest
from prove_web.experiments.metric_summary import FIELDS, digests, rebuild
from prove_web.experiments.models import HeldOut, MetricSummary, Point, Run
from prove_web.experiments.recording import record_curves

from .trained import run_of

VALUES = st.one_of(st.none(), st.floats(-1e6, 1e6), st.integers(-5, 5), st.booleans())
METRICS = st.dictionaries(st.sampled_from(["reward", "kl", "loss"]), VALUES, max_size=3)
SOURCES = {"points": Point, "held_out": HeldOut}


def stored(run: Run) -> dict[tuple[str, str], dict[str, Any]]:
    rows = MetricSummary.objects.filter(run=run)
    return {(one.source, one.name): {field: getattr(one, field) for field in FIELDS} for one in rows}


def recomputed(run: Run) -> dict[tuple[str, str], dict[str, Any]]:
    """Compute the same summaries from all points at once."""
    return {
        (source, name): one
        for source, table in SOURCES.items()
        for name, one in digests(
            list(table.objects.filter(run=run).order_by("step").values_list("step", "metrics")), source
        ).items()
    }


def close(one: Any, other: Any) -> bool:
    if isinstance(one, Mapping):
        return one.keys() == other.keys() and all(close(one[name], other[name]) for name in one)
    if isinstance(one, list):
        return len(one) == len(other) and all(map(close, one, other))
    return one is other if None in (one, other) else isclose(one, other, rel_tol=1e-9, abs_tol=1e-6)


@st.composite
def batches(draw: st.DrawFn) -> list[list[dict[str, Any]]]:
    """Draw what a job may report: steps in order, some repeated, some rewound, in short and long stretches."""
    step, found = 0, []
    for _ in range(draw(st.integers(1, 6))):
        events = []
        for _ in range(draw(st.integers(1, 3))):
            match draw(st.sampled_from(["on", "on", "far", "again", "rewound", "held_out"])):
                case "rewound":
                    step = draw(st.integers(0, step))
                    events.append({"kind": "rewound", "data": {"step": step}})
                case "held_out":
                    events.append({"kind": "held_out", "data": {"step": step, **draw(METRICS)}})
                case how:
                    count = draw(st.integers(1, 160)) if how == "far" else 1
                    step = max(0, step - draw(st.integers(0, 3))) if how == "again" else step
                    metrics = draw(METRICS)
                    events += [
                        {"kind": "step", "data": {"step": step + i + 1, **metrics, "seen": i}} for i in range(count)
                    ]
                    step += count
        found.append(events)
    return found


class Recorded(TestCase):
    @settings(max_examples=40)
    @given(batches())
    def test_summaries_are_what_all_points_say(self, reported: list[list[dict[str, Any]]]) -> None:
        organisation = Organisation.objects.create(slug="acme", name="Acme")
        run = run_of(Project.objects.create(organisation=organisation, slug="demo", name="Demo"))
        for events in reported:
            record_curves(run.job, events)
            assert close(stored(run), recomputed(run))


@given(st.lists(st.tuples(st.integers(0, 5_000), st.floats(-1e3, 1e3)), min_size=1, unique_by=lambda one: one[0]))
def test_a_digest_is_what_python_makes_of_the_values(values: list[tuple[int, float]]) -> None:
    values = sorted(values)
    last, heights = values[-1][0], [value for _, value in values]
    found = digest(values, 10, last)
    assert (found["first"], found["last"], found["count"]) == (heights[0], heights[-1], len(heights))
    assert (found["least"], found["most"]) == (min(heights), max(heights))
    newest = [value for step, value in values if step > last - 20]
    assert found["mean_20"] == pytest.approx(sum(newest) / len(newest))
    curve = build_sparkline_buckets(values)
    assert sum(curve["counts"]) == len(values) and len(curve["sums"]) <= PLACES
    assert (
        min(heights) - 1e-6 <= min(compute_bucket_means(curve))
        and max(compute_bucket_means(curve)) <= max(heights) + 1e-6
    )


@pytest.mark.django_db
def test_runs_from_before_there_were_summaries_get_theirs(project: Project) -> None:
    run = run_of(project, [0.5] * 30)
    before = stored(run)
    MetricSummary.objects.all().delete()
    import_module("prove_web.experiments.migrations.0007_summaries_of_old_runs").fill(apps, None)
    assert close(stored(run), before) and len(before) == 3
    rebuild(run)
    assert close(stored(run), before)


@pytest.mark.django_db
def test_a_repeated_step_without_changes_writes_nothing(project: Project, django_assert_max_num_queries: Any) -> None:
    run = run_of(project, [0.5] * 30)
    [line] = Point.objects.filter(run=run, step=7).values_list("metrics", flat=True)
    with django_assert_max_num_queries(3):
        record_curves(run.job, [{"kind": "step", "data": {"step": 7, **line}}])
