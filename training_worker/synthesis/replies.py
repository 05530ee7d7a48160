"""Assistant texts that report results in words, with units and names, from observations alone."""

from __future__ import annotations

import json
import re
from collections.abc import Collection, Mapping, Sequence
from typing import Any

from mcp_servers.catalogue import TOOLS
from mcp_servers.core import Draw, Tool
from mcp_servers.core.phrases import OPTIONAL, Phrases, ToolPhrases, slots

from ..dataflow.speech import capitalize_text, conjunction, content_words, forms, phrases_for
from ..graph.sampler import widest

MOST_ITEMS = 5  # rows of a list in a text
LONGEST = 600  # characters of a field in a text
PERSONS = (
    (re.compile(r"\bmy\b"), "your"),
    (re.compile(r"\bMy\b"), "Your"),
    (re.compile(r"\bmine\b"), "yours"),
    (re.compile(r"\bme\b"), "you"),
    (re.compile(r"\bI am\b"), "you are"),
    (re.compile(r"\bI'm\b"), "you're"),
    (re.compile(r"\bI\b"), "you"),
    (re.compile(r"\bour\b"), "your"),
    (re.compile(r"\bwe\b"), "you"),
)
TITLE_END = re.compile(r"[.;:(](?:\s|$)|, (?:with|at most|oldest|newest|such|or none|to)\b")
AS_WRITTEN = re.compile(r"(\"[^\"]*+\"|“[^“”]*+”|\b\w++:[^\s\"“”]++)")  # quoted text, and terms such as "reporter:me"
BY_DEFAULT = re.compile(r"\b(\d+) by default")
PLAIN = ("That is done.", "It worked, that is taken care of.", "That went through.")
NOTHING = ("Nothing came up.", "There is nothing to show.")
READ_OPENINGS = ("", "", "", "", "Sure. ", "All right. ", "Of course. ", "Here it is. ", "Let me see. ", "Certainly. ")
WRITE_OPENINGS = ("", "", "", "", "Sure. ", "All right. ", "Of course. ", "Done. ", "Very well. ", "Certainly. ")
CLOSINGS = (
    *[""] * 12,
    " Is there anything else?",
    " Let me know if you need more.",
    " What else can I do?",
    " Shall I do anything else?",
)
DECLINES = (
    "With the tools I have I can't {it}.",
    "None of my tools lets me {it}.",
    "I'm sorry, but there is no tool here to {it}.",
    "I'm not able to {it} here, I'm afraid.",
    "I have no way to {it}.",
    "I'd need a tool to {it}, and I don't have one.",
    "That can't be done here: none of my tools can {it}.",
    "Unfortunately I am not able to {it}.",
)
OFFERS = (
    " What I can do: {0}, or {1}.",
    " If it helps, I can {0}.",
    " My tools can {0}, for example.",
    " I am able to {0} and to {1}.",
)
UNMET = (
    "{it} is {value}, so I left that alone.",
    "I looked: {it} is {value}. That does not meet your condition, so I have not done it.",
    "{it} stands at {value}, so I did not go ahead.",
    "Since {it} is {value}, I have not done it.",
)


def report(
    tool: str,
    arguments: Mapping[str, Any],
    words: Mapping[str, str],
    text: str,
    draw: Draw,
    currency: str = "",
    about: str = "",
) -> str:
    """Return one or two sentences that report a result.

    `words` are the user's words for arguments, `text` is the observation; amounts are in `currency` unless the result
    names one. `about` is a parameter that distinguishes several reports.
    """
    phrases, data, own = phrases_for(tool), json.loads(text), TOOLS[tool][1]
    said, extra = phrases.tools[tool], dict[str, str]()
    answers = [one for one in said.answers if about in slots(one)] or said.answers
    if widest(own):  # the rows shown need not be all
        answers = [one for one in answers if "count" not in slots(one)] or answers
    lists = find_result_lists(said, data)
    optional = {name for name in words if name in own.taken and name not in own.required}
    if data in (None, [], {}) or (said.item and not lists):
        filters = optional - {"limit"}
        answers = [one for one in said.none or NOTHING if filters <= {*slots(one)}] or NOTHING
    elif said.item:
        extra = list_in_words(lists, phrases, data, 0 if "limit" in arguments else usual_rows(own), currency)
        if not extra:
            return draw.choice(PLAIN)
    return fill_answer(phrases, answers, arguments, words, data, draw, extra, currency, optional)


