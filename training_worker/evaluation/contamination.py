"""Contamination check: user texts of a training set that share a long run of words with a benchmark's texts.

A run is long from n words on, 8 by default: GPT-3's check took 13 (arXiv 2005.14165, appendix C), PaLM's 8 (arXiv
2204.02311, section 8). A request to a tool has about twenty words, so 13 would find little. A person reviews the hits
and nothing is dropped automatically, so false positives are better than misses.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from pathlib import Path
from typing import Any

from ..core.trajectory import Example, UnreadableData
from ..endpoint import EndpointFailed
from .bfcl.child import ChildFailed
from .environment import NotInstalled
from .registry import KNOWN, NotKnown, open_benchmark

LONG = 8
SHORTEST = 3  # words of the shortest text that counts as a benchmark's when all its words are equal
OURS = frozenset({"worlds", "generalisation", "behaviour"})
"""Benchmarks that use the training data's language on purpose; only their worlds must differ."""
WORD = re.compile(r"\w+")
Gram = tuple[str, ...]
Texts = Mapping[str, Sequence[tuple[str, str]]]  # by benchmark: item ids and user texts
Index = dict[Gram, dict[tuple[str, str], None]]  # the (benchmark, item) pairs of each n-gram


@dataclass(frozen=True)
class Hit:
    """A training conversation and a benchmark item that share a run of words; `words` is the longest run."""

    example: str
    benchmark: str
    item: str
    words: str


@dataclass
class ContaminationReport:
    """The texts compared and all hits; `left_out` gives the reason for each benchmark that was not compared."""

    texts: dict[str, int]
    left_out: dict[str, str]
    conversations: int = 0
    turns: int = 0
    hits: list[Hit] = field(default_factory=list)


def texts_of(
    root: Path, options: Mapping[str, Mapping[str, str]]
) -> tuple[dict[str, list[tuple[str, str]]], dict[str, str]]:
    """Return the user texts of external benchmarks by name, and for each one without texts the reason.

    `root` is the folder of benchmarks, `options` holds their options by name.
    """
    texts, left_out = dict[str, list[tuple[str, str]]](), dict[str, str]()
    for name in (name for name in KNOWN if name not in OURS):
        try:
            with open_benchmark(name, root, options.get(name, {})) as benchmark:
                tell = getattr(benchmark, "iter_user_texts", None)
                if tell:
                    texts[name] = list(tell())
                else:
                    left_out[name] = f"{KNOWN[name].title} does not provide its texts."
        except (ChildFailed, EndpointFailed, NotInstalled, NotKnown, UnreadableData) as reason:
            left_out[name] = str(reason)
    return texts, left_out


def check(examples: Iterable[Example], texts: Texts, left_out: Mapping[str, str], n: int = LONG) -> ContaminationReport:
    """Compare the user turns of training conversations with these texts."""
    found = ContaminationReport({name: len(items) for name, items in texts.items()}, dict(left_out))
    index = index_of(texts, n)
    for example in examples:
        found.conversations += 1
        found.turns += len(example.turns)
        found.hits += hits(example, index, n)
    return found


def words_of(text: str) -> list[str]:
    """Return the words of a text in lower case, without punctuation."""
    return WORD.findall(text.casefold())


def grams(words: Sequence[str], n: int) -> Iterator[Gram]:
    return zip(*(words[start:] for start in range(n)), strict=False)


def index_of(texts: Texts, n: int) -> Index:
    index: Index = {}
    for benchmark, items in texts.items():
        for item, text in items:
            for gram in grams(words_of(text), n):
                index.setdefault(gram, {})[benchmark, item] = None
    return index


def hits(example: Example, index: Index, n: int) -> list[Hit]:
    """Return the benchmark items that share a run with a conversation's user turns."""
    longest: dict[tuple[str, str], list[str]] = {}
    for turn in example.turns:
        words, running = words_of(turn), dict[tuple[str, str], int]()
        for end, gram in enumerate(grams(words, n), n):
            running = {place: running.get(place, n - 1) + 1 for place in index.get(gram, ())}
            for place, length in running.items():
                if length > len(longest.get(place, ())):
                    longest[place] = words[end - length : end]
    return [Hit(example.id, benchmark, item, " ".join(run)) for (benchmark, item), run in longest.items()]


class Screen:
    """A filter that holds out imported conversations that share a text with a benchmark, counted by benchmark."""

    def __init__(self, texts: Texts, left_out: Mapping[str, str]):
        self.texts, self.left_out = texts, dict(left_out)
        self.held_out = Counter[str]()

    @classmethod
    def of_installed(cls, root: Path) -> Screen:
        """Return a screen with the texts of the benchmarks installed in this folder, read on first use."""
        return LazyScreen(root)

    def screen_example(self, example: Example) -> Example:
        """Return the example; an imported training example that has a text of a benchmark becomes held out."""
        if not example.source or example.split != "train" or not (found := self.benchmarks(example)):
            return example
        self.held_out.update(found)
        return replace(example, split="held_out")

    def benchmarks(self, example: Example) -> set[str]:
        """Return the benchmarks that share a long run of words, or a whole short turn, with the example."""
        short = {one for turn in example.turns for one in self.short.get(tuple(words_of(turn)), ())}
        return short | {hit.benchmark for hit in hits(example, self.index, LONG)}

    @cached_property
    def index(self) -> Index:
        return index_of(self.texts, LONG)

    @cached_property
    def short(self) -> dict[Gram, set[str]]:
        """Benchmarks by text, for texts too short to share a long run."""
        found: dict[Gram, set[str]] = {}
        for benchmark, items in self.texts.items():
            for _, text in items:
                if SHORTEST <= len(words := words_of(text)) < LONG:
                    found.setdefault(tuple(words), set()).add(benchmark)
        return found

    def as_json(self) -> dict[str, Any]:
        """Return the held-out counts by benchmark, the number of texts compared, and the benchmarks not compared."""
        compared = {name: len(items) for name, items in self.texts.items()}
        found = {"held_out": dict(sorted(self.held_out.items())), "compared": compared}
        return {**found, "not_compared": sorted(self.left_out)}


class LazyScreen(Screen):
    """A screen that opens the benchmarks on first use."""

    def __init__(self, root: Path):
        super().__init__({}, {})
        self.root, self.opened = root, False

    def benchmarks(self, example: Example) -> set[str]:
        if not self.opened:
            self.texts, self.left_out = texts_of(self.root, {})
            self.opened = True
        return super().benchmarks(example)
