"""How a shared trip stands at a moment: how far it is, where, and whether it has ended."""

from __future__ import annotations

from datetime import datetime, timedelta

from ..people import EmailAddress
from .geometry import format_point
from .routing import Route
from .state import Mode, TownMap, TownPlace, TripShare, TripShareId
from .steps import minutes_of
from .views import TripView


def new_trip(
    id: TripShareId,
    people: tuple[EmailAddress, EmailAddress],
    places: tuple[TownPlace, TownPlace],
    mode: Mode,
    started: datetime,
    route: Route,
) -> TripShare:
    """A trip of the first person that the second may follow, which arrives when its route says."""
    return TripShare(
        id=id,
        sharer=people[0],
        viewer=people[1],
        origin=places[0].id,
        destination=places[1].id,
        mode=mode,
        started=started,
        arrives=started + timedelta(minutes=minutes_of(route.seconds)),
        metres=route.metres,
        roads=tuple(road.id for road in route.roads),
    )


def travelled(trip: TripShare, now: datetime) -> int:
    """How many metres of a trip are done, as if it went at one speed; none after it was ended."""
    moment = min(now, trip.arrives, trip.ended or now)
    return (
        trip.metres
        * ((moment - trip.started) // timedelta(minutes=1))
        // ((trip.arrives - trip.started) // timedelta(minutes=1))
    )


def position(town: TownMap, trip: TripShare, done: int) -> str:
    """The last place or junction passed after so many metres."""
    if done >= trip.metres:
        return format_point(town.places[trip.destination])
    origin = town.places[trip.origin]
    if done < origin.access:
        return format_point(origin)
    node, left = origin.junction, done - origin.access
    for road in map(town.roads.__getitem__, trip.roads):
        if left < road.length:
            break
        node, left = road.end if road.start == node else road.start, left - road.length
    return format_point(town.junctions[node])


def trip_view(town: TownMap, trip: TripShare) -> TripView:
    done, mine = travelled(trip, town.now), trip.sharer == town.me
    contact = trip.viewer if mine else trip.sharer
    return TripView(
        id=trip.id,
        mine=mine,
        contact=contact,
        with_name=town.contacts[contact].name,
        origin=trip.origin,
        destination=trip.destination,
        destination_name=town.places[trip.destination].name,
        mode=trip.mode,
        status="ended" if trip.ended else "under way" if town.now < trip.arrives else "arrived",
        arrives=trip.arrives,
        metres_left=trip.metres - done,
        geo_point=position(town, trip, done),
    )