def find_result_lists(said: ToolPhrases, data: Any) -> list[tuple[str, list[Any]]]:
    """Return the lists of a result that are not empty, each with the words for one of its rows."""
    places = {said.list: said.item} | dict(said.also) if said.item else {}
    found = [(item, get_value_at_path(data, path) if path else data) for path, item in places.items()]
    return [(item, rows if isinstance(rows, list) else [rows]) for item, rows in found if rows]


def list_in_words(
    lists: Sequence[tuple[str, list[Any]]], phrases: Phrases, data: Any, usual: int, currency: str
) -> dict[str, str]:
    """Return the rows of some lists in words and their number; empty where no row can be put into words.

    `usual` is the tool's default limit of rows: a list of that length may be incomplete. Rows that contain lists are
    not shortened, but these lists are.
    """
    texts = [verbalize_rows(phrases, item, rows, currency) for item, rows in lists]
    count = sum(len(rows) for _, rows in lists)
    if count > sum(map(len, texts)) or left_out(data, count):
        items = "; ".join(map(conjunction, filter(None, texts))) + ", among others"
    else:
        marks = [mark(rows, usual, rows is data) for _, rows in lists]
        items = "; ".join(conjunction(some) + behind for some, behind in zip(texts, marks, strict=True))
    return {"items": items, "count": str(count)} if any(texts) else {}


def mark(rows: Sequence[Any], usual: int, alone: bool) -> str:
    """Return the remark on a list that has as many rows as the tool's default limit.

    `alone` says that the list is the whole result, and not a list around those that are shortened.
    """
    outer = not alone and isinstance(rows[0], dict) and any(one and isinstance(one, list) for one in rows[0].values())
    return f" (the first {usual})" if len(rows) == usual > 1 and not outer else ""


def fill_answer(
    phrases: Phrases,
    answers: Sequence[str],
    arguments: Mapping[str, Any],
    words: Mapping[str, str],
    data: Any,
    draw: Draw,
    extra: Mapping[str, str],
    currency: str,
    optional: Collection[str],
) -> str:
    """Return a filled answer whose slots all have a value, with most of the `optional` arguments; else a plain one."""
    currency = str(data.get("currency") or currency) if isinstance(data, dict) else currency
    for answer in sorted(draw.shuffle_items(answers), key=lambda one: -len({*slots(one)}.intersection(optional))):
        values = {}
        for name in slots(answer):
            values[name] = (
                extra.get(name) or argument(phrases, name, arguments, words) or field(phrases, name, data, currency)
            )
        if all(values.values()):
            return sentence(fill_slots(answer, values))
    return draw.choice(PLAIN)


SLOT = re.compile(r"\{([^{}]+)\}")


def fill_slots(template: str, values: Mapping[str, str]) -> str:
    """Return a template with its slots filled; a slot may be a dotted path, which str.format would split."""
    return SLOT.sub(lambda found: values[found[1]], template)


def argument(phrases: Phrases, name: str, arguments: Mapping[str, Any], words: Mapping[str, str]) -> str:
    """Return an argument in words; "" where it was not used or the user left it open."""
    if name in words:
        return convert_to_second_person(words[name])
    ways = forms(phrases, name, arguments[name]) if arguments.get(name) is not None and name in arguments else ()
    return ways[0] if ways else ""


def field(phrases: Phrases, path: str, data: Any, currency: str = "") -> str:
    """Return the value at a dotted path of a result in words; "" where it is empty or has no words."""
    value = get_value_at_path(data, path)
    if isinstance(value, list):
        value = value[:MOST_ITEMS]
    if isinstance(value, str):
        value = shorten_text(value)
    ways = forms(phrases, path.split(".")[-1], value, currency=currency) if value not in (None, "", [], {}) else ()
    return ways[0] if ways else ""


def shorten_text(text: str) -> str:
    """Return a text on one line, cut between words if it is long."""
    line = " ".join(text.split())
    return line if len(line) <= LONGEST else line[:LONGEST].rsplit(" ", 1)[0] + "..."


def left_out(data: Any, visible: int) -> bool:
    """Return whether a result has more rows than it shows; a short list is complete whatever its count says."""
    more, count = (data.get("more"), data.get("count")) if isinstance(data, dict) else (0, 0)
    return bool(more) or (isinstance(count, int) and count > visible >= MOST_ITEMS)


