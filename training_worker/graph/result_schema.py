"""The structure of tool results, read from their types: the ids, the rows that have them, and labels for rows."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import cache, cached_property, partial
from string import Formatter
from typing import Annotated, Any, NamedTuple, NewType, get_args, get_origin, get_type_hints

from mcp_servers.catalogue import TOOLS
from mcp_servers.core.server import ids_in


class EntityRef(NamedTuple):
    """An id in a result: its type, and the label of the row it names ("" if the result has none)."""

    type: str
    id: str
    label: str = ""


class Row(NamedTuple):
    """A row of a result with an id of its own: the id's type, the id and the row's fields.

    `group` is the list that contains the row; a row outside lists is a group of its own. `path` has the keys and
    positions that lead from the top of the result to the row, as in ("cards", 0).
    """

    type: str
    id: str
    fields: dict[str, Any]
    group: list[Any]
    path: tuple[str | int, ...] = ()


Place = tuple[str, str, str, dict[str, Any]]
"""An id's type, the id, the template of its row's label, and the row; "" and nothing for an id that names no row."""


@dataclass(frozen=True, eq=False)
class Shape:
    """The structure of a type's values, computed once; `hint` is the type without Annotated around it."""

    hint: Any

    @cached_property
    def id_type(self) -> str:
        """Return the name of an id type; "" for any other type."""
        return self.hint.__name__ if isinstance(self.hint, NewType) else ""

    @cached_property
    def parts(self) -> tuple[tuple[str, Shape], ...] | None:
        """Return the fields of a row that contain ids, at any depth; None for a type that is not a row."""
        if not dataclasses.is_dataclass(self.hint):
            return None
        return tuple((name, Shape(part)) for name, part in parts_with_ids(self.hint))  # type: ignore[arg-type]

    @cached_property
    def own_id(self) -> str:
        """Return the type of a row's own id; "" if it has none."""
        return next((part.id_type for name, part in self.parts or () if name == "id"), "")

    @cached_property
    def label(self) -> str:
        return getattr(self.hint, "__label__", "")

    @cached_property
    def element(self) -> Shape:
        """Return the element type of this list."""
        return Shape(strip_annotated(element_type(self.hint)))

    @cached_property
    def inside(self) -> Shape | None:
        """Return the type that is in a union with None, or else the first type argument."""
        return next((Shape(strip_annotated(part)) for part in get_args(self.hint) if part is not type(None)), None)

    @cached_property
    def row(self) -> Shape | None:
        """Return the first row among the type arguments."""
        parts = map(strip_annotated, get_args(self.hint))
        return next((Shape(part) for part in parts if dataclasses.is_dataclass(part)), None)


@cache
def shape_of_result(tool: str) -> Shape:
    return Shape(strip_annotated(TOOLS[tool][1].result_type))


def find_entity_refs(tool: str, result: Any) -> list[EntityRef]:
    """Return the ids in a tool's result with types and labels, in order of occurrence, each once."""
    found = list[Place]()
    collect_ids(shape_of_result(tool), result, found)
    return list(dict.fromkeys(EntityRef(type, id, label(template, row)) for type, id, template, row in found))


def find_ids(tool: str, result: Any) -> list[tuple[str, str]]:
    """Return the types and ids in a tool's result, in order of occurrence, each once."""
    found = list[Place]()
    collect_ids(shape_of_result(tool), result, found)
    return list(dict.fromkeys(place[:2] for place in found))


def collect_ids(shape: Shape, value: Any, found: list[Place]) -> None:
    """Append the ids in a value of this shape to `found`."""
    if value is None:
        return
    if shape.id_type:
        found.append((shape.id_type, value, "", {}))
    elif shape.parts is not None and isinstance(value, dict):
        for name, part in shape.parts:
            if name == "id" and part.id_type:
                found.append((part.id_type, value["id"], shape.label, value))
            elif name in value:
                collect_ids(part, value[name], found)
    elif isinstance(value, list):
        for element in value:
            collect_ids(shape.element, element, found)
    elif shape.inside is not None:
        collect_ids(shape.inside, value, found)


