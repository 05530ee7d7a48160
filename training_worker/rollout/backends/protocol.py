"""The protocol for generation: rows request their next turn, and turns are returned as they end."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Protocol

from ...core.trajectory import Message


@dataclass(frozen=True)
class GenerationRequest:
    """A request for a row's next turn.

    `ids` are the tokens that the row has not read yet (first the prompt, later the glue), for backends that work in
    tokens; `messages` is the whole conversation, for backends that work in texts. The end token of the row's last turn
    comes before the glue and is not repeated. `most` is the maximum number of tokens of the turn, its end token
    included.
    """

    row: int
    ids: Sequence[int]
    messages: Sequence[Message]
    tools: Sequence[dict[str, Any]]
    most: int


@dataclass(frozen=True)
class GenerationResult:
    """A turn that ended: its tokens, the end token included, and the log-probability each was sampled with.

    `cut` says that it reached its token limit. A backend that works in texts returns `text` and no tokens. `failed`
    says why there is no turn, through no fault of the policy.
    """

    row: int
    ids: Sequence[int] = ()
    logprobs: Sequence[float] = ()
    cut: bool = False
    text: str | None = None
    failed: str = ""


class Backend(Protocol):
    """A generator for the rows of one batch; rows are small numbers that the caller chooses.

    All rows of a batch request their first turn before the first step. `trains` says that turns come as tokens with
    their log-probabilities, which an update needs.
    """

    @property
    def trains(self) -> bool: ...

    def submit(self, turn: GenerationRequest) -> None:
        """Request a row's next turn; a later step returns it."""

    def step(self) -> Sequence[GenerationResult]:
        """Generate until some turns have ended; return nothing only if no row has a request."""

    def drop(self, row: int) -> None:
        """Forget a row whose conversation is over; a turn in progress is interrupted."""

    def close(self) -> None:
        """End the batch; no further request follows."""


class NoBackend(ValueError):
    """A backend that does not fit; the message says which one does."""
