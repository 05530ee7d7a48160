"""A case: a conversation with a catch; and a behaviour: how its cases are made, and what they are judged by."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

from mcp_servers.kit import Draw
from mcp_servers.world import World

from ...rollout import Attempt, Limits
from ...trajectory import Example, Kind, Level, Rollout
from ..protocol import Policy
from ..worlds.episode import attempt_of
from ..worlds.scorer import Verdict, judged

LIMITS = Limits(assistant_turns=20, calls=30)  # wider than in training: the catch is to be the failure, not the limit


@dataclass(frozen=True)
class Case:
    """A conversation and its catch in words; `opens` gives the world with what is planted there, None the plain one."""

    example: Example
    judge: Callable[[Rollout], Verdict]
    catch: str = ""
    opens: Callable[[], World] | None = None

    def attempt(self, policy: Policy) -> Attempt:
        """A new attempt in a world of its own. Raises UnreadableData."""
        attempt = attempt_of(self.example, policy, LIMITS)
        if self.opens:
            attempt.world = self.opens()
        return attempt


Cast = Callable[[Example, Draw], Case | None]


@dataclass(frozen=True, kw_only=True)
class Behaviour:
    """`rule` says in one sentence who passes. Conversations of this kind and level are drawn with these knobs
    turned; `cast` makes a case of one, or nothing where it does not lend itself."""

    name: str
    rule: str
    cast: Cast
    kind: Kind = "chain"
    level: Level = "complete"
    knobs: Mapping[str, Any] = field(default_factory=dict)
    fewest_servers: int = 1


def plain(example: Example) -> Case:
    """A conversation that is judged by success alone."""
    return Case(example, lambda rollout: judged(example, rollout))


def user_turns(rollout: Rollout) -> list[int]:
    """For each call the user turn it was made in, from 0."""
    turns, heard = [], -1
    for message in rollout.transcript:
        heard += message.role == "user"
        if message.role == "assistant":
            turns.append(heard)
    return [turns[call.turn] for call in rollout.calls]
