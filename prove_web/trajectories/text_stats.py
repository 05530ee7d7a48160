"""Variety of the users' words: distinct n-grams, a type-token ratio independent of size, and lengths of turns."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import lru_cache

from .denormalised_columns import tokens
from .models import Dataset, Trajectory

SAMPLE = 1_000  # trajectories that are read
WINDOW = 100  # words, in the window of the moving type-token ratio
BUCKETS = ((1, 5), (6, 10), (11, 20), (21, 40), (41, 80), (81, None))


@dataclass(frozen=True)
class Bucket:
    """User turns in a range of lengths in words; `share` is relative to the fullest bucket."""

    label: str
    count: int
    share: float


@dataclass(frozen=True)
class Language:
    """Measures of variety.

    `distinct` has, by n, the share of distinct n-grams among all (Li and others 2016, distinct-n); `ratio` is the mean
    share of distinct words in every window of 100 (Covington and McFall 2010, MATTR).
    """

    trajectories: int
    turns: int
    words: int
    different: int
    mean: float
    ratio: float
    distinct: tuple[tuple[int, float], ...]
    lengths: tuple[Bucket, ...]


def language(dataset: Dataset, newest: int) -> Language:
    """Measure an even sample; cached for a dataset that ends at this row."""
    return measure_dataset(dataset.pk, dataset.created_at.isoformat(), newest)


@lru_cache(maxsize=64)
def measure_dataset(dataset: int, made: str, newest: int) -> Language:
    rows = Trajectory.objects.filter(dataset=dataset).order_by("pk")
    ids = list(rows.values_list("pk", flat=True))
    drawn = ids[:: max(1, -(-len(ids) // SAMPLE))]
    found = rows.filter(pk__in=drawn).values_list("record__turns", flat=True)
    said = [tokens(turn) for turns in found if isinstance(turns, list) for turn in turns if isinstance(turn, str)]
    return measure(said, len(drawn))


def measure(said: Sequence[Sequence[str]], trajectories: int) -> Language:
    """Measure user turns, given as lists of words."""
    words = [word for turn in said for word in turn]
    return Language(
        trajectories=trajectories,
        turns=len(said),
        words=len(words),
        different=len({*words}),
        mean=len(words) / len(said) if said else 0.0,
        ratio=moving_ratio(words),
        distinct=tuple((n, distinct(said, n)) for n in (1, 2, 4)),
        lengths=buckets(map(len, said)),
    )


def distinct(said: Iterable[Sequence[str]], n: int) -> float:
    """Return the share of distinct n-grams among all; 0 if there are none."""
    groups = [tuple(turn[at : at + n]) for turn in said for at in range(len(turn) - n + 1)]
    return len({*groups}) / len(groups) if groups else 0.0


def moving_ratio(words: Sequence[str]) -> float:
    """Return the mean share of distinct words over all windows of 100 words; for a shorter text its own share."""
    if len(words) <= WINDOW:
        return len({*words}) / len(words) if words else 0.0
    inside = Counter(words[:WINDOW])
    total = len(inside)
    for gone, new in zip(words, words[WINDOW:], strict=False):
        inside[gone] -= 1
        if not inside[gone]:
            del inside[gone]
        inside[new] += 1
        total += len(inside)
    return total / WINDOW / (len(words) - WINDOW + 1)


def buckets(lengths: Iterable[int]) -> tuple[Bucket, ...]:
    counts = Counter(next((low for low, high in BUCKETS if high is None or n <= high), 1) for n in lengths)
    most = max(counts.values(), default=1)
    names = {low: f"{low} to {high}" if high else f"{low} or more" for low, high in BUCKETS}
    return tuple(Bucket(name, counts[low], counts[low] / most) for low, name in names.items())
