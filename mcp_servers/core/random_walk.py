"""Random walks: tool calls drawn from schemas and earlier results, most of them sensible and some faulty."""

from __future__ import annotations

import dataclasses
import json
import re
from collections.abc import Iterable, Iterator, Mapping
from datetime import date, datetime, timedelta
from functools import cache
from typing import Annotated, Any, NewType, get_args, get_origin, get_type_hints

from .rng import Draw
from .server import ObservedField, Tool
from .session import Session, Step
from .state import State
from .times import minute_text, parse_instant

Call = tuple[str, str]
WRONG: tuple[Any, ...] = (None, True, -1, 0, 10**12, 2.5, "", "ACC-0000", "no such thing", [], {}, ["x"], {"a": 1})
FAULTY, NEAR = 0.12, 0.4
DATE = re.compile(r"\d{4}-\d\d-\d\d(T\d\d:\d\d:00Z)?")
NUMBERS, MOMENTS, DAYS = "numbers", "moments", "days"
MINUTE, DAY, STEPS = timedelta(minutes=1), timedelta(days=1), (-1, 0, 0, 1)


class Walker:
    """Generator of tool calls that reuses values from the results it has seen."""

    def __init__(self, tools: Mapping[str, Tool], states: Iterable[State], *key: object):
        self.tools, self.draw = dict(tools), Draw("walk", *key)
        self.now = max(state.now for state in states)
        self.seen: dict[str, list[Any]] = {}
        self.ready: list[Tool] = []  # tools that can be called with the `known` keys seen so far
        self.known = -1
        self.secrets = secrets(self.tools, states)

    def draw_call(self) -> Call:
        """Return a tool that can be called with the values seen, or now and then any tool, and its arguments."""
        if len(self.seen) != self.known:
            self.known, seen = len(self.seen), self.seen.keys()
            self.ready = [tool for tool in self.tools.values() if tool.consumes <= seen]
        pool = list(self.tools.values()) if self.draw.chance(0.05) or not self.ready else self.ready
        tool = self.draw.choice(pool)
        return tool.name, json.dumps(self.arguments(tool))

    def walk(self, session: Session[Any]) -> Step[Any]:
        """Make one more call in the session and learn from its reply."""
        name, arguments = self.draw_call()
        reply = session.call(name, arguments)
        self.now = session.state.now
        if reply.ok:
            self.learn(name, reply.text)
        return session.head

    def learn(self, name: str, text: str) -> None:
        """Store the ids and field values of a result."""
        for key, value in extract_values(self.tools[name].result_type, json.loads(text)):
            values = self.seen.setdefault(key, [])
            if value not in values:
                values.append(value)
                del values[:-60]

    def arguments(self, tool: Tool) -> dict[str, Any]:
        given: dict[str, Any] = {}
        for name, schema in tool.input_schema["properties"].items():
            if name in tool.required or self.draw.chance(0.3):
                given[name] = self.value(tool, name, schema)
        if self.draw.chance(FAULTY):
            self.corrupt_arguments(given)
        return given

    def corrupt_arguments(self, given: dict[str, Any]) -> None:
        """Add one fault: a missing argument, an extra one, or a wrong value."""
        name = self.draw.choice(sorted(given)) if given else "extra"
        if name in given and self.draw.chance(0.3):
            del given[name]
        else:
            given[name] = self.draw.choice(WRONG)

    def value(self, tool: Tool, name: str, schema: Mapping[str, Any]) -> Any:
        """Return a value for a parameter: an id or text seen before if one is meant, else one that fits the schema."""
        if name in tool.sensitive:
            known = self.secrets[name]
        elif name in tool.ids:
            known = self.seen.get(tool.ids[name], [])
        else:
            marks = [mark.field for mark in tool.model.model_fields[name].metadata if isinstance(mark, ObservedField)]
            known = [value for key in marks for value in self.seen.get(f".{key}", [])]
        return self.draw_from_schema(
            schema, tool.input_schema.get("$defs", {}), [one for one in known if isinstance(one, str)]
        )

    def draw_from_schema(self, schema: Mapping[str, Any], defs: Mapping[str, Any], known: list[str]) -> Any:
        """Return a value of this schema; `known` are the strings that mean something here."""
        match schema:
            case {"$ref": str(ref)}:
                return self.draw_from_schema(defs[ref.rsplit("/", 1)[-1]], defs, known)
            case {"anyOf": list(branches)}:
                options = [branch for branch in branches if branch != {"type": "null"}]
                return self.draw_from_schema({**schema, "anyOf": (), **self.draw.choice(options)}, defs, known)
            case {"const": value}:
                return value
            case {"enum": list(values)}:
                return self.draw.choice(values)
            case {"type": "array", "items": items}:
                low, high = schema.get("minItems", 0), schema.get("maxItems", 3)
                return [
                    self.draw_from_schema(items, defs, known) for _ in range(self.draw.integer(low, min(high, low + 3)))
                ]
            case {"type": "object", "properties": parts}:
                return {name: self.draw_from_schema(part, defs, known) for name, part in parts.items()}
            case {"type": "boolean"}:
                return self.draw.chance(0.5)
            case {"type": "integer"}:
                return self.number(schema)
            case {"format": "date-time"}:
                return minute_text(self.moment())
            case {"format": "date"}:
                return self.day().isoformat()
        return self.text(schema, known)

    def moment(self) -> datetime:
        """Return a time that is near, far, or next to a time seen, because rules fail at their limits."""
        if self.seen.get(MOMENTS) and self.draw.chance(NEAR):
            return parse_instant(self.draw.choice(self.seen[MOMENTS])) + self.draw.choice(STEPS) * MINUTE
        minutes = self.draw.choice((-60, 15, 60, 90, 24 * 60, self.draw.integer(0, 20_000)))
        return self.now + minutes * MINUTE

    def day(self) -> date:
        if self.seen.get(DAYS) and self.draw.chance(NEAR):
            return date.fromisoformat(self.draw.choice(self.seen[DAYS])) + self.draw.choice(STEPS) * DAY
        return (self.now + self.draw.integer(-2, 20) * DAY).date()

    def number(self, schema: Mapping[str, Any]) -> int:
        low, high = schema.get("minimum", 0), schema.get("maximum", 10_000)
        near = [number for number in self.seen.get(NUMBERS, ()) if low <= number <= high]
        if near and self.draw.chance(NEAR):
            return int(min(high, max(low, self.draw.choice(near) + self.draw.choice(STEPS))))
        options = [low, high, self.draw.integer(low, min(high, low + 20)), self.draw.integer(low, high)]
        return int(self.draw.choice([*options, *schema.get("examples", ()), *schema.get("examples", ())]))

    def text(self, schema: Mapping[str, Any], known: list[str]) -> str:
        if known and self.draw.chance(0.95):
            return self.draw.choice(known)
        return str(self.draw.choice(schema.get("examples") or ["some text", "x"]))


