"""Search over a run's rollouts with queries such as `tool:create_event end:tokens reward<0.5`."""

from __future__ import annotations

import json
import operator
import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cache
from itertools import zip_longest
from statistics import fmean
from typing import Any

from django.db.models import Exists, OuterRef, Q, QuerySet, TextField
from django.db.models.functions import Cast
from pydantic import TypeAdapter
from typing_extensions import TypedDict

from prove_web.trajectories.models import Trajectory
from training_worker.environment.outcomes import OF_CALLS

from .models import RolloutGroup, Run
from .rollout_index import OUTCOME_KEY, UNTRIED

NAMES = ("tool", "outcome", "untried", "end", "example")
NUMBERS = ("reward", "advantage", "step", "calls", "failed", "tokens")
SIGNS: dict[str, Callable[[float, float], bool]] = {
    "<=": operator.le,
    ">=": operator.ge,
    "<": operator.lt,
    ">": operator.gt,
    "=": operator.eq,
}
LOOKUPS = {"<=": "lte", ">=": "gte", "<": "lt", ">": "gt", "=": "exact"}
WORD = re.compile(rf"({'|'.join(NAMES)}):(\S+)")
BOUND = re.compile(rf"({'|'.join(NUMBERS)})(<=|>=|<|>|=)(-?\d+(?:\.\d*)?|-?\.\d+)")
COLUMNS = ("step", "number", "first", "example", "size", "text")
LISTS = {
    "tool": ("tools",),
    "outcome": ("tools", OUTCOME_KEY),
    "untried": (UNTRIED,),
    "end": ("end",),
    "advantage": ("advantage",),
    "calls": ("tools",),
    "failed": ("failed_calls",),
    "tokens": ("model_tokens",),
}  # lists of an indexed group that each query term needs
MOST_STEPS = 1e9  # beyond any run's length and within the column's range
LONGEST = 500  # characters of a query


@dataclass(frozen=True)
class Query:
    """A parsed query whose terms must all match a rollout. `strange` are the words that are no valid term."""

    names: tuple[tuple[str, str], ...] = ()
    bounds: tuple[tuple[str, str, float], ...] = ()
    strange: tuple[str, ...] = ()

    @classmethod
    def parse_text(cls, text: str) -> Query:
        names, bounds, strange = [], [], []
        for word in text[:LONGEST].split():
            if (found := WORD.fullmatch(word)) and (found[1] != "outcome" or found[2] in OF_CALLS):
                names.append((found[1], found[2]))
            elif found := BOUND.fullmatch(word):
                bounds.append((found[1], found[2], float(found[3])))
            else:
                strange.append(word)
        return cls(tuple(names), tuple(bounds), tuple(strange))

    def filter_groups(self, groups: QuerySet[RolloutGroup]) -> QuerySet[RolloutGroup]:
        """Return a superset of the groups with matching rollouts."""
        for name, value in self.names:
            match name:
                case "example":
                    groups = groups.filter(example=value)
                case "tool":
                    groups = groups.filter(tools__contains=f",{value},")
                case "end":
                    groups = groups.filter(ends__contains=f",{value},")
                case "untried":
                    groups = groups.filter(match_needed_tool(value))
        for name, sign, bound in self.bounds:
            groups = groups.filter(match_group_bound(name, sign, bound))
        return groups

    @property
    def lists(self) -> frozenset[str]:
        """Return the group lists needed to evaluate the query and to read the rewards."""
        words = [word for word, *_ in (*self.names, *self.bounds)]
        return frozenset(("reward", *(name for word in words for name in LISTS.get(word, ()))))

    @property
    def tools(self) -> frozenset[str]:
        return frozenset(value for name, value in self.names if name == "tool")

    def places(self, row: Row) -> list[int]:
        """Return the matching rollouts of a group, counted from 0.

        With `tool` terms, an outcome must belong to a call of one of these tools.
        """
        found = list(range(row.size))
        for name, value in self.names:
            words = row.list_rollout_words(name, self.tools)
            found = [place for place in found if value in words[place]]
        for name, sign, bound in self.bounds:
            numbers, holds = row.numbers(name), SIGNS[sign]
            found = [place for place in found if numbers[place] is not None and holds(numbers[place], bound)]
        return found


