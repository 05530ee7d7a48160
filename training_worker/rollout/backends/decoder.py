"""Generation by our own decoder: Qwen3 or Llama in fp32 on a CPU, the prompt of a group read once.

Tokens that stood before in a conversation of the batch are drafted (ngram_draft.py), and several are read at once. A
row's tokens depend only on the seed, its number and its conversation, up to the rounding of floats: a draft changes the
speed and no token.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from itertools import accumulate, chain
from typing import Any

import torch

from ...policy.decoder import Decoder
from ...policy.forward import Readable
from ...policy.threads import unsplit_operations
from .ngram_draft import Lookup
from .protocol import GenerationRequest, GenerationResult
from .row_rng import Uniforms, pick

PROMPTS = 8  # read at once: their activations are in memory together
GUESSES = 4  # tokens drafted for a row at a time
THREADS = 4  # at most: more would wait for each other, since Python runs only one between operations


def explain_incompatibility(model: Any) -> str:
    """Return why the decoder cannot run this model; empty when it can."""
    if not isinstance(model, Readable):
        return f"it supports Qwen3 and Llama, and this is {type(model).__name__}"
    rope = dict[str, Any](model.config.rope_parameters or {})
    if model.dtype != torch.float32 or model.device.type != "cpu":
        return f"it runs in float32 on a CPU, and this is {model.dtype} on {model.device}"
    slides = getattr(model.config, "use_sliding_window", False)
    if rope.get("rope_type", "default") != "default" or model.config.attention_bias or slides:
        return "it supports only plain rotary positions, attention without bias and no sliding window"
    return ""


@dataclass
class Row:
    """A row in progress: `queue` are tokens to read, the last of which predicts the next; `said` is its turn so far."""

    number: int
    uniforms: Uniforms
    lookup: Lookup
    queue: list[int] = field(default_factory=list)
    said: list[int] = field(default_factory=list)
    logprobs: list[float] = field(default_factory=list)
    most: int = 0
    drawn: int = 0
    speaking: bool = True


class DecoderBackend:
    """A backend on our own decoder (see protocol.py). Temperature 0 is greedy."""

    trains = True

    def __init__(
        self,
        model: Readable,
        stop: frozenset[int],
        temperature: float,
        generator: torch.Generator | None,
        guesses: int = GUESSES,
    ):
        self.model, self.stop, self.temperature, self.guesses = model, stop, temperature, guesses
        self.followers: dict[tuple[int, ...], int] = {}  # the token that last followed each run, in any row
        self.seed = int(torch.randint(2**48, (1,), generator=generator or torch.Generator().manual_seed(0)))
        self.rows: dict[int, Row] = {}
        self.decoder: Decoder | None = None

    def submit(self, turn: GenerationRequest) -> None:
        if turn.row not in self.rows:
            self.rows[turn.row] = Row(turn.row, Uniforms(self.seed + turn.row), Lookup(self.followers))
        row = self.rows[turn.row]
        row.lookup.add(turn.ids)
        row.queue = [*row.said[-1:], *turn.ids]  # the end token was sampled but not yet read
        row.said, row.logprobs, row.most, row.speaking = [], [], turn.most, True

    def drop(self, row: int) -> None:
        self.rows[row].speaking = False

    def close(self) -> None:
        self.rows, self.decoder = {}, None

    def step(self) -> list[GenerationResult]:
        with unsplit_operations() as threads:  # the decoder divides the rows among threads instead
            return self.generate_turns(self.decoder or self.begin(threads))

    @torch.inference_mode()
    def generate_turns(self, decoder: Decoder) -> list[GenerationResult]:
        while speaking := [row for row in self.rows.values() if row.speaking]:
            guesses = [row.lookup.draft_tokens(min(self.guesses, row.most - len(row.said) - 1)) for row in speaking]
            runs = [[*row.queue, *guess] for row, guess in zip(speaking, guesses, strict=True)]
            keep = [len(guess) + 1 for guess in guesses]
            logits = decoder.read([self.places[row.number] for row in speaking], runs, keep)
            numbers = None
            if self.temperature > 0:
                drawn = [row.uniforms.get_numbers(row.drawn, count) for row, count in zip(speaking, keep, strict=True)]
                numbers = torch.tensor([*chain.from_iterable(drawn)], dtype=torch.float64)[:, None]
            tokens, logprobs = (found[:, 0].tolist() for found in pick(logits[:, None], self.temperature, numbers))
            for row, guess, start in zip(speaking, guesses, accumulate(keep, initial=0), strict=False):
                end = start + len(guess) + 1
                said = self.accept_tokens(row, guess, tokens[start:end], logprobs[start:end])
                decoder.forget(self.places[row.number], len(guess) + 1 - said)
            if ended := [row for row in speaking if not row.speaking]:
                return [
                    GenerationResult(row.number, row.said, row.logprobs, row.said[-1] not in self.stop) for row in ended
                ]
        return []

    def accept_tokens(self, row: Row, guess: list[int], tokens: list[int], logprobs: list[float]) -> int:
        """Take the sampled tokens up to the first that differs from the draft or ends the turn; return their number."""
        for place, token in enumerate(tokens):
            row.said.append(token)
            row.logprobs.append(logprobs[place])
            row.speaking = token not in self.stop and len(row.said) < row.most
            if not row.speaking or guess[place : place + 1] != [token]:
                break
        row.queue, row.drawn = [token], row.drawn + place + 1
        row.lookup.add(row.said[-place - 1 :])
        return place + 1

    def begin(self, threads: int) -> Decoder:
        """Read each prompt once, except for its last token, which predicts the first one of every row."""
        self.places = {number: place for place, number in enumerate(self.rows)}
        decoder = self.decoder = Decoder(self.model, len(self.rows), min(threads, THREADS))
        sharing: dict[tuple[int, ...], list[int]] = {}
        for number, row in self.rows.items():
            sharing.setdefault(tuple(row.queue[:-1]), []).append(self.places[number])
            row.queue = row.queue[-1:]
        prompts = [prompt for prompt in sharing if prompt]
        for start in range(0, len(prompts), PROMPTS):
            some = prompts[start : start + PROMPTS]
            decoder.read([sharing[prompt][0] for prompt in some], some)
        for prompt in prompts:
            decoder.copy(sharing[prompt])
        return decoder
