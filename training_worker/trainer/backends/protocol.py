"""The one protocol for generation: rows are asked for their next turn, and turns come back as they end."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Protocol

from ...prove.trajectory import Message


@dataclass(frozen=True)
class GenerationRequest:
    """A row's next turn: `ids` are the tokens it has not read yet (first the prompt, later the glue), for those who
    work in tokens; `messages` is the whole conversation, for those who work in texts.

    The end token of the row's last turn stands before the glue and is not repeated. `most` is the most tokens of the
    turn, its end token included.
    """

    row: int
    ids: Sequence[int]
    messages: Sequence[Message]
    tools: Sequence[dict[str, Any]]
    most: int


@dataclass(frozen=True)
class GenerationResult:
    """A turn that ended: its tokens, the end token included, and the log-probability each was sampled with.

    `cut` says that it ran into its limit. A backend that works in texts gives `text` and no tokens. `failed` says why
    there is no turn, for no fault of the policy.
    """

    row: int
    ids: Sequence[int] = ()
    logprobs: Sequence[float] = ()
    cut: bool = False
    text: str | None = None
    failed: str = ""


class Backend(Protocol):
    """What generates, for the rows of one batch; rows are small numbers that the caller chooses.

    All rows of a batch are asked for their first turn before the first step. `trains` says that turns come as tokens
    with their log-probabilities, which an update needs.
    """

    @property
    def trains(self) -> bool: ...

    def submit(self, turn: GenerationRequest) -> None:
        """Let a row speak: its next turn will be among those of a later step."""

    def step(self) -> Sequence[GenerationResult]:
        """Go on until some turns have ended; nothing only when no row has been asked."""

    def drop(self, row: int) -> None:
        """Forget a row whose conversation is over; one that speaks is interrupted."""

    def close(self) -> None:
        """No more will be asked."""


class NoBackend(ValueError):
    """The backend asked for does not fit; the message says what does."""
