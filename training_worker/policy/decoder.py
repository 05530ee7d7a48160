"""A KV-cached forward pass over the weights of a Hugging Face Qwen3 or Llama, for rows of any length.

The new tokens of all rows form one packed sequence in every linear layer, and each row attends only to its own cache.
Nothing is padded, so a row costs only its own length. Rows are divided among threads, because the operations on them
are too small to be split themselves. Only plain rotary positions are supported, in fp32 on a CPU.
"""

from __future__ import annotations

from bisect import bisect
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from itertools import accumulate, chain, pairwise

import torch
from torch import Tensor
from torch.nn.functional import scaled_dot_product_attention

from .forward import Readable, causal_mask, heads_of, hidden_states, rotary

GROWTH = 512  # tokens that the caches grow by
RUN_COST, TOKEN_COST = 4, 700  # of a run, in tokens; of a token without its attention, in attended tokens


class Decoder:
    """The KV caches of a fixed number of rows; `fill` counts the tokens in each."""

    def __init__(self, model: Readable, rows: int, threads: int = 1):
        self.pool, self.threads = ThreadPoolExecutor(threads), threads
        self.model, (self.heads, self.kv_heads, self.dim) = model, heads_of(model)
        self.fill = [0] * rows
        empty = torch.empty(rows, self.kv_heads, 0, self.dim)
        self.keys, self.values = ([empty] * int(model.config.num_hidden_layers or 0) for _ in range(2))

    def read(self, rows: Sequence[int], runs: Sequence[Sequence[int]], keep: Sequence[int] | None = None) -> Tensor:
        """Append a run of tokens to each of some rows; return logits (n, vocabulary) of what follows each run.

        `keep` is the number of last tokens of each run whose logits are returned, by default one.
        """
        keep = keep or [1] * len(runs)
        ends = [self.fill[row] + len(run) for row, run in zip(rows, runs, strict=True)]
        self._make_room(max(ends))
        if self.threads == 1:
            return self._read(rows, runs, keep)
        work = [*accumulate((RUN_COST + len(run)) * (TOKEN_COST + end) for end, run in zip(ends, runs, strict=True))]
        cuts = [bisect(work, work[-1] * part / self.threads) for part in range(self.threads + 1)]
        parts = [
            (rows[first:last], runs[first:last], keep[first:last]) for first, last in pairwise(cuts) if first < last
        ]
        return torch.cat([*self.pool.map(self._read, *zip(*parts, strict=True))])

    @torch.inference_mode()
    def _read(self, rows: Sequence[int], runs: Sequence[Sequence[int]], keep: Sequence[int]) -> Tensor:
        starts = [self.fill[row] for row in rows]
        ends = [start + len(run) for start, run in zip(starts, runs, strict=True)]
        bounds = [0, *accumulate(map(len, runs))]
        places = torch.tensor([place for start, end in zip(starts, ends, strict=True) for place in range(start, end)])
        owners = torch.tensor([row for row, run in zip(rows, runs, strict=True) for _ in run])
        sharing = self.heads // self.kv_heads  # query heads that share one key head
        masks = [
            causal_mask(start, end).repeat(sharing, 1) if end - start > 1 else None
            for start, end in zip(starts, ends, strict=True)
        ]
        spans = list(zip(rows, pairwise(bounds), ends, masks, strict=True))

        def attend(layer: int, q: Tensor, k: Tensor, v: Tensor) -> Tensor:
            keys, values = self.keys[layer], self.values[layer]
            keys[owners, :, places], values[owners, :, places] = k[0].transpose(0, 1), v[0].transpose(0, 1)
            mixed = []
            for row, (first, last), end, mask in spans:
                queries = q[:, :, first:last].reshape(1, self.kv_heads, -1, self.dim)
                seen = keys[row : row + 1, :, :end], values[row : row + 1, :, :end]
                mixed.append(scaled_dot_product_attention(queries, *seen, mask).view(1, self.heads, -1, self.dim))
            return torch.cat(mixed, 2)

        ids = torch.tensor([list(chain.from_iterable(runs))])
        hidden = hidden_states(self.model, ids, places[None], self.angles, attend)[0]
        for row, end in zip(rows, ends, strict=True):
            self.fill[row] = end
        wanted = [place for bound, count in zip(bounds[1:], keep, strict=True) for place in range(bound - count, bound)]
        logits: Tensor = self.model.lm_head(hidden[torch.tensor(wanted)]).float()
        return logits

    def forget(self, row: int, tokens: int) -> None:
        """Drop the last `tokens` tokens of a row."""
        self.fill[row] -= tokens

    def copy(self, rows: Sequence[int]) -> None:
        """Copy the cache of the first of these rows to all of them."""
        first, length = rows[0], self.fill[rows[0]]
        for cache in chain(self.keys, self.values):
            cache[list(rows), :, :length] = cache[first, :, :length].clone()
        for row in rows:
            self.fill[row] = length

    def _make_room(self, tokens: int) -> None:
        rows, _, room, _ = self.keys[0].shape
        if tokens <= room:
            return
        larger = -(-tokens // GROWTH) * GROWTH
        for caches in (self.keys, self.values):
            for layer, cache in enumerate(caches):  # one by one, so that few tensors are in memory twice
                caches[layer] = torch.empty(rows, self.kv_heads, larger, self.dim)
                caches[layer][:, :, :room] = cache
        self.angles = rotary(self.model, larger)
