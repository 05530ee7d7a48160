"""What was said in a recording: made up from its id and its people, the same each time it is read."""

from __future__ import annotations

from datetime import datetime, timedelta
from functools import lru_cache

from ..kit import Draw
from .state import Recording, RecordingId, Studio
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
    """What the host and the guests said."""
    meeting = studio.meetings[recording.meeting]
    speakers = [meeting.host, *[guest.person for guest in studio.guests.where(meeting=meeting.id)]]
    names = tuple([studio.people[id].name for id in speakers])
    return lines(studio.seed, recording.id, recording.start, studio.until(recording), names, meeting.title)


@lru_cache(maxsize=1 << 12)
def lines(
    seed: int, recording: RecordingId, start: datetime, stop: datetime, names: tuple[str, ...], title: str
) -> tuple[TranscriptLine, ...]:
    """Up to a line a minute, by people of these names, in order of time."""
    draw, minutes = Draw("transcript", seed, recording), int((stop - start).total_seconds()) // 60
    count = min(MOST_LINES, minutes + 1)
    moments = sorted(draw.sample(range(minutes + 1), count))
    return tuple(
        TranscriptLine(
            at=start + timedelta(minutes=moment),
            name=draw.choice(names),
            text=saying.format(title=title),
        )
        for moment, saying in zip(moments, draw.sample(SAYINGS, count), strict=True)
    )
