"""Grouping of runs: grouping keys, group sizes, and aggregates of the columns."""

from __future__ import annotations

import json
import math
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from django.core.paginator import Page, Paginator
from django.db.models import Avg, Count, Expression, ExpressionWrapper, F, FloatField, Max, Min, QuerySet, Value

from prove_web.accounts.models import Project
from prove_web.live.models import State

from ..models import Run, RunKind
from ..querysets import baseline, dataset_called
from ..reward_config import describe_reward
from ..run_metadata import MOST_RUNS
from . import external_columns as outside
from .columns import Column, Measure, column
from .external_columns import ExternalSetting, parse_external_key
from .fields import match_tag
from .settings import PRESET, SETTINGS

GROUPS = 25
TAG = "tag"
BY = {
    "sweep": ("Sweep", "sweep__number", "sweep__name"),
    "dataset": ("Dataset", "dataset__number", "dataset__name"),
    "kind": ("Kind", "kind", ""),
    "state": ("State", "job__state", ""),
    "by": ("Created by", "job__created_by__username", ""),
    "base": ("Baseline", "base__number", "base__name"),
}
TITLES = {**{key: title for key, (title, *_) in BY.items()}, TAG: "Tag"}
WORDS = {"kind": dict(RunKind.choices), "state": dict(State.choices)}
NONE = {"sweep": "No sweep", "base": "No baseline", "by": "Former member", TAG: "No tag"}


@dataclass(frozen=True)
class ColumnAggregate:
    """Aggregate of a column over a group: mean and standard deviation of a number, or the lowest and highest value."""

    column: Column
    mean: float | None = None
    deviation: float | None = None
    count: int = 0
    low: Any = None
    high: Any = None


@dataclass
class Group:
    """A group of runs; `key` is its query parameter, and `only` the search that matches exactly this group, if any."""

    key: str
    value: Any
    title: str
    count: int
    only: str = ""
    cells: list[ColumnAggregate] = field(default_factory=list)
    open: bool = False
    rows: Sequence[Any] = ()


def groupable(name: str) -> bool:
    return name in BY or name == TAG or name in SETTINGS or parse_external_key(name) is not None


def choices(project: Project, now: str) -> list[tuple[str, list[tuple[str, str]]]]:
    """Return the grouping keys by section, including the current one."""
    found: dict[str, list[tuple[str, str]]] = {"Run": list(TITLES.items())}
    elsewhere = outside.list_external_columns(project)
    external = [found_now] if (found_now := parse_external_key(now)) and found_now not in elsewhere else []
    for one in (*SETTINGS.values(), *elsewhere, *external):
        found.setdefault(one.group, []).append((one.key, one.title))
    return list(found.items())


def expression(by: str) -> Expression:
    if by == "base":
        return baseline()
    one = parse_external_key(by) or SETTINGS.get(by)
    return one.value if one else F(BY[by][1])


def build_group_name(by: str) -> Expression:
    """Return the display name of a group, if it differs from its value."""
    if by == "dataset":
        return dataset_called()
    return F(BY[by][2]) if by in BY and BY[by][2] else Value("")


def members(rows: QuerySet[Run], by: str, value: Any) -> QuerySet[Run]:
    """Return the rows of one group."""
    if by == TAG:
        return rows.filter(match_tag(value)) if value is not None else rows.filter(tags=[])
    keyed = rows.alias(group_key=expression(by))
    return keyed.filter(group_key__isnull=True) if value is None else keyed.filter(group_key=value)


def groups(rows: QuerySet[Run], by: str, columns: Sequence[Column], sort: str, page: str) -> Page:
    """Return a page of groups with their aggregates; the number of queries is constant."""
    if by == TAG:
        return tag_groups(rows, columns, page)
    found = rows.order_by().annotate(group_key=expression(by)).values("group_key")
    counted = found.annotate(size=Count("pk"), newest=Max("number"), named=Max(build_group_name(by)))
    paged = Paginator(sorted_by(counted, by, sort), GROUPS).get_page(page)
    lines = list(paged.object_list)
    keys = [line["group_key"] for line in lines]
    sums = (
        {line["group_key"]: line for line in aggregate_groups(filter_group_rows(rows, by, keys), columns, by)}
        if lines
        else {}
    )
    paged.object_list = [
        Group(
            key_of(line["group_key"]),
            line["group_key"],
            title_of(by, line["group_key"], line["named"]),
            line["size"],
            only_of(by, line["group_key"]),
            cells(columns, sums.get(line["group_key"], {})),
        )
        for line in lines
    ]
    return paged


def filter_group_rows(rows: QuerySet[Run], by: str, keys: Sequence[Any]) -> QuerySet[Run]:
    """Return the rows of these groups; all rows if a group has no value."""
    if None in keys or not keys:
        return rows
    return rows.alias(shown_key=expression(by)).filter(shown_key__in=keys)


