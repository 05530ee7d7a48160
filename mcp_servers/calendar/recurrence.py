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
def occurrences(start: datetime, frequency: Frequency, count: int) -> Mapping[date, datetime]:
    """The starts of a series by day, in order. Monthly on the 31st leaves out the months without one (RFC 5545)."""
    starts = rrule(FREQUENCIES[frequency], dtstart=start, count=count)
    return MappingProxyType({moment.date(): moment for moment in starts})
