"""What a tool's result tells, read off its type: the ids it gives, in which rows, and how a row is called in words."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import cache, cached_property, partial
from string import Formatter
from typing import Annotated, Any, NamedTuple, NewType, get_args, get_origin, get_type_hints

from mcp_servers.catalogue import TOOLS
from mcp_servers.kit.server import ids_in


class EntityRef(NamedTuple):
    """An id that a result gave: its type, and the label of the row it names ("" when the result has none)."""

    type: str
    id: str
    label: str = ""


class Row(NamedTuple):
    """A row of a result with an id of its own: the id's type, the id and the row's fields.

    `group` is the list that the row stands in, of the row alone where it stands in none. `path` are the keys and
    positions that lead to the row from the top of the result, as in ("cards", 0).
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
    """What a type tells of its values, found out once: `hint` is the type without Annotated around it."""

    hint: Any

    @cached_property
    def id_type(self) -> str:
        """The name of the type of an id; "" for any other type."""
        return self.hint.__name__ if isinstance(self.hint, NewType) else ""

    @cached_property
    def parts(self) -> tuple[tuple[str, Shape], ...] | None:
        """The fields of a row that carry ids, however deep; None for a type that is no row."""
        if not dataclasses.is_dataclass(self.hint):
            return None
        return tuple((name, Shape(part)) for name, part in parts_with_ids(self.hint))  # type: ignore[arg-type]

    @cached_property
    def own_id(self) -> str:
        """The type of a row's own id; "" where it has none."""
        return next((part.id_type for name, part in self.parts or () if name == "id"), "")

    @cached_property
    def label(self) -> str:
        return getattr(self.hint, "__label__", "")

    @cached_property
    def element(self) -> Shape:
        """What a list of this type holds."""
        return Shape(bare(element_type(self.hint)))

    @cached_property
    def inside(self) -> Shape | None:
        """What is in a union with None, or else the first thing that the type is made of."""
        return next((Shape(bare(part)) for part in get_args(self.hint) if part is not type(None)), None)

    @cached_property
    def row(self) -> Shape | None:
        """The first row that the type is made of."""
        parts = map(bare, get_args(self.hint))
        return next((Shape(part) for part in parts if dataclasses.is_dataclass(part)), None)


@cache
def shape_of_result(tool: str) -> Shape:
    return Shape(bare(TOOLS[tool][1].result_type))


def find_entity_refs(tool: str, result: Any) -> list[EntityRef]:
    """The ids in a tool's result, in the order they stand there, each once."""
    found = list[Place]()
    collect_ids(shape_of_result(tool), result, found)
    return list(dict.fromkeys(EntityRef(type, id, label(template, row)) for type, id, template, row in found))


def find_ids(tool: str, result: Any) -> list[tuple[str, str]]:
    """The types of the ids in a tool's result with the ids, in the order they stand there, each once."""
    found = list[Place]()
    collect_ids(shape_of_result(tool), result, found)
    return list(dict.fromkeys(place[:2] for place in found))


def collect_ids(shape: Shape, value: Any, found: list[Place]) -> None:
    """Add the ids in a value of this shape to those that were found."""
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
    """The rows of a tool's result whose own field `id` has an id type, outer rows before those inside them."""
    rows = list[Row]()
    collect_rows(shape_of_result(tool), result, None, (), rows)
    return rows


def collect_rows(
    shape: Shape, value: Any, group: list[Any] | None, path: tuple[str | int, ...], rows: list[Row]
) -> None:
    """Add the rows in a value of this shape, which stands in `group` at `path`, to those that were found."""
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
    names = names_in(template)
    return template.format(**row) if names and all(row.get(name) not in (None, "") for name in names) else ""


@cache
def names_in(template: str) -> tuple[str, ...]:
    """The names of the fields that a label needs."""
    return tuple(name for _, name, _, _ in Formatter().parse(template) if name)


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
