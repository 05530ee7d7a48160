"""Stored summaries of a run's metrics for tables; computing them from the points of hundreds of runs takes seconds.

Summaries are updated as points arrive. The result equals a full recomputation (`rebuild`), even after repeated or
withdrawn points.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from .metric_stats import TAIL, Digest, Line, by_metric, digest, ends, merge_digests
from .models import HELD_OUT, POINTS, HeldOut, MetricSummary, Point, Run
from .summary_tiles import WINDOW

TABLES: dict[str, type[Point] | type[HeldOut]] = {POINTS: Point, HELD_OUT: HeldOut}
FIELDS = [f.name for f in MetricSummary._meta.fields if f.name not in ("id", "run", "source", "name")]


def rebuild(run: Run) -> None:
    """Recompute the summaries from all points of a run."""
    for source in TABLES:
        refill(run, source)


def refill(run: Run, source: str) -> None:
    MetricSummary.objects.filter(run=run, source=source).delete()
    store(run, source, digests(list(query_step_metrics(run, source)), source))


def query_step_metrics(run: Run, source: str) -> Any:
    return TABLES[source].objects.filter(run=run).order_by("step").values_list("step", "metrics")


def digests(points: list[Line], source: str) -> dict[str, Digest]:
    """Return the summary by metric; `points` are (step, metrics) in step order."""
    last = points[-1][0] if points else 0
    return {name: digest(values, window(source, last), last) for name, values in by_metric(points).items()}


def window(source: str, last: int) -> int:
    """Return the number of steps over which a change is measured; evaluations count individually."""
    return 1 if source == HELD_OUT else min(WINDOW, max(1, last // 2))


def extend(run: Run, source: str, fresh: Mapping[int, Mapping[str, Any]]) -> None:
    """Add stored points that follow all others; of the earlier points only the newest are read."""
    if source == HELD_OUT or min(fresh) <= TAIL:  # few points, or points that the start value depends on
        refill(run, source)
        return
    last = max(fresh)
    known = {one.name: vars(one) for one in MetricSummary.objects.filter(run=run, source=source)}
    found = {name: {field: one[field] for field in FIELDS} for name, one in known.items()}
    for name, values in by_metric(sorted(fresh.items())).items():
        one = digest(values, WINDOW, last)
        found[name] = merge_digests(found[name], one) if name in found else one
    tails = by_metric(query_step_metrics(run, source).filter(step__gt=last - TAIL))
    for name in found:
        found[name] |= ends(tails.get(name, []), WINDOW, last)
    store(run, source, found)


def store(run: Run, source: str, found: Mapping[str, Digest]) -> None:
    MetricSummary.objects.bulk_create(
        [MetricSummary(run=run, source=source, name=name, **one) for name, one in found.items()],
        update_conflicts=True,
        unique_fields=["run", "source", "name"],
        update_fields=FIELDS,
    )
