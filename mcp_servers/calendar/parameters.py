"""What the parameters of the calendar's tools take, described once for all of them."""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import Field

from ..kit import Day, Minute, Seen
from ..people import EmailAddress
from .recurrence import Frequency
from .state import CalendarId, EventId, InvitationId, SeriesId

TITLES = [
    "annual dinner", "board lunch", "book club", "car service", "choir concert", "dentist visit", "flat viewing",
    "garden party", "guitar lesson", "museum tour", "piano recital", "school play", "staff breakfast",
    "tax appointment", "team lunch", "theatre evening", "vendor call", "wine tasting", "yoga class", "zoo trip",
]  # fmt: skip
LOCATIONS = [
    "cafe Luna", "city library", "east wing", "garden hall", "office kitchen", "park pavilion", "rooftop", "room 12",
    "room 27", "sports centre", "studio 5", "town hall",
]  # fmt: skip
ROWS = 5

CalendarRef = Annotated[CalendarId, Field(description="Id of one of your calendars")]
EventRef = Annotated[EventId, Field(description="Id of an event")]
SeriesRef = Annotated[SeriesId, Field(description="Id of a series, the rule of a recurring event")]
InvitationRef = Annotated[InvitationId, Field(description="Id of an invitation you got")]
AttendeeRef = Annotated[EmailAddress, Field(description="Id of a contact, an e-mail address")]

Title = Annotated[str, Field(max_length=80, pattern=r"\S", description="Title of the event", examples=TITLES)]
Location = Annotated[
    str | None, Field(max_length=80, pattern=r"\S", description="Where it takes place", examples=LOCATIONS)
]
Start = Annotated[Minute, Field(description="Start, to the minute, such as 2026-03-05T10:00:00Z")]
Duration = Annotated[
    int,
    Field(ge=5, le=480, description="Duration in minutes", examples=[15, 20, 25, 30, 40, 45, 50, 60, 75, 90, 105, 120]),
]
OnDay = Annotated[Day, Field(description="Day, such as 2026-03-05")]
Repeats = Annotated[Frequency, Field(description="How often it repeats")]
Count = Annotated[int, Field(ge=2, le=52, description="How many times", examples=[4, 5, 6, 7, 8, 9, 10, 12])]
Number = Annotated[
    int, Field(ge=1, le=52, description="Which occurrence, 1 for the first", examples=[1, 2, 2, 3, 3, 4, 4, 5, 6])
]
Minutes = Annotated[
    int,
    Field(
        ge=1,
        le=20160,
        description="How many minutes before the start",
        examples=[5, 10, 15, 20, 25, 30, 45, 60, 90, 120, 180, 240, 360, 720],
    ),
]
Response = Annotated[Literal["accept", "decline", "tentative"], Field(description="Your answer")]

Query = Annotated[str, Field(max_length=80, pattern=r"\S", description="Words of the title"), Seen("title")]
AskedName = Annotated[
    str | None, Field(max_length=60, pattern=r"\S", description="Name of the contact, or a part of it"), Seen("name")
]
AskedCalendar = Annotated[CalendarId | None, Field(description="Only events of this calendar id")]
AskedAnswer = Annotated[
    Literal["pending", "accepted", "declined", "tentative"] | None,
    Field(description="Only invitations with this answer"),
]
Since = Annotated[Day | None, Field(description="First day, such as 2026-03-05; from now on by default")]
Until = Annotated[Day | None, Field(description="Last day, such as 2026-03-05; four weeks by default")]
Limit = Annotated[int, Field(ge=1, le=50, description="Most rows to return", examples=[1, 2, 3, 4, 6, 8, 10, 15, 20])]