def extract_values(hint: Any, value: Any) -> Iterator[tuple[str, Any]]:
    """Yield the ids in a result by type, and texts and numbers by field: ("AccountId", "ACC-1"), (".kind", "loan")."""
    if value is None:
        return
    if isinstance(hint, NewType):
        yield hint.__name__, value
    elif get_origin(hint) is Annotated:
        yield from extract_values(get_args(hint)[0], value)
    elif dataclasses.is_dataclass(hint) and isinstance(value, dict):
        for name, part, field, deep in fields_of(hint):  # type: ignore[arg-type]
            if name in value:
                if deep:
                    yield from extract_values(part, value[name])
                if isinstance(value[name], str | int):
                    yield field, value[name]
                    yield from limits(value[name])
    elif isinstance(value, list):
        for one in value:
            yield from extract_values(get_args(hint)[0], one)
    else:
        for part in get_args(hint):
            if dataclasses.is_dataclass(part) == isinstance(value, dict):
                yield from extract_values(part, value)


@cache
def fields_of(kind: Any) -> tuple[tuple[str, Any, str, bool], ...]:
    """Return the fields of a row: name, type, the key of its values, and whether the type holds ids or rows."""
    hints = get_type_hints(kind, include_extras=True)
    return tuple((name, part, f".{name}", is_deep(part)) for name, part in hints.items())


def is_deep(hint: Any) -> bool:
    """Return whether a type holds ids or rows."""
    return isinstance(hint, NewType) or dataclasses.is_dataclass(hint) or any(map(is_deep, get_args(hint)))


def limits(value: str | int) -> Iterator[tuple[str, Any]]:
    """Yield a number, time or day of a result, which later calls can come close to."""
    if isinstance(value, bool):
        return
    if isinstance(value, int):
        yield NUMBERS, value
    elif DATE.fullmatch(value):
        yield MOMENTS if "T" in value else DAYS, value


def secrets(tools: Mapping[str, Tool], states: Iterable[State]) -> dict[str, list[Any]]:
    """Return the values of sensitive parameters, which only the user knows, from rows with a field of that name."""
    names = sorted({name for tool in tools.values() for name in tool.sensitive})
    rows = [row for state in states for own in state.tables().values() for row in own]
    return {name: list(dict.fromkeys(getattr(row, name) for row in rows if hasattr(row, name))) for name in names}
