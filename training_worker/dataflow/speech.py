"""Natural-language forms of values (money, units, days, choices, quoted text), by the phrases of a server."""

from __future__ import annotations

import re
from datetime import date, datetime
from functools import cache
from typing import Any

from mcp_servers.catalogue import SERVERS, TOOLS
from mcp_servers.core.phrases import MeasurePhrases, Phrases, ValuePhrases, load

from .provenance import is_date, place, ways_to_say

NO_PHRASES = ValuePhrases()
MONEY = re.compile(r"(?<![\w.,-])(-?[\d,]+(?:\.\d\d)?) [A-Z]{3}\b")
MONTH = re.compile(r"\d{4}-(?:0[1-9]|1[0-2])")
IN_A_NAME = re.compile(r"\w[@./_]\w")  # file names, sites and addresses keep their lower-case first letter
LONGEST_SMALL_WORD = 4  # letters; longer words are content words
DEGREES = {
    "high": ("higher", "highest", "lower", "lowest"),
    "large": ("larger", "largest", "smaller", "smallest"),
    "long": ("longer", "longest", "shorter", "shortest"),
    "many": ("more", "most", "fewer", "fewest"),
    "much": ("more", "most", "less", "least"),
}


@cache
def phrases_of(server: str) -> Phrases:
    """Return the phrases of a built-in server. Raises PhraseError."""
    return load(SERVERS[server].folder)


@cache
def phrases_for(tool: str) -> Phrases:
    """Return the phrases of the server that has a tool. Raises PhraseError."""
    return phrases_of(TOOLS[tool][0].name)


def forms(phrases: Phrases, name: str, value: Any, today: str = "", currency: str = "") -> tuple[str, ...]:
    """Return the ways to say the value of a parameter or field, the most natural first; empty if people do not say it.

    `today` is an ISO date to which days may be relative; `currency` is the currency of amounts, by default euros.
    """
    said = phrases.values.get(name, NO_PHRASES)
    if isinstance(value, bool):
        return said.words.get(str(value).lower(), ())
    if isinstance(value, list):
        parts = [forms(phrases, name, one, today, currency) for one in value]
        return (conjunction([one[0] for one in parts]),) if parts and all(parts) else ()
    if isinstance(value, int):
        return numbers(said, value, currency)
    if isinstance(value, str) and value.strip():
        return list_text_forms(said, value, today)
    return (f"{value:g}",) if isinstance(value, float) else ()


def find_said(tool: str, name: str, value: Any, text: str, today: str = "") -> tuple[int, int] | None:
    """Return where a text contains the value of a tool's parameter, verbatim or as people say it; None if it does not.

    An external tool has no phrases: its values are found only verbatim, and days in words.
    """
    if found := place(value, text, today):
        return found
    if tool not in TOOLS or isinstance(value, list | dict):
        return None
    lower = text.casefold()
    for way in forms(phrases_for(tool), name, value, today):
        at = lower.find(way.casefold())
        if at >= 0 and not (lower[at - 1 : at].isalnum() or lower[at + len(way) : at + len(way) + 1].isalnum()):
            return at, at + len(way)
    money = isinstance(value, int) and phrases_for(tool).values.get(name, NO_PHRASES).money
    return find_amount(value, text) if money else None


def find_amount(value: int, text: str) -> tuple[int, int] | None:
    """Return where a text contains an amount of cents with a currency code, as "120 USD"; None if it does not."""
    amount = format_amount(value)
    return next((found.span() for found in MONEY.finditer(text) if found[1] == amount), None)


def format_amount(cents: int) -> str:
    """Return an amount as people write it: 1,200 or 9.50."""
    return f"{cents / 100:,.2f}".removesuffix(".00")


def numbers(said: ValuePhrases, value: int, currency: str = "") -> tuple[str, ...]:
    """Return the ways to say a whole number: 12000 cents are "120 euros" or "€120"."""
    if said.money:
        amount = format_amount(value)
        if currency not in ("", "EUR"):
            return (f"{amount} {currency}",)
        return f"{amount} {'euro' if value == 100 else 'euros'}", f"-€{amount[1:]}" if value < 0 else f"€{amount}"
    if said.unit:
        return (f"{value:,} {said.unit[value != 1]}",)
    return (str(value),)


def list_text_forms(said: ValuePhrases, value: str, today: str) -> tuple[str, ...]:
    """Return the ways to say a text value: paraphrases of a choice, days as people say them, else the text."""
    if value in said.words:
        return said.words[value]
    if is_date(value) or is_instant(value):
        return tuple(reversed(ways_to_say(value, today)))
    if MONTH.fullmatch(value):
        return (f"{date.fromisoformat(value + '-01'):%B %Y}",)
    return (f'"{value}"',) if said.quoted else (value,)


def is_instant(value: str) -> bool:
    """Return whether a text is an RFC 3339 date-time."""
    if len(value) < 17 or value[10] not in "Tt":
        return False
    try:
        datetime.fromisoformat(value)
    except ValueError:
        return False
    return True


def capitalize_text(text: str) -> str:
    """Return the text with a capital first letter, unless it begins with the name of a file or an address."""
    return text if IN_A_NAME.search(text.partition(" ")[0]) else text[:1].upper() + text[1:]


def content_words(text: str) -> set[str]:
    """Return the lower-case words of a text with more than four letters."""
    return {word for word in re.findall(r"[a-z]+", text.lower()) if len(word) > LONGEST_SMALL_WORD}


def conjunction(parts: list[str], word: str = "and") -> str:
    """Return "a, b and c"."""
    return f" {word} ".join(filter(None, (", ".join(parts[:-1]), parts[-1]))) if parts else ""


def rank(measure: MeasurePhrases, largest: bool, count: int) -> str:
    """Return the words for one of `count` entities with the most or least: "the lower balance", "the most likes"."""
    degree = DEGREES[measure.degree][(0 if largest else 2) + (count > 2)]
    if measure.degree in ("many", "much"):
        return f"{'the ' if count > 2 else ''}{degree} {measure.noun[measure.degree == 'many']}"
    return f"the {degree} {measure.noun[0]}"
