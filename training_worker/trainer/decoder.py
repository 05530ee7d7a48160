"""A KV-cached forward over the weights of a Hugging Face Qwen3, for many samples of few prompts.

The samples of one prompt share its keys and values, in memory and in the attention of every step; each sample has a
cache of its own for what follows. Only the Qwen3 architecture with plain rotary positions is supported, in fp32 on a
CPU.
"""

from __future__ import annotations

from collections.abc import Sequence

import torch
from torch import Tensor
from torch.nn.functional import pad, scaled_dot_product_attention
from transformers import Qwen3ForCausalLM

from .qwen3 import FORBIDDEN, forbidden_from, heads_of, hidden_states, padded, rotary

GROWTH = 128
TOGETHER = 2_048  # tokens of prompts, padding included, that are read at once: their activations are held until then


class Decoder:
    """N prompts with n samples each. Row b continues prompt b // n; `fill` counts its own cached tokens.

    After a prefill or a step, `hidden` (rows, width) is the last hidden state of every row.
    """

    def __init__(self, model: Qwen3ForCausalLM, prompts: Sequence[Sequence[int]], samples: int):
        self.model, self.samples = model, samples
        self.heads, self.kv_heads, self.dim = heads_of(model)
        longest = max(map(len, prompts))
        self.angles = rotary(model, longest + GROWTH)
        self.lengths = torch.tensor([len(prompt) for prompt in prompts])
        self.unread = forbidden_from(self.lengths, longest)
        self.prefix: list[tuple[Tensor, Tensor]] = []
        self.hidden = self._prefill(prompts, longest).repeat_interleave(samples, 0)
        rows = len(prompts) * samples
        self.fill = torch.zeros(rows, dtype=torch.long)
        empty = torch.zeros(rows, self.kv_heads, 0, self.dim)
        self.own = [(empty, empty) for _ in self.prefix]

    def logits(self, rows: Tensor) -> Tensor:
        """Logits (len(rows), vocabulary) of the next token of these rows."""
        logits: Tensor = self.model.lm_head(self.hidden[rows]).float()
        return logits

    def step(self, tokens: Tensor, moving: Tensor) -> None:
        """Feed one token to every row; rows where `moving` is 0 do not keep it (it is written over later)."""
        at, rows = self.fill, torch.arange(len(self.fill))
        seen = int(at.max()) + 1
        later = torch.zeros(len(rows), 1, 1, seen).masked_fill_(torch.arange(seen) > at[:, None, None, None], FORBIDDEN)
        self._make_room(seen)
        groups, n, group = len(self.lengths), self.samples, self.heads // self.kv_heads

        def attend(layer: int, q: Tensor, k: Tensor, v: Tensor) -> Tensor:
            (past_k, past_v), (keys, values) = self.prefix[layer], self.own[layer]
            keys[rows, :, at], values[rows, :, at] = k[:, :, 0], v[:, :, 0]
            q = q.view(-1, self.kv_heads, group, self.dim) * self.dim**-0.5
            shared = q.view(groups, n, self.kv_heads, group, self.dim).transpose(1, 2).flatten(2, 3)
            past = (shared @ past_k.mT + self.unread[:, None, None]).view(groups, self.kv_heads, n, group, -1)
            past = past.transpose(1, 2).flatten(0, 1)
            weights = torch.cat([past, q @ keys[:, :, :seen].mT + later], -1).softmax(-1)
            old, new = weights[..., :-seen], weights[..., -seen:]
            old = old.view(groups, n, self.kv_heads, group, -1).transpose(1, 2).flatten(2, 3) @ past_v
            old = old.view(groups, self.kv_heads, n, group, self.dim).transpose(1, 2).flatten(0, 1)
            mixed: Tensor = old + new @ values[:, :, :seen]
            return mixed.flatten(1, 2)[:, :, None]

        self.hidden = hidden_states(self.model, tokens[:, None], (self._start() + at)[:, None], self.angles, attend)[
            :, -1
        ]
        self.fill = at + moving

    def feed(self, rows: Tensor, tokens: Sequence[Sequence[int]]) -> None:
        """Feed a run of tokens to each of some rows at once: what was not sampled but answered."""
        lengths = torch.tensor([len(run) for run in tokens])
        at = self.fill[rows, None] + torch.arange(int(lengths.max()))  # (R, T)
        seen, groups = int(at.max()) + 1, rows // self.samples
        self._make_room(seen)
        ids = padded(tokens, int(lengths.max()))
        own = torch.arange(seen) <= at[..., None]  # (R, T, seen)
        past = (self.unread[groups] == 0)[:, None].expand(-1, at.shape[1], -1)
        allowed = torch.cat([past, own], -1)[:, None]

        def attend(layer: int, q: Tensor, k: Tensor, v: Tensor) -> Tensor:
            (past_k, past_v), (keys, values) = self.prefix[layer], self.own[layer]
            keys[rows[:, None], :, at] = k.transpose(1, 2)
            values[rows[:, None], :, at] = v.transpose(1, 2)
            k = torch.cat([past_k[groups], keys[rows, :, :seen]], 2)
            v = torch.cat([past_v[groups], values[rows, :, :seen]], 2)
            return scaled_dot_product_attention(q, k, v, attn_mask=allowed, enable_gqa=True)

        hidden = hidden_states(self.model, ids, self._start()[rows, None] + at, self.angles, attend)
        self.hidden[rows] = hidden[torch.arange(len(rows)), lengths - 1]
        self.fill[rows] += lengths

    def keep(self, groups: Sequence[int], rows: Sequence[int]) -> None:
        """Go on with these prompts and rows only; `rows` holds equally many rows of each kept prompt, in order."""
        kept, index = torch.tensor(groups), torch.tensor(rows)
        self.samples = len(rows) // len(groups)
        self.lengths, self.unread = self.lengths[kept], self.unread[kept]
        self.prefix = [(k[kept], v[kept]) for k, v in self.prefix]
        self.own = [(k[index], v[index]) for k, v in self.own]
        self.fill, self.hidden = self.fill[index], self.hidden[index]

    def _make_room(self, tokens: int) -> None:
        """Let every row's own cache hold this many tokens; it grows in large steps, so seldom."""
        short = tokens - self.own[0][0].shape[2]
        if short > 0:
            room = (0, 0, 0, max(short, GROWTH))
            self.own = [(pad(k, room), pad(v, room)) for k, v in self.own]
            self.angles = rotary(self.model, int(self.lengths.max()) + self.own[0][0].shape[2])

    def _start(self) -> Tensor:
        return self.lengths.repeat_interleave(self.samples)

    def _prefill(self, prompts: Sequence[Sequence[int]], longest: int) -> Tensor:
        """The last hidden state of each prompt; their keys and values go into `prefix`."""
        shape = (len(prompts), self.kv_heads, longest, self.dim)
        layers = int(self.model.config.num_hidden_layers or 0)
        self.prefix = [(torch.empty(shape), torch.empty(shape)) for _ in range(layers)]
        size = max(1, TOGETHER // longest)
        return torch.cat([self._read(prompts, longest, slice(i, i + size)) for i in range(0, len(prompts), size)])

    def _read(self, prompts: Sequence[Sequence[int]], longest: int, rows: slice) -> Tensor:
        def attend(layer: int, q: Tensor, k: Tensor, v: Tensor) -> Tensor:
            keys, values = self.prefix[layer]
            keys[rows], values[rows] = k, v
            return scaled_dot_product_attention(q, k, v, is_causal=True, enable_gqa=True)

        ids = padded(prompts[rows], longest)
        hidden = hidden_states(self.model, ids, torch.arange(longest).expand(len(ids), -1), self.angles, attend)
        return hidden[torch.arange(len(ids)), self.lengths[rows] - 1]
