"""Generation by our own decoder: Qwen3 in fp32 on a CPU, the prompt of a group read and kept once.

A greedy turn does not depend on what else is in the batch; a sampled one depends on the generator and the whole batch.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from itertools import groupby
from math import gcd
from typing import Any

import torch
from torch import Tensor
from transformers import Qwen3ForCausalLM

from ..decoder import Decoder
from .protocol import Asked, Spoken


def misfit(model: Any) -> str:
    """Why the decoder cannot run this model; nothing when it can."""
    if not isinstance(model, Qwen3ForCausalLM):
        return f"it runs Qwen3, and this is {type(model).__name__}"
    rope = dict[str, Any](model.config.rope_parameters or {})
    if model.dtype != torch.float32 or model.device.type != "cpu":
        return f"it runs in float32 on a CPU, and this is {model.dtype} on {model.device}"
    if rope.get("rope_type", "default") != "default" or model.config.attention_bias or model.config.use_sliding_window:
        return "it runs Qwen3 with plain rotary positions, no bias in its attention and no sliding window"
    return ""


@dataclass
class Row:
    """A row of the decoder: `queue` are tokens to be fed, `said` those of the turn it is in."""

    number: int
    queue: list[int]
    most: int
    said: list[int] = field(default_factory=list)
    logprobs: list[float] = field(default_factory=list)
    speaking: bool = True
    done: bool = False

    def ready(self) -> bool:
        return self.speaking and not self.queue


class DecoderBackend:
    """See protocol.py. Temperature 0 is greedy."""

    trains = True

    def __init__(
        self, model: Qwen3ForCausalLM, stop: frozenset[int], temperature: float, generator: torch.Generator | None
    ):
        self.model, self.stop, self.temperature = model, stop, temperature
        self.generator = generator or torch.Generator().manual_seed(0)
        self.rows: dict[int, Row] = {}
        self.live: list[Row] = []  # the decoder's rows; some may be done, to keep groups of one size
        self.decoder: Decoder | None = None

    def ask(self, turn: Asked) -> None:
        if turn.row not in self.rows:
            self.rows[turn.row] = Row(turn.row, list(turn.ids), turn.most)
            return
        row = self.rows[turn.row]
        row.queue = [row.said[-1], *turn.ids]  # the end token was sampled but not yet read
        row.said, row.logprobs, row.most, row.speaking = [], [], turn.most, True

    def drop(self, row: int) -> None:
        self.rows[row].done, self.rows[row].speaking = True, False

    def close(self) -> None:
        self.rows, self.live, self.decoder = {}, [], None

    @torch.inference_mode()
    def step(self) -> list[Spoken]:
        decoder = self.advance(self.decoder) if self.decoder else self.begin()
        while any(row.speaking for row in self.live):
            waiting = [i for i, row in enumerate(self.live) if row.queue and row.speaking]
            ready = [i for i, row in enumerate(self.live) if row.ready()]
            if waiting and 3 * len(waiting) >= len(ready):
                decoder.feed(torch.tensor(waiting), [self.live[i].queue for i in waiting])
                for i in waiting:
                    self.live[i].queue = []
                continue
            tokens, logprobs = choose(decoder.logits(torch.tensor(ready)), self.temperature, self.generator)
            ended = []
            for i, token, logprob in zip(ready, tokens.tolist(), logprobs.tolist(), strict=True):
                row = self.live[i]
                row.said.append(token)
                row.logprobs.append(logprob)
                if token in self.stop or len(row.said) >= row.most:
                    row.speaking = False
                    ended.append(Spoken(row.number, row.said, row.logprobs, cut=token not in self.stop))
            if ended:
                return ended
            decoder = self.advance(decoder)
        return []

    def begin(self) -> Decoder:
        """Read the prompts; equal neighbours share one."""
        self.live = list(self.rows.values())
        runs = [len(list(run)) for _, run in groupby(row.queue for row in self.live)]
        self.decoder = Decoder(self.model, [row.queue for row in self.live[:: gcd(*runs)]], gcd(*runs))
        for row in self.live:
            row.queue = []
        return self.decoder

    def advance(self, decoder: Decoder) -> Decoder:
        """Drop finished rows when that pays, then feed every speaking row its last token."""
        live, n = self.live, decoder.samples
        groups = [live[i : i + n] for i in range(0, len(live), n)]
        left = [sum(not row.done for row in group) for group in groups]
        kept, most = [g for g, count in enumerate(left) if count], max(left)
        if kept and len(kept) * most <= 0.8 * len(live):
            order = [g * n + i for g in kept for i in sorted(range(n), key=lambda i: groups[g][i].done)[:most]]
            decoder.keep(kept, order)
            live = self.live = [live[i] for i in order]
        moving = [row.ready() for row in live]
        if any(moving):
            tokens = torch.tensor([row.said[-1] if go else 0 for row, go in zip(live, moving, strict=True)])
            decoder.step(tokens, torch.tensor(moving).long())
        return decoder


def choose(logits: Tensor, temperature: float, generator: torch.Generator) -> tuple[Tensor, Tensor]:
    """The next token of every row and its log-probability at that temperature (at 1 when greedy)."""
    logprobs = torch.log_softmax(logits / temperature if temperature > 0 else logits, -1)
    if temperature > 0:
        tokens = torch.multinomial(logprobs.exp(), 1, generator=generator)
    else:
        tokens = logprobs.argmax(-1, keepdim=True)
    return tokens[:, 0], logprobs.gather(1, tokens)[:, 0]
