"""How a chain that was run becomes a conversation: which turn asks for what, in which words, and what is left open."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import date

from mcp_servers.catalogue import TOOLS
from mcp_servers.kit import Draw, Tool

from ..provenance import says, spoken, ways_to_say
from ..trajectory import Level
from .knobs import TURNS
from .language import (
    NO_NOUNS,
    PLAIN,
    Persona,
    fields,
    given,
    left_open,
    left_uncounted,
    long_day,
    names_it,
    sentence,
    unit,
)
from .planner import POINTER, Done, noun

SPLITS = 6  # splits into turns to look through for one that lets a look-up go without saying
WISHES: dict[Level, float] = {"complete": 0.25, "missing": 0.25, "minimal": 0.0}
"""How likely an optional part of a request is said."""
LEFT_UNSAID: dict[Level, float] = {"complete": 0.6, "missing": 0.6, "minimal": 1.0}
"""How likely a look-up that goes without saying is left unsaid."""
NOUNS = {"body": "text", "content": "text", "iban": "IBAN"}
WORDED = 0.6  # of the days and moments are said as a person would


@dataclass(frozen=True)
class Open:
    """A value that the user leaves out at first: of which step, under which name; what is said in its place, and how to
    ask for it."""

    step: int
    name: str
    ask: str
    question: str


def split_turns(steps: Sequence[Done], draw: Draw, turns: Mapping[int, float] = TURNS) -> list[int]:
    """The user turn each step belongs to, in order; as many turns as drawn by these weights."""
    count = min(draw.weighted(tuple(turns), tuple(turns.values())), len(steps))
    cuts = sorted(draw.sample(range(1, len(steps)), count - 1))
    return [sum(cut <= position for cut in cuts) for position in range(len(steps))]


def split_for(
    level: Level, steps: Sequence[Done], draw: Draw, turns: Mapping[int, float], persona: Persona = PLAIN
) -> list[int]:
    """A split; at level minimal one in which some look-up can go without saying, in a single turn if need be."""
    turn_of = split_turns(steps, draw, turns)
    if level != "minimal":
        return turn_of
    for _ in range(SPLITS):
        if any(implied(position, positions(turn_of, turn), steps, persona) for position, turn in enumerate(turn_of)):
            return turn_of
        turn_of = split_turns(steps, draw, turns)
    return [0] * len(steps)


def positions(turn_of: Sequence[int], turn: int) -> list[int]:
    return [position for position, of in enumerate(turn_of) if of == turn]


def word_turns(
    steps: Sequence[Done],
    turn_of: Sequence[int],
    draw: Draw,
    level: Level = "complete",
    persona: Persona = PLAIN,
) -> tuple[str, ...]:
    """What the user says in each turn; a look-up that a later step of the turn implies is often left unsaid."""
    turns = list[str]()
    for turn in range(max(turn_of) + 1):
        own = positions(turn_of, turn)
        said = [at for at in own if not (draw.chance(LEFT_UNSAID[level]) and implied(at, own, steps, persona))]
        turns.append(sentence([steps[at].clause for at in said], draw, "".join(turns[-1:]), persona))
    return tuple(turns)


def implied(position: int, own: Sequence[int], steps: Sequence[Done], persona: Persona = PLAIN) -> bool:
    """Whether a step goes without saying: it only looks, and a later step of the turn uses it and says its values.

    Nobody careful says "that place" of what only a look-up without values shows, and leaves the look-up out.
    """
    step = steps[position]
    users = [later for later in own if position in steps[later].fed_by.values()]
    if persona.careful and not step.arguments and any(points_at(steps[later], position) for later in users):
        return False
    rest = " ".join(steps[later].clause for later in users)
    return bool(users) and not TOOLS[step.tool][1].writes and all(says(rest, text) for text in step.given())


def points_at(step: Done, giver: int) -> bool:
    """Whether a step is asked for with "that account", and not a name, for what the other gives."""
    return any(of == giver and step.words[name].startswith(POINTER) for name, of in step.fed_by.items())


def with_days(steps: Sequence[Done], today: str, draw: Draw) -> tuple[list[Done], bool]:
    """The steps with days and moments worded as people say them; and whether one is said relative to `today`."""
    worded, relative = [], False
    for step in steps:
        words = dict(step.words)
        for name, value in step.arguments.items():
            absolute, ways = ways_to_say(value, ""), ways_to_say(value, today)
            if ways and name not in words and draw.chance(WORDED):
                words[name] = ways[-1]
                relative = relative or ways[-1] not in absolute
        worded.append(replace(step, words=words))
    return worded, relative


def with_date(turns: Sequence[str], today: str, draw: Draw, persona: Persona) -> tuple[str, ...]:
    """The turns, the first of which says what day it is."""
    told = draw.choice(persona.days).format(day=long_day(date.fromisoformat(today)))
    return (told + turns[0], *turns[1:])


def openings(steps: Sequence[Done], draw: Draw) -> list[Open]:
    """The values that could be left open at first, in drawn order: each is for the user alone to give."""
    found = []
    for position, step in enumerate(steps):
        tool = TOOLS[step.tool][1]
        for name in tool.required:
            plain = isinstance(step.arguments[name], str | int) and not isinstance(step.arguments[name], bool)
            if plain and name not in step.fed_by and name in fields(step.ask) and name not in NO_NOUNS | tool.sensitive:
                found += opening(position, name, tool, step.ask)
    return draw.shuffled(found)


def opening(position: int, name: str, tool: Tool, ask: str) -> list[Open]:
    """The one way to leave a value open in an ask; none where a person could not."""
    noun = NOUNS.get(name, name.replace("_", " "))
    if name in tool.ids:
        noun = thing(tool.ids[name])
        return [Open(position, name, left_open(ask, name, noun), f"Which {noun} do you mean?")]
    if units := unit(ask, name) if is_number(tool, name) else "":
        question = f"What should the {noun} be?" if units == "cents" else f"How many {units}?"
        return [Open(position, name, left_uncounted(ask, name, units), question)]
    if names_it(ask, name, noun):
        return [Open(position, name, left_open(ask, name, noun), f"What should the {noun} be?")]
    return []


def is_number(tool: Tool, name: str) -> bool:
    return bool(tool.input_schema["properties"][name].get("type") == "integer")


def thing(id_type: str) -> str:
    """What an id names, in words: FilePath -> file, BookingCode -> booking, PlaceId -> place."""
    return noun(re.sub(r"(?<=[a-z])(Path|Code)$", "", id_type))


def leave_open(
    steps: Sequence[Done], turn_of: Sequence[int], draw: Draw, persona: Persona
) -> tuple[Open, list[int], tuple[str, ...]] | None:
    """A conversation in which one value is told only when it is asked for: which, the turns of the steps, the words.

    The step that needs it and those of its turn that follow wait for the answer. None when every value that could be
    left open is said elsewhere.
    """
    for open in openings(steps, draw):
        step = steps[open.step]
        value = step.arguments[open.name]
        vague = replace(step, ask=open.ask)
        told = [*steps[: open.step], vague, *steps[open.step + 1 :]]
        words = word_turns(told, turn_of, draw, persona=persona)
        asked = turn_of[open.step]
        ways = (spoken(value), step.words.get(open.name) or spoken(value), *ways_to_say(value, ""))
        so_far = " ".join(words[: asked + 1])
        if vague.clause not in so_far or any(says(so_far, way) for way in ways):
            continue
        later = [turn + (turn > asked or at >= open.step) for at, turn in enumerate(turn_of)]
        answer = given(draw.choice(persona.gives), step.words.get(open.name) or spoken(value))
        return open, later, (*words[: asked + 1], answer, *words[asked + 1 :])
    return None
