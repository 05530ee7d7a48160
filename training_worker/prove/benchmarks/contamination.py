"""Contamination: whether what users ask in a training set shares a long run of words with a benchmark's own texts.

A run is long from n words on, 8 by default: GPT-3's check took 13 (arXiv 2005.14165, appendix C), PaLM's 8 (arXiv
2204.02311, section 8). A request to a tool has some twenty words, so 13 would see little; what is found is shown to a
person and nothing is dropped by itself, so that too much is better than too little.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from pathlib import Path
from typing import Any

from ..synthesis.endpoint import EndpointFailed
from ..trajectory import Example, UnreadableData
from .bfcl.child import ChildFailed
from .environment import NotInstalled
from .registry import KNOWN, NotKnown, opened

LONG = 8
SHORTEST = 3  # words of a text that is one of a benchmark's where all of it is the same
OURS = frozenset({"worlds", "generalisation", "behaviour"})
"""They speak the training data's language on purpose; what has to be apart there are the worlds."""
WORD = re.compile(r"\w+")
Gram = tuple[str, ...]
Texts = Mapping[str, Sequence[tuple[str, str]]]  # by benchmark: items and what a user says there
Index = dict[Gram, dict[tuple[str, str], None]]  # in which items of which benchmarks n words follow one another


@dataclass(frozen=True)
class Hit:
    """A training conversation and an item of a benchmark that share a run of words; `words` is the longest."""

    example: str
    benchmark: str
    item: str
    words: str


@dataclass
class Checked:
    """What was compared, and every pair that was found; `left_out` says of other benchmarks why."""

    texts: dict[str, int]
    left_out: dict[str, str]
    conversations: int = 0
    turns: int = 0
    hits: list[Hit] = field(default_factory=list)


def texts_of(
    root: Path, options: Mapping[str, Mapping[str, str]]
) -> tuple[dict[str, list[tuple[str, str]]], dict[str, str]]:
    """What the benchmarks of others have users say, by benchmark; and of those that do not tell, why.

    `root` is the folder of benchmarks, `options` are theirs by name.
    """
    texts, left_out = dict[str, list[tuple[str, str]]](), dict[str, str]()
    for name in (name for name in KNOWN if name not in OURS):
        try:
            with opened(name, root, options.get(name, {})) as benchmark:
                tell = getattr(benchmark, "texts", None)
                if tell:
                    texts[name] = list(tell())
                else:
                    left_out[name] = f"{KNOWN[name].title} does not tell its texts."
        except (ChildFailed, EndpointFailed, NotInstalled, NotKnown, UnreadableData) as reason:
            left_out[name] = str(reason)
    return texts, left_out


def check(examples: Iterable[Example], texts: Texts, left_out: Mapping[str, str], n: int = LONG) -> Checked:
    """Compare what users say in training conversations with these texts."""
    found = Checked({name: len(told) for name, told in texts.items()}, dict(left_out))
    index = index_of(texts, n)
    for example in examples:
        found.conversations += 1
        found.turns += len(example.turns)
        found.hits += hits(example, index, n)
    return found


def words_of(text: str) -> list[str]:
    """The words of a text in lower case, without punctuation."""
    return WORD.findall(text.casefold())


def grams(words: Sequence[str], n: int) -> Iterator[Gram]:
    return zip(*(words[start:] for start in range(n)), strict=False)


def index_of(texts: Texts, n: int) -> Index:
    index: Index = {}
    for benchmark, told in texts.items():
        for item, text in told:
            for gram in grams(words_of(text), n):
                index.setdefault(gram, {})[benchmark, item] = None
    return index


def hits(example: Example, index: Index, n: int) -> list[Hit]:
    """The items that share a run with a conversation's user turns."""
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
    """Holds out imported conversations that share a text with a benchmark, and counts them by benchmark."""

    def __init__(self, texts: Texts, left_out: Mapping[str, str]):
        self.texts, self.left_out = texts, dict(left_out)
        self.held_out = Counter[str]()

    @classmethod
    def of_installed(cls, root: Path) -> Screen:
        """With the texts of the benchmarks that are installed in this folder, read when they are first needed."""
        return Installed(root)

    def screened(self, example: Example) -> Example:
        """The example; held out where it is an imported one for training that has a text of a benchmark."""
        if not example.source or example.split != "train" or not (found := self.benchmarks(example)):
            return example
        self.held_out.update(found)
        return replace(example, split="held_out")

    def benchmarks(self, example: Example) -> set[str]:
        """The benchmarks with which it shares a long run of words, or all words of a short turn."""
        whole = {one for turn in example.turns for one in self.short.get(tuple(words_of(turn)), ())}
        return whole | {hit.benchmark for hit in hits(example, self.index, LONG)}

    @cached_property
    def index(self) -> Index:
        return index_of(self.texts, LONG)

    @cached_property
    def short(self) -> dict[Gram, set[str]]:
        """The benchmarks of each text that is too short to share a long run."""
        found: dict[Gram, set[str]] = {}
        for benchmark, told in self.texts.items():
            for _, text in told:
                if SHORTEST <= len(words := words_of(text)) < LONG:
                    found.setdefault(tuple(words), set()).add(benchmark)
        return found

    def as_json(self) -> dict[str, Any]:
        """How many are held out by benchmark, with how many texts of which all were compared, and with which not."""
        compared = {name: len(told) for name, told in self.texts.items()}
        found = {"held_out": dict(sorted(self.held_out.items())), "compared": compared}
        return {**found, "not_compared": sorted(self.left_out)}


class Installed(Screen):
    """A screen that opens the benchmarks at the first conversation that might share something with them."""

    def __init__(self, root: Path):
        super().__init__({}, {})
        self.root, self.opened = root, False

    def benchmarks(self, example: Example) -> set[str]:
        if not self.opened:
            self.texts, self.left_out = texts_of(self.root, {})
            self.opened = True
        return super().benchmarks(example)
