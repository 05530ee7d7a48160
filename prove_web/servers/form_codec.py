"""What is typed into a form, by path, and the arguments it says: each can be had from the other.

A path is `labels/0` or `address/street`. What is typed for it stands under the path itself, whether it is given at all
under its path and `#is` ("null", "given" or nothing), and how many rows a list has under its path and `#rows`.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Mapping
from typing import Any

from prove_web.parse_int import parse_digits

from .parameters import Parameter

IS, ROWS = "#is", "#rows"
NULL, GIVEN = "null", "given"
MOST_ROWS = 200
PICKED = re.compile(r"\d{4}-\d\d-\d\dT\d\d:\d\d", re.ASCII)  # a date and time as browsers' own fields have it
INTEGER = re.compile(r"[+-]?[0-9]{1,40}", re.ASCII)
ABSENT: Any = object()
Typed = Mapping[str, str]


def below(path: str, name: object) -> str:
    """The path of a part; a name's own signs that mean something in a path are written otherwise."""
    text = str(name).replace("~", "~0").replace("/", "~1").replace("#", "~2")
    return f"{path}/{text}" if path else text


def read(known: Iterable[Parameter], typed: Typed) -> tuple[dict[str, Any], dict[str, str]]:
    """The arguments that were typed, and the errors by path. An empty field is an argument that is not given."""
    errors: dict[str, str] = {}
    return read_parts(known, "", typed, errors), errors


def read_parts(known: Iterable[Parameter], path: str, typed: Typed, errors: dict[str, str]) -> dict[str, Any]:
    given = {each.name: read_one(each, below(path, each.name), typed, errors) for each in known}
    return {name: value for name, value in given.items() if value is not ABSENT}


def read_one(one: Parameter, path: str, typed: Typed, errors: dict[str, str], row: bool = False) -> Any:
    """One value, or ABSENT. A row of a list is there even when it is empty, as is a list or object that is given."""
    state = typed.get(path + IS, "")
    if state == NULL and one.nullable:
        return None
    if one.kind == "array" and one.item:
        rows = rows_of(typed, path) if state == GIVEN or one.required or row else 0
        found = [read_one(one.item, below(path, at), typed, errors, True) for at in range(rows)]
        return found if found or state == GIVEN or row else ABSENT
    if one.kind == "object":
        inside = read_parts(one.parts, path, typed, errors) if state == GIVEN or one.required or row else {}
        return inside if inside or state == GIVEN or row else ABSENT
    text = typed.get(path, "")
    if not text.strip():
        return text if row else ABSENT
    try:
        return value_of(one, text)
    except (ValueError, RecursionError):
        errors[path] = f"Not valid JSON. Expected {one.type}, e.g. {'[]' if 'array' in one.type else '{}'}."
        return ABSENT


def rows_of(typed: Typed, path: str) -> int:
    text = typed.get(path + ROWS, "")
    return min(int(text), MOST_ROWS) if text.isascii() and text.isdigit() and len(text) < 6 else 0


def value_of(one: Parameter, text: str) -> Any:
    """A typed value; a text that is none of its kind is passed on as it is, for the tool to refuse.

    Raises ValueError or RecursionError for text that is to be JSON and is not.
    """
    match one.kind:
        case "integer":
            return int(text) if INTEGER.fullmatch(text.strip()) else text
        case "number":
            try:
                return json.loads(text, parse_constant=no_constant)
            except (ValueError, RecursionError):
                return text
        case "boolean":
            return {"true": True, "false": False}.get(text, text)
        case "choice":
            return dict(zip(one.options, one.values, strict=True)).get(text, text)
        case "json":
            return json.loads(text, parse_constant=no_constant)
        case "long":
            return text.replace("\r\n", "\n").replace("\r", "\n")  # as browsers end the lines of a text box
        case "text" if one.format == "date-time" and PICKED.fullmatch(text):
            return f"{text}:00Z"
    return text.replace("\r", "").replace("\n", "")  # which a field of one line leaves out


def no_constant(name: str) -> None:
    raise ValueError(f"{name} is not JSON")


def as_typed(known: Iterable[Parameter], arguments: Any) -> dict[str, str]:
    """What to type for these arguments, as far as fields can say it."""
    typed: dict[str, str] = {}
    write_parts(known, "", arguments, typed)
    return typed


def write_parts(known: Iterable[Parameter], path: str, given: Any, typed: dict[str, str]) -> None:
    for each in known:
        if isinstance(given, dict) and each.name in given:
            write_one(each, below(path, each.name), given[each.name], typed)


def write_one(one: Parameter, path: str, value: Any, typed: dict[str, str]) -> None:
    if value is None:
        typed[path + IS] = NULL if one.nullable else ""
    elif one.kind == "array" and one.item:
        if isinstance(value, list):
            typed[path + IS], typed[path + ROWS] = GIVEN, str(len(value))
            for at, inner in enumerate(value):
                write_one(one.item, below(path, at), inner, typed)
    elif one.kind == "object":
        if isinstance(value, dict):
            typed[path + IS] = GIVEN
            write_parts(one.parts, path, value, typed)
    else:
        typed[path] = text_of(one, value)


def text_of(one: Parameter, value: Any) -> str:
    if isinstance(value, str) and one.kind != "json":
        picked = value.removesuffix(":00Z")
        return picked if one.format == "date-time" and picked != value and PICKED.fullmatch(picked) else value
    return json.dumps(value, indent=2 if one.kind == "json" else None, ensure_ascii=False)


def with_row(typed: Typed, path: str) -> dict[str, str]:
    """With one more, empty row at the end of a list."""
    return {**typed, path + IS: GIVEN, path + ROWS: str(min(rows_of(typed, path) + 1, MOST_ROWS))}


def without_row(typed: Typed, path: str) -> dict[str, str]:
    """Without this row of a list, those after it one place further up."""
    of, _, at = path.rpartition("/")
    gone = parse_digits(at)
    if gone is None or gone >= rows_of(typed, of):
        return dict(typed)
    kept: dict[str, str] = {}
    for key, text in typed.items():
        head, found, tail = key.partition(f"{of}/")
        number = re.match(r"([0-9]{1,9})(?=$|[/#])", tail) if found and not head else None
        if number is None or int(number[1]) < gone:
            kept[key] = text
        elif int(number[1]) > gone:
            kept[f"{of}/{int(number[1]) - 1}{tail[number.end() :]}"] = text
    return {**kept, of + ROWS: str(rows_of(typed, of) - 1)}
