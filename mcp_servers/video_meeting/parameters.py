"""What the parameters of the video meetings' tools take, described once for all of them."""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import Field

from ..kit import Day, Minute, Seen, Sensitive
from ..people import EmailAddress
from .state import MOST_MINUTES, MeetingSessionId, RecordingId, Room, VideoMeetingId

TITLES = [
    "all hands", "brand workshop", "candidate interview", "coaching hour", "customer demo", "design critique",
    "exit interview", "feature walkthrough", "fireside chat", "kickoff call", "lessons learned", "one on one",
    "pairing session", "partner call", "portfolio review", "reading circle", "retrospective", "support clinic",
    "town hall", "virtual coffee",
]  # fmt: skip
PASSCODES = [
    "204857", "318264", "427519", "530948", "641703", "759026", "862145", "903671", "176382", "285490", "394716",
    "508237",
]  # fmt: skip

MeetingRef = Annotated[VideoMeetingId, Field(description="Id of a video meeting")]
OwnMeetingRef = Annotated[VideoMeetingId, Field(description="Id of a video meeting you host")]
SessionRef = Annotated[MeetingSessionId, Field(description="Id of the live session of a meeting you host")]
RecordingRef = Annotated[RecordingId, Field(description="Id of a recording of a video meeting")]
GuestRef = Annotated[EmailAddress, Field(description="Id of a person, an e-mail address")]

Title = Annotated[str, Field(max_length=80, pattern=r"\S", description="Title of the meeting", examples=TITLES)]
Start = Annotated[Minute, Field(description="Start, to the minute, such as 2026-03-05T10:00:00Z")]
DURATIONS = [10, 15, 20, 25, 30, 40, 45, 50, 60, 75, 90, 120]
Duration = Annotated[int, Field(ge=5, le=MOST_MINUTES, description="Duration in minutes", examples=DURATIONS)]
NewDuration = Annotated[
    int | None,
    Field(ge=5, le=MOST_MINUTES, description="New duration in minutes, as it is by default", examples=DURATIONS),
]
NewPasscode = Annotated[
    str,
    Field(pattern=r"^[0-9]{6}$", description="Passcode for the guests, 6 digits", examples=PASSCODES),
    Sensitive(),
]
Passcode = Annotated[str, Field(pattern=r"^[0-9]{6}$", description="Passcode of the meeting, 6 digits"), Sensitive()]
MeetingAction = Annotated[Literal["start", "end", "cancel"], Field(description="What to do")]
RecordingAction = Annotated[Literal["start", "stop"], Field(description="What to do")]
RoomTo = Annotated[Room, Field(description="The room to move them to")]

AskedStatus = Annotated[
    Literal["scheduled", "live", "ended", "missed", "cancelled"] | None,
    Field(description="Only meetings of this status"),
]
AskedDay = Annotated[Day | None, Field(description="Only meetings planned for this day, such as 2026-03-05")]
AskedTitle = Annotated[
    str | None, Field(max_length=80, pattern=r"\S", description="Title, or a part of it"), Seen("title")
]
Limit = Annotated[
    int | None,
    Field(ge=1, le=50, description="Most rows to return, 5 by default", examples=[1, 2, 3, 4, 6, 8, 10, 15, 20]),
]

ROWS = 5
