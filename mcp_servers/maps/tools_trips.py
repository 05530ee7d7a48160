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


@server.read()
def list_shared_trips(town: TownMap, under_way: AskedUnderWay = None, limit: Limit = None) -> tuple[TripView, ...]:
    """List the trips shared by you and with you. Newest first, with position and arrival."""
    rows = [row for row in town.trips if not (under_way and row.ended)]
    latest = nlargest(limit or ROWS, rows, key=attrgetter("started", "id"))
    return tuple([trip_view(town, row) for row in latest])


@server.write(idempotent=True)
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


@server.write(destructive=True, idempotent=True)
def end_shared_trip(town: TownMap, trip: TripRef) -> TripView:
    """End a trip that you share, for good."""
    row = town.trips[trip]
    if row.sharer != town.me:
        raise ToolError("not_your_trip", f"{trip} is shared by {row.sharer}; only they can end it.")
    if row.ended is not None:
        raise ToolError("trip_already_ended", f"{trip} ended at {minute_text(row.ended)}; nothing is left to do.")
    return trip_view(town, town.trips.change(trip, ended=town.now))
