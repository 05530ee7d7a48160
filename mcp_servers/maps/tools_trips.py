"""Tools that share trips: somebody may follow where the user is until the user ends it."""

from __future__ import annotations

from heapq import nlargest
from operator import attrgetter

from ..kit import ToolError, minute_text
from .parameters import ROWS, AskedUnderWay, Destination, Limit, Origin, Travel, TripRef, Viewer
from .rules import require_route
from .server import server
from .state import TownMap
from .trips import new_trip, trip_view
from .views import TripView


@server.read(
    "list the trips shared on the map[, only those not ended: {under_way}][, at most {limit}]",
    "show the live location and arrival of shared trips[, running ones only: {under_way}][, no more than {limit}]",
    "tell me who is on the way and when they arrive[, leaving out ended trips: {under_way}][, up to {limit}]",
    "check how far the shared trips are[, just those still going: {under_way}][, {limit} at most]",
)
def list_shared_trips(town: TownMap, under_way: AskedUnderWay = None, limit: Limit = None) -> tuple[TripView, ...]:
    """List the trips shared by you and with you. Newest first, with position and arrival."""
    rows = [row for row in town.trips if not (under_way and row.ended)]
    latest = nlargest(limit or ROWS, rows, key=attrgetter("started", "id"))
    return tuple([trip_view(town, row) for row in latest])


@server.write(
    "share my trip from {origin} to {destination} with {viewer}, I am {mode}",
    "let {viewer} follow me {mode} from {origin} to {destination}",
    "start {mode} from {origin} to {destination} and share my live location with {viewer}",
    "send {viewer} my arrival time for the way from {origin} to {destination}, {mode}",
    idempotent=True,
)
def share_trip(town: TownMap, origin: Origin, destination: Destination, mode: Travel, viewer: Viewer) -> TripView:
    """Start a trip now and let a contact follow it until you end it."""
    if viewer == town.me:
        raise ToolError("yourself", f"{viewer} is you; name a contact who may follow.")
    person = town.contacts[viewer]
    for row in town.trips.where(sharer=town.me):
        if row.ended is None:
            raise ToolError(
                "trip_under_way", f"You are sharing {row.id} since {minute_text(row.started)}; end it first."
            )
    start, end, route = require_route(town, origin, destination, mode, town.now)
    trip = new_trip(town.trips.new_id(), (town.me, person.id), (start, end), mode, town.now, route)
    return trip_view(town, town.trips.put(trip))


@server.write(
    "stop sharing {trip}",
    "end {trip}",
    "let nobody follow {trip} any longer",
    "finish {trip} and hide my location",
    destructive=True,
    idempotent=True,
)
def end_shared_trip(town: TownMap, trip: TripRef) -> TripView:
    """End a trip that you share, for good."""
    row = town.trips[trip]
    if row.sharer != town.me:
        raise ToolError("not_your_trip", f"{trip} is shared by {row.sharer}; only they can end it.")
    if row.ended is not None:
        raise ToolError("trip_already_ended", f"{trip} ended at {minute_text(row.ended)}; nothing is left to do.")
    return trip_view(town, town.trips.change(trip, ended=town.now))
