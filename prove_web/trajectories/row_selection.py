"""Selection of a dataset's rows and their splits: by a search, by a new split, or by a mix."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from hashlib import sha256
from itertools import count
from typing import Any

from prove_web.live.models import CURATE
from prove_web.review.to_demonstration import as_demonstration
from training_worker.core.trajectory import Split
from training_worker.datasets.dataset_folder import SPLITS
from training_worker.datasets.dataset_split import BY, divide
from training_worker.datasets.items import Item, flag_leaks, item_of
from training_worker.datasets.mixture import mix
from training_worker.synthesis.validate import Rejected

from .load_dataset import row as example_row
from .models import Dataset, Trajectory
from .replay_score import example_of
from .rows import build_exchange_form
from .versions import InvalidDataset, chosen_for

TOGETHER = 200  # rows in memory at a time
LEAKS = "it shares its world, an identifier or its contents with a held-out one"
REPEATS = "it repeats another"
NO_DEMONSTRATION = "it is an attempt that makes no demonstration on today's servers"
# columns of a rollout that stay if it becomes a demonstration
DEMONSTRATION_COLUMNS = (
    "id",
    "dataset",
    "example",
    "parent",
    "origin",
)
UNREADABLE = "its record cannot be read any more"
Progress = Callable[[int, int, str], None]


@dataclass(frozen=True)
class Pick:
    """A row and its split; None keeps the split."""

    row: int
    split: Split | None = None


@dataclass
class RowSelection:
    """Rows of a new dataset in order, and the number of rows left out, by reason."""

    picks: Sequence[Pick]
    dropped: Counter[str] = field(default_factory=Counter)
    settings: dict[str, Any] = field(default_factory=dict)
    seed: int = 0
    demonstrations: bool = False


def select_rows(dataset: Dataset, progress: Progress) -> RowSelection:
    """Return the rows that the specification of the dataset's job requests. Raises InvalidDataset."""
    spec = dataset.job.spec[CURATE]
    match spec["how"]:
        case "split":
            return split_rows(dataset, spec, progress)
        case "mix":
            return mix_datasets(dataset, spec, progress)
    picks = [Pick(pk) for pk in chosen_for(dataset.job)]
    return RowSelection(picks, demonstrations=bool(spec.get("demonstrations")))


def split_rows(dataset: Dataset, spec: dict[str, Any], progress: Progress) -> RowSelection:
    """Return all rows of another dataset with a new held-out share."""
    places, items = load_split_items(chosen_for(dataset.job), progress)
    by = next(one for one in BY if one == spec["by"])
    sides = divide(items, spec["share"], by, spec["seed"])
    picks = [Pick(pk, side) for pk, side in zip(places, sides, strict=True) if side]
    settings = {name: spec[name] for name in ("share", "by", "seed")}
    return RowSelection(picks, Counter({LEAKS: sides.count(None)}), settings, spec["seed"])


def mix_datasets(dataset: Dataset, spec: dict[str, Any], progress: Progress) -> RowSelection:
    """Return several datasets mixed by weight, each split separately, without training rows that leak held-out ones."""
    numbers, weights = [int(number) for number, _ in spec["sets"]], [float(weight) for _, weight in spec["sets"]]
    found = [rows_in(dataset, number) for number in numbers]
    described_sets = [load_split_items(rows, progress) for rows in found]
    dropped, chosen = Counter[str](), dict[Split, list[tuple[int, Item]]]()
    for split in SPLITS:
        sets = [
            [(pk, item) for pk, item in zip(*one, strict=True) if item.held_out == (split == "held_out")]
            for one in described_sets
        ]
        drawn = mix([[item.contents for _, item in one] for one in sets], weights, spec["seed"], spec.get(split))
        dropped[REPEATS] += sum(drawn.duplicates)
        chosen[split] = [sets[which][place] for which, place in drawn.taken]
    leaks = flag_leaks((item for _, item in chosen["train"]), [item for _, item in chosen["held_out"]])
    dropped[LEAKS] += sum(leaks)
    clean = [pk for (pk, _), leak in zip(chosen["train"], leaks, strict=True) if not leak]
    picks = [Pick(pk) for pk in (*clean, *(pk for pk, _ in chosen["held_out"]))]
    if not picks:
        raise InvalidDataset("No conversations are left with these weights. Choose others.")
    return RowSelection(picks, dropped, {"sets": spec["sets"]}, spec["seed"])


