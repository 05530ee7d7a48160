"""The flights of a world before they have rows: routes, times, prices, and how full they are."""

from __future__ import annotations

from datetime import datetime, timedelta
from functools import lru_cache
from math import acos, cos, radians, sin

from ..kit import Draw
from ..places import CITIES, City
from .fares import FARES
from .seats import BUSINESS_ROWS, LETTERS, seats_of
from .state import Fare, Flight, FlightId

AIRLINES = {
    "AU": "Aurora Air", "BQ": "Blue Quay", "CL": "Cloudline", "FJ": "Fjord Wings", "HZ": "Horizon Jet",
    "MK": "Meridian", "NV": "Nova Skies", "PX": "Pax Aero", "RV": "Riviera Air", "SW": "Swiftwind",
}  # fmt: skip
MINUTES = tuple(range(0, 60, 5))
BY_NAME = {city.name: city for city in CITIES}


@lru_cache(maxsize=len(CITIES) ** 2)
def kilometres(one: str, other: str) -> int:
    """The great circle between two cities, in whole kilometres."""
    (a, b), (c, d) = (
        (radians(city.latitude / 1_000_000), radians(city.longitude / 1_000_000))
        for city in (BY_NAME[one], BY_NAME[other])
    )
    return round(6371 * acos(min(1.0, sin(a) * sin(c) + cos(a) * cos(c) * cos(b - d))))


def flying_time(distance: int) -> timedelta:
    """Forty minutes and the way at 800 km an hour, to the next five minutes."""
    minutes = 40 + distance * 60 // 800
    return timedelta(minutes=minutes + -minutes % 5)


class Schedule:
    """Draws flights; no two have one number."""

    def __init__(self, draw: Draw, cities: list[City]):
        self.draw, self.cities = draw, cities
        self.numbers: dict[str, None] = {}

    def number(self) -> str:
        while True:
            number = f"{self.draw.choice(tuple(AIRLINES))} {self.draw.integer(100, 9_999)}"
            if number not in self.numbers:
                self.numbers[number] = None
                return number

    def hour(self, day: datetime) -> datetime:
        """A moment of a day at which flights leave."""
        return day.replace(hour=self.draw.integer(6, 21), minute=self.draw.choice(MINUTES))

    def flight(
        self,
        id: FlightId,
        origin: str,
        destination: str,
        departs: datetime,
        price: int | None = None,
        full: bool = False,
    ) -> Flight:
        """A flight; its price in cents is drawn by its distance unless given. Full: only business has places."""
        number, distance = self.number(), kilometres(origin, destination)
        return Flight(
            id=id,
            number=number,
            airline=AIRLINES[number[:2]],
            origin=origin,
            destination=destination,
            departs=departs,
            arrives=departs + flying_time(distance),
            price=price or 100 * (self.draw.integer(25, 70) + distance * self.draw.integer(3, 8) // 100),
            distance=distance,
            rows=(rows := self.draw.integer(5, 9)),
            sold=self.sold(rows, full),
        )

    def sold(self, rows: int, full: bool) -> tuple[str, ...]:
        """The seats of strangers, which leave three or more in each cabin unless the flight is full."""
        first = BUSINESS_ROWS * len(LETTERS)
        seats = seats_of(rows)
        front, back = seats[:first], seats[first:]
        count = len(back) if full else self.draw.integer(len(back) // 4, len(back) - 3)
        taken = {*self.draw.sample(front, self.draw.integer(2, first - 3)), *self.draw.sample(back, count)}
        return tuple(seat for seat in seats if seat in taken)


def light_price(price: int, fare: Fare) -> int:
    """The light price of a flight on which this fare costs so many cents."""
    return price * 100 // FARES[fare].price
