"""Checks of a text that a language model writes in place of a scripted one: nothing lost, nothing invented.

A check compares the two texts and the conversation up to there. It covers values, descriptions, names, denials and the
subject of a request, but not whether other words mean the same.
"""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from datetime import date
from decimal import Decimal, InvalidOperation
from functools import cache
from typing import Literal

from mcp_servers.catalogue import TOOLS
from mcp_servers.core.phrases import PhraseError

from ..core.trajectory import Act, Example, Json, ToolCall
from ..dataflow.provenance import single, verbalize, ways_to_say, word
from ..dataflow.quality import fed_edges, parse
from ..dataflow.resolver import PLAIN, WORDS, Mention, resolve
from ..dataflow.speech import forms, phrases_for
from ..dataflow.templates import leaks, long_day
from ..graph.result_schema import values_in
from .goals import ABOVE, BELOW
from .validate import Rejected, provenance

Speaker = Literal["user", "assistant"]
# an id, a number, a date, an address
EXACT = re.compile(r"(?<![\w@.+/:-])(?:[^\W\d]|[.+/:-])*+[\d@](?:[\w@.+/:-]|,(?=\d{3}(?!\d)))*+")
AMOUNT = re.compile(r"(?<![\w.,])-?[€$£]?\d++(?:[.,]\d++)*+(?: (?:euros?|cents?|[A-Z]{3})\b)?")
CURRENCY = re.compile(r"[€$£]|\b(?:euros?|dollars?|pounds?|EUR|USD|GBP)\b")
CURRENCIES = {"€": "EUR", "$": "USD", "£": "GBP", "euro": "EUR", "dollar": "USD", "pound": "GBP"}
LETTERS = re.compile(r"[^\W\d_]+")
QUOTED = re.compile(r"[\"“]([^\"“”]++)[\"”]")
FILE = re.compile(r"(?<![\w./-])[\w/-]*+\.[a-z]{2,4}\b")
DAY = re.compile(r"\b(?:today|tomorrow|tonight|yesterday)\b", re.I)
NUMBER_WORD = re.compile(rf"\b(?:{'|'.join(word for word in WORDS if word != 'one')})\b", re.I)
DENIAL = re.compile(
    r"\b(?:not|no|nor|never|none|nobody|nothing|neither|cannot|without|unable|unless|except|instead|fail(?:s|ed)?"
    r"|declined|refused|impossible|unfortunately)\b|n['\u2019]t\b",
    re.I,
)
ROLE = re.compile(r"\b(?:from|to|into|onto|until|before|after) (?:(?:the|my|our|an?) )?$")
COMPARISONS = (*ABOVE, *BELOW, "at least", "at most")
QUESTION_FRAME = frozenset(
    "could tell me shall i use the say for want of is".split()
    + "which what how do you mean exactly should it be have in mind".split()
)
LONGEST, LETTERS_MORE = 3, 200
SHORT = 3  # letters; such short observed words mean nothing by themselves
RARE, KNOWN = 7, 14  # servers of 20; words in the phrases of more servers are not the subject of a request


@dataclass(frozen=True)
class RewrittenText:
    """The text that the model is asked to write."""

    text: str


