"""Stations and the workshop as the car finds them: prices, free pumps, opening hours."""

from __future__ import annotations

from datetime import datetime, timedelta

from ..kit import Draw
from ..places import Place, PlaceKind
from .state import Drive, Garage

STATIONS: dict[PlaceKind, Drive] = {"fuel station": "petrol", "charging station": "electric"}
PRICES: dict[Drive, tuple[int, int]] = {"petrol": (149, 199), "electric": (35, 79)}
OPENING, CLOSING = 8, 17
HOUR = timedelta(hours=1)


def price_of(garage: Garage, place: Place) -> int | None:
    """Cents for a litre or a kWh; None where there is no station."""
    drive = STATIONS.get(place.kind)
    return None if drive is None else Draw("price", garage.seed, place.id).integer(*PRICES[drive])


def is_busy(garage: Garage, place: Place) -> bool:
    """Whether all pumps of a station are taken in these ten minutes."""
    now = garage.now
    return Draw("pumps", garage.seed, place.id, now.date(), now.hour, now.minute // 10).chance(0.15)


def is_open(moment: datetime) -> bool:
    """Whether the workshop has an hour for a car from this moment on."""
    last = moment.replace(hour=CLOSING, minute=0) - HOUR
    return moment.weekday() < 5 and moment.replace(hour=OPENING, minute=0) <= moment <= last


def is_fully_booked(garage: Garage, moment: datetime) -> bool:
    """Whether the workshop has no place left in the hour of this moment."""
    return Draw("workshop", garage.seed, moment.date(), moment.hour).chance(0.25)
