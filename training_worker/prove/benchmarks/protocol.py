"""What a benchmark is, what it is run on, and what comes of an item: the vocabulary of an evaluation."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Literal, Protocol

from ..chat import HERMES, ChatModel, Format
from ..trajectory import Json, Rollout

Style = Literal["tools", "prompt"]


class NotRun(Exception):
    """An item that could not be run or scored for a reason outside the policy; says which. It counts in no score."""


class OutOfRoom(Exception):
    """A conversation that is longer than the model reads; says how long both are. That is the model's own limit."""


@dataclass(frozen=True)
class Item:
    """One task of a benchmark; its id is unique there."""

    id: str
    category: str


@dataclass(frozen=True)
class Identity:
    """What results are kept by: what was evaluated on what, and how it was asked. Equal identities share results."""

    benchmark: str
    version: str
    model: str
    style: Style
    sampling: dict[str, Json]


@dataclass(frozen=True, kw_only=True)
class Policy:
    """A model that is evaluated.

    `speak` opens a chat model for one item, whose `reply` may raise NotRun and OutOfRoom; a `tokens` attribute of it
    says what it used. With the style "tools" it is given tool schemas, and its texts are read by `format`; with
    "prompt" the benchmark describes tools in the system text and reads the answer in the notation it asked for there.
    """

    model: str
    speak: Callable[[Item], ChatModel]
    style: Style = "tools"
    format: Format = HERMES
    sampling: Mapping[str, Json] = field(default_factory=dict)


@dataclass(frozen=True, kw_only=True)
class Result:
    """What became of an item that was run.

    `failure` names the kind of failure, "" when it passed; `why` is the benchmark's own word for it. `steps` counts
    what the policy was asked, `tokens` what that took as far as the policy tells, `seconds` all of the item.
    """

    item: str
    category: str
    passed: bool
    failure: str = ""
    why: str = ""
    rollout: Rollout
    steps: int
    tokens: int = 0
    seconds: float = field(default=0.0, compare=False)


class Benchmark(Protocol):
    """Items, and its own judgement of a policy on one. Threads may share it."""

    name: str
    version: str
    categories: tuple[str, ...]

    def items(self) -> Sequence[Item]:
        """All items, category by category."""

    def attempt(self, item: Item, policy: Policy) -> Result:
        """Run a policy on an item and score it. Raises NotRun."""


def identity_of(benchmark: Benchmark, policy: Policy) -> Identity:
    return Identity(benchmark.name, benchmark.version, policy.model, policy.style, dict(policy.sampling))


def selected(items: Sequence[Item], categories: Sequence[str] = (), limit: int | None = None) -> tuple[Item, ...]:
    """The items of these categories (all by default), the first `limit` of each."""
    seen: dict[str, int] = {}
    chosen = []
    for item in items:
        if not categories or item.category in categories:
            seen[item.category] = seen.get(item.category, 0) + 1
            if limit is None or seen[item.category] <= limit:
                chosen.append(item)
    return tuple(chosen)
