"""Views that the map's tools return."""

from __future__ import annotations

from typing import Literal

from ..core import Day, Entity, Minute
from ..shared.people import EmailAddress
from ..shared.places import PlaceId, PlaceKind
from .state import ClosureReason, Mode, PlaceListId, RoadClosureId, RoadId, SavedPlace, TripShareId


class PlaceView(Entity):
    """A place in a list; `metres` as the crow flies from the place asked about."""

    __label__ = "{name}"
    id: PlaceId
    name: str
    kind: PlaceKind
    street_address: str
    open_now: bool | None
    metres: int | None = None


class ReviewView(Entity):
    """What somebody wrote about a place."""

    stars: int
    text: str
    on: Day


class PlaceDetails(Entity):
    """A place with its hours and latest reviews; the point in micro-degrees, the rating in tenths of stars."""

    __label__ = "{name}"
    id: PlaceId
    name: str
    kind: PlaceKind
    street_address: str
    geo_point: str
    hours: str | None
    closed_on: tuple[str, ...]
    open_now: bool | None
    closed_for_good: bool
    free_spaces: int | None
    rating_tenths: int | None
    reviews: tuple[ReviewView, ...]
    saved_in: tuple[str, ...]


class GeocodingResult(Entity):
    """A place found by its address."""

    __label__ = "{name}"
    id: PlaceId
    name: str
    street_address: str
    geo_point: str


class Surroundings(Entity):
    """What lies nearest to a point."""

    id: PlaceId
    name: str
    street_address: str
    metres: int
    road: RoadId
    road_name: str


class RouteStep(Entity):
    """A part of a route on one road; the first and last are the ways between a place and the road."""

    turn: Literal["start", "left", "right", "straight", "arrive"]
    name: str
    metres: int
    seconds: int
    road: RoadId | None = None


class Directions(Entity):
    """A route with its steps; `delay` is what traffic adds, in minutes."""

    metres: int
    minutes: int
    delay: int
    departs: Minute
    arrives: Minute
    tolls: int
    open_on_arrival: bool | None
    steps: tuple[RouteStep, ...]


class TravelTime(Entity):
    """The way between two places; without numbers there is none."""

    origin: PlaceId
    destination: PlaceId
    metres: int | None
    minutes: int | None


class ReachablePlace(Entity):
    """A place within reach."""

    __label__ = "{name}"
    id: PlaceId
    name: str
    kind: PlaceKind
    minutes: int
    open_on_arrival: bool | None


class ClosureView(Entity):
    """A closed road."""

    __label__ = "the {reason} on {road_name}"
    id: RoadClosureId
    road: RoadId
    road_name: str
    reason: ClosureReason
    since: Minute
    until: Minute
    mine: bool


class PlaceListView(Entity):
    """A list with its latest places first; `count` is how many it has."""

    __label__ = "the list {name}"
    id: PlaceListId
    name: str
    count: int
    places: tuple[SavedPlace, ...]


class TripView(Entity):
    """A shared trip as it stands: where it is now and when it arrives. `with_name` is the other person."""

    __label__ = "the trip to {destination_name} shared with {with_name}"
    id: TripShareId
    mine: bool
    contact: EmailAddress
    with_name: str
    origin: PlaceId
    destination: PlaceId
    destination_name: str
    mode: Mode
    status: Literal["under way", "arrived", "ended"]
    arrives: Minute
    metres_left: int
    geo_point: str
