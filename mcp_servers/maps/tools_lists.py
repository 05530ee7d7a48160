"""Tools on lists of saved places."""

from __future__ import annotations

from ..kit import ToolError
from .parameters import ROWS, AskedListName, Label, Limit, ListName, ListRef, PlaceRef
from .server import server
from .state import PlaceList, SavedPlace, TownMap
from .views import PlaceListView

MOST_LISTS = 20
MOST_PLACES = 20


def list_view(row: PlaceList, rows: int = ROWS) -> PlaceListView:
    return PlaceListView(id=row.id, name=row.name, count=len(row.places), places=row.places[::-1][:rows])


@server.read()
def list_place_lists(town: TownMap, name: AskedListName = None, limit: Limit = None) -> tuple[PlaceListView, ...]:
    """List your lists of saved places with their latest places."""
    wanted, most = (name or "").casefold(), limit or ROWS
    rows = [row for row in town.lists if wanted in row.name.casefold()]
    return tuple([list_view(row, most) for row in rows[:most]])


@server.write(idempotent=True)
def create_place_list(town: TownMap, name: ListName) -> PlaceListView:
    """Create an empty list for saved places."""
    name = " ".join(name.split())
    for row in town.lists:
        if row.name.casefold() == name.casefold():
            raise ToolError("list_exists", f"{row.id} is already called {row.name}; use it or choose another name.")
    if len(town.lists) >= MOST_LISTS:
        raise ToolError("too_many_lists", f"You have {MOST_LISTS} lists, which is as many as there can be; use one.")
    return list_view(town.lists.put(PlaceList(id=town.lists.new_id(), name=name)))


@server.write(idempotent=True)
def save_place(town: TownMap, list: ListRef, place: PlaceRef, label: Label = None) -> PlaceListView:
    """Save a place in one of your lists, with your own label."""
    row, found = town.lists[list], town.places[place]
    if any(saved.place == place for saved in row.places):
        raise ToolError("already_saved", f"{found.name} is in the list {row.name} already; nothing is left to do.")
    if found.gone:
        raise ToolError("place_closed", f"{found.name} has closed for good; search for another {found.kind}.")
    if len(row.places) >= MOST_PLACES:
        raise ToolError("list_full", f"The list {row.name} has {MOST_PLACES} places; use or create another list.")
    saved = SavedPlace(place=place, name=found.name, label=label)
    return list_view(town.lists.change(list, places=(*row.places, saved)))
