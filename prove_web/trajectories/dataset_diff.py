"""Difference of two datasets by contents: added, removed and changed trajectories, and changes in counts."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterator, Sequence
from contextlib import suppress
from dataclasses import asdict, dataclass
from hashlib import sha256
from pathlib import Path
from typing import Any

from django.db.models import Count

from .models import Dataset

PROPERTIES = ("split", "kind", "steps", "servers", "level")
TOGETHER = 200  # records in memory at a time
CACHE_FILE = "changes.json"  # in the job's folder; it stays valid because neither dataset ever changes


@dataclass(frozen=True)
class Changes:
    """Ids of trajectories: `changed` with the differing parts of the record; `moved` are counts by property and value.

    A conversation under another id is the same; one with the same id and other contents is changed.
    """

    same: int
    added: list[str]
    removed: list[str]
    changed: dict[str, list[str]]
    moved: dict[str, dict[str, tuple[int, int]]]

    @property
    def none(self) -> bool:
        return not (self.added or self.removed or self.changed)


def changes(dataset: Dataset, before: Dataset) -> Changes:
    """Return the changes from `before` to `dataset`; computed once, then stored beside the dataset."""
    path = dataset.job.folder / CACHE_FILE
    if (found := load_changes(path, before)) is not None:
        return found
    found = compare_datasets(before, dataset)
    with suppress(OSError):  # a concurrent viewer stores it too, or it is computed again
        save_changes(path, before, found)
    return found


Contents = dict[str, bytes]  # by id: a digest of the trajectory's contents


def compare_datasets(before: Dataset, after: Dataset) -> Changes:
    """Compare two datasets: equal contents are paired first, preferably with the same id, then the rest by id.

    Memory holds a digest of each trajectory, and records only for one batch.
    """
    then, now = contents_of(before), contents_of(after)
    same = {id for id, said in now.items() if then.get(id) == said}
    free = {id: said for id, said in then.items() if id not in same}
    left = {id: said for id, said in now.items() if id not in same}
    spare, renamed = Counter(free.values()), set[str]()
    for id, said in left.items():
        if spare[said]:
            spare[said] -= 1
            renamed.add(id)
    gone = {id: None for id, said in free.items() if not was_paired(spare, said)}
    new = [id for id in left if id not in renamed]
    changed = [id for id in new if id in gone]
    parts = dict(iter_differing_parts(before, after, changed))
    return Changes(
        same=len(same) + len(renamed),
        added=[id for id in new if id not in gone],
        removed=[id for id in gone if id not in parts],
        changed={id: parts[id] for id in changed},
        moved=compare_value_counts(after, before),
    )


def contents_of(dataset: Dataset) -> Contents:
    rows = dataset.trajectories.order_by("pk").values_list("example", "record", "rollout")
    return {
        id: digest(get_content_parts(record, rollout)) for id, record, rollout in rows.iterator(chunk_size=TOGETHER)
    }


def get_content_parts(record: dict[str, Any], rollout: Any) -> dict[str, Any]:
    """Return the contents of a trajectory by part, without its id."""
    content = {name: value for name, value in record.items() if name != "id"}
    return content if rollout is None else {**content, "rollout": rollout}


def digest(value: Any) -> bytes:
    return sha256(json.dumps(value, sort_keys=True).encode()).digest()[:16]


def was_paired(spare: Counter[bytes], contents: bytes) -> bool:
    """Return whether one of several equal earlier trajectories was paired; `spare` counts those that were not."""
    if spare[contents]:
        spare[contents] -= 1
        return False
    return True


def iter_differing_parts(before: Dataset, after: Dataset, ids: Sequence[str]) -> Iterator[tuple[str, list[str]]]:
    """Yield each of these ids with the parts that differ."""
    for at in range(0, len(ids), TOGETHER):
        then, now = (parts_of(dataset, ids[at : at + TOGETHER]) for dataset in (before, after))
        for id, parts in now.items():
            old = then[id]
            yield id, sorted(name for name in {*old, *parts} if old.get(name) != parts.get(name))


def parts_of(dataset: Dataset, ids: Sequence[str]) -> dict[str, dict[str, bytes]]:
    """Return the digest of every part of each of these trajectories."""
    rows = dataset.trajectories.filter(example__in=ids).values_list("example", "record", "rollout")
    return {
        id: {name: digest(value) for name, value in get_content_parts(record, rollout).items()}
        for id, record, rollout in rows
    }


def compare_value_counts(dataset: Dataset, before: Dataset) -> dict[str, dict[str, tuple[int, int]]]:
    """Return for each property the counts of its values, before and after."""
    found = {}
    for name in PROPERTIES:
        then, now = count_by_value(before, name), count_by_value(dataset, name)
        values = sorted({*then, *now}, key=lambda value: (len(value), value) if name == "steps" else (0, value))
        found[name] = {value: (then[value], now[value]) for value in values}
    return found


def count_by_value(dataset: Dataset, name: str) -> Counter[str]:
    """Count trajectories by value of a column; one with several servers counts for each."""
    counts = Counter[str]()
    for value, count in dataset.trajectories.order_by().values_list(name).annotate(Count("pk")):
        for one in filter(None, str(value).split(",")) if name == "servers" else [str(value)]:
            counts[one] += count
    return counts


def load_changes(path: Path, before: Dataset) -> Changes | None:
    try:
        found = json.loads(path.read_text("utf-8"))
        changes = {**found["changes"], "moved": pairs(found["changes"]["moved"])}
        return Changes(**changes) if found["before"] == str(before.job_id) else None
    except (OSError, ValueError, KeyError, TypeError):
        return None


def pairs(moved: dict[str, dict[str, list[int]]]) -> dict[str, dict[str, tuple[int, int]]]:
    return {name: {value: (then, now) for value, (then, now) in one.items()} for name, one in moved.items()}


def save_changes(path: Path, before: Dataset, found: Changes) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    partial = path.with_name(path.name + ".partial")
    partial.write_text(json.dumps({"before": str(before.job_id), "changes": asdict(found)}), "utf-8")
    partial.replace(path)
