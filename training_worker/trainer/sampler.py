"""Multi-turn rollouts of the tiny policy, many at once: sampled tokens go out, answers come back as forced tokens.

Works for the Qwen3 architecture only (see decoder.py), not for any Hugging Face model. A greedy rollout does not
depend on what else is in the batch; a sampled one depends on the generator and the whole batch.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any, Protocol

import torch
from torch import Tensor
from transformers import PreTrainedTokenizerFast, Qwen3ForCausalLM

from ..prove.rollout import Attempt
from ..prove.trajectory import Example, Message, Rollout
from .conversation import glue_ids, prompt_ids
from .decoder import Decoder

SHORTEST_TURN = 8  # a turn is not opened when fewer tokens than this are left


@dataclass(frozen=True)
class TokenLimits:
    """Model tokens per assistant turn, and tokens of all turns with the answers between them."""

    turn: int = 160
    completion: int = 1024


@dataclass(frozen=True)
class Sample:
    """One rollout as tokens. `env_mask` is 1 where the model spoke; `logprobs` are 0 elsewhere."""

    prompt_ids: list[int]
    completion_ids: list[int]
    env_mask: list[int]
    logprobs: list[float]
    rollout: Rollout


DEFAULT = TokenLimits()


class Conversation(Protocol):
    """What the sampler needs of an attempt (see prove/rollout.py)."""

    @property
    def tools(self) -> tuple[dict[str, Any], ...]: ...

    @property
    def opening(self) -> tuple[Message, ...]: ...

    @property
    def over(self) -> bool: ...

    def answer(self, text: str, *, truncated: bool = False) -> tuple[Message, ...]: ...

    def finish(self) -> Rollout: ...


@dataclass
class Row:
    """One sample in the making: `queue` are tokens to be fed, `spoken` those of the turn it is in."""

    attempt: Conversation
    ids: list[int] = field(default_factory=list)
    mask: list[int] = field(default_factory=list)
    logprobs: list[float] = field(default_factory=list)
    spoken: list[int] = field(default_factory=list)
    queue: list[int] = field(default_factory=list)
    done: bool = False

    @property
    def speaking(self) -> bool:
        return not self.done and not self.queue

    def say(self, token: int, logprob: float) -> None:
        self.ids.append(token)
        self.mask.append(1)
        self.logprobs.append(logprob)
        self.spoken.append(token)

    def hear(self, glue: Sequence[int]) -> None:
        self.queue = [self.ids[-1], *glue]  # the end token was sampled but not yet read
        self.ids += glue
        self.mask += [0] * len(glue)
        self.logprobs += [0.0] * len(glue)
        self.spoken = []


@torch.inference_mode()
def sample(
    model: Qwen3ForCausalLM,
    tokenizer: PreTrainedTokenizerFast,
    examples: Sequence[Example],
    n: int = 1,
    *,
    temperature: float = 1.0,
    generator: torch.Generator | None = None,
    limits: TokenLimits = DEFAULT,
    attempt: Callable[[Example], Conversation] = Attempt,
) -> list[Sample]:
    """n rollouts of each example, in order (the n of one example are neighbours). Temperature 0 is greedy.

    Without a generator the rollouts are those of seed 0.
    """
    generator = generator or torch.Generator().manual_seed(0)
    rows = [Row(attempt(example)) for example in examples for _ in range(n)]
    prompts = [prompt_ids(tokenizer, row.attempt.opening, row.attempt.tools) for row in rows[::n]]
    # the longest answer is fed padded to its longest neighbour, so the cache has room for one run more
    decoder = Decoder(model, prompts, n, room=2 * limits.completion)
    live = list(rows)  # the decoder's rows; some may be done, to keep groups of one size
    while any(not row.done for row in live):
        waiting = [i for i, row in enumerate(live) if row.queue]
        speaking = [i for i, row in enumerate(live) if row.speaking]
        if waiting and 3 * len(waiting) >= len(speaking):
            decoder.feed(torch.tensor(waiting), [live[i].queue for i in waiting])
            for i in waiting:
                live[i].queue = []
            continue
        tokens, logprobs = choose(decoder.logits(torch.tensor(speaking)), temperature, generator)
        for i, token, logprob in zip(speaking, tokens.tolist(), logprobs.tolist(), strict=True):
            live[i].say(token, logprob)
            if token == tokenizer.eos_token_id or out_of_room(live[i], limits):
                end_turn(live[i], tokenizer, limits)
        live = advance(decoder, live)
    return [
        Sample(prompts[i // n], row.ids, row.mask, row.logprobs, row.attempt.finish()) for i, row in enumerate(rows)
    ]


def choose(logits: Tensor, temperature: float, generator: torch.Generator) -> tuple[Tensor, Tensor]:
    """The next token of every row and its log-probability at that temperature (at 1 when greedy)."""
    logprobs = torch.log_softmax(logits / temperature if temperature > 0 else logits, -1)
    if temperature > 0:
        tokens = torch.multinomial(logprobs.exp(), 1, generator=generator)
    else:
        tokens = logprobs.argmax(-1, keepdim=True)
    return tokens[:, 0], logprobs.gather(1, tokens)[:, 0]


def out_of_room(row: Row, limits: TokenLimits) -> bool:
    return len(row.spoken) >= limits.turn or len(row.ids) >= limits.completion


def end_turn(row: Row, tokenizer: PreTrainedTokenizerFast, limits: TokenLimits) -> None:
    """Hand a finished or cut turn to the attempt and queue what it answers."""
    cut = row.spoken[-1] != tokenizer.eos_token_id
    text = str(tokenizer.decode(row.spoken if cut else row.spoken[:-1]))
    messages = row.attempt.answer(text, truncated=cut)
    if cut or not messages or row.attempt.over:
        row.done = True
        return
    glue = glue_ids(tokenizer, messages)
    if len(row.ids) + len(glue) + SHORTEST_TURN > limits.completion:
        row.done = True  # not over, so the attempt ends for want of tokens
    else:
        row.hear(glue)


def advance(decoder: Decoder, live: list[Row]) -> list[Row]:
    """Drop finished rows when that pays, then feed every speaking row its last token."""
    n = decoder.samples
    groups = [live[i : i + n] for i in range(0, len(live), n)]
    left = [sum(not row.done for row in group) for group in groups]
    kept, most = [g for g, count in enumerate(left) if count], max(left)
    if kept and len(kept) * most <= 0.8 * len(live):
        order = [g * n + i for g in kept for i in sorted(range(n), key=lambda i: groups[g][i].done)[:most]]
        decoder.keep(kept, order)
        live = [live[i] for i in order]
    if any(row.speaking for row in live):
        tokens = torch.tensor([row.ids[-1] if row.speaking else 0 for row in live])
        decoder.step(tokens, torch.tensor([row.speaking for row in live]).long())
    return live
