"""Comparison of datasets by counts, such as two teachers' datasets of one recipe (the paper's table 7)."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, fields
from pathlib import Path
from statistics import fmean

from mcp_servers.core import Draw

from ..core.trajectory import Example, read_lines
from ..dataflow.provenance import single, verbalize
from .dataset_folder import read

WORD = re.compile(r"[^\W\d_]+(?:'[^\W\d_]+)?")
EXACT = re.compile(r"(?<!\S)[^\s\d]*+\d\S*+")
FIRST_TURNS, GRAM = 1_000, 4


@dataclass(frozen=True, kw_only=True)
class DatasetStats:
    """Counts of a dataset's training split.

    `accepted` is the share of draws that became a conversation; means are per chain. `distinct` is the share of
    distinct 4-grams of words in 1,000 first turns, `commonest` that of the most common first turn with values masked.
    """

    recipe: str
    teacher: str
    conversations: int
    accepted: float
    steps: float
    turns: float
    words: float
    complete: float
    missing: float
    minimal: float
    failures: float
    distinct: float
    commonest: float


def measure(folder: Path) -> DatasetStats:
    """Measure a dataset's training split. Raises what `dataset_folder.read` and `read_lines` raise."""
    manifest = read(folder)
    part = manifest.splits["train"]
    examples = list(read_lines(Example, folder / "train.jsonl"))
    chains = [example for example in examples if not example.abstains]
    return DatasetStats(
        recipe=manifest.recipe,
        teacher=manifest.teacher,
        conversations=len(examples),
        accepted=len(examples) / max(part.drawn, 1),
        steps=mean(len(example.steps) for example in chains),
        turns=mean(len(example.turns) for example in chains),
        words=mean(len(turn.split()) for example in chains for turn in example.turns),
        complete=mean(example.level == "complete" for example in chains),
        missing=mean(example.level == "missing" for example in chains),
        minimal=mean(example.level == "minimal" for example in chains),
        failures=mean(bool(example.failures) for example in chains),
        distinct=distinct(
            [example.turns[0] for example in Draw("first turns", len(examples)).sample(examples, FIRST_TURNS)]
        ),
        commonest=commonest(examples),
    )


def mean(values: Iterable[float]) -> float:
    """Return the mean; 0 for no values."""
    known = list(values)
    return fmean(known) if known else 0.0


def distinct(texts: Iterable[str], size: int = GRAM) -> float:
    """Return distinct-n: the share of distinct n-grams of `size` words; 0 if there are none."""
    words = [WORD.findall(text.lower()) for text in texts]
    groups = [tuple(one[place : place + size]) for one in words for place in range(len(one) - size + 1)]
    return len(set(groups)) / len(groups) if groups else 0.0


def mask_first_turn(example: Example) -> str:
    """Return the first turn with its world's values masked: those of its calls, and words with a digit."""
    text = example.turns[0]
    values = {
        verbalize(value)
        for step in example.steps
        for call in step.calls
        for value in single(call.arguments or {})
        if isinstance(value, str) and value
    }
    for value in sorted(values, key=len, reverse=True):
        text = text.replace(value, "#")
    return EXACT.sub("#", text)


def commonest(examples: Sequence[Example]) -> float:
    """Return the share of the most common masked first turn; 0 for no examples."""
    counts = Counter(map(mask_first_turn, examples))
    return counts.most_common(1)[0][1] / len(examples) if examples else 0.0


def build_comparison_rows(measured: Sequence[DatasetStats]) -> list[list[object]]:
    """Return a row for each measure, with a column for each dataset."""
    return [[one.name, *(getattr(each, one.name) for each in measured)] for one in fields(DatasetStats)]
