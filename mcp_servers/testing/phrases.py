"""Check of a server's phrases against its tools: `python -m mcp_servers.testing.phrases [server ...]`.

It prints every phrase that does not fit, with its file and line; the exit code is 1 if there is one. Without arguments
it checks all servers, and the scenarios across servers.
"""

from __future__ import annotations

import dataclasses
import re
import sys
from collections import Counter
from collections.abc import Callable, Iterator
from functools import cache, partial
from pathlib import Path
from typing import Annotated, Any, NewType, get_args, get_origin, get_type_hints

from ..catalogue import SERVERS, TOOLS
from ..core.phrases import (
    FILE,
    OPTIONAL,
    SCENARIOS,
    PhraseError,
    Phrases,
    Situation,
    ToolPhrases,
    load,
    load_scenarios,
    slots,
)
from ..core.server import Server, Tool, ids_in

FEWEST = {"clauses": 7, "sentences": 7, "answers": 3, "none": 2, "names": 2, "situations": 10, "says": 2, "words": 2}
LONGEST = 220  # characters of a phrase
ALIKE = 2  # phrases of one tool that may begin with the same three words
SNAKE = re.compile(r"\b[a-z0-9]+_[a-z0-9_]+\b")
SLOT = re.compile(r"\{([^{}]*)\}")
WORD = re.compile(r"[a-z']+")
DETERMINERS = "the|my|our|your|a|an|this|that|his|her|their"


def check(server: Server[Any]) -> list[str]:
    """Return what is wrong with a server's phrases, each with its file and line; nothing when all fit."""
    try:
        phrases = load(server.folder)
    except PhraseError as error:
        return [str(error)]
    found = [*tool_faults(server, phrases), *entity_faults(server, phrases), *value_faults(server, phrases)]
    lines = (server.folder / FILE).read_text("utf-8").splitlines()
    faults = (*found, *situation_faults(server, phrases))
    return [f"{server.name}/{FILE}:{find_line(lines, find_table(lines, one), one)}: {one}" for one in faults]


def tool_faults(server: Server[Any], phrases: Phrases) -> Iterator[str]:
    for name in sorted(phrases.tools.keys() ^ server.tools.keys()):
        yield f"[tools.{name}] {'is missing' if name in server.tools else 'is about no tool of this server'}"
    for name, said in phrases.tools.items():
        if tool := server.tools.get(name):
            faults = (*request_faults(tool, said, phrases), *answer_faults(tool, said), *measure_faults(tool, said))
            for fault in faults:
                yield f"[tools.{name}] {fault}"


def request_faults(tool: Tool, said: ToolPhrases, phrases: Phrases) -> Iterator[str]:
    """Yield what is wrong with the ways to ask for a tool."""
    for key in ("clauses", "sentences"):
        if len(getattr(said, key)) < FEWEST[key]:
            yield f"has {len(getattr(said, key))} {key}; at least {FEWEST[key]} are needed"
    optional = set(tool.taken) - set(tool.required) - tool.sensitive
    counts = Counter(name for phrase in (*said.clauses, *said.sentences) for name in set(SLOT.findall(phrase)))
    for name in sorted(one for one in optional if counts[one] < 2):
        yield f"mentions the optional {name!r} in {counts[name]} phrases; at least 2 are needed"
    for phrase in said.clauses:
        if not phrase[:1].islower() or phrase[-1:] in ".?!," or phrase.startswith("please"):
            yield f"clause {phrase!r} must begin with a verb in lower case, not with please, and end without a mark"
    for phrase in said.sentences:
        if not re.match(r"[A-Z{\"“]", phrase) or phrase[-1:] not in ".?!":
            yield f"sentence {phrase!r} must begin with a capital letter and end with a mark"
    for phrase in (*said.clauses, *said.sentences):
        for fault in slot_faults(tool, phrase, phrases):
            yield f"{fault} in {phrase!r}"
    yield from find_similar_phrases([*said.clauses, *said.sentences], ALIKE)


