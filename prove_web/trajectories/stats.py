"""Statistics of a dataset by split: trajectories by kind, length, server and tool."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from functools import lru_cache
from typing import Any

from django.db.models import Count

from mcp_servers.catalogue import TOOLS
from prove_web.query_language.ast import quote_value

from .choices import FEATURES, KINDS, LEVELS
from .models import Dataset, Trajectory

KIND_NAMES, LEVEL_NAMES = dict(KINDS), dict(LEVELS)
LONG = 4  # steps
LONG_PATH, OPEN_VALUE, FAILURE = f"path>={LONG}", "level:missing", "status:error"
DIFFICULTY_NAMES = {
    **{f"feature:{name}": label for name, label in FEATURES},
    LONG_PATH: f"Dependent path of {LONG} or more",
    OPEN_VALUE: "One value missing",
    FAILURE: "Failed call",
}
KNOB_NAMES = {
    "distractors": "Distractor tools",
    "enums_stripped": "Enums hidden",
    "irrelevance": "No matching tool",
    "missing_function": "Missing value or tool",
}
MANNER = ("split", "kind", "level", "persona", "knobs", "features", "path", "errors")
TOP = 10


@dataclass(frozen=True)
class Bar:
    """A row of a bar chart: `value` is the filter value that lists its trajectories."""

    label: str
    value: str
    train: int
    held_out: int
    most: int

    @property
    def count(self) -> int:
        return self.train + self.held_out

    @property
    def train_share(self) -> float:
        return self.train / self.most

    @property
    def held_out_share(self) -> float:
        return self.held_out / self.most


@dataclass(frozen=True)
class Chart:
    """Bars of one property; `filter` is the list filter that takes their values."""

    title: str
    filter: str
    bars: tuple[Bar, ...]
    note: str = ""
    id: str = ""

    @property
    def name(self) -> str:
        return self.id or self.filter

    @property
    def head(self) -> str:
        """The summary under which a long note is folded."""
        return self.note.partition(":")[0]

    @property
    def top(self) -> tuple[Bar, ...]:
        return self.bars if len(self.bars) <= TOP + 3 else self.bars[:TOP]

    @property
    def rest(self) -> tuple[Bar, ...]:
        return self.bars[len(self.top) :]

    @property
    def values(self) -> list[str]:
        return [bar.value for bar in self.bars]


@dataclass(frozen=True)
class Stats:
    """All charts of a dataset, and the number of trajectories in each split."""

    train: int
    held_out: int
    kinds: Chart
    steps: Chart
    levels: Chart
    servers: Chart
    tools: Chart
    difficulties: Chart
    knobs: Chart
    personas: Chart

    @property
    def charts(self) -> tuple[Chart, ...]:
        levels = (self.levels,) if len(self.levels.bars) > 1 else ()
        rest = (one for one in (self.difficulties, self.knobs, self.personas) if one.bars)
        return (self.steps, *levels, self.kinds, self.servers, self.tools, *rest)


Counts = dict[str, Counter[str]]  # by split


def stats(dataset: Dataset, newest: int) -> Stats:
    """Return the charts of a dataset that ends at this row; cached, and three queries for any size."""
    return compute_stats(dataset.pk, dataset.created_at.isoformat(), newest)


@lru_cache(maxsize=64)
def compute_stats(dataset: int, made: str, newest: int) -> Stats:
    rows = Trajectory.objects.filter(dataset=dataset).order_by()
    kinds, steps, levels, servers, tools, difficulties, knobs, personas = (tally() for _ in range(8))
    for split, kind, length, n in rows.values_list("split", "kind", "steps").annotate(Count("id")):
        kinds[split][kind] += n
        steps[split][str(length)] += n
    for split, kind, level, persona, turned, *harder, n in rows.values_list(*MANNER).annotate(Count("id")):
        if kind == "chain":
            levels[split][level or "complete"] += n
        personas[split].update({f"persona:{quote_value(persona)}": n} if persona else {})
        knobs[split].update({f"knob:{one}": n for one in turned.split(",") if one})
        difficulties[split].update({one: n for one in difficulties_of(level, *harder)})
    own = set[str]()  # called tools of our servers: third-party tools may have the same names
    for split, worlds, listed, n in rows.values_list("split", "servers", "tools").annotate(Count("id")):
        for counts, names in ((servers, worlds), (tools, listed)):
            for one in set(filter(None, names.split(","))):
                counts[split][one] += n
        own.update(listed.split(",") if worlds else ())
    unused = [name for name in TOOLS if name not in own]
    never = f"{len(unused)} not called: {', '.join(unused)}" if unused else ""
    return Stats(
        train=kinds["train"].total(),
        held_out=kinds["held_out"].total(),
        kinds=chart("Kinds", "kind", kinds, KIND_NAMES),
        steps=chart("Ground-truth steps", "steps", steps, by_value=True, note="0: the correct action is no call"),
        levels=chart("Information level", "level", levels, LEVEL_NAMES),
        servers=chart("Servers", "server", servers),
        tools=chart("Tools called", "tool", tools, note=never),
        difficulties=build_search_chart("Difficulty", "feature", difficulties, DIFFICULTY_NAMES),
        knobs=build_search_chart("Difficulty knobs", "knob", knobs, KNOB_NAMES),
        personas=build_search_chart("Style", "persona", personas, {}),
    )


def difficulties_of(level: str, features: str, path: int, errors: int) -> list[str]:
    """Return the searches for kinds of difficulty that match these values."""
    found = [f"feature:{one}" for one in features.split(",") if one]
    known = ((LONG_PATH, path >= LONG), (OPEN_VALUE, level == "missing"), (FAILURE, errors > 0))
    return [*found, *(search for search, holds in known if holds)]


def build_search_chart(title: str, field: str, counts: Counts, names: Mapping[str, str]) -> Chart:
    """Return a chart whose bars filter the list by a search; their values are such as `knob:distractors`."""
    both = (counts["train"] + counts["held_out"]).keys()
    labels = {value: label_of(value, names) for value in both}
    return replace(chart(title, "q", counts, labels), id=field)


def label_of(search: str, names: Mapping[str, str]) -> str:
    """Return the label of a search, else the label of its value, else the value."""
    value = search.partition(":")[2].strip('"')
    return names.get(search) or names.get(value, value)


def tally() -> Counts:
    return {"train": Counter(), "held_out": Counter()}


def chart(
    title: str,
    filter: str,
    counts: Counts,
    names: Mapping[str, str] | None = None,
    *,
    by_value: bool = False,
    note: str = "",
) -> Chart:
    """Return a chart with the most frequent value first, or with numeric values in ascending order."""
    both = counts["train"] + counts["held_out"]
    most = max(both.values(), default=1)
    ordered = sorted(both, key=int) if by_value else sorted(both, key=lambda value: (-both[value], value))
    bars = (
        Bar((names or {}).get(value, value), value, counts["train"][value], counts["held_out"][value], most)
        for value in ordered
    )
    return Chart(title, filter, tuple(bars), note)


@dataclass(frozen=True)
class Share:
    """A part of a mix, with its share of the whole, and relative to the largest part."""

    label: str
    count: int
    share: float
    of_most: float


@dataclass(frozen=True)
class Mix:
    """Summary of a dataset in a list, from its job's result and therefore without a query."""

    train: int
    held_out: int
    kinds: tuple[Share, ...]
    lengths: tuple[Share, ...]


def mix(result: Mapping[str, Any]) -> Mix | None:
    """Return the summary; None before the job has a result."""
    splits = result.get("counts") or result.get("manifest", {}).get("splits")
    if not splits:
        return None
    kinds, lengths = Counter[str](), Counter[str]()
    for split in splits.values():
        kinds.update(split["kinds"])
        lengths.update(split["lengths" if "lengths" in split else "steps"])
    sizes = {name: sum(split["kinds"].values()) for name, split in splits.items()}
    return Mix(
        train=sizes.get("train", 0),
        held_out=sizes.get("held_out", 0),
        kinds=shares((KIND_NAMES.get(kind, kind), kinds[kind]) for kind in KIND_NAMES if kinds[kind]),
        lengths=shares((length, lengths[length]) for length in sorted(lengths, key=int)),
    )


def shares(parts: Iterable[tuple[str, int]]) -> tuple[Share, ...]:
    found = list(parts)
    total, most = sum(count for _, count in found) or 1, max((count for _, count in found), default=1)
    return tuple(Share(label, count, count / total, count / most) for label, count in found)
