"""Cases (conversations with a catch) and behaviours (how cases are made and judged)."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

from mcp_servers.core import Draw
from mcp_servers.world import World

from ...core.trajectory import Example, Kind, Level, Rollout
from ...environment.episode import Attempt, Limits
from ..protocol import Policy
from ..worlds.episode import attempt_of
from ..worlds.scorer import Verdict, judge_rollout

LIMITS = Limits(assistant_turns=20, calls=30)  # wider than in training: the catch should decide, not the limit


@dataclass(frozen=True)
class Case:
    """A conversation and its catch in words. `opens` opens the world with its catch in place; None: the plain world."""

    example: Example
    judge: Callable[[Rollout], Verdict]
    catch: str = ""
    opens: Callable[[], World] | None = None

    def attempt(self, policy: Policy) -> Attempt:
        """Return a new episode in its own world. Raises UnreadableData."""
        attempt = attempt_of(self.example, policy, LIMITS)
        if self.opens:
            attempt.world = self.opens()
        return attempt


Cast = Callable[[Example, Draw], Case | None]


@dataclass(frozen=True, kw_only=True)
class Behaviour:
    """A behaviour to test; `rule` says in one sentence when a policy passes.

    Conversations of this kind and level are drawn with these knobs; `cast` turns a conversation into a case, or returns
    None where it is unsuitable.
    """

    name: str
    rule: str
    cast: Cast
    kind: Kind = "chain"
    level: Level = "complete"
    knobs: Mapping[str, Any] = field(default_factory=dict)
    fewest_servers: int = 1


def make_success_only_case(example: Example) -> Case:
    """Return a case that is judged by success alone."""
    return Case(example, lambda rollout: judge_rollout(example, rollout))


def user_turns(rollout: Rollout) -> list[int]:
    """Return for each call the user turn it was made in, counted from 0."""
    turns, heard = [], -1
    for message in rollout.transcript:
        heard += message.role == "user"
        if message.role == "assistant":
            turns.append(heard)
    return [turns[call.turn] for call in rollout.calls]
