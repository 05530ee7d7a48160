"""Resolver of the origins of an example's argument values: a user turn, an earlier observation, or a schema default.

It uses only the example, the tools' types and schemas, and the servers' phrases. No plan is needed, so edited and
imported examples can be checked, too.
"""

from __future__ import annotations

import dataclasses
import json
import re
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from decimal import Decimal
from functools import cache, cached_property, lru_cache
from itertools import product
from typing import Any, Literal, NewType, TypeVar, get_args, get_origin

from mcp_servers.catalogue import SERVERS, TOOLS
from mcp_servers.core.phrases import EntityPhrases, PhraseError, Phrases, ValuePhrases, load, slots
from mcp_servers.core.times import minute_text

from ..core.trajectory import Example, Json
from ..graph.result_schema import element_type, hints, parts_with_ids, rows_in, strip_annotated
from .provenance import instant_of, place, single, ways_to_say, word
from .speech import MONTH, rank

T = TypeVar("T")
Path = tuple[str | int, ...]
Span = tuple[int, int]

SEARCH_PARAMETERS = frozenset({"query", "words", "pattern"})
SMALL = 12  # whole numbers up to here coincide easily, so an observation must show them under the parameter's name
FEWEST_LETTERS = 4  # of a search word that may be the beginning of a word in the text
MOST_FILLINGS = 24  # ways to fill one name of an entity from one row

MONTHS = "January|February|March|April|May|June|July|August|September|October|November|December"
WORDS = dict(zip("one two three four five six seven eight nine ten eleven twelve".split(), range(1, 13), strict=True))
ONE = r"(?<!\bthe )(?<!\bthat )(?<!\bthis )one(?= [a-z])(?! (?:of|thing|more|that|who|which|in|on|for|with|is|last)\b)"
CURRENCY = r"euros?\b|EUR\b|dollars?\b|USD\b|pounds?\b|GBP\b|[€$£]"
NUMBER = re.compile(
    rf"\d{{1,2}}(?:st|nd|rd|th)? (?:of )?(?:{MONTHS})\b(?:,? \d{{4}})?"
    rf"|\b(?:{MONTHS}) \d{{1,2}}(?:st|nd|rd|th)?\b(?:,? \d{{4}})?"
    r"|(?<![\w.,:/-])(?P<before>(?:[€$£]|EUR|USD|GBP) ?)?(?P<digits>-?(?:\d{1,3}(?:,\d{3})+|\d+)(?:\.\d+)?)"
    rf"(?:st|nd|rd|th)?(?!\w|[.:,/-]\d)(?P<after> ?(?i:{CURRENCY}|(?P<cents>cents?\b)))?"
    rf"|\b(?P<word>(?i:{ONE}|{'|'.join(list(WORDS)[1:])}))\b(?P<behind> (?i:{CURRENCY}|(?P<few>cents?\b)))?"
)
PLAIN = str.maketrans("\u201c\u201d\u201e\u2018\u2019\n\t\u00a0\u202f", '"""\'\'    ')
DETERMINER = re.compile(r"(?:the|my|our|your|that|this|these|those|his|her|their|its) ")
BEHIND_DETERMINER = re.compile(rf"{DETERMINER.pattern}$")
TOKEN = re.compile(r"\w+")
DATED = re.compile(r"\d{4}-\d\d-\d\d")
WINNER = "the one with|the one that has|whichever has|the one of the (?:two|three) with"

UNSAID = ValuePhrases()


@dataclass(frozen=True)
class Mention:
    """A span of a user turn: `start` is its first character, `end` the one after its last."""

    turn: int
    start: int
    end: int


@dataclass(frozen=True)
class ObservedLeaf:
    """A value in the observation of a call of a step; `path` has the keys and positions that lead to it."""

    step: int
    call: int
    path: Path


@dataclass(frozen=True)
class Origin:
    """The origin of one leaf value of a call's arguments.

    `path` leads to the leaf inside the argument of `parameter`, () where the argument is the leaf. `where` is a span of
    a user turn or a place in an observation, None for a default. `description` says what identifies an entity;
    `compared` is the step that shows the compared numbers, if any.
    """

    step: int
    call: int
    parameter: str
    path: Path
    value: Json
    kind: Literal["user", "observation", "default"]
    where: Mention | ObservedLeaf | None = None
    description: str = ""
    compared: int | None = None


def resolve(example: Example) -> list[Origin]:
    """Return the origins of all leaf values of ground-truth arguments, without values that have none."""
    return [found for found in trace(example) if isinstance(found, Origin)]


def list_unresolved_values(example: Example) -> list[str]:
    """Return a message for each leaf value of the ground truth that has no origin before its call."""
    return [found for found in trace(example) if isinstance(found, str)]


def find_winners(example: Example) -> Iterator[tuple[int, int, int]]:
    """Yield (step, call, compared step) for each id that follows from a comparison of several entities' numbers.

    An earlier step shows these numbers, as for "the one with the lower balance".
    """
    for found in trace(example):
        if isinstance(found, Origin) and found.compared is not None:
            yield found.step, found.call, found.compared


