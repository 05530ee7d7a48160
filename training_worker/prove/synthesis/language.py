"""What the user says: the ways to ask for a tool, filled with values and with words for what earlier steps find."""

from __future__ import annotations

import re
from collections.abc import Sequence
from string import Formatter
from typing import Any

from mcp_servers.kit import Draw, Tool

OPTIONAL = re.compile(r"\[([^\]]*)\]")
TWICE = re.compile(
    r"\b(the \w+(?: \w+)?) (?=\1 )"
)  # an ask says "the folder {x}", and the words for x are "the folder y"
OPENINGS = ("", "Please ", "Hi, please ", "Now ", "I need you to ", "Could you ", "Can you ")
FOLLOW_UPS = ("Thanks. Now ", "Good. Next, ", "And now ", "Then please ", "Could you also ", "")
JOINTS = (", then ", ", and then ", ", after that ")
ABSTENTIONS = ("I cannot do that with the tools I have.", "None of my tools can do that.")


def fields(template: str) -> tuple[str, ...]:
    return tuple(name for _, name, _, _ in Formatter().parse(template) if name)


def choose(tool: Tool, draw: Draw) -> tuple[str, tuple[str, ...]]:
    """One way to ask for a tool, and the optional parameters it mentions: each bracket is kept one time in four.

    A bracket with a PIN or password stays out: no tool shows one.
    """

    def keep(bracket: re.Match[str]) -> str:
        wanted = draw.chance(0.25) and not tool.sensitive & set(fields(bracket[1]))
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
    return TWICE.sub("", text)


def spoken(value: Any) -> str:
    if isinstance(value, list):
        return " and ".join(map(spoken, value))
    if isinstance(value, bool):
        return "yes" if value else "no"
    return str(value)


def says(text: str, value: str) -> bool:
    """Whether a text says a value as words of its own: 4 is not said by CRD-4653."""
    return re.search(rf"(?<!\w)(?<!\w-){re.escape(value)}(?!\w)", text) is not None


def sentence(clauses: Sequence[str], draw: Draw, first: bool) -> str:
    """One user turn that asks for these things in this order."""
    text = draw.choice(OPENINGS if first else FOLLOW_UPS) + clauses[0]
    for position, part in enumerate(clauses[1:], 2):
        text += (" and finally " if position == len(clauses) > 2 else draw.choice(JOINTS)) + part
    return text[:1].upper() + text[1:] + ("?" if text.startswith(("Could", "Can")) else ".")
