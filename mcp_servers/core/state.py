"""Session state as a value: tables of frozen rows, shared with every other session of the same world.

A table is the seeded rows, shared, plus this session's changes (None: removed). Copying a table copies the changes
only, so a fork costs the same in a small world and a large one, and a draft that is dropped leaves no trace.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from datetime import datetime
from functools import cache
from hashlib import blake2b
from operator import attrgetter
from types import MappingProxyType
from typing import (
    Any,
    ClassVar,
    Generic,
    Literal,
    Protocol,
    Self,
    TypeVar,
    cast,
    dataclass_transform,
    get_args,
    get_origin,
    get_type_hints,
)

from pydantic import TypeAdapter

from .errors import NotFound
from .rng import derive_id

MODULUS = 1 << 128
PENDING = 32
new = object.__new__


@dataclass_transform(frozen_default=True, kw_only_default=True)
class Entity:
    """One kind of row. A change makes a new row; older states keep the old one.

    `__label__` says in words which row is meant, from its own fields: "the {kind} account".
    """

    __label__: ClassVar[str] = ""

    def __init_subclass__(cls) -> None:
        dataclass(frozen=True, kw_only=True)(cls)
        cls.__init__ = quick_init(cls)  # type: ignore[method-assign]

    @classmethod
    def from_row(cls, row: Any, **more: Any) -> Self:
        """Return an entity with the fields that `row` has under the same names, and `more`. Raises TypeError."""
        kinds: Any = cls, type(row)
        return cls(**{name: getattr(row, name) for name in shared_fields(*kinds) if name not in more}, **more)


@cache
def shared_fields(kind: Any, other: Any) -> tuple[str, ...]:
    """Return the fields of a kind of entity that `other` has too, as fields or properties."""
    names = {field.name for field in dataclasses.fields(other)} if dataclasses.is_dataclass(other) else set[str]()
    return tuple(field.name for field in dataclasses.fields(kind) if field.name in names or hasattr(other, field.name))


def quick_init(cls: Any) -> Any:
    """Return an `__init__` for a frozen dataclass, without a guarded assignment for each field."""
    known = {field.name: field.default for field in dataclasses.fields(cls)}
    names, defaults = known.keys(), {name: value for name, value in known.items() if value is not dataclasses.MISSING}

    def init(self: Any, **values: Any) -> None:
        fields = self.__dict__
        fields.update(defaults)
        fields.update(values)
        if fields.keys() != names:
            wrong = ", ".join(sorted(names ^ fields.keys()))
            raise TypeError(f"{cls.__name__} takes each of its fields once, and no other: {wrong}.")

    return init


class HasId(Protocol):
    @property
    def id(self) -> Any: ...


Id = TypeVar("Id", bound=str)
Row = TypeVar("Row", bound=HasId)
S = TypeVar("S", bound="State")
Change = tuple[Any, Any]


class Base:
    """The seeded rows of one table, their order, their indexes and the sum of their hashes."""

    def __init__(self, rows: dict[str, Any], index: tuple[str, ...], sum: int):
        self.rows, self.sum = rows, sum
        self.position = {id: place for place, id in enumerate(rows)}
        self.index = {name: by_value(rows.values(), name) for name in index}


def by_value(rows: Iterable[Any], name: str) -> dict[Any, list[Any]]:
    """Return rows by the value of a field; a row with a tuple there is listed under each of its elements."""
    found: dict[Any, list[Any]] = {}
    for row in rows:
        value = getattr(row, name)
        for one in value if isinstance(value, tuple) else (value,):
            found.setdefault(one, []).append(row)
    return found


@dataclass
class TableMetadata:
    """Properties that all copies of one table share."""

    prefix: str
    noun: str
    index: tuple[str, ...]
    width: int
    seed: int = 0
    name: str = ""
    kind: Any = object


class Table(Generic[Id, Row]):
    """Rows of one type by id, in the order of their creation."""

    __slots__ = ("about", "base", "cause", "changes", "index", "shares", "tally", "tried")

    def __init__(self, prefix: str, noun: str, index: tuple[str, ...] = (), width: int = 4):
        self.about = TableMetadata(prefix, noun, index, width)
        self.base = Base({}, index, 0)
        self.changes: dict[str, Row | None] = {}
        self.index: dict[str, dict[Any, list[Row]]] = {}  # index of the changed rows by field, built on first use
        # The sum of the hashes of all rows, except for the pending pairs of an old and a new row. Both are one value,
        # because one thread may count the pending pairs while another copies the table.
        self.tally: tuple[int, list[Change]] = (0, [])
        self.shares = False  # whether another copy may use the same `changes` and pending pairs
        self.cause, self.tried = "seed", 0

    @property
    def prefix(self) -> str:
        return self.about.prefix

    @property
    def width(self) -> int:
        """Digits of an id."""
        return self.about.width

    @width.setter
    def width(self, digits: int) -> None:
        self.about.width = digits

    def __getitem__(self, id: Id) -> Row:
        changes = self.changes
        row: Row | None = changes[id] if id in changes else self.base.rows.get(id)
        if row is None:
            raise NotFound(f"There is no {self.about.noun} {id}.")
        return row

    def get(self, id: str) -> Row | None:
        """Return the row, or None."""
        changes = self.changes
        if id in changes:
            return changes[id]
        row: Row | None = self.base.rows.get(id)
        return row

    def __contains__(self, id: str) -> bool:
        return self.get(id) is not None

    def __iter__(self) -> Iterator[Row]:
        return self.current() if self.changes else iter(self.base.rows.values())

    def current(self) -> Iterator[Row]:
        """Yield the rows of a table with changes."""
        rows, changes = self.base.rows, self.changes
        for id, row in rows.items():
            current = changes.get(id, row)
            if current is not None:
                yield current
        for id, new in changes.items():
            if new is not None and id not in rows:
                yield new

    def __len__(self) -> int:
        rows = self.base.rows
        return len(rows) + sum((row is not None) - (id in rows) for id, row in self.changes.items())

    def where(self, **wanted: Any) -> list[Row]:
        """Return the rows with these field values, oldest first; in a large table the first field must be indexed.

        A field that holds a tuple matches each of its elements.
        """
        rest = iter(wanted.items())
        name, value = next(rest)
        found = self.indexed(name, value) if name in self.base.index else filter_rows(self, name, value)
        for another, value in rest:
            found = filter_rows(found, another, value)
        return found

    def indexed(self, name: str, value: Any) -> list[Row]:
        """Return the rows with this value in an indexed field, oldest first."""
        rows: list[Row] = self.base.index[name].get(value, [])
        changes = self.changes
        if not changes:
            return rows.copy()
        found = [row for row in rows if row.id not in changes]
        if name not in self.index:
            self.index[name] = by_value([row for row in changes.values() if row is not None], name)
        changed = self.index[name].get(value)
        if changed:
            found += changed
            position, last = self.base.position, len(self.base.rows)
            if any(row.id in position for row in changed):
                found.sort(key=lambda row: position.get(row.id, last))
        return found

    def new_id(self) -> Id:
        """Return an id that no row of this table has or had."""
        id, self.tried = derive_id(
            self.about.prefix, self.about.width, self.about.seed, self.cause, _Taken(self), self.tried
        )
        return cast(Id, id)

    def put(self, row: Row) -> Row:
        """Add the row, or replace the one with the same id."""
        id = row.id
        self.write(id, self.get(id), row)
        return row

    def write(self, id: str, old: Row | None, row: Row | None) -> None:
        """Replace the old row by a row or by None. Data shared with other copies is copied before the first write."""
        if self.shares:
            if len(self.tally[1]) > PENDING:
                self.sum  # noqa: B018
            counted, pending = self.tally
            self.changes, self.tally, self.shares = self.changes.copy(), (counted, pending.copy()), False
        self.tally[1].append((old, row))
        self.changes[id] = row
        self.index = {}

    def change(self, id: Id, **values: Any) -> Row:
        """Change these fields of a row and return the new row. Raises TypeError for an unknown field."""
        old: Any = self[id]
        names = old.__dataclass_fields__
        if not values.keys() <= names.keys():
            raise TypeError(f"A {self.about.noun} has no field {', '.join(sorted(values.keys() - names.keys()))}.")
        row: Row = new(type(old))
        fields, before = row.__dict__, old.__dict__
        for name in names:
            fields[name] = before[name]
        fields.update(values)
        self.write(row.id, old if row.id == id else self.get(row.id), row)
        return row

    def remove(self, id: Id) -> Row:
        row = self[id]
        self.write(id, row, None)
        return row

    @property
    def sum(self) -> int:
        """The sum of the hashes of all rows; changes since the last access are counted now."""
        counted, pending = self.tally
        if pending:
            for old, row in pending:
                counted += row_hash(self, row) if row is not None else 0
                counted -= row_hash(self, old) if old is not None else 0
            counted %= MODULUS
            self.tally = (counted, [])
        return counted

    def copy(self, cause: str = "") -> Table[Id, Row]:
        """Return a writable copy of the table for the call `cause`."""
        twin: Table[Id, Row] = new(Table)
        twin.about, twin.base, twin.changes, twin.index = self.about, self.base, self.changes, self.index
        twin.tally = self.tally
        twin.shares = self.shares = True
        twin.cause, twin.tried = cause, 0
        return twin

    def settle(self) -> None:
        """Make the current rows the seeded rows that later sessions share."""
        self.base = Base({row.id: row for row in self}, self.about.index, self.sum)
        self.changes, self.index, self.shares = {}, {}, False

    def changes_since(self, before: Table[Id, Row]) -> dict[str, Change]:
        """Return each id whose row differs, with the row before and after (None: missing)."""
        ids = dict.fromkeys([*before.changes, *self.changes])
        pairs = {id: (before.get(id), self.get(id)) for id in ids}
        return {id: pair for id, pair in pairs.items() if pair[0] is not pair[1] and pair[0] != pair[1]}


def derive_row_id(table: Table[Id, Any], mark: object) -> Id:
    """Return an id for a seeded row, derived from its mark alone, so a long table need not retry all earlier ids."""
    table.cause, table.tried = f"seed/{mark}", 0
    return table.new_id()


class _Taken:
    """The ids that a table has or had, without copying them."""

    def __init__(self, table: Table[Any, Any]):
        self.rows, self.changes = table.base.rows, table.changes

    def __contains__(self, id: object) -> bool:
        return id in self.rows or id in self.changes


def filter_rows(rows: Iterable[Row], name: str, value: Any) -> list[Row]:
    """Return the rows with this value in a field, or among the elements of the tuple there."""
    field = attrgetter(name)
    return [row for row in rows if (stored := field(row)) == value or (stored.__class__ is tuple and value in stored)]


def row_hash(table: Table[Any, Any], row: Any) -> int:
    """Return a 128-bit hash of a row, from its table's name and its JSON with the fields in order.

    It is cached on the row with the table's name, because a row may be in tables of several servers.
    """
    name = table.about.name
    cached: tuple[str, int] | None = row.__dict__.get("_hash")
    if cached is None or cached[0] != name:
        cached = (name, computed_hash(table, row))
        row.__dict__["_hash"] = cached
    return cached[1]


def computed_hash(table: Table[Any, Any], row: Any) -> int:
    """Compute the same hash from the row's current values, without the cache."""
    text = table.about.name.encode() + adapter(table.about.kind).dump_json(row)
    return int.from_bytes(blake2b(text, digest_size=16).digest(), "big")


