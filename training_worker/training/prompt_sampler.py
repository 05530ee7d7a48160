"""The sampler of a run's examples: shuffled rounds, short chains first, or a preference for medium difficulty.

Everything follows from the seed and from the pass rates measured during the run, and is saved in the checkpoint.
"""

from __future__ import annotations

import base64
import json
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import Any

import torch

from ..config.grpo import GRPORun
from ..core.trajectory import Example, UnreadableData

GIVEN = "pass_rates.json"  # next to the training data, if they were measured before: id -> rate
HARD, EASY = 0.125, 0.875  # at or beyond these a group of eight has at most one rollout that differs
OFTENER = 4.0  # weight of an example of the middle pool; the others have 1
ALL_BY = 0.5  # share of the run after which chains of all lengths are used
HELD = 0.5  # weight of the old pass rate when an example is measured again


class PromptSampler:
    """The prompts of a run, in order. `fits` says whether an example's prompt is short enough.

    This is checked when an example is drawn: reading thousands of prompts first would delay the start.
    """

    def __init__(self, config: GRPORun, examples: Sequence[Example], fits: Callable[[Example], bool]):
        self.config, self.examples, self.fits = config, examples, fits
        self.generator = torch.Generator().manual_seed(config.seed)
        self.left: list[int] = []  # of this round
        self.rates = load_pass_rates(config)
        self.known: dict[int, bool] = {}
        self.narrowed = False
        self.lengths = sorted({len(one.steps) for one in examples} - {0})

    def draw(self, count: int, share: float = 0.0) -> list[Example]:
        """Return the next examples at this share of the run. Raises ValueError if all prompts are too long."""
        pick = self.from_pools if self.config.difficulty == "pools" else self.from_round
        chosen: list[int] = []
        while len(chosen) < count:
            some = list(pick(count - len(chosen), share))
            if not some:
                most = self.config.longest_prompt
                raise ValueError(f"{self.config.data} holds no training example of at most {most} prompt tokens.")
            chosen += some
        return [self.examples[i] for i in chosen]

    def from_round(self, count: int, share: float) -> Iterator[int]:
        """Yield up to `count` examples of this round, or of the next if none is left; nothing if no example fits."""
        for _ in range(2):
            most = self.longest(share)
            given = 0
            for i in list(self.left):
                if given == count:
                    return
                if self.length(i) <= most:
                    self.left.remove(i)
                    if self.is_fit(i):
                        given += 1
                        yield i
            if given:
                return
            self.left = torch.randperm(len(self.examples), generator=self.generator).tolist()

    def from_pools(self, count: int, share: float) -> Iterator[int]:
        """Yield up to `count` different examples, weighted by their pools (Efraimidis and Spirakis 2006)."""
        most = self.longest(share)
        weights = torch.tensor([self.weight(i) if self.length(i) <= most else 0.0 for i in range(len(self.examples))])
        keys = torch.rand(len(weights), generator=self.generator, dtype=torch.double).log() / weights
        given = 0
        for i in keys.argsort(descending=True).tolist():
            if given == count or not weights[i]:
                return
            if self.is_fit(i):
                given += 1
                yield i

    def weight(self, i: int) -> float:
        """Return the sampling weight of an example; one without a pass rate is in the middle pool."""
        rate = self.rates.get(self.examples[i].id)
        return OFTENER if rate is None or HARD < rate < EASY else 1.0

    def longest(self, share: float) -> int:
        """Return the longest chain, in steps, that is used at this share of the run."""
        if self.config.curriculum == "off" or not self.lengths:
            return max(self.lengths, default=0)
        return self.lengths[min(len(self.lengths) - 1, int(share / ALL_BY * len(self.lengths)))]

    def length(self, i: int) -> int:
        return len(self.examples[i].steps)

    def is_fit(self, i: int) -> bool:
        if i not in self.known:
            self.known[i] = self.fits(self.examples[i])
        return self.known[i]

    def learn(self, groups: Iterable[tuple[str, float]]) -> None:
        """Update pass rates from the share of successes among the rollouts of each example."""
        if self.config.difficulty == "pools":
            for id, rate in groups:
                self.rates[id] = HELD * self.rates[id] + (1 - HELD) * rate if id in self.rates else rate

    def pools(self) -> dict[str, int]:
        """Return the number of examples in each pool."""
        rates = [self.rates.get(one.id, 0.5) for one in self.examples]
        hard, easy = sum(rate <= HARD for rate in rates), sum(rate >= EASY for rate in rates)
        return {"hard_examples": hard, "middle_examples": len(rates) - hard - easy, "easy_examples": easy}

    def narrow(self) -> None:
        """Remove examples that do not fit, as earlier versions did, so that their rounds are shuffled the same way."""
        self.examples = [one for i, one in enumerate(self.examples) if self.is_fit(i)]
        self.known, self.narrowed = dict.fromkeys(range(len(self.examples)), True), True

    def state(self) -> dict[str, Any]:
        """Return everything needed to resume, as JSON."""
        known = {"generator": write_state(self.generator), "left": list(self.left), "rates": dict(self.rates)}
        return known | ({"narrowed": True} if self.narrowed else {})

    def restore(self, state: Mapping[str, Any]) -> None:
        if state.get("narrowed"):
            self.narrow()
        self.generator.set_state(read_state(state["generator"]))
        self.left, self.rates = list(state["left"]), dict(state["rates"])


def load_pass_rates(config: GRPORun) -> dict[str, float]:
    """Return the pass rates that lie next to the data, if the run uses any. Raises UnreadableData."""
    path = config.data.with_name(GIVEN)
    if config.difficulty != "pools" or not path.exists():
        return {}
    try:
        return {str(id): float(rate) for id, rate in json.loads(path.read_text("utf-8")).items()}
    except (ValueError, TypeError, AttributeError):
        raise UnreadableData(f"{path} is not a JSON object of ids and pass rates. Correct it, or delete it.") from None


def write_state(generator: torch.Generator) -> str:
    return base64.b64encode(bytes(generator.get_state().tolist())).decode()


def read_state(text: str) -> torch.Tensor:
    return torch.tensor(list(base64.b64decode(text)), dtype=torch.uint8)
