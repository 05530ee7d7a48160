"""A KV cache for each row by itself: slow, and right for models that keep more than keys and values of every token.

Recurrent layers (Granite 4 hybrid) and sliding windows hold a state that cannot be padded or taken back a few tokens.
Rows are read one after the other, and after the prompt token by token, since recurrent layers of transformers go on
from their state by one token only.
"""

from __future__ import annotations

from copy import deepcopy

import torch
from torch import Tensor
from transformers import PreTrainedModel
from transformers.cache_utils import DynamicCache


class Singles:
    """The same as `Slots`, for any decoder; nothing can be guessed with it."""

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
        """The slots that have this prompt of so many tokens and nothing after it, or are about to read it."""
        return [i for i, known in enumerate(self.prompts) if known == prompt and self.fill[i] <= length]

    def share(self, source: int, target: int) -> None:
        """Give a slot what it counts as held from one with the same prompt."""
        self.caches[target] = deepcopy(self.caches[source])

    def read(self, slots: list[int], runs: list[list[int]], keep: int) -> Tensor:
        """See `Slots.read`; only the logits (R, 1, vocabulary) of the last token of each run."""
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