@dataclass(frozen=True)
class Row:
    """One group of the index; `columns` are the lists that the query needs, `text` is the complete JSON."""

    step: int
    group: int
    first: int
    example: str
    size: int
    text: str
    columns: dict[str, list[Any]]

    def list_rollout_words(self, name: str, tools: frozenset[str] = frozenset()) -> Sequence[Sequence[str]]:
        """Return the matchable words of each rollout; with `tools`, outcomes of calls of these tools only."""
        match name:
            case "tool":
                return self.columns["tools"]
            case "outcome":
                pairs = zip(self.columns["tools"], self.outcomes, strict=True)
                return [
                    [word for tool, word in zip(*each, strict=False) if not tools or tool in tools] for each in pairs
                ]
            case "untried":
                return self.columns.get(UNTRIED) or [()] * self.size
            case "end":
                return [(end,) for end in self.columns["end"]]
        return [(self.example,)] * self.size

    @property
    def outcomes(self) -> Sequence[Sequence[str]]:
        return self.columns.get(OUTCOME_KEY) or [()] * self.size

    def numbers(self, name: str) -> Sequence[Any]:
        """Return a number for each rollout, None where it has none."""
        match name:
            case "step":
                return [self.step] * self.size
            case "calls":
                return [len(tools) for tools in self.columns["tools"]]
        return self.columns[{"failed": "failed_calls", "tokens": "model_tokens"}.get(name, name)]

    def hit(self, place: int) -> Hit:
        one = {name: values[place] for name, values in json.loads(self.text).items()}
        return Hit(
            step=self.step,
            group=self.group,
            index=self.first + place,
            example=self.example,
            reward=one["reward"],
            advantage=one["advantage"],
            end=one["end"],
            failed=one["failed_calls"],
            tokens=one["model_tokens"],
            tools=tuple(one["tools"]),
            outcomes=tuple(one.get(OUTCOME_KEY, ())),
        )


def match_needed_tool(tool: str) -> Exists:
    """Return a condition for groups whose example may need this tool."""
    mine = {"dataset": OuterRef("run__dataset"), "example": OuterRef("example")}
    return Exists(Trajectory.objects.filter(**mine, tools__contains=tool))


def match_group_bound(name: str, sign: str, value: float) -> Q:
    """Return a condition that a group must meet for any of its rollouts to satisfy the bound."""
    if name == "step":
        return Q(**{f"step__{LOOKUPS[sign]}": max(-MOST_STEPS, min(MOST_STEPS, value))})
    if name == "reward":
        above, below = Q(high__gte=value), Q(low__lte=value)
        return {"<": below, "<=": below, ">": above, ">=": above, "=": above & below}[sign]
    return Q()


@dataclass(frozen=True, kw_only=True)
class Hit:
    """One matching rollout."""

    step: int
    group: int
    index: int
    example: str
    reward: float | None
    advantage: float | None
    end: str
    failed: int
    tokens: int | None
    tools: tuple[str, ...]
    outcomes: tuple[str, ...] = ()

    @property
    def calls(self) -> list[tuple[str, str]]:
        """Return each call's tool and outcome, "" where the outcome was not reported."""
        return list(zip_longest(self.tools, self.outcomes[: len(self.tools)], fillvalue=""))


class SearchResults(Sequence[Hit]):
    """The matching rollouts of a run, built lazily because a page shows only a few."""

    def __init__(self, run: Run, query: Query, order: str = "step"):
        groups = query.filter_groups(run.groups.order_by("step", "number"))
        found = groups.annotate(text=Cast("rollouts", TextField())).values_list(*COLUMNS).iterator()
        read = reader(query.lists).validate_json
        rows = (
            Row(step, number, first, example, size, text, read(text))
            for step, number, first, example, size, text in found
        )
        self.places = [(row, place) for row in rows for place in query.places(row)]
        self.order(order)

    def order(self, order: str) -> None:
        """Sort by step or reward; rollouts without a reward come last in both directions."""
        if order == "-step":
            self.places.sort(key=lambda each: -each[0].step)
        elif order in ("reward", "-reward"):
            sign = -1 if order == "-reward" else 1
            self.places.sort(key=lambda each: (reward_at(*each) is None, sign * (reward_at(*each) or 0.0)))

    @property
    def steps(self) -> int:
        return len({row.step for row, _ in self.places})

    @property
    def mean(self) -> float | None:
        rewards = [reward for each in self.places if (reward := reward_at(*each)) is not None]
        return fmean(rewards) if rewards else None

    def __len__(self) -> int:
        return len(self.places)

    def __getitem__(self, at: Any) -> Any:
        if isinstance(at, slice):
            return [row.hit(place) for row, place in self.places[at]]
        row, place = self.places[at]
        return row.hit(place)


@cache
def reader(lists: frozenset[str]) -> TypeAdapter[Any]:
    """Return a parser of only these lists, which takes a fifth of the time of parsing the whole JSON."""
    return TypeAdapter(TypedDict("Lists", dict.fromkeys(sorted(lists), list[Any]), total=False))  # type: ignore[operator]


def reward_at(row: Row, place: int) -> float | None:
    reward: float | None = row.columns["reward"][place]
    return reward
