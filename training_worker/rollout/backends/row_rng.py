"""Sampling with one uniform number per token, drawn from the row's own stream.

A row's tokens then depend only on its stream and its own conversation: not on the rest of the batch, and not on whether
some of them were guessed.
"""

from __future__ import annotations

import torch
from torch import Tensor

BLOCK = 256


class Uniforms:
    """The random numbers of one row, in [0, 1)."""

    def __init__(self, seed: int):
        self.generator = torch.Generator().manual_seed(seed)
        self.numbers: list[float] = []

    def get_numbers(self, start: int, count: int) -> list[float]:
        """Return the numbers of `count` tokens from `start` on."""
        while len(self.numbers) < start + count:
            self.numbers += torch.rand(BLOCK, generator=self.generator, dtype=torch.float64).tolist()
        return self.numbers[start : start + count]


def pick(logits: Tensor, temperature: float, numbers: Tensor | None) -> tuple[Tensor, Tensor]:
    """Return tokens (R, T) for logits (R, T, vocabulary), and their log-probabilities at that temperature (1: greedy).

    The token is the first whose cumulated probability exceeds the number (R, T); without numbers, the likeliest.
    """
    logprobs = torch.log_softmax(logits / temperature if temperature > 0 else logits, -1)
    if numbers is None:
        tokens = logprobs.argmax(-1, keepdim=True)
    else:
        steps = logprobs.double().exp().cumsum(-1)
        tokens = torch.searchsorted(steps, (numbers * steps[..., -1])[..., None], right=True)
        tokens = tokens.clamp_(max=logits.shape[-1] - 1)
    return tokens[..., 0], logprobs.gather(-1, tokens)[..., 0]
