"""Summary statistics of a metric: newest, first, minimum, maximum, means, and a sparkline."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from statistics import fmean
from typing import Any

from .metric_series import number

NEWEST = (5, 10, 20, 50, 100)  # window sizes of the trailing means, in steps
TAIL = max(NEWEST)
PLACES = 40  # maximum points of a sparkline; beyond that, the steps per point double
LONGEST_NAME = 80
Values = Sequence[tuple[int, float]]
Digest = dict[str, Any]
Line = tuple[int, Mapping[str, Any]]


def by_metric(lines: Iterable[Line]) -> dict[str, list[tuple[int, float]]]:
    """Return steps and values by metric, without non-numeric values and overlong names."""
    found: dict[str, list[tuple[int, float]]] = {}
    for step, metrics in lines:
        for name, value in metrics.items():
            if number(value) and len(name) <= LONGEST_NAME:
                found.setdefault(name, []).append((step, float(value)))
    return found


def digest(values: Values, window: int, last: int) -> Digest:
    """Return the summary of values in step order.

    `last` is the run's newest step; changes are measured over `window` steps.
    """
    heights = [value for _, value in values]
    return {
        "count": len(values),
        "first": heights[0],
        "least": min(heights),
        "most": max(heights),
        "start": mean(value for step, value in values if step <= window),
        "small": build_sparkline_buckets(values),
        **ends(values, window, last),
    }


def ends(tail: Values, window: int, last: int) -> Digest:
    """Return the statistics of the newest values; a metric without recent values gets None."""
    found: Digest = {f"mean_{count}": newest(tail, last - count) for count in NEWEST}
    found["now"] = newest(tail, last - window)
    return found | ({"last": tail[-1][1]} if tail else {})


def newest(tail: Values, after: int) -> float | None:
    return mean(value for step, value in tail if step > after)


def merge_digests(before: Digest, after: Digest) -> Digest:
    """Return the combined summary of two consecutive ranges of steps."""
    return {
        **after,
        "count": before["count"] + after["count"],
        "first": before["first"],
        "start": before["start"],
        "least": min(before["least"], after["least"]),
        "most": max(before["most"], after["most"]),
        "small": merge_sparklines(before["small"], after["small"]),
    }


def build_sparkline_buckets(values: Values) -> dict[str, Any]:
    """Return the sparkline: sum and count per bucket.

    At most PLACES buckets of `width` steps, a power of two.
    """
    width = 1
    while values[-1][0] // width >= PLACES:
        width *= 2
    sums, counts = [0.0] * (values[-1][0] // width + 1), [0] * (values[-1][0] // width + 1)
    for step, value in values:
        sums[step // width] += value
        counts[step // width] += 1
    return {"width": width, "sums": sums, "counts": counts}


def merge_sparklines(before: Mapping[str, Any], after: Mapping[str, Any]) -> dict[str, Any]:
    width = max(before["width"], after["width"])
    wide = [merge_buckets(one, width // one["width"]) for one in (before, after)]
    size = max(len(one["sums"]) for one in wide)
    found: dict[str, Any] = {"width": width}
    for name in ("sums", "counts"):
        one, other = ([*each[name], *[0] * (size - len(each[name]))] for each in wide)
        found[name] = [a + b for a, b in zip(one, other, strict=True)]
    return found


def merge_buckets(curve: Mapping[str, Any], times: int) -> dict[str, list[float]]:
    """Return the sparkline with `times` buckets merged into one."""
    starts = range(0, len(curve["sums"]), times)
    return {name: [sum(curve[name][i : i + times]) for i in starts] for name in ("sums", "counts")}


def compute_bucket_means(curve: Mapping[str, Any]) -> list[float]:
    """Return the means of the nonempty buckets."""
    return [total / count for total, count in zip(curve["sums"], curve["counts"], strict=True) if count]


def mean(values: Iterable[float]) -> float | None:
    found = list(values)
    return fmean(found) if found else None