def trace(example: Example) -> Iterator[Origin | str]:
    """Yield for each leaf value of the ground truth, in order, its origin or a message why it has none."""
    conversation = Conversation(example)
    for step, one in enumerate(example.steps):
        for nth, call in enumerate(one.calls):
            for name, argument in (call.arguments or {}).items():
                about = (
                    describe_parameter(call.name, name)
                    if call.name in TOOLS
                    else describe_imported(example, call.name, name)
                )
                for path, value in iterate_leaves(argument):
                    use = Use(step, nth, one.turn, call.name, name, path, value, argument, about)
                    yield conversation.resolve_value(use)


@dataclass(frozen=True)
class Parameter:
    """Facts about a tool's parameter: its id type ("" for none), the phrases for its values, and its default.

    `choice` is true for enumerations and booleans, `search` for the words of a search. `seen` is the field whose values
    suit it best.
    """

    server: str = ""
    id_type: str = ""
    phrases: ValuePhrases = UNSAID
    has_default: bool = False
    default: Json = None
    choice: bool = False
    search: bool = False
    seen: str = ""


@dataclass(frozen=True)
class Use:
    """A leaf value of an argument of a ground-truth call, made in a user turn."""

    step: int
    call: int
    turn: int
    tool: str
    name: str
    path: Path
    value: Json
    argument: Json
    parameter: Parameter

    @property
    def place(self) -> str:
        parts = (f"[{part}]" if isinstance(part, int) else f".{part}" for part in self.path)
        return f"step {self.step}, {self.tool}.{self.name}{''.join(parts)}"

    def origin(
        self,
        kind: Literal["user", "observation", "default"],
        where: Mention | ObservedLeaf | None,
        description: str = "",
        compared: int | None = None,
    ) -> Origin:
        return Origin(self.step, self.call, self.name, self.path, self.value, kind, where, description, compared)


@cache
def describe_parameter(tool: str, name: str) -> Parameter:
    """Return the facts about a parameter of a tool of the catalogue."""
    server, found = TOOLS[tool]
    schema = found.input_schema["properties"].get(name, {})
    searching = tool.startswith(("search_", "find_")) or name in SEARCH_PARAMETERS
    options = (schema, *schema.get("anyOf", ()), schema.get("items", {}))
    text = any(option.get("type") == "string" and not {"enum", "format"} & option.keys() for option in options)
    return Parameter(
        server=server.name,
        id_type=found.ids.get(name, ""),
        phrases=load_phrases(server.name).values.get(name, UNSAID),
        has_default="default" in schema,
        default=schema.get("default"),
        choice=any("enum" in option or option.get("type") == "boolean" for option in options),
        search=searching and text and name not in found.ids,
        seen=found.seen.get(name, ""),
    )


def describe_imported(example: Example, tool: str, name: str) -> Parameter:
    """Return the facts about a parameter from the schema of an imported example's tool."""
    schema = next((one.parameters for one in example.tools if one.name == tool), {}).get("properties", {}).get(name, {})
    choice = "enum" in schema or schema.get("type") == "boolean"
    return Parameter(has_default="default" in schema, default=schema.get("default"), choice=choice)


@cache
def load_phrases(server: str) -> Phrases:
    """Return a server's phrases; empty where it has no readable file."""
    try:
        return load(SERVERS[server].folder)
    except PhraseError:
        return Phrases()


def iterate_leaves(value: Json, path: Path = ()) -> Iterator[tuple[Path, Json]]:
    """Yield the values in lists and objects, each with the keys and positions that lead to it."""
    if isinstance(value, dict):
        for key, part in value.items():
            yield from iterate_leaves(part, (*path, key))
    elif isinstance(value, list):
        for position, part in enumerate(value):
            yield from iterate_leaves(part, (*path, position))
    else:
        yield path, value


@dataclass(frozen=True)
class Number:
    """A number in a text. `unit` says whether a currency or the word cents is next to it."""

    amount: Decimal
    unit: Literal["", "currency", "cents"]
    start: int
    end: int

    def means(self, value: int | float, money: bool) -> bool:
        """Return whether it says a value; a value of money is in cents, and its sign may be left out."""
        if self.unit == "currency":
            return money and self.amount * 100 in (value, -value)
        return (money or not self.unit) and self.amount == Decimal(str(value))