class Check:
    """A check of new words for one text of an example; a fault is a reason with details after a colon, or ""."""

    def __init__(self, example: Example, turn: int, speaker: Speaker = "user"):
        self.example, self.turn, self.speaker = example, turn, speaker
        self.old = text_of(example, turn, speaker)
        self.values = values_said(example, turn, speaker)
        first = turn if speaker == "user" and self.act == "ask" else 0  # an open value must stay open
        answers = example.answers[: turn + 1] if speaker == "assistant" else ()
        said = " ".join([*example.turns[first : turn + 1], *answers])
        self.currencies = currencies(said)
        self.known = said if speaker == "user" else " ".join([said, *list_observed_texts(example, turn)])
        self.exact = {normal(one) for one in find_exact_tokens(self.known)}
        self.names = {one.casefold() for one in LETTERS.findall(self.known)}

    @property
    def act(self) -> Act | None:
        return self.example.acts[self.turn] if self.example.acts else None

    def substitute_text(self, text: str) -> Example:
        """Return the example with this text in place of the scripted one."""
        if self.speaker == "user":
            return replace(self.example, turns=replace_item(self.example.turns, self.turn, text.strip()))
        return replace(self.example, answers=replace_item(self.example.answers, self.turn, text.strip()))

    def fault(self, wording: RewrittenText) -> str:
        new = wording.text.strip()
        if not new.replace("\n", "").isprintable() or not new:
            return "empty, or with letters that cannot be printed"
        return next(self.faults(new), "")

    def faults(self, new: str) -> Iterator[str]:
        if len(new) > LONGEST * len(self.old) + LETTERS_MORE:
            yield f"too long: {len(new)} letters"
        if lost := [value for value in self.values if position(new, value) < 0]:
            yield f"a value is lost: {', '.join(lost)}"
        if moved := first_out_of_order(new, self.values):
            yield f"values are in another order or too few: {moved}"
        if invented := list(dict.fromkeys(self.find_invented_values(new))):
            yield f"a value is new: {', '.join(invented)}"
        if leaked := leaks(new, said=self.known):
            yield f"the name of a tool or a field: {', '.join(sorted(leaked))}"
        yield from self.request_faults(new) if self.speaker == "user" else self.report_faults(new)

    def find_invented_values(self, new: str) -> Iterator[str]:
        """Yield numbers, ids, addresses, files, days, currencies, quotations and names that were not said or shown."""
        yield from (one for one in find_exact_tokens(new) if normal(one) not in self.exact)
        yield from (one for one in NUMBER_WORD.findall(new) if not self.knows_number(one.casefold()))
        yield from sorted(currencies(new) - self.currencies)
        known = self.known.casefold()
        texts = (*QUOTED.findall(new), *FILE.findall(new), *DAY.findall(new))
        yield from (one for one in texts if one.casefold().rstrip(".,!?") not in known)
        yield from (one for one in names(new) if one.casefold() not in self.names)

    def knows_number(self, one: str) -> bool:
        return one in self.names or normal(str(WORDS[one])) in self.exact

    def request_faults(self, new: str) -> Iterator[str]:
        """Yield the faults specific to a user turn: its wishes, denials, origins and dependences."""
        if denials(new) > denials(self.old):
            yield "it denies or forbids what the draft does not"
        old = topic_words(self.old)
        for subject in subjects(self.example, self.turn):
            due = subject & old
            if not (subject if due else old) & topic_words(new):
                yield f"a wish is lost: say one of {', '.join(sorted(due or old))}"
        if self.act == "answer" and (more := (topic_words(new) & all_topics()) - topic_words(self.old)):
            yield f"a wish is new: {', '.join(sorted(more))}"
        example = self.substitute_text(new)
        try:
            provenance(example)
        except Rejected as reason:
            yield f"without provenance: {reason}"
        if example.fed and fed_edges(example) != fed_edges(self.example):
            yield "it says what only a tool is to show"

    def report_faults(self, new: str) -> Iterator[str]:
        """Yield the faults specific to an assistant text: its denials and questions."""
        said, due = denials(new), denials(self.old)
        if bool(said) != bool(due) or (said > due and self.act != "decline"):
            yield "it denies more or less than the draft"
        subject = topic_words(self.old) & all_topics()
        if self.act != "answer" and subject and not subject & topic_words(new):
            yield f"about something else: say one of {', '.join(sorted(subject))}"
        if self.act == "ask":
            words = question_words(self.old)
            if not new.endswith("?") or (words and not words & question_words(new)):
                yield f"another question: ask at the end, with one of {', '.join(sorted(words))}"


