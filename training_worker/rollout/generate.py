"""Rollouts of a policy as tokens: n episodes of each example, on the backend that fits the model."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from time import perf_counter

import torch
from transformers import PreTrainedModel, PreTrainedTokenizerFast

from ..config.grpo import TokenLimits
from ..core.trajectory import Example, Rollout
from ..environment.episode import Attempt
from .backends import Backend, Name, NoBackend, backend_for
from .engine import Conversation, Engine, Sample

__all__ = ["DEFAULT", "Conversation", "Sample", "generate_text_rollouts", "sample"]

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
    backend: Backend | Name = "auto",
) -> list[Sample]:
    """Return n rollouts of each example, in order (the n of one example are neighbours). Temperature 0 is greedy.

    Without a generator the seed is 0. A backend given as an object must be fresh, and generates at its own temperature.
    Raises NoBackend for a backend that does not fit or returns no tokens.
    """
    if isinstance(backend, str):
        backend = backend_for(model, tokenizer, backend, temperature=temperature, generator=generator)
    if not backend.trains:
        raise NoBackend(
            f"{type(backend).__name__} returns texts without token ids and log-probabilities, which training needs. "
            "Use it only for evaluation (`generate_text_rollouts`); for training use decoder, transformers or vllm."
        )
    began = perf_counter()
    attempts = [attempt(one) for one in examples for _ in range(n)]
    opened = (perf_counter() - began) / max(1, len(attempts))  # worlds are seeded when they are first opened
    made = Engine(backend, tokenizer, limits).run(attempts, n)
    return [replace(one, environment_s=one.environment_s + opened) for one in made]


def generate_text_rollouts(
    backend: Backend, examples: Sequence[Example], n: int = 1, *, attempt: Callable[[Example], Conversation] = Attempt
) -> list[list[Rollout]]:
    """Return n rollouts of each example by a text backend: for evaluation, not for training."""
    attempts = [attempt(one) for one in examples for _ in range(n)]
    made = [one.rollout for one in Engine(backend, None, DEFAULT).run(attempts, n)]
    return [made[start : start + n] for start in range(0, len(made), n)]
