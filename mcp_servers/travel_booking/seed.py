"""Seeded world of the travel agency: flights and their bookings, hotels and stays, passports and miles."""

from __future__ import annotations

from datetime import datetime, timedelta
from functools import lru_cache
from math import acos, cos, radians, sin
from typing import NamedTuple, TypeVar

from ..core import Draw, derive_row_id
from ..shared.people import EmailAddress, Person, cast, get_start_time
from ..shared.places import CITIES, City, places, town
from ..shared.records import BookingCode, bookings
from .engine import (
    BAG_FEE,
    BUSINESS_ROWS,
    FARES,
    LETTERS,
    MOST_BAGS,
    add_miles,
    cabin_for,
    fewest_left,
    free_seats,
    miles_for,
    overlap,
    pay,
    places_left,
    price_of,
    refund_of,
    seats_of,
)
from .state import (
    ONE_DAY,
    BookingStatus,
    Fare,
    Flight,
    FlightBooking,
    FlightId,
    Hotel,
    HotelRoom,
    HotelStay,
    Travel,
    Traveller,
)

# Flights of a world: routes, times, prices, and how full they are.

AIRLINES = {
    "AU": "Aurora Air", "BQ": "Blue Quay", "CL": "Cloudline", "FJ": "Fjord Wings", "HZ": "Horizon Jet",
    "MK": "Meridian", "NV": "Nova Skies", "PX": "Pax Aero", "RV": "Riviera Air", "SW": "Swiftwind",
}  # fmt: skip
MINUTES = tuple(range(0, 60, 5))
BY_NAME = {city.name: city for city in CITIES}


@lru_cache(maxsize=len(CITIES) ** 2)
def kilometres(one: str, other: str) -> int:
    """Return the great-circle distance between two cities, in whole kilometres."""
    (a, b), (c, d) = (
        (radians(city.latitude / 1_000_000), radians(city.longitude / 1_000_000))
        for city in (BY_NAME[one], BY_NAME[other])
    )
    return round(6371 * acos(min(1.0, sin(a) * sin(c) + cos(a) * cos(c) * cos(b - d))))