def replace_item(texts: tuple[str, ...], place: int, text: str) -> tuple[str, ...]:
    return (*texts[:place], text, *texts[place + 1 :])


def values_said(example: Example, turn: int, speaker: Speaker = "user") -> list[str]:
    """Return the values that a text says and new words must also say, in the order of the text.

    These are values of calls and of results in each wording, descriptions of entities, comparisons, ids, numbers,
    amounts and addresses; of a value inside a longer one only the longer. Values with a digit are repeated as often as
    the text says them, others occur once.
    """
    text = text_of(example, turn, speaker)
    amounts = (found.rstrip(".,") for found in AMOUNT.findall(text))
    found = dict.fromkeys(filter(None, [*values(example, turn, speaker), *find_exact_tokens(text), *amounts]))
    if speaker == "user":
        found |= dict.fromkeys([*descriptions(example, turn), *(f"is {one}" for one in COMPARISONS)])
    spans = {(at, at + len(value)): value for value in found for at in occurrences(text, value)}
    said = list[str]()
    for (start, end), value in sorted(spans.items()):
        inside = any(other[0] <= start and end <= other[1] and other != (start, end) for other in spans)
        if not inside and (value not in said or any(map(str.isdigit, value))):
            said.append(value)
    return said


def occurrences(text: str, value: str) -> Iterator[int]:
    """Yield where a text says a value, bounded by word boundaries."""
    start = 0
    while (at := word(text[start:], value)) >= 0:
        yield start + at
        start += at + len(value)


def text_of(example: Example, turn: int, speaker: Speaker) -> str:
    return example.turns[turn] if speaker == "user" else example.answers[turn]


def values(example: Example, turn: int, speaker: Speaker) -> Iterator[str]:
    """Yield the reference date, values of arguments in each wording, and texts that tools show."""
    if example.today:
        yield long_day(date.fromisoformat(example.today))
    for failure in example.failures:
        yield from argument_values(failure.call, example.today)
    for step in example.steps:
        for call in step.calls:
            yield from argument_values(call, example.today)
        for text in step.observations:
            leaves = single(parse(text))
            yield from (one for one in leaves if isinstance(one, str) and (len(one) > SHORT or not one.islower()))
    if speaker == "assistant":
        yield from (one for one in list_observed_texts(example, turn) if len(one) > SHORT)


def argument_values(call: ToolCall, today: str) -> Iterator[str]:
    for name, argument in (call.arguments or {}).items():
        for value in single(argument):
            if not isinstance(value, bool) and value not in (None, ""):
                yield from (verbalize(value), *ways_to_say(value, today), *list_wordings(call.name, name, value, today))


def list_observed_texts(example: Example, turn: int) -> Iterator[str]:
    """Yield what tools showed up to the end of a turn: their replies, and each value in users' words."""
    for step in example.steps:
        if step.turn <= turn:
            for call, text in zip(step.calls, step.observations, strict=False):
                yield from (text, *values_as_said(call.name, parse(text), example.today))
    for failure in example.failures:
        if failure.turn <= turn:
            yield failure.observation


def values_as_said(tool: str, data: Json, today: str) -> Iterator[str]:
    for name, value in values_in(data):
        if value != "" and not isinstance(value, bool):
            yield from list_wordings(tool, name, value, today)


def list_wordings(tool: str, name: str, value: Json, today: str) -> tuple[str, ...]:
    """Return the wordings of a value of a tool's parameter or field; none for a tool without phrases."""
    try:
        return forms(phrases_for(tool), name, value, today) if tool in TOOLS else ()
    except PhraseError:
        return ()


def descriptions(example: Example, turn: int) -> Iterator[str]:
    """Yield the words of a turn from which arguments are derived, with the preposition before them."""
    text = example.turns[turn]
    for origin in resolve(example):
        start, end = text.find(origin.description) if origin.description else -1, 0
        if isinstance(origin.where, Mention) and origin.where.turn == turn:
            start, end = origin.where.start, origin.where.end
        if start >= 0:
            end = end or start + len(origin.description)
            role = ROLE.search(text[:start].translate(PLAIN))
            yield text[role.start() if role else start : end]


