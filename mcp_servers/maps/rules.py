"""When the map refuses a route: no way, too far on foot, the same place, a place that is gone."""

from __future__ import annotations

from datetime import datetime

from ..kit import ToolError
from ..places import PlaceId
from .routing import Avoid, Route, find_route
from .state import Mode, TownMap, TownPlace

FARTHEST: dict[Mode, int] = {"walking": 6_000, "cycling": 15_000}


def require_route(
    town: TownMap, origin: PlaceId, destination: PlaceId, mode: Mode, moment: datetime, avoid: Avoid | None = None
) -> tuple[TownPlace, TownPlace, Route]:
    """The two places and the way between them. Raises ToolError when nobody should go or nobody can."""
    start, end = town.places[origin], town.places[destination]
    if origin == destination:
        raise ToolError("same_place", f"Origin and destination are both {start.name}; name two different places.")
    if end.gone:
        raise ToolError("place_closed", f"{end.name} has closed for good; search for another {end.kind}.")
    route = find_route(town, start, end, mode, moment, avoid)
    if route is None:
        raise ToolError(
            "no_route", f"{mode.capitalize()} does not lead from {start.name} to {end.name} now; try walking."
        )
    farthest = FARTHEST.get(mode)
    if farthest is not None and route.metres > farthest:
        raise ToolError(
            f"too_far_for_{mode}",
            f"The way is {route.metres} metres, over the {farthest} that make sense {mode}; choose a faster mode.",
        )
    return start, end, route
