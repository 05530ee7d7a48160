"""A KV cache of slots: every row has its own place and length, so that rows join, wait and leave one by one.

The token at place p of a slot is the p-th of its row. Entries behind a row's own tokens are overwritten before they are
ever seen, so padded or rejected tokens need no clean-up.
"""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor
from transformers import PreTrainedModel
from transformers.cache_utils import Cache, CacheLayerMixin

GROWTH = 512


class SlotLayer(CacheLayerMixin):
    """Keys and values (slots, kv heads, room, dim) of one layer, written and read where the last `aim` says."""

    def __init__(self, slots: int):
        super().__init__()
        self.slots, self.room, self.seen = slots, 0, 0

    def lazy_initialization(self, key_states: Tensor, value_states: Tensor) -> None:
        self.keys, self.values = (
            x.new_zeros(self.slots, x.shape[1], self.room, x.shape[3]) for x in (key_states, value_states)
        )
        self.is_initialized = True

    def aim(self, slots: Tensor, places: Tensor, seen: int, room: int) -> None:
        """Make the next forward write slots (R,) at places (R, T), and see the first `seen` places of each."""
        self.at, self.places, self.seen, self.room = slots, places, seen, room
        if self.keys is not None and self.values is not None and room > self.keys.shape[2]:
            more = (0, 0, 0, room - self.keys.shape[2])
            self.keys, self.values = (torch.nn.functional.pad(x, more) for x in (self.keys, self.values))

    def update(self, key_states: Tensor, value_states: Tensor, *rest: Any, **more: Any) -> tuple[Tensor, Tensor]:
        if not self.is_initialized:
            self.lazy_initialization(key_states, value_states)
        assert self.keys is not None and self.values is not None
        found = []
        for cache, new in ((self.keys, key_states), (self.values, value_states)):
            cache[self.at[:, None], :, self.places] = new.transpose(1, 2)
            found.append(cache[:, :, : self.seen] if len(self.at) == self.slots else cache[self.at, :, : self.seen])
        return found[0], found[1]

    def copy(self, source: int, target: int, length: int) -> None:
        for cache in (self.keys, self.values):
            if cache is not None:
                cache[target, :, :length] = cache[source, :, :length]

    def get_mask_sizes(self, query_length: int) -> tuple[int, int]:
        return self.seen, 0

    def get_seq_length(self) -> int:
        return self.seen

    def get_max_length(self) -> int:
        return -1


