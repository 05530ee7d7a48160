"""Trading hours of the exchanges, and the rounds of five minutes in which quotes do not change."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import datetime, time, timedelta
from functools import lru_cache
from typing import Literal

Exchange = Literal["North", "Central", "Atlantic"]

HOURS: dict[Exchange, tuple[time, time]] = {
    "North": (time(8), time(16, 30)),
    "Central": (time(9, 10), time(17, 30)),
    "Atlantic": (time(15, 30), time(22)),
}
ROUND = timedelta(minutes=5)
ZERO = datetime(2020, 1, 1)
ONE_DAY = timedelta(days=1)
SATURDAY = 5
MOMENT_CACHE_SIZE = 1 << 12


def round_at(moment: datetime) -> int:
    """Return the number of the round that contains a moment, counted from 2020 on, in and out of trading hours."""
    return (moment - ZERO) // ROUND


def start_of(number: int) -> datetime:
    """Return when a round begins."""
    return ZERO + number * ROUND


def is_open(exchange: Exchange, moment: datetime) -> bool:
    """Return whether the exchange trades at this moment: on weekdays, within its hours."""
    opening, closing = HOURS[exchange]
    return moment.weekday() < SATURDAY and opening <= moment.time() < closing


def sessions(exchange: Exchange, moment: datetime, step: int) -> Iterator[tuple[datetime, datetime]]:
    """Yield the opening and closing of each session from this day on, or back in time with a step of -1."""
    opening, closing = HOURS[exchange]
    day = moment.date()
    while True:
        if day.weekday() < SATURDAY:
            yield datetime.combine(day, opening), datetime.combine(day, closing)
        day += step * ONE_DAY


@lru_cache(maxsize=MOMENT_CACHE_SIZE)
def next_opening(exchange: Exchange, moment: datetime) -> datetime:
    """Return the first opening after this moment."""
    return next(opening for opening, _ in sessions(exchange, moment, 1) if opening > moment)


@lru_cache(maxsize=MOMENT_CACHE_SIZE)
def next_closing(exchange: Exchange, moment: datetime) -> datetime:
    """Return the first closing after this moment."""
    return next(closing for _, closing in sessions(exchange, moment, 1) if closing > moment)


@lru_cache(maxsize=MOMENT_CACHE_SIZE)
def last_closing(exchange: Exchange, moment: datetime) -> datetime:
    """Return the latest closing up to this moment."""
    return next(closing for _, closing in sessions(exchange, moment, -1) if closing <= moment)


def open_rounds(exchange: Exchange, first: datetime, last: datetime) -> Iterator[int]:
    """Yield the numbers of the rounds in which the exchange trades, from the round of `first` to that of `last`."""
    for opening, closing in sessions(exchange, first, 1):
        if opening > last:
            return
        yield from range(max(round_at(opening), round_at(first)), min(round_at(closing), round_at(last) + 1))


@lru_cache(maxsize=MOMENT_CACHE_SIZE)
def quoted_round(exchange: Exchange, moment: datetime) -> int:
    """Return the round whose quotes are shown: the current one, or the last one before the exchange closed."""
    if is_open(exchange, moment):
        return round_at(moment)
    return round_at(last_closing(exchange, moment)) - 1
