"""Places that all servers of a world share: a town with its addresses, and the cities of the earth."""

from __future__ import annotations

from functools import lru_cache
from typing import Literal, NamedTuple, NewType

from ..core.rng import Draw, derive_id
from ..core.state import Entity
from .fake_text import FakeText

PlaceId = NewType("PlaceId", str)

PlaceKind = Literal[
    "home", "office", "restaurant", "cafe", "supermarket", "pharmacy", "fuel station", "charging station", "car park",
    "hotel", "museum", "park", "hospital", "school", "bank", "library", "cinema", "gym", "train station", "airport",
]  # fmt: skip
KINDS: tuple[PlaceKind, ...] = (
    "restaurant", "cafe", "supermarket", "pharmacy", "fuel station", "charging station", "car park",
    "hotel", "museum", "park", "hospital", "school", "bank", "library", "cinema", "gym",
)  # fmt: skip


class City(NamedTuple):
    """A city of the earth: its airport's code, and where it lies in micro-degrees."""

    name: str
    country: str
    airport: str
    latitude: int
    longitude: int


CITIES = (
    City("Amsterdam", "Netherlands", "AMS", 52_372_800, 4_893_600),
    City("Athens", "Greece", "ATH", 37_983_800, 23_727_500),
    City("Barcelona", "Spain", "BCN", 41_385_100, 2_173_400),
    City("Berlin", "Germany", "BER", 52_520_000, 13_405_000),
    City("Brussels", "Belgium", "BRU", 50_850_300, 4_351_700),
    City("Budapest", "Hungary", "BUD", 47_497_900, 19_040_200),
    City("Cairo", "Egypt", "CAI", 30_044_400, 31_235_700),
    City("Cape Town", "South Africa", "CPT", -33_924_900, 18_424_100),
    City("Chicago", "United States", "ORD", 41_878_100, -87_629_800),
    City("Copenhagen", "Denmark", "CPH", 55_676_100, 12_568_300),
    City("Dubai", "United Arab Emirates", "DXB", 25_204_800, 55_270_800),
    City("Dublin", "Ireland", "DUB", 53_349_800, -6_260_300),
    City("Geneva", "Switzerland", "GVA", 46_204_400, 6_143_200),
    City("Helsinki", "Finland", "HEL", 60_169_900, 24_938_400),
    City("Istanbul", "Turkey", "IST", 41_008_200, 28_978_400),
    City("Lisbon", "Portugal", "LIS", 38_722_300, -9_139_300),
    City("London", "United Kingdom", "LHR", 51_507_400, -127_800),
    City("Madrid", "Spain", "MAD", 40_416_800, -3_703_800),
    City("Mexico City", "Mexico", "MEX", 19_432_600, -99_133_200),
    City("Milan", "Italy", "MXP", 45_464_200, 9_190_000),
    City("Montreal", "Canada", "YUL", 45_501_700, -73_567_300),
    City("Mumbai", "India", "BOM", 19_076_000, 72_877_700),
    City("Munich", "Germany", "MUC", 48_135_100, 11_582_000),
    City("New York", "United States", "JFK", 40_712_800, -74_006_000),
    City("Oslo", "Norway", "OSL", 59_913_900, 10_752_200),
    City("Paris", "France", "CDG", 48_856_600, 2_352_200),
    City("Prague", "Czechia", "PRG", 50_075_500, 14_437_800),
    City("Rome", "Italy", "FCO", 41_902_800, 12_496_400),
    City("San Francisco", "United States", "SFO", 37_774_900, -122_419_400),
    City("Seoul", "South Korea", "ICN", 37_566_500, 126_978_000),
    City("Singapore", "Singapore", "SIN", 1_352_100, 103_819_800),
    City("Stockholm", "Sweden", "ARN", 59_329_300, 18_068_600),
    City("Sydney", "Australia", "SYD", -33_868_800, 151_209_300),
    City("Tokyo", "Japan", "HND", 35_676_200, 139_650_300),
    City("Toronto", "Canada", "YYZ", 43_651_100, -79_383_200),
    City("Vienna", "Austria", "VIE", 48_208_200, 16_373_800),
    City("Warsaw", "Poland", "WAW", 52_229_700, 21_012_200),
    City("Zurich", "Switzerland", "ZRH", 47_376_900, 8_541_700),
)


class Place(Entity):
    """An address in the user's town, with what is there; latitude and longitude in micro-degrees."""

    __label__ = "{name}"
    id: PlaceId
    name: str
    kind: PlaceKind
    street: str
    city: str
    latitude: int
    longitude: int


def town(seed: int) -> City:
    """Return the city in which the user of a world lives."""
    return Draw("town", seed).choice(CITIES)


@lru_cache(maxsize=1024)
def places(seed: int, count: int = 40) -> tuple[Place, ...]:
    """Return the places of the user's town: home, office, train station, airport, then others.

    A larger `count`, up to 1,000, begins with the same places. No two share a name or a street address.
    """
    draw, city = Draw("places", seed), town(seed)
    words, ids, names, streets = FakeText(draw), dict[str, None](), dict[str, None](), dict[str, None]()
    found: list[Place] = []
    first: tuple[PlaceKind, ...] = ("home", "office", "train station", "airport")
    while len(found) < count:
        kind = first[len(found)] if len(found) < len(first) else KINDS[(len(found) - len(first)) % len(KINDS)]
        street = words.street()
        name = draw_place_name(kind, city, words, names)
        if street in streets:
            continue
        id, _ = derive_id("PLC", 4, seed, f"{kind}/{street}", ids)
        for taken, value in ((ids, id), (names, name), (streets, street)):
            taken[value] = None
        far = 25_000 + 5_000 * min(len(found) // 40, 12)
        found.append(
            Place(
                id=PlaceId(id),
                name=name,
                kind=kind,
                street=street,
                city=city.name,
                latitude=city.latitude + draw.integer(-far, far),
                longitude=city.longitude + draw.integer(-far, far),
            )
        )
    return tuple(found)


def draw_place_name(kind: PlaceKind, city: City, words: FakeText, taken: dict[str, None]) -> str:
    """Return a name that no other place has."""
    if kind in ("home", "office"):
        return kind.capitalize()
    if kind in ("train station", "airport"):
        return f"{city.name} {'Central Station' if kind == 'train station' else 'Airport'}"
    while True:
        name = f"{words.text('last_name')} {kind.title()}"
        if name in taken:
            name = f"{words.word().capitalize()} {name}"
        if name not in taken:
            return name


def home(seed: int) -> Place:
    """Return the user's home."""
    return places(seed)[0]


def office(seed: int) -> Place:
    """Return the user's office."""
    return places(seed)[1]