def flying_time(distance: int) -> timedelta:
    """Return 40 minutes plus the time for the distance at 800 km/h, rounded up to five minutes."""
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
        """Return a time of departure on this day."""
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
        """Draw a flight. Its price in cents depends on the distance unless given; if full, only business has places."""
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
            sold=self.draw_sold_seats(rows, full),
        )

    def draw_sold_seats(self, rows: int, full: bool) -> tuple[str, ...]:
        """Draw the seats that strangers have; three or more in each cabin stay free, unless the flight is full."""
        first = BUSINESS_ROWS * len(LETTERS)
        seats = seats_of(rows)
        front, back = seats[:first], seats[first:]
        count = len(back) if full else self.draw.integer(len(back) // 4, len(back) - 3)
        taken = {*self.draw.sample(front, self.draw.integer(2, first - 3)), *self.draw.sample(back, count)}
        return tuple(seat for seat in seats if seat in taken)


def light_price(price: int, fare: Fare) -> int:
    """Return the light price of a flight on which this fare costs `price` cents."""
    return price * 100 // FARES[fare].price


# The hotels of a world with their rooms, and the stays that are booked in them.

NAMES = (
    "Amber", "Anchor", "Arcade", "Atlas", "Beacon", "Bellevue", "Bridge", "Canal", "Cathedral", "Cedar", "Chestnut",
    "Compass", "Coral", "Crescent", "Crown", "Emerald", "Falcon", "Garden", "Harbour", "Heron", "Ivory", "Juniper",
    "Lakeside", "Lantern", "Laurel", "Lighthouse", "Magnolia", "Maple", "Meridian", "Mirador", "Opera", "Orchard",
    "Palace", "Pearl", "Regent", "Riverside", "Saffron", "Terrace", "Velvet", "Willow",
)  # fmt: skip
FORMS = ("{} Hotel", "Hotel {}", "{} Inn", "{} Suites", "The {} House", "{} Lodge", "Grand {}", "{} Rooms")


class RoomKind(NamedTuple):
    name: str
    sleeps: int
    percent: int


KINDS = (
    RoomKind("double", 2, 100), RoomKind("single", 1, 70), RoomKind("family", 4, 150), RoomKind("suite", 3, 220),
)  # fmt: skip


def put_hotels(travel: Travel, draw: Draw, cities: list[str], count: int, kinds: int) -> None:
    """Add hotels to the cities in turn; those in the user's town stand at its places as long as there are any."""
    names, home = dict[str, None](), town(travel.seed)
    local = [place for place in places(travel.seed) if place.kind == "hotel"]
    for number in range(count):
        city = [*cities[1:], cities[0]][number % len(cities)]
        place = local.pop(0) if city == home.name and local else None
        name = place.name if place else fresh_name(draw, names)
        names[name] = None
        stars = draw.choose_weighted((2, 3, 4, 5), (2, 4, 3, 1))
        hotel = travel.hotels.put(
            Hotel(
                id=travel.hotels.new_id(),
                name=name,
                city=city,
                stars=stars,
                free_days=draw.choice((0, 1, 1, 2, 3, 5)),
                place=place.id if place else None,
            )
        )
        base = stars * draw.integer(22, 48)
        for kind in KINDS[:kinds]:
            travel.rooms.put(
                HotelRoom(
                    id=travel.rooms.new_id(),
                    hotel=hotel.id,
                    kind=kind.name,
                    sleeps=kind.sleeps,
                    price=base * kind.percent // 100 * 100,
                    count=draw.integer(2, 8),
                )
            )


def fresh_name(draw: Draw, taken: dict[str, None]) -> str:
    """Return a hotel name that no other hotel has."""
    while True:
        name = draw.choice(FORMS).format(draw.choice(NAMES))
        if name not in taken:
            return name


def put_stays(travel: Travel, draw: Draw, count: int) -> None:
    """Add stays. Those of one traveller do not overlap; one in five is cancelled, and some begin today."""
    people, rooms = draw.shuffle_items(list(travel.travellers)), list(travel.rooms)
    while len(travel.stays) < count:
        room, nights = draw.choice(rooms), draw.integer(1, 4)
        place = len(travel.stays) % len(people)
        round = len(travel.stays) // len(people)
        arrival = travel.now.date() + timedelta(days=18 * round + draw.integer(0, 12))
        if fewest_left(travel, room, arrival, nights) < 1:
            continue
        cancelled = arrival > travel.now.date() and draw.chance(0.2)
        price = room.price * nights
        stay = travel.stays.put(
            HotelStay(
                id=travel.stays.new_id(),
                room=room.id,
                traveller=people[place].id,
                arrival=arrival,
                nights=nights,
                guests=draw.integer(1, room.sleeps),
                status="cancelled" if cancelled else "booked",
                price=price,
                refunded=price if cancelled else 0,
            )
        )
        pay(travel, price, "hotel", stay=stay.id)
        pay(travel, -stay.refunded, "refund", stay=stay.id)


Id = TypeVar("Id", bound=str)
FARE_NAMES: tuple[Fare, ...] = tuple(FARES)


class Size(NamedTuple):
    """How many of each a world has; `days` is how far its flights reach ahead."""

    travellers: int
    cities: int
    flights: int
    bookings: int
    hotels: int
    rooms: int
    stays: int
    days: int


SIZES = {
    "small": Size(travellers=5, cities=4, flights=13, bookings=7, hotels=5, rooms=2, stays=3, days=14),
    "default": Size(travellers=12, cities=9, flights=300, bookings=16, hotels=24, rooms=3, stays=8, days=60),
    "large": Size(travellers=60, cities=24, flights=2_200, bookings=90, hotels=160, rooms=4, stays=60, days=150),
}


def seed(seed: int, size: str) -> Travel:
    """Return the travel agency of this seed; `size` is small, default or large."""
    travel, scale = Travel(seed, get_start_time(seed)), SIZES[size]
    draw = Draw("travel_booking", seed, size)
    if size == "large":
        travel.flights.width = 6
    put_travellers(travel, draw, list(cast(seed, scale.travellers)))
    cities = [town(seed), *dict.fromkeys(row.destination for row in bookings(seed))]
    cities += draw.sample([city for city in CITIES if city not in cities], max(1, scale.cities - len(cities)))
    schedule = Schedule(draw, cities)
    put_known_bookings(travel, schedule)
    put_flights_of_today(travel, schedule)
    while len(travel.flights) < scale.flights:
        put_flight(travel, schedule, scale.days)
    put_bookings(travel, draw, scale.bookings)
    names = [city.name for city in cities]
    put_hotels(travel, draw, names, scale.hotels, scale.rooms)
    put_stays(travel, draw, scale.stays)
    return travel


def put_travellers(travel: Travel, draw: Draw, people: list[Person]) -> None:
    """Add travellers. The user and two others have valid passports; at least one has none, and one an expired one."""
    today, numbers = travel.now.date(), dict[str, None]()
    for place, person in enumerate(people):
        number = f"{draw.choice('ABCEGHKLNPRX')}{draw.integer(1_000_000, 9_999_999)}"
        state = draw.choose_weighted(("valid", "missing", "expired"), (8, 1, 1)) if place > 2 else "valid"
        if place >= len(people) - 2:
            state = ("missing", "expired")[place - len(people)]
        days = draw.integer(200, 3_000) if state == "valid" else -draw.integer(5, 400)
        missing = state == "missing" or number in numbers
        numbers[number] = None
        travel.travellers.put(
            Traveller(
                id=person.id,
                name=person.name,
                passport=None if missing else number,
                passport_expires=None if missing else today + timedelta(days=days),
                miles=0,
            )
        )
        add_miles(travel, person.id, draw.integer(20, 600) * 100, "earlier flights", None)


def put_known_bookings(travel: Travel, schedule: Schedule) -> None:
    """Add the bookings that all servers of the world share, and other flights on each of their routes.

    A booking is for the user, or for somebody else if it overlaps another one of the user.
    """
    draw = schedule.draw
    for row in bookings(travel.seed):
        fare: Fare = draw.choose_weighted(FARE_NAMES, (1, 4, 3, 0))
        day = datetime(row.day.year, row.day.month, row.day.day)
        price = light_price(row.price, fare)
        flight = travel.flights.put(
            schedule.flight(
                derive_row_id(travel.flights, row.code),
                row.origin.name,
                row.destination.name,
                schedule.hour(day),
                price,
            )
        )
        traveller = next(row.id for row in travel.travellers if is_free(travel, row.id, flight))
        put_booking(travel, draw, flight, traveller, fare, "confirmed", row.code)
        for days in (draw.choice((-1, 0)), draw.choice((1, 2))):
            put_flight_on(travel, schedule, row.origin.name, row.destination.name, schedule.hour(day + days * ONE_DAY))


def put_flights_of_today(travel: Travel, schedule: Schedule) -> None:
    """Add four flights: one open for check-in, one on its route days later, one departed and one full."""
    draw, now = schedule.draw, travel.now
    here, there = schedule.cities[0].name, schedule.cities[-1].name
    companion = list(travel.travellers)[1].id
    soon = put_flight_on(travel, schedule, here, there, now + timedelta(hours=draw.integer(6, 22)))
    put_flight_on(travel, schedule, here, there, schedule.hour(now + draw.integer(2, 4) * ONE_DAY))
    left = put_flight_on(travel, schedule, there, here, now - timedelta(hours=draw.integer(1, 20)))
    put_flight_on(travel, schedule, there, here, schedule.hour(now + draw.integer(1, 9) * ONE_DAY), full=True)
    put_booking(travel, draw, left, companion, "standard", "checked_in")
    soon_there: tuple[tuple[EmailAddress, Fare], ...] = (
        (travel.me, "flex"),
        (companion, draw.choice(FARE_NAMES[1:])),
    )
    for traveller, fare in soon_there:
        if is_free(travel, traveller, soon):
            put_booking(travel, draw, soon, traveller, fare, "confirmed")


def put_flight(travel: Travel, schedule: Schedule, days: int) -> None:
    """Add a flight to or from the user's town; three in a hundred are full, and some have departed."""
    draw = schedule.draw
    here, there = schedule.cities[0].name, draw.choice(schedule.cities[1:]).name
    origin, destination = (here, there) if draw.chance(0.55) else (there, here)
    departs = schedule.hour(travel.now + draw.integer(-2, days) * ONE_DAY)
    put_flight_on(travel, schedule, origin, destination, departs, full=draw.chance(0.03))


def put_flight_on(
    travel: Travel, schedule: Schedule, origin: str, destination: str, departs: datetime, full: bool = False
) -> Flight:
    id = derive_row_id(travel.flights, len(travel.flights))
    return travel.flights.put(schedule.flight(id, origin, destination, departs, full=full))


def is_free(travel: Travel, traveller: EmailAddress, flight: Flight) -> bool:
    """Return whether no active booking of the traveller overlaps this flight in time."""
    rows = travel.bookings.where(traveller=traveller)
    return not any(row.active and overlap(flight, travel.flight_of(row)) for row in rows)


def put_bookings(travel: Travel, draw: Draw, count: int) -> None:
    """Add bookings for travellers with a valid passport; one in six is cancelled."""
    today = travel.now.date()
    people = [row for row in travel.travellers if row.passport_expires and row.passport_expires > today]
    flights = [row for row in travel.flights if row.departs > travel.now + ONE_DAY]
    while len(travel.bookings) < count:
        person, flight, fare = draw.choice(people), draw.choice(flights), draw.choice(FARE_NAMES)
        status: BookingStatus = "cancelled" if draw.chance(1 / 6) else "confirmed"
        in_time = person.passport_expires is not None and flight.day <= person.passport_expires
        if in_time and is_free(travel, person.id, flight) and places_left(travel, flight, cabin_for(fare)) > 1:
            put_booking(travel, draw, flight, person.id, fare, status)


def put_booking(
    travel: Travel,
    draw: Draw,
    flight: Flight,
    traveller: EmailAddress,
    fare: Fare,
    status: BookingStatus,
    code: BookingCode | None = None,
) -> None:
    """Add a booking with its payments, refund and miles; one with a given code has no extra bags."""
    free, included = free_seats(travel, flight, cabin_for(fare)), FARES[fare].bags
    seat = status == "checked_in" or (status == "confirmed" and draw.chance(0.4))
    extra = 0 if code else draw.integer(0, MOST_BAGS - included) * draw.integer(0, 1)
    row = FlightBooking(
        id=code or derive_row_id(travel.bookings, len(travel.bookings)),
        flight=flight.id,
        traveller=traveller,
        fare=fare,
        cabin=cabin_for(fare),
        status=status,
        seat=draw.choice(free) if seat else None,
        bags=included + extra,
        fare_price=price_of(flight, fare),
        bag_fees=extra * BAG_FEE,
    )
    travel.bookings.put(row)
    pay(travel, row.fare_price, "flight", booking=row.id)
    pay(travel, row.bag_fees, "bags", booking=row.id)
    if status == "cancelled":
        pay(travel, -refund_of(row), "refund", booking=row.id)
        travel.bookings.change(row.id, refunded=refund_of(row))
    if status == "checked_in":
        add_miles(travel, traveller, miles_for(flight, fare), "check-in", row.id)
