"""Finding rollouts of a run by words like `tool:create_event end:tokens reward<0.5`, over all of its steps."""

from __future__ import annotations

import operator
import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field

from django.db.models import Q, QuerySet

from .models import RolloutGroup, Run

NAMES = ("tool", "end", "example")
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
LONGEST = 500  # characters of a query


@dataclass(frozen=True)
class Query:
    """What is looked for: all of it must hold of a rollout. `strange` are the words that say nothing."""

    names: tuple[tuple[str, str], ...] = ()
    bounds: tuple[tuple[str, str, float], ...] = ()
    strange: tuple[str, ...] = ()

    @classmethod
    def of(cls, text: str) -> Query:
        names, bounds, strange = [], [], []
        for word in text[:LONGEST].split():
            if found := WORD.fullmatch(word):
                names.append((found[1], found[2]))
            elif found := BOUND.fullmatch(word):
                bounds.append((found[1], found[2], float(found[3])))
            else:
                strange.append(word)
        return cls(tuple(names), tuple(bounds), tuple(strange))

    def narrowed(self, groups: QuerySet[RolloutGroup]) -> QuerySet[RolloutGroup]:
        """The groups that may hold such a rollout, and some that do not."""
        for name, value in self.names:
            match name:
                case "example":
                    groups = groups.filter(example=value)
                case "tool":
                    groups = groups.filter(tools__contains=f",{value},")
                case "end":
                    groups = groups.filter(ends__contains=f",{value},")
        for name, sign, bound in self.bounds:
            groups = groups.filter(possible(name, sign, bound))
        return groups

    def holds(self, hit: Hit) -> bool:
        return all(value in hit.words(name) for name, value in self.names) and all(
            (told := hit.number(name)) is not None and SIGNS[sign](told, bound) for name, sign, bound in self.bounds
        )


def possible(name: str, sign: str, value: float) -> Q:
    """What must be so of a group for one of its rollouts to be within the bound."""
    if name == "step":
        return Q(**{f"step__{LOOKUPS[sign]}": value})
    if name == "reward":
        above, below = Q(high__gte=value), Q(low__lte=value)
        return {"<": below, "<=": below, ">": above, ">=": above, "=": above & below}[sign]
    return Q()


@dataclass(frozen=True)
class Hit:
    """One rollout of the index."""

    step: int
    group: int
    index: int
    example: str
    reward: float | None
    advantage: float | None
    end: str
    failed: int
    tokens: int | None
    tools: tuple[str, ...] = field(default=())

    @property
    def calls(self) -> int:
        return len(self.tools)

    def words(self, name: str) -> tuple[str, ...]:
        return {"tool": self.tools, "end": (self.end,), "example": (self.example,)}[name]

    def number(self, name: str) -> float | None:
        value: float | None = getattr(self, name)
        return value


def hits(run: Run, query: Query) -> list[Hit]:
    """The rollouts of a run that the query holds of, by step and index."""
    rows = query.narrowed(run.groups.order_by("step", "number"))
    return [hit for row in rows.iterator() for hit in members(row) if query.holds(hit)]


def members(row: RolloutGroup) -> Iterator[Hit]:
    """The rollouts of one group of the index."""
    told = row.rollouts
    lists = (told[name] for name in ("reward", "advantage", "end", "failed_calls", "model_tokens", "tools"))
    for place, (reward, advantage, end, failed, tokens, tools) in enumerate(zip(*lists, strict=True)):
        yield Hit(
            row.step,
            row.number,
            row.first + place,
            row.example,
            reward,
            advantage,
            end,
            failed,
            tokens,
            tuple(tools),
        )