def sorted_by(found: Any, by: str, sort: str) -> Any:
    """Order groups by the mean of a column, by their own value, or by their newest run."""
    name, down = sort.removeprefix("-"), sort.startswith("-")
    one = column(name)
    if name == by and isinstance(one, ExternalSetting):
        keys = [F("counts_as"), F("group_key")]
        found = found.annotate(counts_as=Min(one.number))
        return found.order_by(*(key.desc(nulls_last=True) if down else key.asc(nulls_last=True) for key in keys))
    if name == by:
        order = F("group_key")
    elif one is not None and one.numeric and name != "number":
        found, order = found.annotate(sorted_by=Avg(one.value)), F("sorted_by")
    else:
        order, down = F("newest"), sort != "number"
    return found.order_by(order.desc(nulls_last=True) if down else order.asc(nulls_last=True), "-newest")


def aggregate_groups(rows: QuerySet[Run], columns: Sequence[Column], by: str) -> Iterable[Mapping[str, Any]]:
    keyed = rows.order_by().annotate(group_key=expression(by)).values("group_key")
    return keyed.annotate(**aggregates(columns, middles(rows, columns)))


def middles(rows: QuerySet[Run], columns: Sequence[Column]) -> dict[int, float]:
    """Return the overall mean of each number; deviations are summed around it for numerical stability."""
    wanted = {f"m{i}": Avg(one.value) for i, one in enumerate(columns) if has_mean(one)}
    found = rows.order_by().aggregate(**wanted) if wanted else {}
    return {int(name[1:]): value or 0.0 for name, value in found.items()}


def has_mean(one: Column) -> bool:
    return isinstance(one, Measure) or one.key in ("steps", "gain")


def aggregates(columns: Sequence[Column], middle: Mapping[int, float]) -> dict[str, Any]:
    found: dict[str, Any] = {}
    for i, one in enumerate(columns):
        if has_mean(one):
            off = ExpressionWrapper(one.value - Value(middle[i]), FloatField())
            found |= {f"mean{i}": Avg(one.value), f"count{i}": Count(one.value)}
            found |= {f"off{i}": Avg(off), f"square{i}": Avg(ExpressionWrapper(off * off, FloatField()))}
        elif one.key != "took":
            found |= {f"low{i}": Min(one.value), f"high{i}": Max(one.value)}
    return found


def cells(columns: Sequence[Column], line: Mapping[str, Any]) -> list[ColumnAggregate]:
    return [cell(one, i, line) for i, one in enumerate(columns)]


def cell(one: Column, i: int, line: Mapping[str, Any]) -> ColumnAggregate:
    count = line.get(f"count{i}") or 0
    if not count:
        return ColumnAggregate(one, low=line.get(f"low{i}"), high=line.get(f"high{i}"))
    spread = max(0.0, line[f"square{i}"] - line[f"off{i}"] ** 2)
    deviation = math.sqrt(spread * count / (count - 1)) if count > 1 else None
    return ColumnAggregate(one, line[f"mean{i}"], deviation, count)


def tag_groups(rows: QuerySet[Run], columns: Sequence[Column], page: str) -> Page:
    """Return groups by tag; a run belongs to the group of each of its tags."""
    counts: Counter[str | None] = Counter()
    for tags in rows.order_by().values_list("tags", flat=True)[:MOST_RUNS]:
        counts.update(tags or [None])
    ordered = sorted(counts.items(), key=lambda one: (one[0] is None, -one[1], one[0] or ""))
    paged = Paginator(ordered, GROUPS).get_page(page)
    wanted = aggregates(columns, middles(rows, columns))
    paged.object_list = [
        Group(
            key_of(tag),
            tag,
            title_of(TAG, tag, ""),
            count,
            only_of(TAG, tag),
            cells(columns, members(rows, TAG, tag).order_by().aggregate(**wanted) if wanted else {}),
        )
        for tag, count in paged.object_list
    ]
    return paged


def key_of(value: Any) -> str:
    return "-" if value is None else f"={value}"


def title_of(by: str, value: Any, named: str | None) -> str:
    if by == PRESET:
        return describe_reward(value and read_json(value)) or "The paper's"
    if value is None:
        return NONE.get(by, "None")
    if by in SETTINGS:
        return SETTINGS[by].text(value)
    return named or WORDS.get(by, {}).get(value, str(value))


def read_json(text: Any) -> Any:
    return json.loads(text) if isinstance(text, str) else text


def only_of(by: str, value: Any) -> str:
    if value is None:
        return {TAG: "-has:tags", "sweep": "-has:sweep", "base": "-has:base"}.get(by, "")
    if by == PRESET:
        return ""
    text = f"{value:.12g}" if isinstance(value, float) else str(value)
    if parse_external_key(by) and (not text or {*text} & {",", '"'}):
        return ""
    return f'{by}:"{text}"' if any(one.isspace() or one in "()" for one in text) else f"{by}:{text}"
