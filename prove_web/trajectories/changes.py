"""What one data set has that another has not, by contents: added, removed, changed, and how the counts moved."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import asdict, dataclass
from hashlib import sha256
from pathlib import Path
from typing import Any

from .models import Dataset

PROPERTIES = ("split", "kind", "steps", "servers", "level")
KEPT = "changes.json"  # in the job's folder: neither of the two ever changes, so it holds for good


@dataclass(frozen=True)
class Changes:
    """Ids of trajectories: `changed` with the parts of the record that differ; `moved` counts by property and value.

    A conversation under another id is the same; one that has its id and says something else has changed.
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
    """From the one before to this one; worked out once, and kept beside the data set."""
    path = dataset.job.folder / KEPT
    if (found := kept(path, before)) is not None:
        return found
    found = compared(parts_of(before), parts_of(dataset), moved(dataset, before))
    with suppress(OSError):  # another who looks keeps it, too, or it is worked out again
        keep(path, before, found)
    return found


Parts = dict[str, dict[str, str]]  # by id: the digest of each part of what a trajectory says


def parts_of(dataset: Dataset) -> Parts:
    rows = dataset.trajectories.order_by("pk").values_list("example", "record", "rollout")
    return {id: dict(digests(record, rollout)) for id, record, rollout in rows.iterator(chunk_size=200)}


def digests(record: dict[str, Any], rollout: Any) -> Iterator[tuple[str, str]]:
    told = {**record, **({"rollout": rollout} if rollout is not None else {})}
    for name, value in sorted(told.items()):
        if name != "id":
            yield name, sha256(json.dumps(value, sort_keys=True).encode()).hexdigest()[:16]


def compared(before: Parts, after: Parts, moved: dict[str, dict[str, tuple[int, int]]]) -> Changes:
    """Equal contents are paired first, those of the same id before others; then what is left, by id."""
    same = {id for id, parts in after.items() if before.get(id) == parts}
    free = {id: whole(parts) for id, parts in before.items() if id not in same}
    left = {id: whole(parts) for id, parts in after.items() if id not in same}
    spare, renamed = Counter(free.values()), set[str]()
    for id, contents in left.items():
        if spare[contents]:
            spare[contents] -= 1
            renamed.add(id)
    gone = [id for id, contents in free.items() if not paired(spare, contents)]
    new = [id for id in left if id not in renamed]
    missing = set(gone)
    changed = {id: differing(before[id], after[id]) for id in new if id in missing}
    return Changes(
        same=len(same) + len(renamed),
        added=[id for id in new if id not in changed],
        removed=[id for id in gone if id not in changed],
        changed=changed,
        moved=moved,
    )


def paired(spare: Counter[str], contents: str) -> bool:
    """Whether this one of the equal ones before was found again; what is spare was not."""
    if spare[contents]:
        spare[contents] -= 1
        return False
    return True


def whole(parts: dict[str, str]) -> str:
    return json.dumps(parts, sort_keys=True)


def differing(before: dict[str, str], after: dict[str, str]) -> list[str]:
    return sorted(name for name in {*before, *after} if before.get(name) != after.get(name))


def moved(dataset: Dataset, before: Dataset) -> dict[str, dict[str, tuple[int, int]]]:
    """Of each property the values whose count differs, before and after."""
    found = {}
    for name in PROPERTIES:
        then, now = counted(before, name), counted(dataset, name)
        values = sorted({*then, *now}, key=lambda value: (len(value), value) if name == "steps" else (0, value))
        found[name] = {value: (then[value], now[value]) for value in values}
    return found


def counted(dataset: Dataset, name: str) -> Counter[str]:
    """How many trajectories have each value; of several servers each counts."""
    field = "record__level" if name == "level" else name
    counts = Counter[str]()
    for value in dataset.trajectories.order_by().values_list(field, flat=True).iterator(chunk_size=2_000):
        listed = filter(None, str(value).split(",")) if name == "servers" else [str(value)]
        counts.update(listed)
    return counts


def kept(path: Path, before: Dataset) -> Changes | None:
    try:
        found = json.loads(path.read_text("utf-8"))
        told = {**found["changes"], "moved": pairs(found["changes"]["moved"])}
        return Changes(**told) if found["before"] == str(before.job_id) else None
    except (OSError, ValueError, KeyError, TypeError):
        return None


def pairs(moved: dict[str, dict[str, list[int]]]) -> dict[str, dict[str, tuple[int, int]]]:
    return {name: {value: (then, now) for value, (then, now) in one.items()} for name, one in moved.items()}


def keep(path: Path, before: Dataset, found: Changes) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    partial = path.with_name(path.name + ".partial")
    partial.write_text(json.dumps({"before": str(before.job_id), "changes": asdict(found)}), "utf-8")
    partial.replace(path)
