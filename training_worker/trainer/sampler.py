"""Rollouts of a policy as tokens: each example tried n times, on the backend that fits the model."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import torch
from transformers import PreTrainedModel, PreTrainedTokenizerFast

from ..prove.rollout import Attempt
from ..prove.trajectory import Example, Rollout
from .backends import Backend, NoBackend, backend_for
from .engine import Conversation, Engine, Sample, TokenLimits

__all__ = ["DEFAULT", "Conversation", "Sample", "TokenLimits", "sample", "spoken_rollouts"]

DEFAULT = TokenLimits()


def sample(
    model: PreTrainedModel,
    tokenizer: PreTrainedTokenizerFast,
    examples: Sequence[Example],
    n: int = 1,
    *,
    temperature: float = 1.0,
    generator: torch.Generator | None = None,
    limits: TokenLimits = DEFAULT,
    attempt: Callable[[Example], Conversation] = Attempt,
    backend: Backend | None = None,
) -> list[Sample]:
    """n rollouts of each example, in order (the n of one example are neighbours). Temperature 0 is greedy.

    Without a generator the rollouts are those of seed 0. A given backend speaks at its own temperature. Raises
    NoBackend for one that gives no tokens.
    """
    backend = backend or backend_for(model, tokenizer, temperature=temperature, generator=generator)
    if not backend.trains:
        raise NoBackend(
            f"{type(backend).__name__} gives texts without token ids and log-probabilities, so nothing can be trained "
            "on them. It can be measured (`spoken_rollouts`); for training use decoder, transformers or vllm."
        )
    return Engine(backend, tokenizer, limits).run([attempt(one) for one in examples for _ in range(n)], n)


def spoken_rollouts(
    backend: Backend, examples: Sequence[Example], n: int = 1, *, attempt: Callable[[Example], Conversation] = Attempt
) -> list[list[Rollout]]:
    """n rollouts of each example by a backend that works in texts: to be measured, not to be trained on."""
    attempts = [attempt(one) for one in examples for _ in range(n)]
    made = [one.rollout for one in Engine(backend, None, DEFAULT).run(attempts, n)]
    return [made[start : start + n] for start in range(0, len(made), n)]