def slot_faults(tool: Tool, phrase: str, phrases: Phrases) -> Iterator[str]:
    """Yield what is wrong with one way to ask for a tool."""
    yield from text_faults(phrase)
    try:
        inside = [name for part in OPTIONAL.findall(phrase) for name in slots(part)]
        outside = slots(OPTIONAL.sub("", phrase))
    except ValueError as error:
        yield str(error)
        return
    for name in sorted({*inside, *outside} - tool.taken.keys()):
        yield f"{name!r} is no parameter"
    for name in tool.required:
        if outside.count(name) != 1:
            yield f"the required {name!r} stands {outside.count(name)} times outside of brackets, not once"
    for name in sorted({*outside} & tool.taken.keys() - {*tool.required}):
        yield f"the optional {name!r} must stand in brackets"
    for name in sorted({*inside} & {*tool.required}):
        yield f"the required {name!r} must not stand in brackets"
    if any(not slots(part) for part in OPTIONAL.findall(phrase)):
        yield "brackets without a slot"
    if "[" in OPTIONAL.sub("", phrase) or "]" in OPTIONAL.sub("", phrase):
        yield "brackets within brackets, or one that is not closed"
    for name, id_type in tool.ids.items():
        entity = phrases.entities.get(id_type)
        nouns = "|".join(map(re.escape, entity.noun)) if entity else "id"
        if re.search(rf"\b(?:{DETERMINERS}) (?:(?:{nouns}) )?\{{{name}\}}", phrase, re.I):
            yield f"{{{name}}} brings its own article and noun, as in 'the savings account'"


def answer_faults(tool: Tool, said: ToolPhrases) -> Iterator[str]:
    """Yield what is wrong with the ways to report a tool's result."""
    if len(said.answers) < FEWEST["answers"]:
        yield f"has {len(said.answers)} answers; at least {FEWEST['answers']} are needed"
    listed = find_field_type(tool.result_type, said.list) if said.list else tool.result_type
    row = element(listed)
    if said.list and row is None:
        yield f"list = {said.list!r} names no list in the result"
    if get_origin(strip_annotated(tool.result_type)) in (tuple, list) and not said.item:
        yield "gives a list, and needs an item"
    if said.also and not said.item:
        yield "has also, for further lists, but no item for the first"
    for path, item in said.also.items():
        yield from item_faults(f"also.{path}", item, element(find_field_type(tool.result_type, path)))
    if said.item:
        yield from item_faults("item", said.item, row)
        if len(said.none) < FEWEST["none"]:
            yield f"gives a list, and has {len(said.none)} phrases in none, for an empty one, not {FEWEST['none']}"
    allowed = {"count", "items"} if said.item else set()
    for phrase in (*said.answers, *said.none):
        yield from text_faults(phrase)
        if phrase[-1:] not in ".!":
            yield f"answer {phrase!r} must end with a mark"
        for name in slots(phrase):
            if name not in allowed and name not in tool.taken and find_field_type(tool.result_type, name) is None:
                has = ", ".join((*fields(tool.result_type), *allowed))
                yield f"answer {phrase!r}: {name!r} is neither a field of the result ({has}) nor a parameter"
    yield from find_similar_phrases(said.answers, 1)


def item_faults(place: str, item: str, row: Any) -> Iterator[str]:
    """Yield what is wrong with the words for one row of a list."""
    if row is None:
        remedy = "name the list in it with list =" if place == "item" else "give the place of one"
        yield f"has {place}, but its result is no list; {remedy}"
        return
    for name in slots(item):
        if name != "item" and find_field_type(row, name) is None:
            yield f"{place}: the rows have no field {name!r}; they have {', '.join(fields(row))}"


def measure_faults(tool: Tool, said: ToolPhrases) -> Iterator[str]:
    """Yield what is wrong with the numbers by which entities are compared."""
    if said.measures and (tool.writes or len(tool.required) != 1 or tool.required[0] not in tool.ids):
        yield "has measures, but only a tool that shows one entity by its id may have some"
    for name in said.measures:
        kind = find_field_type(tool.result_type, name)
        if int not in (kind, *options(kind)):
            yield f"measures.{name}: the result has no such whole number; it has {', '.join(fields(tool.result_type))}"


def entity_faults(server: Server[Any], phrases: Phrases) -> Iterator[str]:
    """Yield what is wrong with the ways to name entities: every id type that a tool takes needs some."""
    needed = {id_type for tool in server.tools.values() for id_type in tool.ids.values()}
    for name in sorted(needed - phrases.entities.keys()):
        yield f"[entities.{name}] is missing"
    for name, entity in phrases.entities.items():
        place, known = f"[entities.{name}]", find_row_fields(server, name)
        if len(entity.names) < FEWEST["names"]:
            yield f"{place} has {len(entity.names)} names; at least {FEWEST['names']} are needed"
        for phrase in entity.names:
            if not slots(phrase):
                yield f"{place} {phrase!r} has no slot; superlatives and times go under most, least, first or last"
            for unknown in sorted(set(slots(phrase)) - known):
                yield f"{place} {phrase!r}: rows with such an id have no field {unknown!r}; they have {sorted(known)}"
        for key in ("most", "least", "first", "last"):
            for field, said in getattr(entity, key).items():
                if field not in known:
                    yield f"{place} {key}.{field}: rows with such an id have no such field; they have {sorted(known)}"
                for phrase in said:
                    if slots(phrase):
                        yield f"{place} {phrase!r}: a superlative has no slot"


