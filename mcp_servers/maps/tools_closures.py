"""Tools on closed roads: what is closed, reporting it, taking a report back."""

from __future__ import annotations

from datetime import timedelta

from ..kit import ToolError, minute_text
from .geometry import metres
from .parameters import ROWS, AskedNear, ClosureRef, Hours, Limit, Reason, RoadRef
from .server import server
from .state import RoadClosure, TownMap
from .views import ClosureView

MOST_REPORTS = 5


def closure_view(town: TownMap, row: RoadClosure) -> ClosureView:
    return ClosureView(
        id=row.id,
        road=row.road,
        road_name=town.roads[row.road].name,
        reason=row.reason,
        since=row.since,
        until=row.until,
        mine=row.reporter == town.me,
    )


@server.read()
def list_road_closures(town: TownMap, near: AskedNear = None, limit: Limit = None) -> tuple[ClosureView, ...]:
    """List the roads that are closed now: your own reports, then the latest."""
    rows, me = [row for row in reversed(list(town.closures)) if row.active(town.now)], town.me
    if near is None:
        rows.sort(key=lambda row: row.reporter != me)
    else:
        middle = town.places[near]
        rows.sort(key=lambda row: (metres(middle, town.junctions[town.roads[row.road].start]), row.id))
    return tuple([closure_view(town, row) for row in rows[: limit or ROWS]])


@server.write(idempotent=True)
def report_road_closure(town: TownMap, road: RoadRef, reason: Reason, hours: Hours) -> ClosureView:
    """Report a road as closed to all but walkers, so that routes avoid it."""
    row = town.roads[road]
    if row.kind == "path":
        raise ToolError("path_not_closable", f"{row.name} is a path; only roads for cars can be reported.")
    for known in town.closures.where(road=road):
        if known.active(town.now):
            raise ToolError(
                "closure_already_reported",
                f"{known.id} has {row.name} closed until {minute_text(known.until)}; nothing is left to do.",
            )
    mine = [known for known in town.closures if known.reporter == town.me and known.active(town.now)]
    if len(mine) >= MOST_REPORTS:
        raise ToolError("too_many_reports", f"You have {MOST_REPORTS} open reports; withdraw one first.")
    until = town.now + timedelta(hours=hours)
    closure = RoadClosure(
        id=town.closures.new_id(), road=road, reason=reason, reporter=town.me, since=town.now, until=until
    )
    return closure_view(town, town.closures.put(closure))


@server.write(destructive=True, idempotent=True)
def withdraw_road_closure(town: TownMap, closure: ClosureRef) -> ClosureView:
    """Withdraw a closure that you reported, before it ends by itself."""
    row = town.closures[closure]
    if row.reporter != town.me:
        raise ToolError("not_your_report", f"{closure} was not reported by you; it ends at {minute_text(row.until)}.")
    if not row.active(town.now):
        raise ToolError("closure_over", f"{closure} ended at {minute_text(row.until)}; nothing is left to do.")
    return closure_view(town, town.closures.remove(closure))