def position(text: str, value: str) -> int:
    """Return where a text first says a value, or -1; a phrase may be at the beginning of a sentence or within one."""
    phrase = " " in value or value[:1].islower()
    ways = (value, value[:1].swapcase() + value[1:]) if phrase else (value,)
    return min((at for one in ways if (at := word(text, one)) >= 0), default=-1)


def first_out_of_order(text: str, values: list[str]) -> str:
    """Return the first of some values that a text does not say after the ones before it; "" if the order is kept."""
    at = 0
    for value in values:
        found = position(text[at:], value)
        if found < 0:
            return value
        at += found + 1
    return ""


def find_exact_tokens(text: str) -> list[str]:
    return [found.rstrip(".:/-+,") for found in EXACT.findall(text)]


def normal(token: str) -> str:
    """Return a number without sign, separators and trailing zeros; any other token unchanged."""
    try:
        return str(abs(Decimal(token.replace(",", ""))).normalize())
    except InvalidOperation:
        return token


def denials(text: str) -> int:
    return len(DENIAL.findall(QUOTED.sub("", text)))


def currencies(text: str) -> set[str]:
    found = (one.removesuffix("s") for one in CURRENCY.findall(text))
    return {CURRENCIES.get(one, one) for one in found}


def names(text: str) -> Iterator[str]:
    """Yield the capitalised words that do not begin a sentence."""
    for found in LETTERS.finditer(text):
        before = text[: found.start()].rstrip(" \"'\u201c\u2018(*")
        if len(found[0]) > 1 and found[0][0].isupper() and before and before[-1] not in ".!?:;\n\u2014\u2013-\u2026":
            yield found[0]


def question_words(text: str) -> set[str]:
    """Return the words of the last sentence except those of the frame: the subject of a question."""
    last = re.split(r"[.!?] ", text.rstrip())[-1]
    return {one.casefold() for one in LETTERS.findall(last)} - QUESTION_FRAME


def subjects(example: Example, turn: int) -> Iterator[frozenset[str]]:
    """Yield for each tool that a turn asks for its topic words; without a call, all topic words.

    A request that the assistant asks back about is fulfilled in the next turn.
    """
    acts = example.acts[turn : turn + 1]
    turns = (turn, turn + 1) if acts == ("ask",) else (turn,)
    tools = [call.name for step in example.steps if step.turn in turns for call in step.calls]
    said = topic_words(example.turns[turn])
    for name in dict.fromkeys(tools):
        rare = topics(RARE).get(name, frozenset())
        yield rare if rare & said else topics(KNOWN).get(name, frozenset())
    if not tools and acts != ("answer",):
        yield all_topics()


def topic_words(text: str) -> frozenset[str]:
    """Return the words of a text except the shortest, without plural endings."""
    return frozenset(one.casefold().rstrip("s") for one in LETTERS.findall(text) if len(one) >= SHORT)


@cache
def all_topics() -> frozenset[str]:
    return frozenset().union(*topics(RARE).values())


@cache
def topics(most: int) -> Mapping[str, frozenset[str]]:
    """Return for each of our tools the words of its phrases that occur in the phrases of at most `most` servers."""
    found, servers = dict[str, frozenset[str]](), defaultdict[str, set[str]](set)
    for name, (server, tool) in TOOLS.items():
        said = phrases_for(name).tools[name]
        asks = re.sub(r"\{\w+\}", "", " ".join((*said.clauses, *said.sentences)))
        found[name] = topic_words(f"{name.replace('_', ' ')} {tool.description} {asks}")
        for one in found[name]:
            servers[one].add(server.name)
    return {name: frozenset(one for one in words if len(servers[one]) <= most) for name, words in found.items()}
