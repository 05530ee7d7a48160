"""The server object of the travel agency, and the parameter types of its tools."""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import Field

from ..core import Day, ObservedField, Sensitive, Server
from ..shared.people import EmailAddress
from ..shared.records import BookingCode
from .seed import seed
from .state import Cabin, Fare, FlightId, HotelId, HotelRoomId, HotelStayId

server = Server(
    "travel_booking", "Book flights, seats and hotels for yourself and others, check in, and keep track of miles.", seed
)


ROWS = 5
CITY_EXAMPLES = [
    "Amsterdam", "Athens", "Barcelona", "Berlin", "Cairo", "Chicago", "Dubai", "Helsinki", "Lisbon", "London", "Mumbai",
    "New York", "Oslo", "Prague", "Seoul", "Sydney", "Tokyo", "Vienna",
]  # fmt: skip
PASSPORTS = [
    "AB482913", "C5190274", "DK730158", "E9042716", "FR614820", "G2758391", "HX906147", "K3381625", "LM527094",
    "N8170435", "PQ264981", "R6093572", "T4418206", "X7952163",
]  # fmt: skip
SEATS = ["1A", "1F", "2C", "2D", "3A", "3C", "4D", "4F", "5A", "5F", "6C", "6D", "7A", "8F"]

FlightRef = Annotated[FlightId, Field(description="Id of a flight")]
BookingRef = Annotated[BookingCode, Field(description="Code of a flight booking")]
TravellerRef = Annotated[EmailAddress, Field(description="Id of a traveller, an e-mail address")]
HotelRef = Annotated[HotelId, Field(description="Id of a hotel")]
RoomRef = Annotated[HotelRoomId, Field(description="Id of a kind of room of a hotel")]
StayRef = Annotated[HotelStayId, Field(description="Id of a hotel stay")]

City = Annotated[
    str,
    Field(min_length=2, max_length=40, description="City or airport code, such as OSL", examples=CITY_EXAMPLES),
    ObservedField("to_city"),
]
OriginParam = Annotated[
    str | None,
    Field(min_length=2, max_length=40, description="City or airport code to leave from", examples=CITY_EXAMPLES),
    ObservedField("from_city"),
]
DestinationParam = Annotated[
    str | None,
    Field(min_length=2, max_length=40, description="City or airport code to go to", examples=CITY_EXAMPLES),
    ObservedField("to_city"),
]
DayParam = Annotated[Day | None, Field(description="Day of departure, such as 2026-03-05")]
FareChoice = Annotated[Fare, Field(description="Fare to book")]
CabinParam = Annotated[Cabin | None, Field(description="Only seats in this cabin")]
PositionParam = Annotated[Literal["window", "aisle"] | None, Field(description="Only seats there")]
Seat = Annotated[
    str,
    Field(pattern=r"^[1-9][0-9]?[ACDF]$", description="Row and letter of a seat, such as 4C", examples=SEATS),
    ObservedField("seat_number"),
]
MoreBags = Annotated[
    int, Field(ge=1, le=3, description="How many checked bags to add", examples=[1, 1, 1, 1, 1, 1, 1, 2, 2, 2, 2, 3])
]
Passport = Annotated[
    str, Field(pattern=r"^[A-Z]{1,2}[0-9]{6,7}$", description="Traveller's current passport number"), Sensitive()
]
NewPassport = Annotated[
    str,
    Field(pattern=r"^[A-Z]{1,2}[0-9]{6,7}$", description="Number of the new passport", examples=PASSPORTS),
    Sensitive(),
]
Expires = Annotated[Day, Field(description="Last day the passport is valid, such as 2031-03-05")]
NameParam = Annotated[
    str | None,
    Field(min_length=1, max_length=60, description="Name of the traveller, or a part of it"),
    ObservedField("name"),
]
TravellerParam = Annotated[EmailAddress | None, Field(description="Only for this traveller, an e-mail address")]
Arrival = Annotated[Day, Field(description="Day of arrival, such as 2026-03-05")]
Nights = Annotated[
    int, Field(ge=1, le=14, description="Number of nights", examples=[1, 1, 2, 2, 2, 3, 3, 3, 4, 5, 6, 7])
]
Guests = Annotated[
    int | None, Field(ge=1, le=6, description="Number of guests, 1 by default", examples=[1, 1, 2, 2, 3, 4])
]
StarsParam = Annotated[
    int | None, Field(ge=1, le=5, description="Fewest stars the hotel may have", examples=[2, 3, 3, 4, 4, 5])
]
Since = Annotated[Day | None, Field(description="First day, such as 2026-03-05; from now on by default")]
Until = Annotated[Day | None, Field(description="Last day, such as 2026-03-05")]
Limit = Annotated[
    int | None,
    Field(ge=1, le=50, description="Most rows to return, 5 by default", examples=[1, 2, 3, 4, 6, 8, 10, 12, 15, 20]),
]
