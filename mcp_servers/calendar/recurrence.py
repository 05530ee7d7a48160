"""When a series takes place: computed from its rule, never stored."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import date, datetime
from functools import lru_cache
from types import MappingProxyType
from typing import Literal

from dateutil.rrule import DAILY, MONTHLY, WEEKLY, rrule

Frequency = Literal["daily", "weekly", "monthly"]
FREQUENCIES = {"daily": DAILY, "weekly": WEEKLY, "monthly": MONTHLY}


@lru_cache(maxsize=4096)
def occurrences(
    start: datetime, frequency: Frequency, count: int, skipped: tuple[date, ...] = ()
) -> Mapping[date, datetime]:
    """The starts of a series by day, in order, without the days that are skipped.

    Monthly on the 31st leaves out the months without one (RFC 5545).
    """
    starts = rrule(FREQUENCIES[frequency], dtstart=start, count=count)
    return MappingProxyType({day: moment for moment in starts if (day := moment.date()) not in skipped})
