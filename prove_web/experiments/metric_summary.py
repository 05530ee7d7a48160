"""What tables show of a run's curves, kept beside its points: to read hundreds of runs off those takes seconds.

It is brought up to date as points come in, and says the same as reading all of them anew (`rebuild`), whatever came
twice or was taken back.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from .metric_stats import TAIL, Digest, Line, by_metric, digest, ends, joined
from .models import HELD_OUT, POINTS, HeldOut, MetricSummary, Point, Run
from .summary_tiles import WINDOW

TABLES: dict[str, type[Point] | type[HeldOut]] = {POINTS: Point, HELD_OUT: HeldOut}
FIELDS = [f.name for f in MetricSummary._meta.fields if f.name not in ("id", "run", "source", "name")]


def rebuild(run: Run) -> None:
    """Say anew what all points of a run say."""
    for source in TABLES:
        refill(run, source)


def refill(run: Run, source: str) -> None:
    MetricSummary.objects.filter(run=run, source=source).delete()
    store(run, source, digests(list(lines(run, source)), source))


def lines(run: Run, source: str) -> Any:
    return TABLES[source].objects.filter(run=run).order_by("step").values_list("step", "metrics")


def digests(told: list[Line], source: str) -> dict[str, Digest]:
    """By metric; `told` are steps in order with their metrics."""
    last = told[-1][0] if told else 0
    return {name: digest(values, window(source, last), last) for name, values in by_metric(told).items()}


def window(source: str, last: int) -> int:
    """Steps at the start and at the end that a change is measured over; of measurements each counts by itself."""
    return 1 if source == HELD_OUT else min(WINDOW, max(1, last // 2))


def extend(run: Run, source: str, fresh: Mapping[int, Mapping[str, Any]]) -> None:
    """Take in points that come after all others and are stored; of those before only the newest are read."""
    if source == HELD_OUT or min(fresh) <= TAIL:  # few, or those that the start is told by
        refill(run, source)
        return
    last = max(fresh)
    known = {one.name: vars(one) for one in MetricSummary.objects.filter(run=run, source=source)}
    found = {name: {field: one[field] for field in FIELDS} for name, one in known.items()}
    for name, values in by_metric(sorted(fresh.items())).items():
        one = digest(values, WINDOW, last)
        found[name] = joined(found[name], one) if name in found else one
    tails = by_metric(lines(run, source).filter(step__gt=last - TAIL))
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
