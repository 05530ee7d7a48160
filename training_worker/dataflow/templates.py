"""Personas of users, dates in full, and detection of program names in users' texts."""

from __future__ import annotations

import re
from dataclasses import dataclass
from datetime import date

from mcp_servers.catalogue import TOOLS

CLOSING = re.compile(r"\{value\}[.,!]")
WORD, SNAKE = re.compile(r"\w+"), re.compile(r"[a-z][a-z0-9]*+(_[a-z0-9]++)++")


@dataclass(frozen=True)
class Persona:
    """A user's style: texts that give a requested value, say goodbye, and name the current day."""

    gives: tuple[str, ...] = ("It is {value}.", "Take {value}.", "{value}, please.")
    leaves: tuple[str, ...] = ("Thanks, that is all.",)
    days: tuple[str, ...] = ("Today is {day}. ",)


PERSONAS = {
    "plain": Persona(),
    "brief": Persona(
        gives=("{value}.", "{value}", "Use {value}."),
        leaves=("Done, thanks.", "OK.", "That is it."),
        days=("It is {day}. ", "{day} today. "),
    ),
    "courteous": Persona(
        gives=("Of course, it is {value}.", "Ah, sorry: {value}.", "That would be {value}, thank you."),
        leaves=("Thank you, that was all I needed.", "That is everything, thank you so much."),
        days=("Today is {day}, just so you know. ", "It is {day} here. "),
    ),
    "chatty": Persona(
        gives=("Oh, did I not say? {value}.", "Silly me, it is {value}.", "Hm, let me look... {value}."),
        leaves=("Great, that was it. Bye!", "You are a star, nothing else for now."),
        days=("Can you believe it is {day} already? ", "So it is {day} today. "),
    ),
    "formal": Persona(
        gives=("I mean {value}.", "That would be {value}.", "To be precise: {value}."),
        leaves=("This concludes my request.", "No further action is required."),
        days=("Date of this request: {day}. ", "For reference, today is {day}. "),
    ),
    "hurried": Persona(
        gives=("{value}!", "{value}, go.", "Sorry, typing too fast: {value}."),
        leaves=("Good, have to run.", "OK, got to go, thanks!"),
        days=("It is {day}, I am late. ", "{day} is today. "),
    ),
    "unsure": Persona(
        gives=("I think it is {value}.", "{value}, if I'm not mistaken.", "Hm, {value}, I believe."),
        leaves=("I think that is all, thank you.", "No, nothing else, I hope that was right."),
        days=("If I am not mistaken it is {day}. ", "My calendar says {day}. "),
    ),
}


def fill_template(template: str, value: str) -> str:
    """Return the user's answer to a question for a value, without a second punctuation mark at its end."""
    return (CLOSING.sub("{value}", template) if value[-1:] in ".!?" else template).format(value=value)


def long_day(day: date) -> str:
    """Return a date such as "Monday, 2 March 2026"."""
    return f"{day:%A}, {day.day} {day:%B %Y}"


def leaks(text: str, said: str = "") -> set[str]:
    """Return the names in a user's text that only a program would use, unless they are `said` as values.

    Such a name has an underscore, or is a tool's; a parameter with an ordinary word as name, like `account`, is not
    detected.
    """
    words = set(WORD.findall(text)) - set(WORD.findall(said))
    return {word for word in words if word in TOOLS or SNAKE.fullmatch(word)}
