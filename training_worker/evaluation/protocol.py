"""Vocabulary of an evaluation: benchmarks, items, policies and results."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Literal, Protocol

from ..chat.protocol import HERMES, ChatModel, Format
from ..core.trajectory import Json, Rollout

Style = Literal["tools", "prompt"]
Kind = Literal["model", "oracle", "silent"]
TRIAL = re.compile(r"#[0-9]+\Z")


class NotKnown(Exception):
    """An unknown benchmark, category or option; the message lists the known ones."""


class NotRun(Exception):
    """An item that could not be run or scored for a reason outside the policy, which the message gives.

    It counts in no score.
    """


class OutOfRoom(Exception):
    """A conversation longer than the model's context; the message gives both lengths. That is the model's own limit."""


@dataclass(frozen=True)
class Item:
    """One task of a benchmark, or one of several trials of a task; its id is unique there.

    `trial` counts from 1; the id of a later trial is that of the task with "#2" and so on.
    """

    id: str
    category: str
    trial: int = 1

    @property
    def task(self) -> str:
        """The task of this trial: the id of its first trial."""
        return task_of(self.id)


def task_of(id: str) -> str:
    """Return the task that an item is a trial of."""
    return id.rpartition("#")[0] if TRIAL.search(id) else id


@dataclass(frozen=True)
class Identity:
    """The key of stored results: model, benchmark, prompting style and sampling. Equal identities share results.

    `settings` are the benchmark's settings that change what a score means.
    """

    benchmark: str
    version: str
    model: str
    style: Style
    sampling: dict[str, Json]
    settings: dict[str, Json] = field(default_factory=dict)


@dataclass(frozen=True, kw_only=True)
class Policy:
    """A model to evaluate.

    `speak` opens a chat model for one item, whose `reply` may raise NotRun and OutOfRoom; its optional attribute
    `tokens` counts the tokens it used. With the style "tools" it gets tool schemas, and `format` parses its texts; with
    "prompt" the benchmark describes tools in the system text and parses the answer in the notation it asked for there.
    `kind` separates models from the two baselines that show that a benchmark is sound; these need no simulated user.
    """

    model: str
    speak: Callable[[Item], ChatModel]
    style: Style = "tools"
    format: Format = HERMES
    sampling: Mapping[str, Json] = field(default_factory=dict)
    kind: Kind = "model"


@dataclass(frozen=True, kw_only=True)
class Result:
    """The result of an item that was run.

    `failure` names the kind of failure, "" when it passed; `why` is the benchmark's own message. `score`, from 0 to 1,
    is for benchmarks that grade; the others leave it out. `steps` counts the requests to the policy, `tokens` the
    tokens it reports, `seconds` the time of the whole item.
    """

    item: str
    category: str
    passed: bool
    failure: str = ""
    why: str = ""
    score: float | None = None
    rollout: Rollout
    steps: int
    tokens: int = 0
    seconds: float = field(default=0.0, compare=False)

    @property
    def value(self) -> float:
        """The item's value in the accuracy of its category, from 0 to 1."""
        return float(self.passed) if self.score is None else self.score


class Benchmark(Protocol):
    """A set of items, and the scoring of a policy on each. Thread-safe.

    `version` names the benchmark's own data and code, so that results of two versions are never mixed. Optional
    attributes: `settings` are other things that results depend on (see Identity), `groups` the categories that count as
    one in the overall score, `absent` the reasons why categories have no items. Optional methods: `oracle` opens a chat
    model that answers with the ground truth, as `Policy.speak` does; `iter_user_texts`, for external benchmarks, yields
    pairs of an item's id and a user text (see contamination.py); `require` raises NotKnown or EndpointFailed, before
    anything runs, for a policy that the benchmark cannot run. A further trial runs like its task (`item.task`), and its
    result has the id of the trial.
    """

    name: str
    version: str

    @property
    def categories(self) -> tuple[str, ...]: ...

    def items(self) -> Sequence[Item]:
        """Return all items, category by category."""

    def attempt(self, item: Item, policy: Policy) -> Result:
        """Run a policy on an item and score it. Raises NotRun."""


def identity_of(benchmark: Benchmark, policy: Policy) -> Identity:
    """Return the identity of results of a policy on a benchmark."""
    settings = getattr(benchmark, "settings", {})
    return Identity(
        benchmark.name, benchmark.version, policy.model, policy.style, dict(policy.sampling), dict(settings)
    )


def select_items(
    items: Sequence[Item], categories: Sequence[str] = (), limit: int | None = None, trials: int = 1
) -> tuple[Item, ...]:
    """Return the first `limit` items of each of these categories (all by default), each item `trials` times."""
    seen: dict[str, int] = {}
    chosen = []
    for item in items:
        if not categories or item.category in categories:
            seen[item.category] = seen.get(item.category, 0) + 1
            if limit is None or seen[item.category] <= limit:
                chosen.append(item)
    return tuple(trial_of(item, number) for item in chosen for number in range(1, trials + 1))


def trial_of(item: Item, number: int) -> Item:
    return item if number == 1 else Item(f"{item.id}#{number}", item.category, number)
