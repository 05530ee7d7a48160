"""Server object of the map and the parameter types of its tools."""

from __future__ import annotations

from typing import Annotated

from pydantic import Field

from ..core import Minute, ObservedField, Server
from ..shared.people import EmailAddress
from ..shared.places import PlaceId, PlaceKind
from .engine import Avoid
from .seed import seed
from .state import LABELS, ClosureReason, Mode, PlaceListId, RoadClosureId, RoadId, TripShareId

server = Server("maps", "Find places, routes and closed roads in your town, save places and share trips.", seed)


ROWS = 5
LIST_NAMES = [
    "birthday ideas", "coffee spots", "date night", "errands", "family outings", "for visitors", "hidden gems",
    "lunch break", "must see", "rainy days", "running routes", "summer plans", "weekend", "with the kids",
]  # fmt: skip
QUERIES = [
    "airport", "bank", "cafe", "cinema", "garden", "gym", "hotel", "library", "market", "museum", "park", "pharmacy",
    "restaurant", "school", "station", "supermarket",
]  # fmt: skip
ADDRESSES = [
    "12 Baker Street", "7 Mill Lane", "103 High Street", "28 Station Road", "5 Church Close", "61 Park Avenue",
    "44 Kings Road", "9 Harbour View", "150 Main Street", "33 Elm Grove", "18 Bridge Street", "2 Castle Hill",
]  # fmt: skip
POINTS = [
    "52520000,13405000", "48856600,2352200", "51507400,-127800", "40416800,-3703800", "41902800,12496400",
    "59913900,10752200", "50075500,14437800", "48208200,16373800", "38722300,-9139300", "55676100,12568300",
    "40712800,-74006000", "35676200,139650300",
]  # fmt: skip

PlaceRef = Annotated[PlaceId, Field(description="Id of a place")]
Origin = Annotated[PlaceId, Field(description="Id of the place to start from")]
Destination = Annotated[PlaceId, Field(description="Id of the place to go to")]
Origins = Annotated[
    tuple[PlaceId, ...], Field(min_length=1, max_length=4, description="Ids of 1 to 4 places to start from")
]
Destinations = Annotated[
    tuple[PlaceId, ...], Field(min_length=1, max_length=4, description="Ids of 1 to 4 places to go to")
]
RoadRef = Annotated[RoadId, Field(description="Id of a piece of road")]
ClosureRef = Annotated[RoadClosureId, Field(description="Id of a road closure")]
ListRef = Annotated[PlaceListId, Field(description="Id of one of your place lists")]
TripRef = Annotated[TripShareId, Field(description="Id of a shared trip")]
Viewer = Annotated[EmailAddress, Field(description="Id of the contact who may follow, an e-mail address")]

Travel = Annotated[Mode, Field(description="How to travel")]
AvoidParam = Annotated[Avoid | None, Field(description="What the route must not use")]
Departure = Annotated[
    Minute | None, Field(description="Departure, to the minute, such as 2026-03-05T10:00:00Z; now by default")
]
Query = Annotated[
    str | None,
    Field(pattern=r"\S", max_length=80, description="Words of the name, kind or street", examples=QUERIES),
    ObservedField("name"),
]
KindParam = Annotated[PlaceKind | None, Field(description="Only places of this kind")]
NearParam = Annotated[PlaceId | None, Field(description="Id of a place; nearest to it first")]
OpenAt = Annotated[
    Minute | None, Field(description="Only places open at this time, to the minute, such as 2026-03-05T10:00:00Z")
]
Address = Annotated[
    str,
    Field(pattern=r"\S", max_length=120, description="House number and street", examples=ADDRESSES),
    ObservedField("street_address"),
]
PointText = Annotated[
    str,
    Field(
        pattern=r"^-?[0-9]{1,9},-?[0-9]{1,9}$",
        description="Latitude and longitude in micro-degrees, such as 52520000,13405000",
        examples=POINTS,
    ),
    ObservedField("geo_point"),
]
Within = Annotated[
    int,
    Field(ge=1, le=60, description="Most minutes on the way", examples=[3, 5, 6, 8, 10, 12, 15, 18, 20, 25, 30, 45]),
]
Reason = Annotated[ClosureReason, Field(description="Why the road is closed")]
Hours = Annotated[
    int,
    Field(ge=1, le=48, description="For how many hours from now", examples=[1, 2, 2, 3, 3, 4, 5, 6, 8, 12, 24, 36]),
]
ListName = Annotated[str, Field(pattern=r"\S", max_length=40, description="Name of the list", examples=LIST_NAMES)]
Label = Annotated[
    str | None, Field(pattern=r"\S", max_length=40, description="Your own words for the place", examples=LABELS)
]
ListNameParam = Annotated[
    str | None,
    Field(pattern=r"\S", max_length=40, description="Name of the list, or a part of it"),
    ObservedField("name"),
]
UnderWayParam = Annotated[bool | None, Field(description="True: only trips that have not ended")]
Limit = Annotated[
    int | None,
    Field(ge=1, le=50, description="Most rows to return, 5 by default", examples=[1, 2, 3, 4, 6, 8, 10, 12, 15, 20]),
]