@cache
def adapter(kind: Any) -> TypeAdapter[Any]:
    return TypeAdapter(kind)


def as_json(kind: Any, value: Any) -> Any:
    """Return a row or result as plain JSON values."""
    return adapter(kind).dump_python(value, mode="json")


def table(prefix: str, noun: str, *, index: tuple[str, ...] = (), width: int = 4, init: Literal[False] = False) -> Any:
    """Declare a state's table: the prefix of its ids, the noun for a row, and the fields that are indexed."""
    return field(default_factory=lambda: Table(prefix, noun, index, width), init=init)


@dataclass_transform(field_specifiers=(table,))
class Fields:
    """Base class that turns the annotations of a state into its fields."""

    def __init_subclass__(cls) -> None:
        dataclass(eq=False)(cls)


class State(Fields):
    """State of one session: a seed, a clock, and one table per type of entity."""

    seed: int
    now: datetime

    def __post_init__(self) -> None:
        for name, row_type in self.row_types().items():
            own: Table[Any, Any] = getattr(self, name)
            own.about.seed, own.about.name, own.about.kind = self.seed, name, row_type

    @classmethod
    def row_types(cls) -> Mapping[str, Any]:
        """Return the tables in order, with the type of their rows."""
        return table_types(cast(Any, cls))  # the class is hashable, but the type checker checks its instances

    def tables(self) -> dict[str, Table[Any, Any]]:
        return {name: getattr(self, name) for name in self.row_types()}

    def draft(self: S, cause: str = "", now: datetime | None = None) -> S:
        """Return a writable copy; `cause` is the call it is made for, from which new ids are derived."""
        twin, mine = new(type(self)), self.__dict__
        values = twin.__dict__
        values["seed"], values["now"] = self.seed, now or self.now
        for name in self.row_types():
            values[name] = mine[name].copy(cause)
        return twin

    def settle(self: S) -> S:
        """Make this state the seeded start of a world and return it."""
        for own in self.tables().values():
            own.settle()
        return self

    def changes_since(self, before: State) -> dict[str, dict[str, Change]]:
        """Return the rows that differ from `before`, a state of the same world, by table and id."""
        then = before.tables()
        found = {name: own.changes_since(then[name]) for name, own in self.tables().items()}
        return {name: changes for name, changes in found.items() if changes}

    def digest(self) -> str:
        """Return 32 hex digits that are equal exactly when clock and rows are; every write updates them."""
        return blake2b(f"{self.now.isoformat()},{self.tables_digest()}".encode(), digest_size=16).hexdigest()

    def tables_digest(self) -> str:
        """Return each table's sum by name: text that is equal exactly when all rows are, whatever the clock says."""
        return ",".join(f"{name}:{own.sum:x}" for name, own in self.tables().items())

    def full_digest(self) -> str:
        """Compute the digest from all rows, to check the incremental one."""
        fresh = self.draft()
        for own in fresh.tables().values():
            own.tally = (sum(computed_hash(own, row) for row in own) % MODULUS, [])
        return fresh.digest()


@cache
def table_types(kind: Any) -> Mapping[str, Any]:
    """Return the tables of a state in order, with the type of their rows."""
    hints = get_type_hints(kind)
    return MappingProxyType({name: get_args(hint)[1] for name, hint in hints.items() if get_origin(hint) is Table})
