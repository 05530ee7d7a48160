"""Search space of a sweep: the values or range of each varied setting, and the resulting members.

Values have the text form of the launch form, which validates them. `1e-6, 3e-7` lists values; `1e-7 to 1e-4, log` is a
range, and `in 4` takes that many evenly spaced values of it including both ends.
"""

from __future__ import annotations

import math
import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from .form_fields import TIMES

MOST = 100  # members of a sweep
LARGEST, SMALLEST = 1e12, 1e-30  # bounds of a range: wide enough for any setting, and safe for arithmetic
MOST_TEXT = 1_000  # characters of one setting's values
NUMBER = r"[-+]?[\w.]++(?:(?<=[\w.][eE])[-+]\d++)?"
NEXT = r"\s*+(?:,\s*+)?"
RANGE = re.compile(rf"({NUMBER})\s++to\s++({NUMBER})(?:{NEXT}(log|linear))?(?:{NEXT}in\s++(\d{{1,9}}))?")
Member = dict[str, str]


class BadSpace(ValueError):
    """Error for an invalid space; `field` is the setting concerned, "" for the whole space.

    The message says what to do.
    """

    def __init__(self, message: str, field: str = ""):
        super().__init__(message)
        self.field = field


@dataclass(frozen=True)
class ValueList:
    values: tuple[str, ...]


@dataclass(frozen=True)
class Range:
    """The closed interval from `low` to `high`; `integral` restricts it to integers."""

    low: float
    high: float
    log: bool
    integral: bool

    def list_spaced_values(self, count: int) -> tuple[str, ...]:
        """Return `count` evenly spaced values including both ends; fewer where rounding to integers merges some."""
        if self.log:
            ratio = math.log(self.high / self.low)
            values = [self.low * math.exp(ratio * i / (count - 1)) for i in range(count)]
        else:
            values = [self.low + (self.high - self.low) * i / (count - 1) for i in range(count)]
        return tuple(dict.fromkeys(self.text(value) for value in values))

    def text(self, value: float) -> str:
        """Format a sampled value as text; three significant digits distinguish settings well enough."""
        return str(round(value)) if self.integral else f"{value:.3g}"


def parse(field: str, text: str, integral: bool = False) -> ValueList | Range:
    """Parse the values of one setting. Raises BadSpace."""
    text = text.strip()
    if len(text) > MOST_TEXT:
        raise BadSpace(f"The values have {len(text):,} characters; the maximum is {MOST_TEXT:,}.", field)
    if found := RANGE.fullmatch(text):
        low, high, scale, count = found.groups()
        span = Range(end(field, low), end(field, high), scale == "log", integral)
        check(field, span)
        return ValueList(span.list_spaced_values(points(field, count))) if count else span
    values = tuple(dict.fromkeys(value for part in text.split(",") if (value := part.strip())))
    if not values:
        raise BadSpace("Enter values: a list like 1e-6, 3e-7, or a range like 1e-7 to 1e-4, log.", field)
    return ValueList(values)


def end(field: str, text: str) -> float:
    try:
        value = float(text)
    except ValueError:
        value = math.nan
    if not math.isfinite(value):
        raise BadSpace(f"A range needs two numbers; {text!r} is not a number.", field)
    return value


def check(field: str, span: Range) -> None:
    if not span.low < span.high:
        raise BadSpace(f"The range {span.low:g} to {span.high:g} is empty: the first number must be lower.", field)
    if span.log and span.low < SMALLEST:
        raise BadSpace(f"A log range cannot start at {span.low:g}; it must start above 0.", field)
    for value in (span.low, span.high):
        if abs(value) > LARGEST:
            raise BadSpace(f"The ends of a range must be within {LARGEST:g}, not {value:g}.", field)
        if span.integral and value != round(value):
            raise BadSpace(f"This setting takes whole numbers only; a range of it cannot end at {value:g}.", field)


def points(field: str, text: str) -> int:
    if not 2 <= (count := int(text)) <= MOST:
        raise BadSpace(f"A range takes 2 to {MOST} values, not {count}.", field)
    return count


def grid(space: Mapping[str, ValueList | Range]) -> list[Member]:
    """Return every combination in the order of the values. Raises BadSpace."""
    for field, one in space.items():
        if isinstance(one, Range):
            text = f"{one.low:g} to {one.high:g}"
            raise BadSpace(f"A grid needs the number of values of a range, such as {text} in 4.", field)
    lists = {field: list(one.values) for field, one in space.items() if isinstance(one, ValueList)}
    count = math.prod(map(len, lists.values()))
    if count > MOST:
        by = f" {TIMES} ".join(str(len(values)) for values in lists.values())
        raise BadSpace(
            f"This grid has {count:,} runs ({by}); the maximum is {MOST}. Use fewer values or the random method."
        )
    from sklearn.model_selection import ParameterGrid  # the import takes 1 s

    order = {field: {value: place for place, value in enumerate(values)} for field, values in lists.items()}
    members = [{field: member[field] for field in lists} for member in ParameterGrid(lists)]
    return sorted(members, key=lambda member: [order[field][member[field]] for field in lists])


def sample_members(space: Mapping[str, ValueList | Range], count: int, seed: int) -> list[Member]:
    """Return `count` random members, or all if there are fewer; deterministic for a given seed."""
    from scipy.stats import loguniform, randint, uniform
    from sklearn.model_selection import ParameterSampler

    def distribution(one: ValueList | Range) -> Any:
        if isinstance(one, ValueList):
            return list(one.values)
        if one.log:
            return loguniform(one.low, one.high)
        return randint(one.low, one.high + 1) if one.integral else uniform(one.low, one.high - one.low)

    lists = [len(one.values) for one in space.values() if isinstance(one, ValueList)]
    most = math.prod(lists) if len(lists) == len(space) else count
    found: dict[tuple[str, ...], Member] = {}
    for draw in ParameterSampler(
        {field: distribution(one) for field, one in space.items()}, min(count, most), random_state=seed
    ):
        member = {
            field: one.text(draw[field]) if isinstance(one, Range) else draw[field] for field, one in space.items()
        }
        found.setdefault(tuple(member.values()), member)
    return list(found.values())
