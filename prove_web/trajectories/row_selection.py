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
from training_worker.prove.curation.items import Item, item_of, leaking
from training_worker.prove.curation.mixing import mix
from training_worker.prove.curation.splitting import BY, divide
from training_worker.prove.synthesis.dataset_folder import SPLITS
from training_worker.prove.synthesis.validate import Rejected
from training_worker.prove.trajectory import Split

from .importing import row as example_row
from .models import Dataset, Trajectory
from .replay_score import example_of
from .rows import exchanged
from .versions import InvalidDataset, chosen_for

TOGETHER = 200  # rows in memory at a time
LEAKS = "it shares its world, an identifier or its contents with a held-out one"
REPEATS = "it repeats another"
NO_DEMONSTRATION = "it is an attempt that makes no demonstration on today's servers"
KEPT = ("id", "dataset", "example", "parent", "origin")  # columns of a rollout that stay if it becomes a demonstration
UNREADABLE = "its record cannot be read any more"
Progress = Callable[[int, int, str], None]


@dataclass(frozen=True)
class Pick:
    """A row and its split; None keeps the split."""

    row: int
    split: Split | None = None


@dataclass
class Picked:
    """Rows of a new dataset in order, and the number of rows left out, by reason."""

    picks: Sequence[Pick]
    dropped: Counter[str] = field(default_factory=Counter)
    settings: dict[str, Any] = field(default_factory=dict)
    seed: int = 0
    demonstrations: bool = False


def picked(dataset: Dataset, progress: Progress) -> Picked:
    """Return the rows that the specification of the dataset's job requests. Raises InvalidDataset."""
    spec = dataset.job.spec[CURATE]
    match spec["how"]:
        case "split":
            return divided(dataset, spec, progress)
        case "mix":
            return mixed(dataset, spec, progress)
    picks = [Pick(pk) for pk in chosen_for(dataset.job)]
    return Picked(picks, demonstrations=bool(spec.get("demonstrations")))


def divided(dataset: Dataset, spec: dict[str, Any], progress: Progress) -> Picked:
    """Return all rows of another dataset with a new held-out share."""
    places, items = described(chosen_for(dataset.job), progress)
    by = next(one for one in BY if one == spec["by"])
    sides = divide(items, spec["share"], by, spec["seed"])
    picks = [Pick(pk, side) for pk, side in zip(places, sides, strict=True) if side]
    settings = {name: spec[name] for name in ("share", "by", "seed")}
    return Picked(picks, Counter({LEAKS: sides.count(None)}), settings, spec["seed"])


def mixed(dataset: Dataset, spec: dict[str, Any], progress: Progress) -> Picked:
    """Return several datasets mixed by weight, each split separately, without training rows that leak held-out ones."""
    numbers, weights = [int(number) for number, _ in spec["sets"]], [float(weight) for _, weight in spec["sets"]]
    found = [rows_in(dataset, number) for number in numbers]
    described_sets = [described(rows, progress) for rows in found]
    dropped, chosen = Counter[str](), dict[Split, list[tuple[int, Item]]]()
    for split in SPLITS:
        sets = [
            [(pk, item) for pk, item in zip(*one, strict=True) if item.held_out == (split == "held_out")]
            for one in described_sets
        ]
        drawn = mix([[item.contents for _, item in one] for one in sets], weights, spec["seed"], spec.get(split))
        dropped[REPEATS] += sum(drawn.duplicates)
        chosen[split] = [sets[which][place] for which, place in drawn.taken]
    leaks = leaking((item for _, item in chosen["train"]), [item for _, item in chosen["held_out"]])
    dropped[LEAKS] += sum(leaks)
    kept = [pk for (pk, _), leak in zip(chosen["train"], leaks, strict=True) if not leak]
    picks = [Pick(pk) for pk in (*kept, *(pk for pk, _ in chosen["held_out"]))]
    if not picks:
        raise InvalidDataset("No conversations are left with these weights. Choose others.")
    return Picked(picks, dropped, {"sets": spec["sets"]}, spec["seed"])


def rows_in(dataset: Dataset, number: int) -> list[int]:
    """Return the rows of a dataset of the same project. Raises InvalidDataset."""
    rows = Trajectory.objects.of(dataset.project_id).filter(dataset__number=number)
    if found := list(rows.values_list("pk", flat=True)):
        return found
    raise InvalidDataset(f"Dataset {number} was deleted or has no trajectories. Choose another.")


def described(rows: Sequence[int], progress: Progress) -> tuple[list[int], list[Item]]:
    """Return the readable rows, and the properties that decide the split of each."""
    kept, items = list[int](), list[Item]()
    for row in fetched([Pick(pk) for pk in rows], progress, "read"):
        if example := example_of(row):
            kept.append(row.pk)
            items.append(item_of(example))
    return kept, items


def fetched(picks: Sequence[Pick], progress: Progress, doing: str) -> Iterator[Trajectory]:
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


def copies(found: Picked, progress: Progress, dropped: Counter[str], doing: str) -> Iterator[Trajectory]:
    """Yield new rows like those picked, each in its split; repeated contents are dropped, a taken id gets a suffix."""
    contents, ids = set[str](), set[str]()
    for pick, row in zip(found.picks, fetched(found.picks, progress, doing), strict=True):
        if found.demonstrations and row.rollout is not None and not demonstrate(row):
            dropped[NO_DEMONSTRATION] += 1
            continue
        said = said_by(row)
        if said in contents or exchanged(row) is None:
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
    told = example_row(row.dataset, replace(example, id=row.example))
    for one in row._meta.concrete_fields:
        if one.name not in KEPT:
            setattr(row, one.attname, getattr(told, one.attname))
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
    told: dict[str, Any] = {key: value for key, value in row.record.items() if key not in ("id", "split")}
    parts: Iterable[Any] = (told,) if row.rollout is None else (row.record, row.rollout, row.origin)
    return sha256(json.dumps(list(parts), sort_keys=True).encode()).hexdigest()
