"""Conversion of form input, by path, to arguments and back.

A path is `labels/0` or `address/street`. The input has the value under the path itself, whether it is given at all
under the path and `#is` ("null", "given" or nothing), and the number of list rows under the path and `#rows`.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Mapping
from typing import Any

from prove_web.core.parse_int import parse_digits

from .parameters import Parameter

IS, ROWS = "#is", "#rows"
NULL, GIVEN = "null", "given"
MOST_ROWS = 200
PICKED = re.compile(r"\d{4}-\d\d-\d\dT\d\d:\d\d", re.ASCII)  # the format of browsers' date and time fields
INTEGER = re.compile(r"[+-]?[0-9]{1,40}", re.ASCII)
ABSENT: Any = object()
Typed = Mapping[str, str]


def join_path(path: str, name: object) -> str:
    """Return the path of a part; characters of its name that have a meaning in paths are escaped."""
    text = str(name).replace("~", "~0").replace("/", "~1").replace("#", "~2")
    return f"{path}/{text}" if path else text


def read(known: Iterable[Parameter], typed: Typed) -> tuple[dict[str, Any], dict[str, str]]:
    """Return the entered arguments, and the errors by path. An empty field is an omitted argument."""
    errors: dict[str, str] = {}
    return read_parts(known, "", typed, errors), errors


def read_parts(known: Iterable[Parameter], path: str, typed: Typed, errors: dict[str, str]) -> dict[str, Any]:
    given = {each.name: read_one(each, join_path(path, each.name), typed, errors) for each in known}
    return {name: value for name, value in given.items() if value is not ABSENT}


def read_one(one: Parameter, path: str, typed: Typed, errors: dict[str, str], row: bool = False) -> Any:
    """Return one value, or ABSENT.

    An empty row of a list is a value, as is a list or object that is marked as given.
    """
    state = typed.get(path + IS, "")
    if state == NULL and one.nullable:
        return None
    if one.kind == "array" and one.item:
        rows = rows_of(typed, path) if state == GIVEN or one.required or row else 0
        found = [read_one(one.item, join_path(path, at), typed, errors, True) for at in range(rows)]
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
    """Return an entered value; text of another type is passed on unchanged, for the tool to refuse.

    Raises ValueError or RecursionError for invalid text of a JSON parameter.
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
            return text.replace("\r\n", "\n").replace("\r", "\n")  # as browsers end the lines of a text area
        case "text" if one.format == "date-time" and PICKED.fullmatch(text):
            return f"{text}:00Z"
    return text.replace("\r", "").replace("\n", "")  # which a single-line field drops


def no_constant(name: str) -> None:
    raise ValueError(f"{name} is not JSON")


def as_typed(known: Iterable[Parameter], arguments: Any) -> dict[str, str]:
    """Return the form input for these arguments, as far as fields can represent them."""
    typed: dict[str, str] = {}
    write_parts(known, "", arguments, typed)
    return typed


def write_parts(known: Iterable[Parameter], path: str, given: Any, typed: dict[str, str]) -> None:
    for each in known:
        if isinstance(given, dict) and each.name in given:
            write_one(each, join_path(path, each.name), given[each.name], typed)


def write_one(one: Parameter, path: str, value: Any, typed: dict[str, str]) -> None:
    if value is None:
        typed[path + IS] = NULL if one.nullable else ""
    elif one.kind == "array" and one.item:
        if isinstance(value, list):
            typed[path + IS], typed[path + ROWS] = GIVEN, str(len(value))
            for at, inner in enumerate(value):
                write_one(one.item, join_path(path, at), inner, typed)
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
    """Add an empty row to the end of a list."""
    return {**typed, path + IS: GIVEN, path + ROWS: str(min(rows_of(typed, path) + 1, MOST_ROWS))}


def without_row(typed: Typed, path: str) -> dict[str, str]:
    """Remove a row of a list, and move those after it one place up."""
    of, _, at = path.rpartition("/")
    gone = parse_digits(at)
    if gone is None or gone >= rows_of(typed, of):
        return dict(typed)
    remaining: dict[str, str] = {}
    for key, text in typed.items():
        head, found, tail = key.partition(f"{of}/")
        number = re.match(r"([0-9]{1,9})(?=$|[/#])", tail) if found and not head else None
        if number is None or int(number[1]) < gone:
            remaining[key] = text
        elif int(number[1]) > gone:
            remaining[f"{of}/{int(number[1]) - 1}{tail[number.end() :]}"] = text
    return {**remaining, of + ROWS: str(rows_of(typed, of) - 1)}
