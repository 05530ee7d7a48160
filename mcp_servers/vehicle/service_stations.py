"""Stations and the workshop as the car finds them: prices, free pumps, opening hours."""

from __future__ import annotations

from datetime import date, datetime, timedelta
from functools import lru_cache

from ..kit import Draw
from ..places import Place, PlaceId, PlaceKind
from .state import Drive, Garage

STATIONS: dict[PlaceKind, Drive] = {"fuel station": "petrol", "charging station": "electric"}
PRICES: dict[Drive, tuple[int, int]] = {"petrol": (149, 199), "electric": (35, 79)}
OPENING, CLOSING = 8, 17
HOUR = timedelta(hours=1)


def price_of(garage: Garage, place: Place) -> int | None:
    """Cents for a litre or a kWh; None where there is no station."""
    drive = STATIONS.get(place.kind)
    return None if drive is None else price(garage.seed, place.id, drive)


@lru_cache(maxsize=1 << 14)
def price(seed: int, station: PlaceId, drive: Drive) -> int:
    return Draw("price", seed, station).integer(*PRICES[drive])


def is_busy(garage: Garage, place: Place) -> bool:
    """Whether all pumps of a station are taken in these ten minutes."""
    now = garage.now
    return is_busy_then(garage.seed, place.id, now.date(), now.hour, now.minute // 10)


@lru_cache(maxsize=1 << 14)
def is_busy_then(seed: int, station: PlaceId, day: date, hour: int, part: int) -> bool:
    return Draw("pumps", seed, station, day, hour, part).chance(0.15)


def is_open(moment: datetime) -> bool:
    """Whether the workshop has an hour for a car from this moment on."""
    last = moment.replace(hour=CLOSING, minute=0) - HOUR
    return moment.weekday() < 5 and moment.replace(hour=OPENING, minute=0) <= moment <= last


def is_fully_booked(garage: Garage, moment: datetime) -> bool:
    """Whether the workshop has no place left in the hour of this moment."""
    return is_full_hour(garage.seed, moment.date(), moment.hour)


@lru_cache(maxsize=1 << 14)
def is_full_hour(seed: int, day: date, hour: int) -> bool:
    return Draw("workshop", seed, day, hour).chance(0.25)