def usual_rows(tool: Tool) -> int:
    """Return a tool's default limit of rows according to its schema; 0 where it lists all."""
    limit = tool.input_schema["properties"].get("limit", {})
    stated = BY_DEFAULT.search(limit.get("description", ""))
    return int(limit.get("default") or (stated[1] if stated else 0))


def verbalize_rows(phrases: Phrases, item: str, rows: Sequence[Any], currency: str) -> list[str]:
    """Return the first rows of a list in words.

    Rows without a field of the item are left out; fields in brackets are used only for rows that have them.
    """
    texts = []
    for row in rows:
        fields = {"item": row} if not isinstance(row, dict) else row
        own = str(fields.get("currency") or currency)
        values = {name: field(phrases, name, fields, own) for name in slots(item)}
        words = without_empty_parts(item, values)
        if all(values[name] for name in slots(words)):
            texts.append(fill_slots(words, values))
        if len(texts) == MOST_ITEMS:
            break
    return texts


def without_empty_parts(item: str, values: Mapping[str, str]) -> str:
    """Return the words for a row without the bracketed parts that have a slot without a value."""
    return OPTIONAL.sub(lambda part: part[1] if all(values[name] for name in slots(part[1])) else "", item)


def get_value_at_path(data: Any, path: str) -> Any:
    """Return the value at a dotted path; None where there is none."""
    for name in path.split("."):
        data = data.get(name) if isinstance(data, dict) else None
    return data


def convert_to_second_person(words: str) -> str:
    """Return the user's words from the assistant's side: "my savings account" becomes "your savings account"."""
    if words[:1] in '"“':
        return words
    parts = AS_WRITTEN.split(words)
    for pattern, other in PERSONS:
        parts[::2] = [pattern.sub(other, part) for part in parts[::2]]
    return "".join(parts)


def sentence(text: str) -> str:
    """Return a text that begins with a capital letter and ends with only one punctuation mark."""
    return re.sub(r"([.!?][\"”]?)\.$", r"\1", capitalize_text(text))


def closing_text(reports: Sequence[str], draw: Draw, openings: Sequence[str] = READ_OPENINGS) -> str:
    """Return the text that ends a turn: the reports, perhaps with an opening (not "Done. Done:") and a closing."""
    text = " ".join(reports)
    fitting = [one for one in openings if not one or first_word(one) != first_word(text)]
    return draw.choice(fitting) + text + draw.choice(CLOSINGS)


def first_word(text: str) -> str:
    return text.partition(" ")[0].strip(".,:")


def describe_unmet_condition(label: str, value: str, draw: Draw) -> str:
    """Return the text for a condition that is not met: the checked field and its value."""
    return sentence(draw.choice(UNMET).format(it=convert_to_second_person(label), value=value))


def decline(
    tool: str, candidates: Sequence[str], draw: Draw, words: Mapping[str, str] | None = None, request: str = ""
) -> str:
    """Return a refusal: what cannot be done without a tool, and what can be done with one of the candidates.

    With the user's `words` for its slots, it uses a phrase of the tool, preferably one that shares words with the
    `request`.
    """
    clauses = [OPTIONAL.sub("", one) for one in phrases_for(tool).tools[tool].clauses] if words is not None else []
    clauses = [one for one in clauses if {*slots(one)} <= (words or {}).keys()]
    alike = [len(content_words(one) & content_words(request)) for one in clauses]
    clauses = [one for one, count in zip(clauses, alike, strict=True) if count == max(alike)]
    wish = convert_to_second_person(fill_slots(draw.choice(clauses), words or {})) if clauses else tool_title(tool)
    text = draw.choice(DECLINES).format(it=wish)
    if candidates and draw.chance(0.7):
        near = [name for name in candidates if TOOLS[name][0] is TOOLS[tool][0]]
        related = [name for name in near if TOOLS[name][1].consumes & TOOLS[tool][1].consumes]
        offers = draw.sample(related if len(related) > 1 else near, 2)
        if len(offers) > 1:
            text += draw.choice(OFFERS).format(*map(tool_title, offers))
    return text


def tool_title(tool: str) -> str:
    """Return a short title of a tool from its description."""
    description = TOOLS[tool][1].description
    first = TITLE_END.split(description.replace(" in cents", ""))[0].strip()
    return first[:1].lower() + first[1:]