class Utterance:
    """A user turn, prepared for searches in `text`: lower case and plain quotes, with unchanged positions."""

    def __init__(self, turn: int, original: str, today: str):
        self.turn, self.today = turn, today
        self.original = original.translate(PLAIN)
        lower = self.original.lower()
        same_length = len(lower) == len(original)
        self.text = lower if same_length else "".join(c.lower() if len(c.lower()) == 1 else c for c in self.original)
        self.cache: dict[tuple[Any, ...], tuple[Span, ...]] = {}

    @cached_property
    def numbers(self) -> tuple[Number, ...]:
        return tuple(read_number(found) for found in NUMBER.finditer(self.original) if found["digits"] or found["word"])

    @cached_property
    def tokens(self) -> tuple[str, ...]:
        return tuple(TOKEN.findall(self.text))

    def find(self, way: str) -> Span | None:
        """Return where the text first has some lower-case words, bounded by word boundaries."""
        start = word(self.text, way)
        return (start, start + len(way)) if start >= 0 else None

    def find_all(self, way: str) -> Iterator[Span]:
        """Yield every place where the text has some lower-case words, bounded by word boundaries."""
        start = 0
        while way and (start := self.text.find(way, start)) >= 0:
            around = max(start - 2, 0)
            if word(self.text[around : start + len(way) + 1], way) == start - around:
                yield start, start + len(way)
            start += 1

    def find_value(self, value: Json, phrases: ValuePhrases) -> tuple[Span, ...]:
        """Return the spans in which the text says a value, one per form; () where it does not."""
        key = (type(value), value, id(phrases))
        if key not in self.cache:
            self.cache[key] = tuple(self.search_value(value, phrases))
        return self.cache[key]

    def search_value(self, value: Json, phrases: ValuePhrases) -> Iterator[Span]:
        if isinstance(value, int | float) and not isinstance(value, bool):
            yield from self.search_number(value, phrases)
        elif isinstance(value, str):
            for way in (*spell_text(value, self.today), *(one.lower() for one in phrases.words.get(value, ()))):
                if way in self.text and (span := self.find(way)):
                    yield span
            if DATED.match(value) and (span := place(value, self.original, self.today)):
                yield span
        elif isinstance(value, bool):
            paraphrases = phrases.words.get(str(value).lower()) or (("yes", "true") if value else ("no", "false"))
            yield from (span for way in paraphrases if (span := self.find(way.lower())))

    def search_number(self, value: int | float, phrases: ValuePhrases) -> Iterator[Span]:
        for one in self.numbers:
            if one.means(value, phrases.money):
                yield from self.extend_to_unit(one, phrases.unit)
        if value == 1 and phrases.unit:
            article = "an" if phrases.unit[0][0] in "aeiou" else "a"
            yield from (span for span in [self.find(f"{article} {phrases.unit[0].lower()}")] if span)

    def extend_to_unit(self, one: Number, unit: tuple[str, str] | None) -> Iterator[Span]:
        """Yield the span of the number with a unit after it, if any, then that of the number alone."""
        endings = [f" {name.lower()}" for name in unit or ()] + (["%"] if unit and unit[0] == "percent" else [])
        for ending in endings:
            if self.text.startswith(ending, one.end):
                yield one.start, one.end + len(ending)
        yield one.start, one.end

    def find_wordings(self, value: Json, phrases: ValuePhrases) -> tuple[str, ...]:
        """Return the words with which the text says a value."""
        return tuple(dict.fromkeys(self.text[start:end] for start, end in self.find_value(value, phrases)))


def read_number(found: re.Match[str]) -> Number:
    """Return the number of a match of NUMBER with digits or a number word."""
    amount = Decimal(found["digits"].replace(",", "")) if found["digits"] else Decimal(WORDS[found["word"].lower()])
    cents = found["cents"] or found["few"]
    beside = found["before"] or found["after"] or found["behind"]
    return Number(amount, "cents" if cents else "currency" if beside else "", *found.span())


@lru_cache(maxsize=65_536)
def spell_text(value: str, today: str) -> tuple[str, ...]:
    """Return the lower-case forms in which users say a text, a choice, a date or a date-time."""
    plain = " ".join(value.translate(PLAIN).lower().split())
    forms = [plain, plain.replace("_", " ")]
    if DATED.match(value):
        forms += spell_date(value, today)
    elif MONTH.fullmatch(value):
        year, month = value.split("-")
        forms.append(f"{MONTHS.split('|')[int(month) - 1]} {year}".lower())
    return tuple(form for form in dict.fromkeys(forms) if form)


def spell_date(value: str, today: str) -> Iterator[str]:
    """Yield the forms in which users say a date or a date-time; also only the day for midnight."""
    for way in ways_to_say(value, today):
        day, at, time = way.lower().partition(" at ")
        dated = re.fullmatch(r"(\d+) (\w+) (\d{4})", day)
        days = [day]
        if dated:
            number, month, year = dated.groups()
            days += [f"{month} {number}, {year}", f"{month} {number} {year}"]
            days += [f"{number} {month}", f"{month} {number}"] if today.startswith(year) else []
        times = [f"{at}{time}", f"{at}{time:0>5}", f", {time}"] if time else [""]
        yield from (f"{one}{rest}" for one in days for rest in times)
        yield from days if time == "0:00" else ()


@dataclass(frozen=True)
class Template:
    """A name of an entity in lower case without its first determiner: the texts around the slots, and the slots."""

    texts: tuple[str, ...]
    slots: tuple[str, ...]


@dataclass(frozen=True)
class Superlative:
    """A phrase that names the row with the largest or the smallest value of a field."""

    field: str
    largest: bool
    phrase: str


@dataclass(frozen=True)
class EntityNaming:
    """The ways to name the entities of an id type, in the words of one server."""

    nouns: tuple[str, str]
    templates: tuple[Template, ...]
    superlatives: tuple[Superlative, ...]
    values: Mapping[str, ValuePhrases]


