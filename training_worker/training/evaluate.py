"""Evaluation of a policy on given examples, and paired comparison of two policies on the same examples."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial

import numpy as np
import torch
from scipy.stats import bootstrap
from transformers import PreTrainedModel, PreTrainedTokenizerFast

from ..config.grpo import TokenLimits
from ..core.trajectory import Example, Rollout
from ..environment.episode import Attempt
from ..policy.conversation import prompt_ids
from ..policy.model_families import family_of
from ..rollout.backends import Name, backend_for
from ..rollout.backends.vllm import Generation
from ..rollout.generate import DEFAULT, Conversation, sample
from .metrics import component_means, mean

ROWS = 48  # rollouts that run together
Rollouts = list[list[Rollout]]
Value = Callable[[Sequence[Rollout]], list[float]]  # maps an example's rollouts to a number per valid one


def evaluate(
    model: PreTrainedModel,
    tokenizer: PreTrainedTokenizerFast,
    examples: Sequence[Example],
    samples: int = 1,
    temperature: float = 1.0,
    seed: int = 0,
    *,
    limits: TokenLimits = DEFAULT,
    attempt: Callable[[Example], Conversation] | None = None,
    backend: Name = "auto",
    rows: int = ROWS,
    together: int = ROWS,
    vllm: Generation | None = None,
) -> Rollouts:
    """Return `samples` rollouts of every example, in the order of the examples; temperature 0 is greedy.

    Calls are parsed in the model's own format and scored by the paper's reward, whatever reward the model was trained
    with, unless `attempt` says otherwise. Prompts of similar length run together, `together` rollouts in a batch, at
    most `rows` of them in the cache at once. The same seed gives the same rollouts for the same examples in the same
    order and the same `together`, except with vLLM, which first receives the model's weights. Raises NoBackend.
    """
    attempt = attempt or partial(Attempt, format=family_of(tokenizer).format)
    generator = torch.Generator().manual_seed(seed)
    episodes = [attempt(example) for example in examples]
    lengths = [len(prompt_ids(tokenizer, one.opening, one.tools)) for one in episodes]
    order = sorted(range(len(examples)), key=lambda i: lengths[i])
    size = max(1, together // samples)
    found: dict[int, list[Rollout]] = {}
    for start in range(0, len(order), size):
        batch = order[start : start + size]
        made = sample(
            model,
            tokenizer,
            [examples[i] for i in batch],
            samples,
            temperature=temperature,
            generator=generator,
            limits=limits,
            attempt=attempt,
            backend=backend_for(
                model, tokenizer, backend, temperature=temperature, generator=generator, rows=rows, vllm=vllm
            ),
        )
        for place, i in enumerate(batch):
            found[i] = [one.rollout for one in made[place * samples : (place + 1) * samples]]
    return [found[i] for i in range(len(examples))]


@dataclass(frozen=True)
class Difference:
    """Means before and after over the same examples, the mean paired difference and its 95% interval."""

    before: float
    after: float
    difference: float
    low: float
    high: float
    examples: int

    @property
    def better(self) -> bool:
        return self.low > 0


def totals_of(rollouts: Sequence[Rollout]) -> list[float]:
    return [rollout.reward.total for rollout in rollouts if rollout.reward is not None]


def compare_policies(before: Rollouts, after: Rollouts, seed: int = 0, value: Value = totals_of) -> Difference:
    """Compare two policies by the mean `value` of each example's valid samples, by default its reward."""
    return difference([value(one) for one in before], [value(one) for one in after], seed)


def difference(before: Sequence[Sequence[float]], after: Sequence[Sequence[float]], seed: int = 0) -> Difference:
    """Compare the means of each example's values. Raises ValueError where no example has values on both sides.

    The interval is a BCa bootstrap over examples (Efron 1987). An example without values on both sides is left out.
    """
    pairs = [(np.mean(old), np.mean(new)) for old, new in zip(before, after, strict=True) if old and new]
    if not pairs:
        raise ValueError("There is no example with a valid rollout on both sides.")
    old_means, new_means = (np.array(side) for side in zip(*pairs, strict=True))
    gains = new_means - old_means
    low, high = interval(gains, seed)
    return Difference(float(old_means.mean()), float(new_means.mean()), float(gains.mean()), low, high, len(gains))


def interval(gains: np.ndarray, seed: int) -> tuple[float, float]:
    """Return the 95% interval of the mean; a single point when nothing varies."""
    if len(gains) < 2 or np.ptp(gains) < 1e-12:
        return float(gains.mean()), float(gains.mean())
    found = bootstrap((gains,), np.mean, rng=np.random.default_rng(seed)).confidence_interval
    return float(found.low), float(found.high)


@dataclass(frozen=True)
class Line:
    """One row of a table: examples of one chain length, and the mean reward and components of their rollouts."""

    steps: str
    examples: int
    means: dict[str, float]
    calls: float


def table(examples: Sequence[Example], rollouts: Rollouts) -> list[Line]:
    """Return reward and components by chain length ("0" is abstention), and over all examples."""
    groups: dict[str, list[int]] = {}
    for i, example in enumerate(examples):
        groups.setdefault(str(len(example.steps)), []).append(i)
    lines = [*sorted(groups.items()), ("all", list(range(len(examples))))]
    return [line(name, [rollouts[i] for i in chosen]) for name, chosen in lines]


def line(name: str, chosen: Rollouts) -> Line:
    flat = [rollout for rollouts in chosen for rollout in rollouts]
    return Line(name, len(chosen), component_means(flat), mean([len(rollout.calls) for rollout in flat]))
