"""Generation with any causal language model of transformers, on CPU or GPU.

Batching is continuous: a row whose turn has ended leaves the batch, the others go on, and a waiting row takes the place
of one whose conversation is over. Tokens that were read stay in the cache, so after a tool's answer only the answer is
read, and a group's prompt is read once. With `guesses`, tokens that the conversation already holds are proposed and
checked many at a time. Each is still drawn from the model's own distribution, with the random number that it would get
without guessing, so guessing changes the speed and no token. Models with recurrent layers or a sliding window are read
row by row (see per_row_cache.py).
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field

import torch
from transformers import PreTrainedModel

from .ngram_draft import Lookup
from .per_row_cache import Singles
from .protocol import GenerationRequest, GenerationResult, NoBackend
from .row_rng import Uniforms, pick
from .slot_cache import Slots, can_use_slots

AT_ONCE = 8_192  # padded tokens read in one forward


@dataclass
class Row:
    """A row in progress: `queue` are tokens to read, the last of which predicts the next; `said` is its turn so far.

    Equal prompts have one number.
    """

    number: int
    prompt: int
    uniforms: Uniforms
    lookup: Lookup = field(default_factory=Lookup)
    queue: list[int] = field(default_factory=list)
    said: list[int] = field(default_factory=list)
    logprobs: list[float] = field(default_factory=list)
    slot: int | None = None
    most: int = 0
    drawn: int = 0
    speaking: bool = True


class TransformersBackend:
    """A backend on transformers (see protocol.py). Temperature 0 is greedy; at most `rows` rows are cached at once.

    A row's tokens depend only on the seed, its number and its conversation, up to the rounding of floats. `read` counts
    the tokens that were read. Raises NoBackend.
    """

    trains = True

    def __init__(
        self,
        model: PreTrainedModel,
        stop: frozenset[int],
        temperature: float = 1.0,
        generator: torch.Generator | None = None,
        *,
        rows: int = 64,
        guesses: int = 0,
    ):
        if (attention := model.config._attn_implementation) not in ("sdpa", "eager"):
            raise NoBackend(f"Rollouts do not support {attention} attention: load the model with 'sdpa' or 'eager'.")
        generator = generator or torch.Generator().manual_seed(0)
        self.seed = int(torch.randint(2**48, (1,), generator=generator, device=generator.device))
        self.model, self.stop, self.temperature = model, stop, temperature
        self.keep, self.most_rows, self.read = (Slots if can_use_slots(model) else Singles), rows, 0
        self.guesses = guesses if can_use_slots(model) else 0
        self.rows: dict[int, Row] = {}
        self.prompts: dict[tuple[int, ...], int] = {}
        self.slots: Slots | Singles | None = None

    def submit(self, turn: GenerationRequest) -> None:
        if turn.row not in self.rows:
            prompt = self.prompts.setdefault(tuple(turn.ids), len(self.prompts))
            self.rows[turn.row] = Row(turn.row, prompt, Uniforms(self.seed + turn.row))
        row = self.rows[turn.row]
        row.queue = [*row.said[-1:], *turn.ids]  # the end token was sampled but not yet read
        row.said, row.logprobs, row.most, row.speaking = [], [], turn.most, True
        if self.guesses:
            row.lookup.add(turn.ids)

    def drop(self, row: int) -> None:
        slot = self.rows.pop(row).slot
        if self.slots and slot is not None:
            self.slots.owners[slot] = None  # the slot keeps its tokens until another row takes it

    def close(self) -> None:
        self.rows, self.prompts, self.slots = {}, {}, None

    @torch.no_grad()
    def step(self) -> list[GenerationResult]:
        if not self.rows:
            return []
        slots = self.slots = self.slots or self.keep(self.model, min(self.most_rows, len(self.rows)))
        with generation_mode(self.model):
            while any(row.speaking for row in self.rows.values()):
                self.admit(slots)
                here = {row.slot: row for row in self.rows.values() if row.slot is not None and row.speaking}
                waiting = {slot: row for slot, row in sorted(here.items()) if len(row.queue) > 1}
                if 3 * len(waiting) >= len(here) - len(waiting):
                    self.read_ahead(slots, {slot: row.queue[:-1] for slot, row in waiting.items()})
                    for row in waiting.values():
                        row.queue = row.queue[-1:]
                if ended := self.generate_tokens(
                    slots, {slot: row for slot, row in sorted(here.items()) if len(row.queue) == 1}
                ):
                    return ended
        return []

    def admit(self, slots: Slots | Singles) -> None:
        """Give the free slots to waiting rows, and read each prompt once that no slot holds yet."""
        unread, copies = dict[int, list[int]](), list[tuple[int, int]]()
        for row in [row for row in self.rows.values() if row.slot is None]:
            free = [slot for slot, owner in enumerate(slots.owners) if owner is None]
            if not free:
                break
            holders = slots.holding(row.prompt, len(row.queue) - 1)
            slot = row.slot = next((slot for slot in holders if slot in free), free[0])
            if not holders:
                unread[slot] = row.queue[:-1]
            elif slot not in holders:
                copies.append((holders[0], slot))
            slots.take(slot, row.number, row.prompt, 0 if slot in unread else len(row.queue) - 1)
            row.queue = row.queue[-1:]
        self.read_ahead(slots, unread)
        for source, target in copies:
            slots.share(source, target)

    def read_ahead(self, slots: Slots | Singles, runs: dict[int, list[int]]) -> None:
        """Read tokens into slots, runs of similar length together, and long runs in pieces."""
        left = {slot: run for slot, run in runs.items() if run}
        while left:
            order = sorted(left, key=lambda slot: -len(left[slot]))
            piece = min(slots.piece, len(left[order[0]]))
            chosen = sorted(order[: max(1, AT_ONCE // piece)])
            parts = [left[slot][:piece] for slot in chosen]
            slots.read(chosen, parts, keep=1)
            for slot, part in zip(chosen, parts, strict=True):
                slots.fill[slot] += len(part)
                self.read += len(part)
                left[slot] = left[slot][piece:]
            left = {slot: run for slot, run in left.items() if run}

    def generate_tokens(self, slots: Slots | Singles, rows: dict[int, Row]) -> list[GenerationResult]:
        """Generate the next token of each of these rows, and those after it that were guessed right."""
        if not rows:
            return []
        runs = [
            row.queue + row.lookup.draft_tokens(min(self.guesses, row.most - len(row.said) - 1))
            for row in rows.values()
        ]
        logits = slots.read(list(rows), runs, keep=0)
        numbers = None
        if self.temperature > 0:
            drawn = [row.uniforms.get_numbers(row.drawn, logits.shape[1]) for row in rows.values()]
            numbers = torch.tensor(drawn, dtype=torch.float64, device=logits.device)
        tokens, logprobs = (found.tolist() for found in pick(logits, self.temperature, numbers))
        for row, run, said, how in zip(rows.values(), runs, tokens, logprobs, strict=True):
            self.accept_tokens(slots, row, run, said, how)
        return [
            GenerationResult(row.number, row.said, row.logprobs, cut=row.said[-1] not in self.stop)
            for row in rows.values()
            if not row.speaking
        ]

    def accept_tokens(
        self, slots: Slots | Singles, row: Row, run: list[int], tokens: list[int], logprobs: list[float]
    ) -> None:
        """Take the sampled tokens up to the first that was guessed wrong, or that ends the turn."""
        for place, token in enumerate(tokens[: len(run)]):
            row.said.append(token)
            row.logprobs.append(logprobs[place])
            row.speaking = token not in self.stop and len(row.said) < row.most
            if not row.speaking or run[place + 1 : place + 2] != [token]:
                break
        assert row.slot is not None
        slots.fill[row.slot] += place + 1
        self.read += len(run)
        row.drawn += place + 1
        row.queue = row.said[-1:]
        if self.guesses:
            row.lookup.add(row.said[-place - 1 :])


@contextmanager
def generation_mode(model: PreTrainedModel) -> Iterator[None]:
    """Disable dropout, and memory savings of training that would disable the cache.

    On a GPU, disable cuDNN's attention too (see training/device.py): each token makes another length.
    """
    was, planned = model.training, torch.backends.cuda.cudnn_sdp_enabled()
    model.eval()
    torch.backends.cuda.enable_cudnn_sdp(False)
    try:
        yield
    finally:
        torch.backends.cuda.enable_cudnn_sdp(planned)
        model.train(was)