@cache
def load_naming(server: str, id_type: str) -> EntityNaming | None:
    """Return the ways a server's phrases name the entities of an id type; None where there are none."""
    phrases = load_phrases(server)
    entity = phrases.entities.get(id_type)
    if entity is None:
        return None
    return EntityNaming(
        entity.noun, tuple(map(parse_template, entity.names)), tuple(list_superlatives(entity)), phrases.values
    )


def parse_template(phrase: str) -> Template:
    plain = strip_determiner(phrase.translate(PLAIN))
    return Template(tuple(re.split(r"\{\w+\}", plain.lower())), slots(plain))


def strip_determiner(phrase: str) -> str:
    found = DETERMINER.match(phrase)
    return phrase[found.end() :] if found else phrase


def list_superlatives(entity: EntityPhrases) -> Iterator[Superlative]:
    groups = ((entity.most, True), (entity.last, True), (entity.least, False), (entity.first, False))
    for fields, largest in groups:
        for name, phrases in fields.items():
            for phrase in phrases:
                yield Superlative(name, largest, strip_determiner(phrase.translate(PLAIN).lower()))


@cache
def find_choice_fields(tool: str) -> frozenset[str]:
    """Return the names of the fields of a tool's result that have one of a few fixed texts."""
    return frozenset(walk_choices(TOOLS[tool][1].result_type))


def walk_choices(hint: Any, name: str = "") -> Iterator[str]:
    hint = strip_annotated(hint)
    if get_origin(hint) is Literal:
        yield name
    elif dataclasses.is_dataclass(hint):
        for own, part in hints(hint).items():
            yield from walk_choices(part, own)
    else:
        for part in get_args(hint):
            yield from walk_choices(part, name)


@dataclass(frozen=True)
class Candidate:
    """An entity that an observation shows: its id type, its id and the fields of the row that contains the id.

    `field` is the field with the id: "id" in the entity's own row. `path` leads to the id.
    """

    type: str
    id: str
    field: str
    fields: dict[str, Any]
    path: Path


def walk_ids(hint: Any, value: Any, path: Path = ()) -> Iterator[Candidate]:
    """Yield every id in a value of a result's type, with the row that directly contains it."""
    hint = strip_annotated(hint)
    if isinstance(value, list):
        inside = element_type(hint)
        for position, element in enumerate(value):
            yield from walk_ids(inside, element, (*path, position))
    elif isinstance(value, dict) and dataclasses.is_dataclass(hint):
        for name, part in parts_with_ids(hint):  # type: ignore[arg-type]
            if value.get(name) is not None:
                yield from walk_field(part, value, name, (*path, name))
    elif isinstance(value, dict):
        inside = next((part for part in map(strip_annotated, get_args(hint)) if dataclasses.is_dataclass(part)), None)
        if inside is not None:
            yield from walk_ids(inside, value, path)


def walk_field(hint: Any, row: dict[str, Any], name: str, path: Path) -> Iterator[Candidate]:
    """Yield the ids in a field of a row, or in the rows that it contains."""
    value = row[name]
    kind = find_id_type(hint)
    if kind is None:
        yield from walk_ids(hint, value, path)
    elif isinstance(value, list):
        for position, one in enumerate(value):
            yield Candidate(kind, one, name, row, (*path, position))
    else:
        yield Candidate(kind, value, name, row, path)


@cache
def find_id_type(hint: Any) -> str | None:
    """Return the id type of a field that contains only ids: one, an optional one, or a list of them."""
    hint = strip_annotated(hint)
    if isinstance(hint, NewType):
        return hint.__name__
    if dataclasses.is_dataclass(hint):
        return None
    return next(filter(None, map(find_id_type, get_args(hint))), None)


class Observation:
    """The observation of one call, parsed on first use."""

    def __init__(self, step: int, call: int, tool: str, arguments: dict[str, Json] | None, text: str):
        self.step, self.call, self.tool = step, call, tool
        self.server = TOOLS[tool][0].name if tool in TOOLS else ""
        self.text, self.arguments = (
            text,
            {value for _, value in iterate_leaves(arguments or {}) if isinstance(value, str)},
        )
        self.described: dict[tuple[Any, ...], dict[str, str]] = {}

    @cached_property
    def result(self) -> Json:
        try:
            return json.loads(self.text)
        except ValueError:
            return None

    @cached_property
    def paths(self) -> dict[tuple[str, Json], list[Path]]:
        """Paths of each leaf value, by the kind of JSON value and the value."""
        found: dict[tuple[str, Json], list[Path]] = defaultdict(list)
        for path, value in iterate_leaves(self.result):
            found[get_kind(value), value].append(path)
        return dict(found)

    @cached_property
    def rows(self) -> tuple[Candidate, ...]:
        """Rows with their own id."""
        if self.tool not in TOOLS:
            return ()
        rows = rows_in(self.tool, self.result)
        return tuple(Candidate(row.type, row.id, "id", row.fields, (*row.path, "id")) for row in rows)

    @cached_property
    def ids(self) -> tuple[Candidate, ...]:
        """All ids, each with the row that directly contains it."""
        return tuple(walk_ids(TOOLS[self.tool][1].result_type, self.result)) if self.tool in TOOLS else ()

    @cached_property
    def subject(self) -> str:
        """The only text among the arguments, usually an id; "" unless there is exactly one."""
        return next(iter(self.arguments)) if len(self.arguments) == 1 else ""

    def leaf(self, path: Path) -> ObservedLeaf:
        return ObservedLeaf(self.step, self.call, path)

    def find(self, use: Use) -> Path | None:
        """Return the path of an equal leaf; for a value that coincides easily, one under the parameter's name."""
        value = use.value
        moment = instant_of(value)
        found = self.paths.get((get_kind(value), value)) or (
            self.paths.get(("string", minute_text(moment))) if moment else None
        )
        common = use.parameter.choice or (get_kind(value) == "number" and abs(value) <= SMALL)
        names = {use.name, use.parameter.seen}
        return next((path for path in found or () if not common or names & set(path[-1:])), None)

    def candidates(self, value: str) -> list[tuple[Candidate, ...]]:
        """Return the sets of entities among which an id must be identified: own rows first, then rows that contain it.

        Entities in the call's own arguments do not count.
        """
        found = []
        for group in (self.rows, self.ids):
            if kinds := {one.type for one in group if one.id == value}:
                found.append(tuple(one for one in group if one.type in kinds and one.id not in self.arguments))
        return found


