"""Moments and days as tools take and give them: text to the minute, no time zone, no seconds."""

from __future__ import annotations

import re
from datetime import date, datetime
from functools import lru_cache
from typing import Annotated, Any

from pydantic import BeforeValidator, PlainSerializer, WithJsonSchema

MINUTE = re.compile(r"\d{4}-\d{2}-\d{2}T\d{2}:\d{2}", re.ASCII)
DAY = re.compile(r"\d{4}-\d{2}-\d{2}", re.ASCII)


def read_minute(value: Any) -> datetime:
    if isinstance(value, datetime):
        return value
    if not isinstance(value, str) or not MINUTE.fullmatch(value):
        raise ValueError("must be a date and time written like 2026-03-05T10:00")
    try:
        return datetime.fromisoformat(value)
    except ValueError:
        raise ValueError("is not a date and time that exists") from None


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
    return moment.isoformat(timespec="minutes")


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
