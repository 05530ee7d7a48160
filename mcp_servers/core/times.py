"""Date-times and dates of tools: RFC 3339 text outside, naive datetimes in UTC inside.

Every world's clock is UTC and counts whole minutes. An argument may have any offset; it is converted to UTC and its
seconds are dropped. A result always has the form 2026-03-05T10:00:00Z.
"""

from __future__ import annotations

import re
from datetime import UTC, date, datetime
from functools import lru_cache
from typing import Annotated, Any

from pydantic import BeforeValidator, PlainSerializer, WithJsonSchema

MINUTE_EXAMPLE = "2026-03-05T10:00:00Z"
DATE_TIME = re.compile(
    r"(\d{4}-\d\d-\d\dT\d\d:\d\d:)([0-5]\d|60)(\.\d+)?(Z|[+-](?:[01]\d|2[0-3]):[0-5]\d)", re.ASCII | re.IGNORECASE
)
DAY = re.compile(r"\d{4}-\d{2}-\d{2}", re.ASCII)


def parse_instant(text: str) -> datetime:
    """Return the instant that an RFC 3339 date-time names, as a naive datetime in UTC with its seconds.

    A leap second is the last microsecond of its minute. Raises ValueError, whose text says what is wrong.
    """
    found = DATE_TIME.fullmatch(text)
    if found is None:
        raise ValueError(f"must be a date and time with seconds and an offset, written like {MINUTE_EXAMPLE}")
    minute, seconds, fraction, offset = found.groups(default="")
    leap = seconds == "60"
    try:
        local = datetime.fromisoformat(f"{minute}{'59.999999' if leap else seconds + fraction}{offset}".upper())
    except ValueError:
        raise ValueError("is not a date and time that exists") from None
    try:
        instant = local.astimezone(UTC).replace(tzinfo=None)
    except OverflowError:
        raise ValueError("is outside the years 1 to 9999 in UTC") from None
    if leap and (instant.hour, instant.minute) != (23, 59):
        raise ValueError("is not a date and time that exists")
    return instant


def read_minute(value: Any) -> datetime:
    if isinstance(value, datetime):
        return value
    return parse_instant(value if isinstance(value, str) else "").replace(second=0, microsecond=0)


def read_day(value: Any) -> date:
    if isinstance(value, date):
        return value
    if not isinstance(value, str) or not DAY.fullmatch(value):
        raise ValueError("must be a date written like 2026-03-05")
    try:
        return date.fromisoformat(value)
    except ValueError:
        raise ValueError("is not a date that exists") from None


@lru_cache(maxsize=100_000)
def minute_text(moment: datetime) -> str:
    """Write a moment of a world as tools do: 2026-03-05T10:00:00Z."""
    return f"{moment.isoformat(timespec='minutes')}:00Z"


Minute = Annotated[
    datetime,
    BeforeValidator(read_minute),
    PlainSerializer(minute_text, return_type=str),
    WithJsonSchema({"type": "string", "format": "date-time"}),
]
Day = Annotated[
    date,
    BeforeValidator(read_day),
    WithJsonSchema({"type": "string", "format": "date"}),
]
