"""A KV cache for each row: slow, but right for models that store more than keys and values of every token.

Recurrent layers (Granite 4 hybrid) and sliding windows hold a state that cannot be padded or rolled back by a few
tokens. Rows are read one after the other, and after the prompt token by token, since recurrent layers of transformers
continue from their state by only one token.
"""

from __future__ import annotations

from copy import deepcopy

import torch
from torch import Tensor
from transformers import PreTrainedModel
from transformers.cache_utils import DynamicCache


class Singles:
    """The interface of `Slots` for any decoder; it does not support guesses."""

    piece = 1 << 30

    def __init__(self, model: PreTrainedModel, slots: int):
        self.model, self.device = model, model.device
        self.caches = [DynamicCache(config=model.config) for _ in range(slots)]
        self.owners: list[int | None] = [None] * slots
        self.prompts: list[int | None] = [None] * slots
        self.fill = [0] * slots

    def take(self, slot: int, owner: int, prompt: int, held: int) -> None:
        if not held:
            self.caches[slot] = DynamicCache(config=self.model.config)
        self.owners[slot], self.prompts[slot], self.fill[slot] = owner, prompt, held

    def holding(self, prompt: int, length: int) -> list[int]:
        """Return the slots that have this prompt of `length` tokens and nothing after it, or are about to read it."""
        return [i for i, known in enumerate(self.prompts) if known == prompt and self.fill[i] <= length]

    def share(self, source: int, target: int) -> None:
        """Copy to a slot what it counts as held, from a slot with the same prompt."""
        self.caches[target] = deepcopy(self.caches[source])

    def read(self, slots: list[int], runs: list[list[int]], keep: int) -> Tensor:
        """Return the logits (R, 1, vocabulary) of the last token of each run only; see `Slots.read`."""
        return torch.stack([self.read_one(slot, run) for slot, run in zip(slots, runs, strict=True)])

    def read_one(self, slot: int, run: list[int]) -> Tensor:
        start = self.fill[slot]
        for part in [[token] for token in run] if start else [run]:
            ids = torch.tensor([part], device=self.device)
            places = torch.arange(start, start + len(part), device=self.device)[None]
            logits: Tensor = self.model(
                input_ids=ids, position_ids=places, past_key_values=self.caches[slot], use_cache=True, logits_to_keep=1
            ).logits
            start += len(part)
        return logits[0].float()
