"""Which rows a data set is made of, and on which side each goes: chosen by a search, split, or mixed."""

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
KEPT = ("id", "dataset", "example", "parent", "origin")  # of an attempt that becomes a demonstration
UNREADABLE = "its record cannot be read any more"
Progress = Callable[[int, int, str], None]


@dataclass(frozen=True)
class Pick:
    """A row, and the side it goes to; None leaves it where it is."""

    row: int
    split: Split | None = None


@dataclass
class Picked:
    """The rows of a new data set in order, and how many were left out, by reason."""

    picks: Sequence[Pick]
    dropped: Counter[str] = field(default_factory=Counter)
    settings: dict[str, Any] = field(default_factory=dict)
    seed: int = 0
    demonstrations: bool = False


def picked(dataset: Dataset, progress: Progress) -> Picked:
    """What the specification of its job asks for. Raises NotMade."""
    spec = dataset.job.spec[CURATE]
    match spec["how"]:
        case "split":
            return divided(dataset, spec, progress)
        case "mix":
            return mixed(dataset, spec, progress)
    picks = [Pick(pk) for pk in chosen_for(dataset.job)]
    return Picked(picks, demonstrations=bool(spec.get("demonstrations")))


def divided(dataset: Dataset, spec: dict[str, Any], progress: Progress) -> Picked:
    """All of another data set, a share of it held out anew."""
    places, items = described(chosen_for(dataset.job), progress)
    by = next(one for one in BY if one == spec["by"])
    sides = divide(items, spec["share"], by, spec["seed"])
    picks = [Pick(pk, side) for pk, side in zip(places, sides, strict=True) if side]
    settings = {name: spec[name] for name in ("share", "by", "seed")}
    return Picked(picks, Counter({LEAKS: sides.count(None)}), settings, spec["seed"])


def mixed(dataset: Dataset, spec: dict[str, Any], progress: Progress) -> Picked:
    """Several data sets by weight, each split by itself, and then nothing of training that tells of held-out ones."""
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
    """The rows of a data set of the same project. Raises NotMade."""
    rows = Trajectory.objects.of(dataset.project_id).filter(dataset__number=number)
    if found := list(rows.values_list("pk", flat=True)):
        return found
    raise InvalidDataset(f"Dataset {number} was deleted or has no trajectories. Choose another.")


def described(rows: Sequence[int], progress: Progress) -> tuple[list[int], list[Item]]:
    """The rows that can be read, and what decides where each may go."""
    kept, items = list[int](), list[Item]()
    for row in fetched([Pick(pk) for pk in rows], progress, "read"):
        if example := example_of(row):
            kept.append(row.pk)
            items.append(item_of(example))
    return kept, items


def fetched(picks: Sequence[Pick], progress: Progress, doing: str) -> Iterator[Trajectory]:
    """The rows as they are, in order, some at a time. Raises NotMade when some are gone."""
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
    """New rows like those picked, each on its side; contents come once, and an id that is taken gets an ending."""
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
    """Make of an attempt the demonstration that it is; False where it is none on today's servers."""
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
    """Give it an ending, which its contents name, where its id is among these; then add it to them.

    An example has its id in its record, too; what an attempt was asked keeps its own.
    """
    if row.example in ids:
        endings = (f"-{said_by(row)[:6]}{f'-{number}' if number > 1 else ''}" for number in count(1))
        names = (f"{row.example[: 40 - len(ending)]}{ending}" for ending in endings)
        row.example = next(name for name in names if name not in ids)
        if row.rollout is None:
            row.record = {**row.record, "id": row.example}
    ids.add(row.example)


def said_by(row: Trajectory) -> str:
    """Names what a row says, whatever its id and side; two attempts are told apart by where they come from, too."""
    told: dict[str, Any] = {key: value for key, value in row.record.items() if key not in ("id", "split")}
    parts: Iterable[Any] = (told,) if row.rollout is None else (row.record, row.rollout, row.origin)
    return sha256(json.dumps(list(parts), sort_keys=True).encode()).hexdigest()
