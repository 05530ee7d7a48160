"""What was said in a recording: made up from its id and its people, the same each time it is read."""

from __future__ import annotations

from datetime import timedelta

from ..kit import Draw
from .state import Recording, Studio
from .views import TranscriptLine

MOST_LINES = 6
SAYINGS = (
    "Let us begin with the {title}", "I have three points on the {title}", "Could you share your screen",
    "We are behind on this one", "I can take that until Friday", "Who writes the summary", "Thank you all",
    "That is cheaper than I thought", "Can we decide this today", "I would rather wait for the numbers",
    "The customer has asked twice", "We agreed on this last week", "Sounds like a plan", "My part is done",
    "I disagree with the second point", "Let us come back to that later", "We need one more person",
    "The next {title} should be shorter",
)  # fmt: skip


def transcript(studio: Studio, recording: Recording) -> tuple[TranscriptLine, ...]:
    """Up to a line a minute, by the host and the guests, in order of time."""
    meeting, draw = studio.meetings[recording.meeting], Draw("transcript", studio.seed, recording.id)
    speakers = [meeting.host, *(guest.person for guest in studio.guests.where(meeting=meeting.id))]
    minutes = int((studio.until(recording) - recording.start).total_seconds()) // 60
    count = min(MOST_LINES, minutes + 1)
    moments = sorted(draw.sample(range(minutes + 1), count))
    return tuple(
        TranscriptLine(
            at=recording.start + timedelta(minutes=moment),
            name=studio.people[draw.choice(speakers)].name,
            text=saying.format(title=meeting.title),
        )
        for moment, saying in zip(moments, draw.sample(SAYINGS, count), strict=True)
    )
