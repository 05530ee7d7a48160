"""What a tool's result tells, read off its type: the ids it gives, in which rows, and how a row is called in words."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import cache, partial
from string import Formatter
from typing import Annotated, Any, NewType, get_args, get_origin, get_type_hints

from mcp_servers.catalogue import TOOLS
from mcp_servers.kit.server import ids_in


@dataclass(frozen=True)
class Found:
    """An id that a result gave: its type, and the label of the row it names ("" when the result has none)."""

    type: str
    id: str
    label: str = ""


@dataclass(frozen=True)
class Row:
    """A row of a result with an id of its own: the id's type, the id and the row's fields.

    `group` is the list that the row stands in, of the row alone where it stands in none. `path` are the keys and
    positions that lead to the row from the top of the result, as in ("cards", 0).
    """

    type: str
    id: str
    fields: dict[str, Any]
    group: list[Any]
    path: tuple[str | int, ...] = ()


def found_in(tool: str, result: Any) -> list[Found]:
    """The ids in a tool's result, in the order they stand there, each once."""
    return list(dict.fromkeys(walk(TOOLS[tool][1].result_type, result)))


def walk(hint: Any, value: Any) -> Iterator[Found]:
    hint = bare(hint)
    if value is None:
        return
    if isinstance(hint, NewType):
        yield Found(hint.__name__, value)
    elif dataclasses.is_dataclass(hint) and isinstance(value, dict):
        for name, part in parts_with_ids(hint):  # type: ignore[arg-type]
            if name == "id" and isinstance(part, NewType):
                yield Found(part.__name__, value["id"], label(getattr(hint, "__label__", ""), value))
            else:
                yield from walk(part, value.get(name))
    elif isinstance(value, list):
        for element in value:
            yield from walk(element_type(hint), element)
    else:
        for part in get_args(hint):
            if part is not type(None):
                yield from walk(part, value)
                break


def rows_in(tool: str, result: Any) -> Iterator[Row]:
    """Yield the rows of a tool's result whose own field `id` has an id type, outer rows before those inside them."""
    return walk_rows(TOOLS[tool][1].result_type, result, None, ())


def walk_rows(hint: Any, value: Any, group: list[Any] | None, path: tuple[str | int, ...]) -> Iterator[Row]:
    """Yield the rows in a value of this type, which stands in `group` at `path`."""
    hint = bare(hint)
    if isinstance(value, list):
        inside = element_type(hint)
        for place, element in enumerate(value):
            yield from walk_rows(inside, element, value, (*path, place))
    elif isinstance(value, dict) and not dataclasses.is_dataclass(hint):
        for part in get_args(hint):
            if dataclasses.is_dataclass(bare(part)):
                yield from walk_rows(part, value, group, path)
                break
    elif isinstance(value, dict):
        parts = parts_with_ids(hint)
        own = next((part for name, part in parts if name == "id" and isinstance(part, NewType)), None)
        if own is not None and isinstance(value.get("id"), str):
            yield Row(own.__name__, value["id"], value, group if group is not None else [value], path)
        for name, part in parts:
            if isinstance(value.get(name), dict | list):
                yield from walk_rows(part, value[name], None, (*path, name))


@cache
def types_with_rows() -> frozenset[str]:
    """Return the id types that name a row of their own in the result of some read-only tool."""
    reads = [tool for _, tool in TOOLS.values() if not tool.writes]
    return frozenset(name for tool in reads for name in own_types(tool.result_type))


def own_types(hint: Any) -> Iterator[str]:
    """Yield the types of the ids that are the field `id` of a row, however deep in a type."""
    hint = bare(hint)
    inside = [("", part) for part in get_args(hint)]
    parts = parts_with_ids(hint) if dataclasses.is_dataclass(hint) else inside  # type: ignore[arg-type]
    for name, part in parts:
        if name == "id" and isinstance(part, NewType):
            yield part.__name__
        elif not isinstance(part, NewType):
            yield from own_types(part)


@cache
def parts_with_ids(kind: Any) -> tuple[tuple[str, Any], ...]:
    """The fields of a row that carry ids, however deep, with their types."""
    return tuple((name, bare(part)) for name, part in hints(kind).items() if any(ids_in(part)))


def bare(hint: Any) -> Any:
    """A type without Annotated around it."""
    return bare(get_args(hint)[0]) if get_origin(hint) is Annotated else hint


def element_type(hint: Any) -> Any:
    """What a tuple or list holds; also inside a union with None."""
    if get_origin(hint) in (tuple, list):
        return get_args(hint)[0]
    return next((element_type(part) for part in get_args(hint) if get_origin(bare(part)) in (tuple, list)), None)


hints: Callable[[Any], dict[str, Any]] = cache(partial(get_type_hints, include_extras=True))


def label(template: str, row: dict[str, Any]) -> str:
    """The words for a row; "" when it lacks a field they need."""
    names = [name for _, name, _, _ in Formatter().parse(template) if name]
    return template.format(**row) if names and all(row.get(name) not in (None, "") for name in names) else ""


def fields_in(hint: Any) -> frozenset[str]:
    """The names of all fields of a result's type, however deep."""
    hint = bare(hint)
    if dataclasses.is_dataclass(hint):
        own = hints(hint)
        return frozenset(own).union(*map(fields_in, own.values()))
    return frozenset().union(*map(fields_in, get_args(hint)))


def values_in(result: Any) -> Iterator[tuple[str, Any]]:
    """Every field name with each plain value under it, however deep."""
    if isinstance(result, dict):
        for name, value in result.items():
            if isinstance(value, str | int):
                yield name, value
            yield from values_in(value)
    elif isinstance(result, list):
        for element in result:
            yield from values_in(element)