def value_faults(server: Server[Any], phrases: Phrases) -> Iterator[str]:
    """Yield what is wrong with the ways to say values: every choice of a parameter needs paraphrases."""
    for tool in server.tools.values():
        for name, schema in tool.input_schema["properties"].items():
            for choice in choices(schema):
                said = phrases.values[name].words.get(choice, ()) if name in phrases.values else ()
                if len(said) < FEWEST["words"]:
                    yield f"[values.{name}] {choice!r} has {len(said)} paraphrases, not {FEWEST['words']}"
                for one in said:
                    if SNAKE.search(one):
                        yield f"[values.{name}] {one!r} is spelled as a program does"


def situation_faults(server: Server[Any], phrases: Phrases) -> Iterator[str]:
    if len(phrases.situations) < FEWEST["situations"]:
        yield f"has {len(phrases.situations)} situations; at least {FEWEST['situations']} are needed"
    for one in phrases.situations:
        for name in one.tools:
            if name not in server.tools:
                yield f"[[situations]] {name!r} is no tool of this server"
        if len(one.says) < FEWEST["says"]:
            yield f"[[situations]] of {', '.join(one.tools)} has {len(one.says)} sayings, not {FEWEST['says']}"
        for phrase in one.says:
            yield from text_faults(phrase)
            if slots(phrase) or phrase[-1:] not in ".!?":
                yield f"[[situations]] {phrase!r} must be a whole sentence without slots"
    for name in sorted(server.tools.keys() - {name for one in phrases.situations for name in one.tools}):
        yield f"no [[situations]] is about {name}"
    yield from find_similar_phrases([phrase for one in phrases.situations for phrase in one.says], ALIKE)


def saying_faults(one: Situation) -> Iterator[str]:
    """Yield what is wrong with the sentences of a situation."""
    if len(one.says) < FEWEST["says"]:
        yield f"of {', '.join(one.tools)} has {len(one.says)} sayings, not {FEWEST['says']}"
    for phrase in one.says:
        yield from text_faults(phrase)
        if slots(phrase) or phrase[-1:] not in ".?!":
            yield f"{phrase!r} must be a whole sentence without slots"


def check_scenarios(path: Path = SCENARIOS) -> list[str]:
    """Return what is wrong with the situations across servers, each with its file and line; nothing when all fit."""
    try:
        scenarios = load_scenarios(path)
    except PhraseError as error:
        return [str(error)]
    lines = path.read_text("utf-8").splitlines()
    starts = [number for number, line in enumerate(lines, 1) if line.startswith("[[scenarios]]")]
    faults = [
        f"{path.name}:{find_line(lines, start, fault)}: {fault}"
        for start, one in zip(starts, scenarios, strict=True)
        for fault in scenario_faults(one)
    ]
    sayings = [phrase for one in scenarios for phrase in one.says]
    return faults + [f"{path.name}: {fault}" for fault in find_similar_phrases(sayings, ALIKE)]


def find_table(lines: list[str], fault: str) -> int:
    """Return the number of the line that begins the table named in a fault, such as "[tools.pay_payee]"; else 1."""
    named = re.match(r"\[[^\]]*\]", fault)
    return next((number for number, line in enumerate(lines, 1) if named and line.startswith(named[0])), 1)


def find_line(lines: list[str], start: int, fault: str) -> int:
    """Return the number of the first line from `start` that has the longest text quoted in a fault; else `start`."""
    text = max((one or other for one, other in re.findall(r"'([^']*)'|\"([^\"]*)\"", fault)), key=len, default="")
    return next((number for number, line in enumerate(lines, 1) if text and number >= start and text in line), start)


def scenario_faults(one: Situation) -> Iterator[str]:
    """Yield what is wrong with a situation: an unknown tool, or tools that no conversation can combine."""
    yield from (f"{name!r} is no tool of a server" for name in one.tools if name not in TOOLS)
    known = [name for name in one.tools if name in TOOLS]
    linked = {name for pair in links(known) for name in pair}
    names = sorted({TOOLS[name][0].name for name in known})
    if len(known) == len(one.tools) and (len(names) < 2 or not {*names} <= linked):
        yield f"no conversation reaches tools of {' and '.join(names)} together: no id leads from one to the other"
    yield from saying_faults(one)


