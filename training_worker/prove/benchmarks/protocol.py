"""What a benchmark is, what it is run on, and what comes of an item: the vocabulary of an evaluation."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Literal, Protocol

from ..chat import HERMES, ChatModel, Format
from ..trajectory import Json, Rollout

Style = Literal["tools", "prompt"]
Kind = Literal["model", "oracle", "silent"]
TRIAL = re.compile(r"#[0-9]+\Z")


class NotKnown(Exception):
    """A benchmark, a category or an option that there is not; says which there are."""


class NotRun(Exception):
    """An item that could not be run or scored for a reason outside the policy; says which. It counts in no score."""


class OutOfRoom(Exception):
    """A conversation that is longer than the model reads; says how long both are. That is the model's own limit."""


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
        """What the trials of a task share: the id of the first."""
        return task_of(self.id)


def task_of(id: str) -> str:
    """The task that an item is a trial of."""
    return id.rpartition("#")[0] if TRIAL.search(id) else id


@dataclass(frozen=True)
class Identity:
    """What results are kept by: what was evaluated on what, and how it was asked. Equal identities share results.

    `settings` are those of the benchmark that change what a score means.
    """

    benchmark: str
    version: str
    model: str
    style: Style
    sampling: dict[str, Json]
    settings: dict[str, Json] = field(default_factory=dict)


@dataclass(frozen=True, kw_only=True)
class Policy:
    """A model that is evaluated.

    `speak` opens a chat model for one item, whose `reply` may raise NotRun and OutOfRoom; a `tokens` attribute of it
    says what it used. With the style "tools" it is given tool schemas, and its texts are read by `format`; with
    "prompt" the benchmark describes tools in the system text and reads the answer in the notation it asked for there.
    `kind` tells a model from the two that show that a benchmark is sound: nobody has to be asked to talk with those.
    """

    model: str
    speak: Callable[[Item], ChatModel]
    style: Style = "tools"
    format: Format = HERMES
    sampling: Mapping[str, Json] = field(default_factory=dict)
    kind: Kind = "model"


@dataclass(frozen=True, kw_only=True)
class Result:
    """What became of an item that was run.

    `failure` names the kind of failure, "" when it passed; `why` is the benchmark's own word for it. `score`, from 0
    to 1, is of benchmarks that grade; the others leave it out. `steps` counts what the policy was asked, `tokens` what
    that took as far as the policy tells, `seconds` all of the item.
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
        """What it counts in the accuracy of its category, from 0 to 1."""
        return float(self.passed) if self.score is None else self.score


class Benchmark(Protocol):
    """Items, and its own judgement of a policy on one. Threads may share it.

    `version` names the benchmark's own data and code, so that results of two versions are never mixed; an attribute
    `settings` may tell what else they depend on (see Identity), `groups` which categories count as one in the overall
    score, and `absent` why a category has no items. One that knows its ground truth has a method `oracle`, which opens
    a chat model that speaks it, as `Policy.speak` does; one that others wrote has `texts`, which yields what users say
    in it, as pairs of an item's id and a text (see contamination.py). One that cannot run every policy has a method
    `require`, which raises NotKnown or EndpointFailed for such a policy before anything is run. An item that is a
    further trial is attempted like its task (`item.task`), and its result has the id of the trial.
    """

    name: str
    version: str

    @property
    def categories(self) -> tuple[str, ...]: ...

    def items(self) -> Sequence[Item]:
        """All items, category by category."""

    def attempt(self, item: Item, policy: Policy) -> Result:
        """Run a policy on an item and score it. Raises NotRun."""


def identity_of(benchmark: Benchmark, policy: Policy) -> Identity:
    """Of a benchmark without settings they are none."""
    settings = getattr(benchmark, "settings", {})
    return Identity(
        benchmark.name, benchmark.version, policy.model, policy.style, dict(policy.sampling), dict(settings)
    )


def selected(
    items: Sequence[Item], categories: Sequence[str] = (), limit: int | None = None, trials: int = 1
) -> tuple[Item, ...]:
    """The items of these categories (all by default), the first `limit` of each, every one of them `trials` times."""
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