def rows_in(tool: str, result: Any) -> list[Row]:
    """Return the rows of a tool's result whose own field `id` has an id type, outer rows before inner ones."""
    rows = list[Row]()
    collect_rows(shape_of_result(tool), result, None, (), rows)
    return rows


def collect_rows(
    shape: Shape, value: Any, group: list[Any] | None, path: tuple[str | int, ...], rows: list[Row]
) -> None:
    """Append the rows in a value of this shape, which is in `group` at `path`, to `rows`."""
    if isinstance(value, list):
        for place, element in enumerate(value):
            collect_rows(shape.element, element, value, (*path, place), rows)
    elif isinstance(value, dict) and shape.parts is None:
        if shape.row is not None:
            collect_rows(shape.row, value, group, path, rows)
    elif isinstance(value, dict):
        if shape.own_id and isinstance(value.get("id"), str):
            rows.append(Row(shape.own_id, value["id"], value, [value] if group is None else group, path))
        for name, part in shape.parts or ():
            if isinstance(value.get(name), dict | list):
                collect_rows(part, value[name], None, (*path, name), rows)


@cache
def types_with_rows() -> frozenset[str]:
    """Return the id types that are a row's own id in the result of some read-only tool."""
    reads = [tool for _, tool in TOOLS.values() if not tool.writes]
    return frozenset(name for tool in reads for name in own_types(tool.result_type))


def own_types(hint: Any) -> Iterator[str]:
    """Yield the types of the ids that are the field `id` of a row, at any depth of a type."""
    hint = strip_annotated(hint)
    inside = [("", part) for part in get_args(hint)]
    parts = parts_with_ids(hint) if dataclasses.is_dataclass(hint) else inside  # type: ignore[arg-type]
    for name, part in parts:
        if name == "id" and isinstance(part, NewType):
            yield part.__name__
        elif not isinstance(part, NewType):
            yield from own_types(part)


@cache
def parts_with_ids(kind: Any) -> tuple[tuple[str, Any], ...]:
    """Return the fields of a row that contain ids, at any depth, with their types."""
    return tuple((name, strip_annotated(part)) for name, part in hints(kind).items() if any(ids_in(part)))


def strip_annotated(hint: Any) -> Any:
    """Return a type without Annotated around it."""
    return strip_annotated(get_args(hint)[0]) if get_origin(hint) is Annotated else hint


def element_type(hint: Any) -> Any:
    """Return the element type of a tuple or list, also inside a union with None."""
    if get_origin(hint) in (tuple, list):
        return get_args(hint)[0]
    return next(
        (element_type(part) for part in get_args(hint) if get_origin(strip_annotated(part)) in (tuple, list)), None
    )


hints: Callable[[Any], dict[str, Any]] = cache(partial(get_type_hints, include_extras=True))


def label(template: str, row: dict[str, Any]) -> str:
    """Return the label of a row; "" if the row lacks a field that the template needs."""
    names = names_in(template)
    return template.format(**row) if names and all(row.get(name) not in (None, "") for name in names) else ""


@cache
def names_in(template: str) -> tuple[str, ...]:
    """Return the names of the fields that a label template needs."""
    return tuple(name for _, name, _, _ in Formatter().parse(template) if name)


def fields_in(hint: Any) -> frozenset[str]:
    """Return the names of all fields of a result's type, at any depth."""
    hint = strip_annotated(hint)
    if dataclasses.is_dataclass(hint):
        own = hints(hint)
        return frozenset(own).union(*map(fields_in, own.values()))
    return frozenset().union(*map(fields_in, get_args(hint)))


def values_in(result: Any) -> Iterator[tuple[str, Any]]:
    """Yield every field name with each plain value under it, at any depth."""
    if isinstance(result, dict):
        for name, value in result.items():
            if isinstance(value, str | int):
                yield name, value
            yield from values_in(value)
    elif isinstance(result, list):
        for element in result:
            yield from values_in(element)