def get_kind(value: Json) -> str:
    """Return the JSON kind of a leaf; integers and other numbers are of the same kind."""
    return "boolean" if isinstance(value, bool) else "number" if isinstance(value, int | float) else "string"


@dataclass(frozen=True)
class EntitySpan:
    """A span of a text that names an entity."""

    id: str
    start: int
    end: int


class Conversation:
    """An example's user turns and observations, prepared to find the origins of values."""

    def __init__(self, example: Example):
        self.steps = example.steps
        self.utterances = [Utterance(turn, text, example.today) for turn, text in enumerate(example.turns)]
        self.observations = [
            Observation(at, nth, call.name, call.arguments, text)
            for at, step in enumerate(example.steps)
            for nth, (call, text) in enumerate(zip(step.calls, step.observations, strict=False))
        ]

    def resolve_value(self, use: Use) -> Origin | str:
        """Return the origin of a value, or a message why it has none."""
        if found := self.find_in_turns(use):
            return found
        if use.parameter.has_default and use.parameter.default == use.argument:
            return use.origin("default", None)
        if use.parameter.id_type:
            return self.find_entity(use)
        return self.find_leaf(use) or explain_missing(use)

    def turns_until(self, turn: int) -> list[Utterance]:
        """Return the user turns up to one, the latest first."""
        return self.utterances[turn::-1]

    def observations_before(self, step: int) -> Iterator[Observation]:
        """Return the observations of the steps before one."""
        return (one for one in self.observations if one.step < step)

    def find_in_turns(self, use: Use) -> Origin | None:
        for utterance in self.turns_until(use.turn):
            for start, end in utterance.find_value(use.value, use.parameter.phrases):
                return use.origin("user", Mention(utterance.turn, start, end))
        if use.parameter.search and isinstance(use.value, str):
            return self.find_search_words(use)
        if use.parameter.id_type and isinstance(use.value, str) and "/" in use.value:
            return self.complete_path(use)
        return None

    def find_search_words(self, use: Use) -> Origin | None:
        """Return the origin of a search whose words, or longer words starting with them, the user said in any order."""
        words = TOKEN.findall(use.value.lower())
        for utterance in self.turns_until(use.turn):
            if words and all(any(matches_beginning(token, one) for token in utterance.tokens) for one in words):
                start = utterance.text.find(words[0])
                return use.origin("user", Mention(utterance.turn, start, start + len(words[0])), "words of the search")
        return None

    def complete_path(self, use: Use) -> Origin | None:
        """Return the origin of a path that no observation shows: the user says its end, and its folder is known."""
        if any(("string", use.value) in one.paths for one in self.observations_before(use.step)):
            return None
        folder, _, name = use.value.rpartition("/")
        while folder:
            for utterance in self.turns_until(use.turn):
                span = find_path_end(utterance, name)
                if span and self.is_known_folder(folder, use):
                    return use.origin("user", Mention(utterance.turn, *span), f"{name} in {folder}")
            folder, _, last = folder.rpartition("/")
            name = f"{last}/{name}"
        return None

    def is_known_folder(self, folder: str, use: Use) -> bool:
        """Return whether a folder was said or used before, or was shown and its last name said."""
        utterances, before = self.turns_until(use.turn), list(self.observations_before(use.step))
        if any(find_path_end(one, folder) for one in utterances) or any(folder in one.arguments for one in before):
            return True
        named = any(find_path_end(one, folder.rpartition("/")[2]) for one in utterances)
        return named and any(("string", folder) in one.paths for one in before)

    def find_leaf(self, use: Use) -> Origin | None:
        for one in self.observations_before(use.step):
            if use.value is not None and (path := one.find(use)) is not None:
                return use.origin("observation", one.leaf(path))
        if use.parameter.search and isinstance(use.value, str):
            for one in self.observations_before(use.step):
                for (kind, value), paths in one.paths.items():
                    if kind == "string" and word(value.lower(), use.value.lower()) >= 0:
                        return use.origin("observation", one.leaf(paths[0]), "words of the search")
        return None

    def find_entity(self, use: Use) -> Origin | str:
        """Return the origin of an id that an earlier observation shows and the user's words identify there."""
        if found := self.find_compared(use):
            return found
        problem = ""
        for one in self.observations_before(use.step) if isinstance(use.value, str) else ():
            if ("string", use.value) not in one.paths:
                continue
            path = one.paths["string", use.value][0]
            if use.value in one.arguments:
                return use.origin("observation", one.leaf(path), f"used before, in step {one.step}")
            sets = one.candidates(use.value) or [(Candidate(use.parameter.id_type, use.value, "", {}, path),)]
            for entities in sets:
                if reason := self.single_out(use, one, entities):
                    path = next(entity.path for entity in entities if entity.id == use.value)
                    return use.origin("observation", one.leaf(path), reason)
            problem = problem or explain_ambiguity(use, one, sets[0])
        return problem or explain_missing(use)

    def find_compared(self, use: Use) -> Origin | str:
        """Return the origin of the id of an entity that wins a comparison of earlier observations.

        Return a message where it does not win, and "" where the user mentions no such comparison.
        """
        for group in self.list_comparisons(use):
            turns = self.utterances[self.steps[group[0].step].turn : use.turn + 1]
            results = [one.result for one in group]
            for utterance, said in ((one, find_rank(one, results, group[0].tool)) for one in reversed(turns)):
                if said is None:
                    continue
                field, largest, (start, end) = said
                winner, text = find_best(group, field, largest), utterance.original[start:end]
                if winner is None or (winner.subject != use.value and not self.is_used(utterance.turn, winner)):
                    return f"{use.place}: it is not {text!r} by the {field} that {group[0].tool} shows"
                if winner.subject == use.value:
                    path = winner.paths.get(("string", use.value), [(field,)])[0]
                    return use.origin("observation", winner.leaf(path), text, group[0].step)
        return ""

    def list_comparisons(self, use: Use) -> Iterator[list[Observation]]:
        """Yield groups of observations of one tool's calls in one earlier step, the latest first.

        A group is about several entities, among them this one.
        """
        groups: dict[tuple[int, str], list[Observation]] = defaultdict(list)
        for one in self.observations_before(use.step):
            groups[one.step, one.tool].append(one)
        for group in reversed(groups.values()):
            if len(group) > 1 and use.value in [one.subject for one in group]:
                yield group

    def is_used(self, turn: int, winner: Observation) -> bool:
        """Return whether a step of a turn, or a later one, uses the entity that an earlier observation is about."""
        later = [one for one in self.steps[winner.step + 1 :] if one.turn >= turn]
        return any(winner.subject == value for one in later for call in one.calls for value in single(call.arguments))

    def single_out(self, use: Use, one: Observation, entities: tuple[Candidate, ...]) -> str:
        """Return what identifies an id among the entities of an observation; "" where nothing does."""
        ids = {entity.id for entity in entities}
        nouns = self.get_nouns(use, entities[0].type)
        if ids == {use.value}:
            return f"the only {nouns[0]} shown"
        key = (use.parameter.server, use.parameter.id_type, entities[0].type, entities[0].path, len(entities), use.turn)
        if key not in one.described:
            one.described[key] = self.describe_entities(use, one, entities)
        return one.described[key].get(use.value) or self.describe_group(use, entities, nouns)

    def get_nouns(self, use: Use, id_type: str) -> tuple[str, str]:
        found = load_naming(use.parameter.server, use.parameter.id_type) or load_naming(use.parameter.server, id_type)
        plain = re.sub(r"(?<!^)(?=[A-Z])", " ", id_type.removesuffix("Id")).lower() or "id"
        return found.nouns if found else (plain, f"{plain}s")

    def list_namings(self, use: Use, one: Observation, id_type: str) -> list[EntityNaming]:
        """Return the ways to name entities in the words of the server that shows them and of the one that uses them."""
        servers = dict.fromkeys(filter(None, (one.server, use.parameter.server)))
        types = dict.fromkeys((id_type, use.parameter.id_type))
        return [found for server in servers for kind in types if (found := load_naming(server, kind))]

    def describe_entities(self, use: Use, one: Observation, entities: tuple[Candidate, ...]) -> dict[str, str]:
        """Return by id the latest words of the user that identify one of the entities."""
        found: dict[str, str] = {}
        for utterance in self.turns_until(use.turn):
            fits = self.match_entities(utterance, use, one, entities)
            for id, (start, end) in select_unique(fits).items():
                found.setdefault(id, utterance.original[start:end])
        return found

    def match_entities(
        self, utterance: Utterance, use: Use, one: Observation, entities: tuple[Candidate, ...]
    ) -> Iterator[EntitySpan]:
        kind = entities[0].type
        for way in self.list_namings(use, one, kind):
            yield from self.match_names(utterance, way, entities, use.step)
            yield from match_superlatives(utterance, way, entities)
        yield from match_roles(utterance, entities)
        yield from match_labels(utterance, entities, find_choice_fields(one.tool), self.get_nouns(use, kind))

    def match_names(
        self, utterance: Utterance, way: EntityNaming, entities: Iterable[Candidate], step: int
    ) -> Iterator[EntitySpan]:
        """Yield the spans that match a name of an entity, filled with its fields."""
        for name in way.templates:
            if all(text in utterance.text for text in name.texts):
                for entity in entities:
                    if entity.field == "id" or has_word(utterance, (entity.field.replace("_", " "), *way.nouns)):
                        for filled in self.fill_template(utterance, way, name, entity.fields, step):
                            yield from (EntitySpan(entity.id, *span) for span in utterance.find_all(filled))

    def fill_template(
        self, utterance: Utterance, way: EntityNaming, name: Template, fields: dict[str, Any], step: int
    ) -> Iterator[str]:
        """Yield the texts of a name filled with the values of a row in the user's words."""
        options = []
        for slot in name.slots:
            value = fields.get(slot)
            if value is None or isinstance(value, list | dict):
                return
            said = utterance.find_wordings(value, way.values.get(slot, UNSAID))
            if isinstance(value, str):
                said += self.find_references(utterance, value, step)
                said += tuple(way for one in said for way in (f'"{one}"', f"'{one}'") if way in utterance.text)
            if not said:
                return
            options.append(said)
        for count, values in enumerate(product(*options)):
            if count < MOST_FILLINGS:
                yield "".join(map("".join, zip(name.texts, (*values, ""), strict=True)))

    def find_references(self, utterance: Utterance, id: str, step: int) -> tuple[str, ...]:
        """Return the names with which a text refers to another entity, with the determiner before them."""
        found: list[str] = []
        for one in self.observations_before(step) if "-" in id or "@" in id else ():
            way = next((load_naming(one.server, row.type) for row in one.rows if row.id == id), None)
            if way:
                rows = tuple(row for row in one.rows if row.id == id)
                fits = self.match_names(utterance, way, rows, 0)
                found += (utterance.text[extend_to_determiner(utterance, fit.start) : fit.end] for fit in fits)
        return tuple(dict.fromkeys(found))

    def describe_group(self, use: Use, entities: tuple[Candidate, ...], nouns: tuple[str, str]) -> str:
        """Return the group of entities that the calls of this turn use completely; "" where there is none."""
        used = self.collect_values(use)
        if len(used) < 2:
            return ""
        if used >= {entity.id for entity in entities}:
            return f"all {nouns[1]} shown"
        groups: dict[tuple[str, Json], set[str]] = defaultdict(set)
        for entity in entities:
            for name, value in entity.fields.items():
                if isinstance(value, str | int):
                    groups[name, value].add(entity.id)
        values = load_phrases(use.parameter.server).values if use.parameter.server else {}
        for (name, value), ids in groups.items():
            phrases = values.get(name, UNSAID)
            turns = [one for one in self.turns_until(use.turn) if speaks_of_several(one, nouns)]
            if ids == used and any(one.find_value(value, phrases) for one in turns):
                return f"all {nouns[1]} with {name} {value}"
        return ""

    def collect_values(self, use: Use) -> set[Json]:
        calls = [call for step in self.steps if step.turn == use.turn for call in step.calls if call.name == use.tool]
        return {value for call in calls for _, value in iterate_leaves((call.arguments or {}).get(use.name))}