def rows_in(dataset: Dataset, number: int) -> list[int]:
    """Return the rows of a dataset of the same project. Raises InvalidDataset."""
    rows = Trajectory.objects.filter_by_project(dataset.project_id).filter(dataset__number=number)
    if found := list(rows.values_list("pk", flat=True)):
        return found
    raise InvalidDataset(f"Dataset {number} was deleted or has no trajectories. Choose another.")


def load_split_items(rows: Sequence[int], progress: Progress) -> tuple[list[int], list[Item]]:
    """Return the readable rows, and the properties that decide the split of each."""
    keys, items = list[int](), list[Item]()
    for row in iter_picked_rows([Pick(pk) for pk in rows], progress, "read"):
        if example := example_of(row):
            keys.append(row.pk)
            items.append(item_of(example))
    return keys, items


def iter_picked_rows(picks: Sequence[Pick], progress: Progress, doing: str) -> Iterator[Trajectory]:
    """Yield the unchanged rows in order, in batches. Raises InvalidDataset if some are gone."""
    for start in range(0, len(picks), TOGETHER):
        progress(start, len(picks), f"trajectories {doing}")
        part = picks[start : start + TOGETHER]
        found = Trajectory.objects.in_bulk([pick.row for pick in part])
        if gone := sum(pick.row not in found for pick in part):
            raise InvalidDataset(
                f"{gone:,} of the selected trajectories no longer exist: their dataset was deleted. "
                "Search again and create the dataset from the results."
            )
        yield from (found[pick.row] for pick in part)


def copies(found: RowSelection, progress: Progress, dropped: Counter[str], doing: str) -> Iterator[Trajectory]:
    """Yield new rows like those picked, each in its split; repeated contents are dropped, a taken id gets a suffix."""
    contents, ids = set[str](), set[str]()
    for pick, row in zip(found.picks, iter_picked_rows(found.picks, progress, doing), strict=True):
        if found.demonstrations and row.rollout is not None and not demonstrate(row):
            dropped[NO_DEMONSTRATION] += 1
            continue
        said = said_by(row)
        if said in contents or build_exchange_form(row) is None:
            dropped[REPEATS if said in contents else UNREADABLE] += 1
            continue
        contents.add(said)
        row.pk, row.split = None, pick.split or row.split
        own_id(row, ids)
        if pick.split:
            row.record = {**row.record, "split": pick.split}
        yield row


def demonstrate(row: Trajectory) -> bool:
    """Turn a rollout into a demonstration. Return False if it makes none on the current servers."""
    try:
        example = as_demonstration(row)
    except Rejected:
        return False
    values = example_row(row.dataset, replace(example, id=row.example))
    for one in row._meta.concrete_fields:
        if one.name not in DEMONSTRATION_COLUMNS:
            setattr(row, one.attname, getattr(values, one.attname))
    return True


def own_id(row: Trajectory, ids: set[str]) -> None:
    """Add a suffix from its contents to the row's id if it is among `ids`; then add the id to them.

    A demonstration has its id in its record too; the example of a rollout keeps its own.
    """
    if row.example in ids:
        endings = (f"-{said_by(row)[:6]}{f'-{number}' if number > 1 else ''}" for number in count(1))
        names = (f"{row.example[: 40 - len(ending)]}{ending}" for ending in endings)
        row.example = next(name for name in names if name not in ids)
        if row.rollout is None:
            row.record = {**row.record, "id": row.example}
    ids.add(row.example)


def said_by(row: Trajectory) -> str:
    """Return a digest of a row's contents, without id and split; the digest of a rollout includes its origin."""
    content: dict[str, Any] = {key: value for key, value in row.record.items() if key not in ("id", "split")}
    parts: Iterable[Any] = (content,) if row.rollout is None else (row.record, row.rollout, row.origin)
    return sha256(json.dumps(list(parts), sort_keys=True).encode()).hexdigest()
