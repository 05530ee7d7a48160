"""A policy that is a function of the conversation, as a backend: the test double."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from transformers import PreTrainedTokenizerFast

from ...core.trajectory import Message
from ...policy.model_families import family_of
from .protocol import GenerationRequest, GenerationResult

Policy = Callable[[Sequence[Message], Sequence[dict[str, Any]]], str]


class ScriptedBackend:
    """A scripted backend (see protocol.py).

    With a tokenizer it generates tokens, each with probability 1, and its turns are truncated like any others.
    """

    def __init__(self, policy: Policy, tokenizer: PreTrainedTokenizerFast | None = None):
        self.policy, self.tokenizer = policy, tokenizer
        self.pending: dict[int, GenerationRequest] = {}

    @property
    def trains(self) -> bool:
        return self.tokenizer is not None

    def submit(self, turn: GenerationRequest) -> None:
        self.pending[turn.row] = turn

    def step(self) -> list[GenerationResult]:
        requests, self.pending = self.pending, {}
        return [self.generate_turn(turn) for turn in requests.values()]

    def drop(self, row: int) -> None:
        self.pending.pop(row, None)

    def close(self) -> None:
        self.pending = {}

    def generate_turn(self, turn: GenerationRequest) -> GenerationResult:
        text = self.policy(turn.messages, turn.tools)
        if self.tokenizer is None:
            return GenerationResult(turn.row, text=text)
        full = [*self.tokenizer.encode(text, add_special_tokens=False), family_of(self.tokenizer).end]
        ids = full[: turn.most]
        return GenerationResult(turn.row, ids, [0.0] * len(ids), cut=len(full) > turn.most)