def match_superlatives(
    utterance: Utterance, way: EntityNaming, entities: tuple[Candidate, ...]
) -> Iterator[EntitySpan]:
    """Yield the spans that name the single entity with the largest or smallest value of a field."""
    for one in way.superlatives:
        if one.phrase in utterance.text and (winner := find_extreme(one, entities)):
            yield from (EntitySpan(winner, *span) for span in utterance.find_all(one.phrase))


def find_extreme(one: Superlative, entities: tuple[Candidate, ...]) -> str:
    """Return the id of the only entity with the extreme value of a field; "" where there is none."""
    values = [(entity.fields[one.field], entity.id) for entity in entities if entity.fields.get(one.field) is not None]
    kinds = {get_kind(value) for value, _ in values if not isinstance(value, list | dict)}
    if len(kinds) != 1 or any(isinstance(value, list | dict) for value, _ in values):
        return ""
    best = (max if one.largest else min)(value for value, _ in values)
    winners = {id for value, id in values if value == best}
    return winners.pop() if len(winners) == 1 else ""


def find_rank(utterance: Utterance, results: list[Json], tool: str) -> tuple[str, bool, Span] | None:
    """Return the compared field that a text names, whether the largest value is meant, and the span; else None."""
    measures = load_phrases(TOOLS[tool][0].name).tools[tool].measures if tool in TOOLS else {}
    for field, measure in measures.items():
        if all(isinstance(one, dict) and type(one.get(field)) is int for one in results):
            for largest in (True, False):
                said = re.escape(rank(measure, largest, len(results)))
                if found := re.search(rf"(?:{WINNER}) {said}\b", utterance.text):
                    return field, largest, found.span()
    return None


