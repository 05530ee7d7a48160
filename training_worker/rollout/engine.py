"""The rollout engine: many episodes on one backend, token in, token out, until every conversation is over.

Turns that end in the same step of the backend are answered together. Sampled tokens stay exactly as they were sampled,
and the tokens of the messages between them are masked.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from functools import partial
from typing import Any, Protocol

from transformers import PreTrainedTokenizerFast

from ..config.grpo import TokenLimits
from ..core.trajectory import Boundary, Message, Rollout
from ..policy.conversation import EncodedConversation, glue_ids, prompt_ids
from ..policy.model_families import family_of
from .backends.protocol import Backend, GenerationRequest, GenerationResult

# Truncation of observations: at most a given number of tokens, and a mark with the number of missing ones.

READ = 200_000  # the most characters to tokenize, so that a huge observation costs little


def cut_tokens(tokenizer: PreTrainedTokenizerFast, text: str, most: int) -> str:
    """Return the text, truncated with a visible mark beyond `most` tokens; a character is never split."""
    if len(text.encode("utf-8", "replace")) <= most:  # no token is shorter than a byte
        return text
    spans = tokenizer(text[:READ], add_special_tokens=False, return_offsets_mapping=True)["offset_mapping"]
    if len(spans) <= most and len(text) <= READ:
        return text
    start = text[: spans[min(most, len(spans)) - 1][1]] if most else ""
    while start and len(tokenizer(start, add_special_tokens=False)["input_ids"]) > most:
        start = start[:-1]  # a truncated word may take more tokens than the whole one
    left = max(0, len(spans) - most)
    return f"{start}... [cut: {'more than ' if len(text) > READ else ''}{left:,} more tokens]"


SHORTEST_TURN = 8  # a turn is not opened when fewer tokens than this are left


@dataclass(frozen=True)
class Sample:
    """One rollout as tokens. `env_mask` is 1 on the model's tokens; `logprobs` are 0 elsewhere.

    `environment_s` are the seconds spent in the world, `reward_s` those spent on scoring. A backend without tokens
    leaves the lists empty.
    """

    prompt_ids: list[int]
    completion_ids: list[int]
    env_mask: list[int]
    logprobs: list[float]
    rollout: Rollout
    environment_s: float = field(default=0.0, compare=False)
    reward_s: float = field(default=0.0, compare=False)

    def encode(self) -> EncodedConversation:
        """Return prompt and completion as one conversation, with a mask of the model's tokens."""
        mask = (*[0] * len(self.prompt_ids), *self.env_mask)
        return EncodedConversation((*self.prompt_ids, *self.completion_ids), mask)


class Conversation(Protocol):
    """The interface of an episode that the engine needs (see environment/episode.py)."""

    shorten: Callable[[str], str]

    @property
    def tools(self) -> tuple[dict[str, Any], ...]: ...

    @property
    def opening(self) -> tuple[Message, ...]: ...

    @property
    def over(self) -> bool: ...

    def answer(self, text: str, *, truncated: bool = False) -> tuple[Message, ...]: ...

    def overdue(self) -> bool: ...

    def fail(self, boundary: Boundary, error: str) -> None: ...

    def finish(self) -> Rollout: ...


@dataclass
class Row:
    """One sample in progress."""

    attempt: Conversation
    prompt: list[int]
    messages: list[Message]
    ids: list[int] = field(default_factory=list)
    mask: list[int] = field(default_factory=list)
    logprobs: list[float] = field(default_factory=list)
    environment_s: float = 0.0
    done: bool = False

    def append_turn(self, turn: GenerationResult) -> None:
        self.ids += turn.ids
        self.mask += [1] * len(turn.ids)
        self.logprobs += turn.logprobs

    def append_glue(self, glue: Sequence[int]) -> None:
        self.ids += glue
        self.mask += [0] * len(glue)
        self.logprobs += [0.0] * len(glue)

    def answer(self, text: str, cut: bool) -> tuple[Message, ...]:
        began = time.perf_counter()
        answers = self.attempt.answer(text, truncated=cut)
        self.environment_s += time.perf_counter() - began
        self.messages += [Message("assistant", text), *answers]
        return answers

    def sample(self) -> Sample:
        began = time.perf_counter()
        rollout, reward_s = self.attempt.finish(), time.perf_counter() - began
        return Sample(self.prompt, self.ids, self.mask, self.logprobs, rollout, self.environment_s, reward_s)


class Engine:
    """The rollouts of one batch. Without a tokenizer they are texts only, and limits in tokens do not apply."""

    def __init__(self, backend: Backend, tokenizer: PreTrainedTokenizerFast | None, limits: TokenLimits):
        self.backend, self.tokenizer, self.limits = backend, tokenizer, limits
        self.stop = family_of(tokenizer).stop if tokenizer else frozenset[int]()
        self.rows: list[Row] = []

    def run(self, attempts: Sequence[Conversation], n: int = 1) -> list[Sample]:
        """Return a sample of each episode, in order; n neighbours are episodes of one example and share its prompt."""
        for start in range(0, len(attempts), n):
            first, *_ = group = attempts[start : start + n]
            prompt = prompt_ids(self.tokenizer, first.opening, first.tools) if self.tokenizer else []
            self.rows += [Row(attempt, prompt, list(attempt.opening)) for attempt in group]
        for number, row in enumerate(self.rows):
            if self.tokenizer and self.limits.observation:
                row.attempt.shorten = partial(cut_tokens, self.tokenizer, most=self.limits.observation)
            self.submit(number, row.prompt)
        try:
            while not all(row.done for row in self.rows):
                self.step()
        finally:
            self.backend.close()
        return [row.sample() for row in self.rows]

    def submit(self, number: int, ids: Sequence[int]) -> None:
        row = self.rows[number]
        most = min(self.limits.turn, self.limits.completion - len(row.ids))
        self.backend.submit(GenerationRequest(number, ids, row.messages, row.attempt.tools, most))

    def step(self) -> None:
        ended = self.backend.step()
        for turn in ended:
            self.end_turn(turn)
        late = [i for i, row in enumerate(self.rows) if not row.done and row.attempt.overdue()]
        for number in late:
            self.finish_row(number)
        if not ended and not late:
            raise RuntimeError("The backend ended no turn, and no rollout reached its time limit.")

    def end_turn(self, turn: GenerationResult) -> None:
        """Pass a finished or truncated turn to its episode, and request the next one unless the episode is over."""
        row = self.rows[turn.row]
        if row.done:
            return
        row.append_turn(turn)
        if turn.failed:
            row.attempt.fail("infrastructure", turn.failed)
        answers = () if turn.failed else row.answer(self.text_of(turn), turn.cut)
        glue = glue_ids(self.tokenizer, answers) if self.tokenizer and answers else []
        room = not self.tokenizer or len(row.ids) + len(glue) + SHORTEST_TURN <= self.limits.completion
        if answers and room and not turn.cut and not row.attempt.over:
            row.append_glue(glue)
            self.submit(turn.row, glue)
        else:
            self.finish_row(turn.row)  # an episode that is not over ends here because its tokens are used up

    def text_of(self, turn: GenerationResult) -> str:
        if turn.text is not None or self.tokenizer is None:
            return turn.text or ""
        ended = turn.ids and turn.ids[-1] in self.stop
        return str(self.tokenizer.decode(list(turn.ids[:-1] if ended else turn.ids)))

    def finish_row(self, number: int) -> None:
        self.rows[number].done = True
        self.backend.drop(number)
