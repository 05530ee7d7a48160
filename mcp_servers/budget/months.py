"""Months as they are written, 2026-03, and what lies between them."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import date
from functools import lru_cache


@lru_cache(maxsize=1 << 12)
def month_of(day: date) -> str:
    """The month a day lies in, such as 2026-03."""
    return f"{day.year:04d}-{day.month:02d}"


def after(month: str) -> str:
    """The next month."""
    year, number = int(month[:4]), int(month[5:])
    return f"{year + number // 12:04d}-{number % 12 + 1:02d}"


def months(first: str, last: str) -> Iterator[str]:
    """From a month to another, both included; none when the last is before the first."""
    while first <= last:
        yield first
        first = after(first)


def day_in(month: str, day: int) -> date:
    """A day of a month, up to the 28th, which every month has."""
    return date(int(month[:4]), int(month[5:]), day)