def find_best(group: list[Observation], field: str, largest: bool) -> Observation | None:
    """Return the only observation with the extreme number in a field; None for ties or several currencies."""
    numbers = [one.result[field] for one in group]
    best = (max if largest else min)(numbers)
    alike = len({one.result.get("currency") for one in group}) == 1
    return group[numbers.index(best)] if alike and numbers.count(best) == 1 else None


def match_labels(
    utterance: Utterance, entities: tuple[Candidate, ...], choices: frozenset[str], nouns: tuple[str, str]
) -> Iterator[EntitySpan]:
    """Yield the spans that say a text field of an entity's row, a choice only together with a noun.

    Where the row is not the entity's own, the user must also say which of its fields is meant; the noun suffices where
    several rows have that field.
    """
    holding = Counter(entity.field for entity in entities)
    for entity in entities:
        role = (entity.field.replace("_", " "), *(nouns if holding[entity.field] > 1 else ()))
        if entity.field != "id" and not has_word(utterance, role):
            continue
        for name, value in list_labels(entity):
            if name in choices:
                for noun in (*nouns, "one", "ones"):
                    yield from (EntitySpan(entity.id, *span) for span in utterance.find_all(f"{value.lower()} {noun}"))
            else:
                for way in spell_text(value, ""):
                    yield from (EntitySpan(entity.id, *span) for span in utterance.find_all(way))