class Slots:
    """A model with a cache of slots: per slot its owner, the number of the prompt it begins with, and its length."""

    piece = 2_048

    def __init__(self, model: PreTrainedModel, slots: int):
        self.model, self.device = model, model.device
        self.layers = [SlotLayer(slots) for _ in range(model.config.num_hidden_layers)]
        self.cache = Cache(layers=list(self.layers))
        self.owners: list[int | None] = [None] * slots
        self.prompts: list[int | None] = [None] * slots
        self.fill = [0] * slots
        self.room = GROWTH
        self.graph: OneToken | None = None
        self.captures = can_capture(self.device)

    def take(self, slot: int, owner: int, prompt: int, held: int) -> None:
        self.owners[slot], self.prompts[slot], self.fill[slot] = owner, prompt, held

    def holding(self, prompt: int, length: int) -> list[int]:
        """Return the slots that have this prompt, or are about to read it."""
        return [slot for slot, known in enumerate(self.prompts) if known == prompt]

    def share(self, source: int, target: int) -> None:
        """Copy to a slot what it counts as held, from a slot with the same prompt."""
        for layer in self.layers:
            layer.copy(source, target, self.fill[target])

    def read(self, slots: list[int], runs: list[list[int]], keep: int) -> Tensor:
        """Read a run of tokens into each of these slots (in ascending order), after what it holds.

        Return logits (R, keep, vocabulary) of the last `keep` places of the padded runs, in float32; 0 means all.
        `fill` does not change: the caller decides how many tokens count.
        """
        longest = max(map(len, runs))
        if longest == 1 and self.captures and self.layers[0].is_initialized:
            logits = self.read_one(slots, [run[0] for run in runs])
            if logits is not None:
                return logits
        starts = torch.tensor([self.fill[slot] for slot in slots])
        places = starts[:, None] + torch.arange(longest)
        seen = int(places.max()) + 1
        self.ensure_room(seen)
        places, at = places.to(self.device), torch.tensor(slots, device=self.device)
        self.aim(at, places, seen)
        ids = torch.tensor([[*run, *[0] * (longest - len(run))] for run in runs], device=self.device)
        return self.forward(ids, places, seen, keep).float()

    def ensure_room(self, seen: int) -> None:
        while self.room < seen:
            self.room += GROWTH

    def aim(self, at: Tensor, places: Tensor, seen: int) -> None:
        for layer in self.layers:
            layer.aim(at, places, seen, self.room)

    def forward(self, ids: Tensor, places: Tensor, seen: int, keep: int) -> Tensor:
        hidden = torch.arange(seen, device=self.device) > places[..., None]
        lowest = torch.finfo(self.model.dtype).min
        mask = torch.zeros(hidden.shape, dtype=self.model.dtype, device=self.device).masked_fill_(hidden, lowest)
        logits: Tensor = self.model(
            input_ids=ids,
            position_ids=places,
            attention_mask=mask[:, None],
            past_key_values=self.cache,
            use_cache=True,
            logits_to_keep=keep,
        ).logits
        return logits

    def read_one(self, slots: list[int], tokens: list[int]) -> Tensor | None:
        """Read a token into each of these slots by a graph (see OneToken); None for a model that cannot have one."""
        ids = [0] * len(self.fill)
        for slot, token in zip(slots, tokens, strict=True):
            ids[slot] = token
        self.ensure_room(max(self.fill) + 1)
        if self.graph is None or self.graph.room != self.room:
            self.graph = None  # free its memory before the next is captured
            try:
                self.graph = OneToken(self, ids)
            except RuntimeError:
                self.captures = False
                return None
        return self.graph.read(self, ids)[slots].float()


class OneToken:
    """The forward of one token of every slot as a CUDA graph: a small model would wait for Python at every layer.

    A graph belongs to one size of the cache. A slot without a request reads a token behind its own, where it is
    overwritten before it is ever seen. Raises RuntimeError for a model that cannot be captured.
    """

    def __init__(self, slots: Slots, ids: list[int]):
        self.room = slots.room
        self.at = torch.arange(len(ids), device=slots.device)
        self.ids, self.places = (torch.tensor(x, device=slots.device)[:, None] for x in (ids, slots.fill))
        slots.aim(self.at, self.places, self.room)
        self.capture(slots)

    def capture(self, slots: Slots) -> None:
        before, aside = torch.cuda.current_stream(), torch.cuda.Stream()
        aside.wait_stream(before)
        with torch.cuda.stream(aside):  # first-call setup of libraries must not be in the graph
            for _ in range(2):
                slots.forward(self.ids, self.places, self.room, 0)
        before.wait_stream(aside)
        self.graph = torch.cuda.CUDAGraph()
        with torch.cuda.graph(self.graph):
            self.logits = slots.forward(self.ids, self.places, self.room, 0)

    def read(self, slots: Slots, ids: list[int]) -> Tensor:
        self.ids.copy_(torch.tensor(ids)[:, None])
        self.places.copy_(torch.tensor(slots.fill)[:, None])
        self.replay(slots)
        return self.logits

    def replay(self, slots: Slots) -> None:
        self.graph.replay()


def can_capture(device: torch.device) -> bool:
    return device.type == "cuda"


def can_use_slots(model: PreTrainedModel) -> bool:
    """Return whether rows of this model can share a batch in slots: every layer attends to all tokens."""
    config = model.config
    window = getattr(config, "sliding_window", None) and getattr(config, "use_sliding_window", True)
    return not window and set(getattr(config, "layer_types", None) or []) <= {"full_attention"}
