"""Behaviour suite as a benchmark: one category per behaviour, with cases made from a seed."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from ...chat.protocol import ChatModel
from ...core.trajectory import Json, Message
from ..protocol import Item, Policy, Result
from ..worlds.episode import make_oracle, result_of
from ..worlds.options import making_of
from ..worlds.task_sampler import digest_of
from .abstention import ABSTENTION
from .case import Behaviour, Case
from .case_factory import cases
from .distractors import DISTRACTORS
from .error_recovery import AWAY, ERROR_RECOVERY
from .injection import INJECTION
from .long_chains import LONG_CHAINS
from .missing_function import MISSING_FUNCTION
from .missing_parameter import MISSING_PARAMETER

JUDGE = "1"  # increases when the verdict on an unchanged rollout changes, or the injected text does
SUITE: tuple[Behaviour, ...] = (
    ABSTENTION,
    MISSING_FUNCTION,
    MISSING_PARAMETER,
    DISTRACTORS,
    LONG_CHAINS,
    ERROR_RECOVERY,
    INJECTION,
)
CATEGORIES = tuple(behaviour.name for behaviour in SUITE)


class Behaviours:
    """Cases of every behaviour. Thread-safe. The overall score is the mean over behaviours."""

    name, categories = "behaviour", CATEGORIES

    def __init__(self, cases: Mapping[str, Mapping[str, Case]], settings: dict[str, Json]):
        """Index the cases, which are keyed by behaviour and then by id."""
        self.cases, self.settings = cases, settings
        self.by_id = {id: case for own in cases.values() for id, case in own.items()}
        own = self.by_id.values()
        self.version = f"{JUDGE}-{digest_of((case.example for case in own), (case.catch for case in own))}"

    def items(self) -> Sequence[Item]:
        return [Item(id, behaviour) for behaviour, own in self.cases.items() for id in own]

    def attempt(self, item: Item, policy: Policy) -> Result:
        """Run and judge a case. Raises NotRun."""
        case = self.by_id[item.task]
        return result_of(item, policy, case.attempt(policy), case.judge)

    def oracle(self, item: Item) -> ChatModel:
        """Return a model that makes the ground-truth calls in Hermes style and repeats those that met a fault."""
        case = self.by_id[item.task]
        return Persistent(make_oracle(case.example))


class Persistent:
    """A chat model that repeats a call whose service was unavailable."""

    def __init__(self, model: ChatModel):
        self.model = model

    def reply(self, messages: Sequence[Message], tools: Sequence[dict[str, Any]]) -> str:
        if messages[-1].role == "tool" and messages[-1].content == AWAY:
            return next(one.content for one in reversed(messages) if one.role == "assistant")
        return self.model.reply(messages, tools)


def behaviours(options: Mapping[str, str], graphs: Path) -> Behaviours:
    """Return the suite for these options; `graphs` is the folder of dependency graphs. Raises BadOption."""
    making = making_of(options)
    made = {one.name: cases(one, making, graphs, number) for number, one in enumerate(SUITE)}
    return Behaviours(made, making.settings())