def links(tools: list[str]) -> Iterator[tuple[str, str]]:
    """Yield the servers of each pair of tools whose second takes an id that a tool of the first one's server shows."""
    for one in tools:
        server = TOOLS[one][0]
        types = {kind for tool in server.tools.values() for kind in ids_in(tool.result_type)}
        yield from ((server.name, TOOLS[other][0].name) for other in tools if leads(server, types, other))


def leads(server: Server[Any], types: set[str], other: str) -> bool:
    return TOOLS[other][0] is not server and bool(types & TOOLS[other][1].consumes)


def text_faults(phrase: str) -> Iterator[str]:
    plain = SLOT.sub("", phrase)
    if len(phrase) > LONGEST:
        yield f"{phrase!r} is longer than {LONGEST} characters"
    if SNAKE.search(plain):
        yield f"{phrase!r} has a name that only a program would use"
    if re.search(r"\d", plain):
        yield f"{phrase!r} has a number of its own"
    if "  " in plain.replace("[", "").replace("]", "") and "  " in phrase:
        yield f"{phrase!r} has two spaces in a row"


def find_similar_phrases(said: Any, most: int) -> Iterator[str]:
    """Yield faults for phrases that begin alike, or that differ only in their slots."""
    starts = Counter(" ".join(WORD.findall(SLOT.sub("", one).lower())[:3]) for one in said)
    for start, count in starts.items():
        if count > most:
            yield f"{count} phrases begin with {start!r}; at most {most} may"
    for phrase, count in Counter(SLOT.sub("{}", one) for one in said).items():
        if count > 1:
            yield f"{phrase!r} stands there {count} times"


def choices(schema: dict[str, Any]) -> list[str]:
    """Return the allowed texts of a parameter, whether required, optional or in a list."""
    parts = (schema, *schema.get("anyOf", ()), schema.get("items", {}))
    return [one for part in parts for one in part.get("enum", ()) if isinstance(one, str)]


@cache
def find_row_fields(server: Server[Any], id_type: str) -> frozenset[str]:
    """Return the fields of all rows, of this or any server's results, that carry an id of this type."""
    kinds = {
        row
        for server in (server, *SERVERS.values())
        for tool in server.tools.values()
        for row in find_row_types(tool.result_type)
    }
    carrying = [row for row in kinds if any(is_id(hint, id_type) for hint in hints(row).values())]
    return frozenset(name for row in carrying for name in hints(row))


def find_row_types(hint: Any) -> Iterator[Any]:
    hint = strip_annotated(hint)
    if dataclasses.is_dataclass(hint):
        yield hint
        for part in hints(hint).values():
            yield from find_row_types(part)
    else:
        for part in get_args(hint):
            yield from find_row_types(part)


def is_id(hint: Any, name: str) -> bool:
    hint = strip_annotated(hint)
    return (isinstance(hint, NewType) and hint.__name__ == name) or any(is_id(one, name) for one in get_args(hint))


def find_field_type(hint: Any, path: str) -> Any:
    """Return the type at a dotted path of fields in a type; None if there is none."""
    for name in path.split("."):
        hint = next((one for one in options(hint) if dataclasses.is_dataclass(one) and name in hints(one)), None)
        if hint is None:
            return None
        hint = hints(hint)[name]
    return hint


def element(hint: Any) -> Any:
    """Return the element type of a list; None for any other type."""
    for one in options(hint):
        if get_origin(one) in (tuple, list):
            return strip_annotated(get_args(one)[0])
    return None


def options(hint: Any) -> list[Any]:
    """Return the members of a union, or the type alone."""
    hint = strip_annotated(hint)
    if hint is None or dataclasses.is_dataclass(hint) or get_origin(hint) in (tuple, list):
        return [hint]
    return [strip_annotated(one) for one in get_args(hint)] or [hint]


def fields(hint: Any) -> list[str]:
    return [name for one in options(hint) if dataclasses.is_dataclass(one) for name in hints(one)]


hints: Callable[[Any], dict[str, Any]] = cache(partial(get_type_hints, include_extras=True))


def strip_annotated(hint: Any) -> Any:
    return strip_annotated(get_args(hint)[0]) if get_origin(hint) is Annotated else hint


if __name__ == "__main__":
    wanted = sys.argv[1:] or list(SERVERS)
    if unknown := [name for name in wanted if name not in SERVERS]:
        sys.exit(f"There is no server {unknown[0]!r}; the servers are {', '.join(SERVERS)}.")
    faults = [fault for name in wanted for fault in check(SERVERS[name])]
    faults += [] if sys.argv[1:] else check_scenarios()
    print("\n".join(faults) or f"The phrases of {', '.join(wanted)} fit.")
    sys.exit(bool(faults))