def list_labels(entity: Candidate) -> Iterator[tuple[str, str]]:
    """Yield the texts of a row that may name it: text fields except dates, the end of a path, a first name."""
    for name, value in entity.fields.items():
        if isinstance(value, str) and len(value) > 1 and value != entity.id and not DATED.match(value):
            yield name, value
    if "/" in entity.id:
        parts = entity.id.split("/")
        yield from (("path", "/".join(parts[-count:])) for count in range(1, 4) if count < len(parts))
    person = entity.fields.get("name")
    if "@" in entity.id and entity.field == "id" and isinstance(person, str):
        yield "first name", person.split(" ")[0]


def match_roles(utterance: Utterance, entities: tuple[Candidate, ...]) -> Iterator[EntitySpan]:
    """Yield the spans that name an entity by its field, as in "the host", where only one entity is in that field."""
    held: dict[str, set[str]] = defaultdict(set)
    for entity in entities:
        held[entity.field].add(entity.id)
    for field, ids in held.items():
        if field != "id" and len(ids) == 1:
            for start, end in utterance.find_all(field.replace("_", " ")):
                if BEHIND_DETERMINER.search(utterance.text[:start]):
                    yield from (EntitySpan(id, start, end) for id in ids)


def select_unique(fits: Iterable[EntitySpan]) -> dict[str, Span]:
    """Return by id the first span that names only one entity. A span inside another entity's does not count."""
    spans: dict[Span, set[str]] = defaultdict(set)
    for fit in fits:
        spans[fit.start, fit.end].add(fit.id)
    found: dict[str, Span] = {}
    for span, ids in spans.items():
        around = (others for other, others in spans.items() if other[0] <= span[0] and span[1] <= other[1])
        if len(ids) == 1 and all(ids <= others for others in around):
            found.setdefault(next(iter(ids)), span)
    return found


def speaks_of_several(utterance: Utterance, nouns: tuple[str, str]) -> bool:
    """Return whether a turn refers to several entities of a kind: "both drafts to Hugo", not "one of the drafts"."""
    one, several = (re.escape(noun.lower()) for noun in nouns)
    plural = rf"(?<!\bone of the )(?<!\bone of my )(?<!\bone of our )(?<!\bone of your )\b{several}\b"
    return bool(re.search(rf"{plural}|\b(?:all|both|each|every) (?:\w+ ){{0,3}}(?:{one}|ones?)\b", utterance.text))


def has_word(utterance: Utterance, words: Iterable[str]) -> bool:
    return any(utterance.find(one) for one in words)


def extend_to_determiner(utterance: Utterance, start: int) -> int:
    """Return where the determiner before a position starts; the position where there is none."""
    found = BEHIND_DETERMINER.search(utterance.text[:start])
    return found.start() if found else start


def matches_beginning(token: str, one: str) -> bool:
    return token == one or (len(one) >= FEWEST_LETTERS and token.startswith(one))


def find_path_end(utterance: Utterance, name: str) -> Span | None:
    """Return where a text has the last names of a path, not as part of another path."""
    for start, end in utterance.find_all(name.lower()):
        if utterance.text[start - 1 : start] not in ("/", ".") and not re.match(
            r"[./]\w", utterance.text[end : end + 2]
        ):
            return start, end
    return None


def explain_missing(use: Use) -> str:
    value = json.dumps(use.value, ensure_ascii=False)
    return f"{use.place}: no user turn up to there says {value}, no earlier observation shows it, and it is no default"


def explain_ambiguity(use: Use, one: Observation, entities: tuple[Candidate, ...]) -> str:
    count = len({entity.id for entity in entities})
    found = load_naming(use.parameter.server, use.parameter.id_type)
    nouns = found.nouns[1] if found else "rows"
    text = f"{use.value} is one of {count} {nouns} shown by {one.tool}"
    return f"{use.place}: {text}, and nothing the user says singles it out"
