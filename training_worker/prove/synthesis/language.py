"""What the user says: the ways to ask for a tool, filled with values and with words for what earlier steps find."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import date
from string import Formatter
from typing import Any

from mcp_servers.catalogue import TOOLS
from mcp_servers.kit import Draw, Tool

from ..provenance import spoken

OPTIONAL = re.compile(r"\[([^\[\]]*)\]")
TWICE = re.compile(
    r"\b(the \w+(?: \w+)?) (?=\1 )"
)  # an ask says "the folder {x}", and the words for x are "the folder y"
ON = re.compile(r"\b(?:on|at) (?=(?:today|tomorrow)\b)")
CLOSING = re.compile(r"\{value\}[.,!]")
QUESTION = re.compile(r"\b(could|can|would|will|may) (you|I)\b", re.I)
WORD, SNAKE = re.compile(r"\w+"), re.compile(r"[a-z][a-z0-9]*+(_[a-z0-9]++)++")
ABSTENTIONS = ("I cannot do that with the tools I have.", "None of my tools can do that.")
UNITS = re.compile(
    r" ((?:checked |extra |free |loyalty |more |story )?(?!(?:has|is|leads|this|times|was)\b)[a-z]{2,}s)\b"
)
VAGUE = {
    "text": "something",
    "query": "something",
    "day": "a certain day",
    "email address": "someone",
}
NO_NOUNS = frozenset(
    "action arrival at by close_on due expires from kind mark mode new off old on path pattern point power side start "
    "to until".split()
)
"""Parameters whose names do not say what the user would have to tell."""


@dataclass(frozen=True)
class Persona:
    """A manner of asking: how a request begins, goes on after an answer, joins its parts; gives what was asked back,
    and takes its leave.

    Who is `careful` says "1 night", "that place" only of what was spoken of, and begins no two turns in a row alike.
    """

    openings: tuple[str, ...]
    follow_ups: tuple[str, ...]
    joints: tuple[str, ...]
    last: str = " and finally "
    gives: tuple[str, ...] = ("It is {value}.", "Take {value}.", "{value}, please.")
    leaves: tuple[str, ...] = ("Thanks, that is all.",)
    days: tuple[str, ...] = ("Today is {day}. ",)
    careful: bool = True


PLAIN = Persona(
    openings=("", "Please ", "Hi, please ", "Now ", "I need you to ", "Could you ", "Can you "),
    follow_ups=("Thanks. Now ", "Good. Next, ", "And now ", "Then please ", "Could you also ", ""),
    joints=(", then ", ", and then ", ", after that "),
    careful=False,
)
"""Nobody in particular, as the small policy of the site was shown."""
PERSONAS = {
    "plain": replace(PLAIN, careful=True),
    "brief": Persona(
        openings=("", "", "Please "),
        follow_ups=("", "Next: ", "Now ", "Then "),
        joints=("; then ", ", then "),
        last=", then ",
        gives=("{value}.", "{value}", "Use {value}."),
        leaves=("Done, thanks.", "OK.", "That is it."),
        days=("It is {day}. ", "{day} today. "),
    ),
    "courteous": Persona(
        openings=(
            "Good morning. Would you please ",
            "Hello, could you please ",
            "I would be grateful if you could ",
            "If it is not too much trouble, could you ",
            "May I ask you to ",
        ),
        follow_ups=(
            "Thank you very much. Would you also ",
            "Wonderful, thank you. Could you now ",
            "That is kind. Next, please ",
            "Many thanks. May I also ask you to ",
            "I appreciate it. Please ",
            "Very helpful. If you have a moment, could you ",
        ),
        joints=(", and after that ", ", and then please ", ", then kindly "),
        gives=("Of course, it is {value}.", "Ah, sorry: {value}.", "That would be {value}, thank you."),
        leaves=("Thank you, that was all I needed.", "That is everything, thank you so much."),
        days=("As today is {day}: ", "It is {day} here. "),
    ),
    "chatty": Persona(
        openings=(
            "Hey there! So, I want you to ",
            "OK, one more thing on my list before lunch: ",
            "Hi! It is one of those days. Can you ",
            "Right, let us get this sorted: please ",
            "Hello again, me once more. Could you ",
        ),
        follow_ups=(
            "Ah, lovely. Oh, and could you ",
            "Great, I nearly forgot: ",
            "Perfect, you are quick! Then ",
            "Super. While you are at it, ",
            "Ha, nice. Now ",
            "OK so next thing: ",
            "You know what? Please also ",
        ),
        joints=(", oh and then ", ", and once that is done ", ", and after that "),
        last=" and, last thing, ",
        gives=("Oh, did I not say? {value}.", "Silly me, it is {value}.", "Hm, let me look... {value}."),
        leaves=("Great, that was it. Bye!", "You are a star, nothing else for now."),
        days=("Can you believe it is {day} already? ", "So, {day} today. "),
    ),
    "formal": Persona(
        openings=("Kindly ", "You are requested to ", "I hereby ask you to ", "Please proceed to "),
        follow_ups=(
            "Noted. Kindly ",
            "Understood. Subsequently, ",
            "Thank you for the information. Please ",
            "Acknowledged. You are further asked to ",
            "Furthermore, ",
        ),
        joints=(", subsequently ", ", thereafter ", ", and then "),
        last=" and, lastly, ",
        gives=("The answer is {value}.", "Please proceed with {value}.", "I confirm: {value}."),
        leaves=("This concludes my request.", "No further action is required."),
        days=("Date of this request: {day}. ", "As of {day}: "),
    ),
    "hurried": Persona(
        openings=("Quick one: ", "I am about to board, so please just ", "In a rush here, can you ", "Fast, please: "),
        follow_ups=(
            "OK quickly, ",
            "Good, now ",
            "And, before I forget, ",
            "Still here? Then ",
            "Right. Please ",
            "Next, ",
        ),
        joints=(", then ", ", right after that ", ", and straight after "),
        last=", then finally ",
        gives=("{value}!", "{value}, go.", "Sorry, typing too fast: {value}."),
        leaves=("Good, have to run.", "OK, got to go, thanks!"),
        days=("It is {day}, I am late. ", "{day} is today. "),
    ),
    "unsure": Persona(
        openings=(
            "I am not sure this is the right place, but could you ",
            "I hope I am asking this correctly: please ",
            "Sorry, I am new to this. Can you ",
            "I think what I want is for you to ",
        ),
        follow_ups=(
            "I see, thank you. And could you perhaps ",
            "If that worked, please ",
            "All right. I suppose next you would have to ",
            "Oh, that was quick. Would you also ",
            "I hope I can ask one more thing: ",
        ),
        joints=(", and then maybe ", ", and if that works ", ", and then "),
        gives=("I believe it is {value}.", "Would that be {value}? Yes, {value}.", "I have {value} written down here."),
        leaves=("I think that is all, thank you.", "No, nothing else, I hope that was right."),
        days=("If I am not mistaken it is {day}. ", "My calendar says {day}. "),
    ),
}


def fields(template: str) -> tuple[str, ...]:
    return tuple(name for _, name, _, _ in Formatter().parse(template) if name)


def choose(tool: Tool, draw: Draw, wishes: float = 0.25) -> tuple[str, tuple[str, ...]]:
    """One way to ask for a tool, and the optional parameters it mentions: each bracket is kept with this probability.

    A bracket with a PIN or password stays out: no tool shows one.
    """

    def keep(bracket: re.Match[str]) -> str:
        wanted = draw.chance(wishes) and not tool.sensitive & set(fields(bracket[1]))
        return bracket[1] if wanted else ""

    ask = OPTIONAL.sub(keep, draw.choice(tool.asks) if tool.asks else default_ask(tool))
    return ask, tuple(name for name in fields(ask) if name not in tool.required)


def default_ask(tool: Tool) -> str:
    """A way to ask for a tool whose server gives none: its description and its parameters."""
    sentence = tool.description.split(".")[0]
    values = ", ".join(f"{name} {{{name}}}" for name in tool.required)
    return f"{sentence[:1].lower()}{sentence[1:]}" + (f" ({values})" if values else "")


def clause(ask: str, arguments: dict[str, Any], words: dict[str, str]) -> str:
    """The ask with every parameter spoken: in the words for it, else as its value."""
    text = ask.format(**{name: words.get(name) or spoken(arguments[name]) for name in fields(ask)})
    return ON.sub("", TWICE.sub("", text))


def given(template: str, value: str) -> str:
    """What the user answers who was asked for a value; one that ends a sentence needs no second mark."""
    return (CLOSING.sub("{value}", template) if value[-1:] in ".!?" else template).format(value=value)


def singular(ask: str, arguments: Mapping[str, Any]) -> str:
    """The ask with one of a thing where the number is 1: "{nights} nights" becomes "{nights} night"."""
    for name in fields(ask):
        if arguments.get(name) == 1 and not isinstance(arguments[name], bool):
            ask = re.sub(rf"(?<=\{{{name}\}}){UNITS.pattern}", lambda found: f" {one_of(found[1])}", ask)
    return ask


def one_of(things: str) -> str:
    """dishes -> dish, entries -> entry, nights -> night."""
    return re.sub(r"(?<=sh|ch|ss)es$|s$", "", re.sub(r"ies$", "ys", things))


def unit(ask: str, name: str) -> str:
    """What a number counts: "{nights} nights" counts nights; "" when that is not said."""
    found = re.search(rf"\{{{name}\}}{UNITS.pattern}", ask)
    return found[1] if found else ""


def left_open(ask: str, name: str, noun: str) -> str:
    """The ask with a parameter left open: "the account {account}" becomes "an account"."""
    around = rf'(?:\b(?:the|my|a|an|our) (?:\w+ )?)?(?:\b{noun} )?"?\{{{name}\}}"?'
    return re.sub(around, vague(noun), ask, count=1, flags=re.I)


def left_uncounted(ask: str, name: str, units: str) -> str:
    """The ask with a number left open: "for {nights} nights" becomes "for some nights"."""
    some = "a certain amount" if units == "cents" else f"some {units}"
    return re.sub(rf"(?:the next )?\{{{name}\}} {units}", some, ask, count=1)


def names_it(ask: str, name: str, noun: str) -> bool:
    """Whether an ask says what a value is, so that a person could leave it out: "the subject {subject}"."""
    before = r"(?:the|my|a|an|our|in|with|at|for|under|by)"
    return noun in VAGUE or re.search(rf'\b{before} (?:new )?{noun} "?\{{{name}\}}', ask, re.I) is not None


def vague(noun: str) -> str:
    """How one speaks of a thing without saying which."""
    return VAGUE.get(noun) or f"{'an' if noun[0] in 'aeiouAEIOU' else 'a'} {noun}"


def long_day(day: date) -> str:
    """Monday, 2 March 2026."""
    return f"{day:%A}, {day.day} {day:%B %Y}"


def sentence(clauses: Sequence[str], draw: Draw, before: str = "", persona: Persona = PLAIN) -> str:
    """One user turn that asks for these things in this order; `before` is the turn before it, if there is one."""
    opening = draw.choice(follow_ups(persona, before) if before else persona.openings)
    text = opening + clauses[0]
    for position, part in enumerate(clauses[1:], 2):
        text += (persona.last if position == len(clauses) > 2 else draw.choice(persona.joints)) + part
    return text[:1].upper() + text[1:] + ("?" if QUESTION.search(opening) else ".")


def follow_ups(persona: Persona, before: str) -> Sequence[str]:
    """The ways to go on after a turn."""
    if not persona.careful:
        return persona.follow_ups
    return [one for one in persona.follow_ups if not one or not before.startswith(one[:1].upper() + one[1:])]


def leaks(text: str, said: str = "") -> set[str]:
    """The names in a user's words that only a program would use, unless they are `said` as values.

    Such a name has an underscore, or is a tool's; a parameter named by an ordinary word, as `account` is, does not give
    itself away.
    """
    words = set(WORD.findall(text)) - set(WORD.findall(said))
    return {word for word in words if word in TOOLS or SNAKE.fullmatch(word)}
