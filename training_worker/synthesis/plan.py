"""Plans of conversations: wishes, the calls that fulfil them, and the entities that both are about."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from datetime import date, datetime
from functools import cached_property
from typing import Any, Literal

from mcp_servers.catalogue import TOOLS
from mcp_servers.core import minute_text
from mcp_servers.world import World

from ..graph.result_schema import find_ids
from .referents import Description
from .tool_results import ToolResult

ENDS = re.compile(r"(?:cancel|delete|remove|end|stop|withdraw|revoke|close|void|discard)_")
"""Names of tools that end or remove something."""
Link = Literal["opening", "fed", "enabled", "observed", "repeated", "second", "corrected"]


@dataclass(frozen=True)
class ObservedEntity:
    """An entity that an observation shows: the call, the entity's row, and the rows of its list."""

    type: str
    id: str
    call: int
    row: dict[str, Any] | None = None
    rows: tuple[dict[str, Any], ...] = ()


@dataclass(frozen=True)
class Referent:
    """The entity behind an id argument: its sighting, or None where the user says the id, and its description.

    `name` is its name in other texts, where the description says why it was chosen.
    """

    id: str
    type: str
    description: Description
    sighting: ObservedEntity | None = None
    name: str = ""


@dataclass
class PlannedCall:
    """A call that was run in the fork, with its wish and the earlier calls that show the ids in its arguments.

    `fresh` says that one of these ids was in no call before; `currency` is the entities' currency, "" if unknown.
    """

    tool: str
    arguments: dict[str, Any]
    result: ToolResult
    wish: int
    rests_on: frozenset[int]
    before: World
    after: World
    fresh: bool = False
    currency: str = ""

    @property
    def text(self) -> str:
        return self.result.text

    @property
    def writes(self) -> bool:
        return TOOLS[self.tool][1].writes

    @cached_property
    def new_ids(self) -> frozenset[str]:
        """Ids in the result that did not exist in the world before."""
        server = TOOLS[self.tool][0].name
        pairs = [pair for _, _, *pair in changed_rows(server, self.before, self.after)] if self.writes else []
        ids = {id for _, id in find_ids(self.tool, self.result.data)} if pairs else set()
        tables = self.before.sessions[server].state.tables().values()
        return frozenset(
            id
            for id in ids
            if not any(id in table for table in tables)
            and any(id in repr(new) and id not in repr(old) for old, new in pairs)
        )


@dataclass(frozen=True)
class Comparison:
    """A question about a number of several entities: their sum, or which one has most or least."""

    field: str
    kind: Literal["sum", "most", "least"]


@dataclass
class Wish:
    """One request of the user: a phrase of its tool, the words for each slot, and the calls that fulfil it.

    `calls` are positions in the plan; several where the wish is about several entities, which `each` gives by call.
    `link` is the connection with earlier wishes. `condition` is a clause that decides whether the wish is done at all,
    and `checked` its field and value in words. `comparison` is the question about several entities together.
    """

    tool: str
    phrase: str
    words: dict[str, str]
    calls: list[int]
    link: Link
    referents: dict[str, list[Referent]] = field(default_factory=dict)
    arguments: dict[str, Any] = field(default_factory=dict)
    condition: str = ""
    checked: tuple[str, str] = ("", "")
    done: bool = True
    each: dict[int, Referent] = field(default_factory=dict)
    comparison: Comparison | None = None

    def words_of(self, position: int) -> dict[str, str]:
        """Return the words for the call at a position, for a wish about several entities."""
        one = self.each[position]
        name = next(name for name, many in self.referents.items() if one in many)
        return self.words | {name: one.description.text}


@dataclass
class Plan:
    """Wishes, and the calls in the order in which they were run."""

    wishes: list[Wish]
    calls: list[PlannedCall]
    features: set[str] = field(default_factory=set)


def changed_rows(server: str, before: World, after: World) -> list[tuple[str, str, Any, Any]]:
    """Return table, id, and the rows before and after, for each row that differs on a server."""
    then, now = before.sessions[server].state, after.sessions[server].state
    return [(table, id, *pair) for table, rows in now.changes_since(then).items() for id, pair in rows.items()]


def changed_values(call: PlannedCall) -> Iterator[tuple[tuple[str, str, str], str, str]]:
    """Yield what a write changes, without times: table, id and field with the values before and after.

    For a row that it creates or removes, the values say whether the row exists.
    """
    for table, id, old, new in changed_rows(TOOLS[call.tool][0].name, call.before, call.after):
        if old is None or new is None:
            yield (table, id, ""), str(old is None), str(new is None)
            continue
        for name, value in vars(new).items():
            before = vars(old).get(name)
            if name[0] != "_" and before != value and not isinstance(value, datetime):
                yield (table, id, name), repr(before), repr(value)


def find_argument_values(call: PlannedCall) -> Iterator[tuple[str, str, str, Any]]:
    """Yield table, id, field and value of the argument values that a write stores."""
    tool = TOOLS[call.tool][1]
    given = {to_argument(value) for name, value in call.arguments.items() if name not in tool.ids} - {None}
    for table, id, old, new in changed_rows(TOOLS[call.tool][0].name, call.before, call.after):
        then, now = (vars(row) if row is not None else {} for row in (old, new))
        stored = {name: to_argument(value) for name, value in now.items() if name != "id" and value != then.get(name)}
        yield from ((table, id, name, value) for name, value in stored.items() if value in given)


def replaced_values(call: PlannedCall) -> Iterator[tuple[str, str, str, Any]]:
    """Yield table, id, field and value of what a write overwrites, with all fields of a row that it removes."""
    for table, id, old, new in changed_rows(TOOLS[call.tool][0].name, call.before, call.after):
        if old is not None:
            now = vars(new) if new is not None else {}
            before = {name: value for name, value in vars(old).items() if name[0] != "_" and value != now.get(name)}
            yield from ((table, id, name, value) for name, value in before.items())


def to_argument(value: Any) -> str | int | None:
    """Return a stored value in the form of an argument; None for anything but a text, number, day or time."""
    if isinstance(value, datetime):
        return minute_text(value)
    if isinstance(value, date):
        return value.isoformat()
    return value if isinstance(value, str | int) and not isinstance(value, bool) else None


def invalidates_reports(plan: Plan, at: int, earlier: Iterable[int]) -> bool:
    """Return whether the wish at a position makes reports of some earlier wishes untrue.

    That is so if a read would have another result now, or what a write created is changed or gone.
    """
    calls = [plan.calls[one] for one in plan.wishes[at].calls]
    if not any(call.writes for call in calls):
        return False
    replaced = {id for call in calls for _, id, _, old in replaced_values(call) if old not in (None, "", ())}
    for call in [plan.calls[one] for wish in earlier for one in plan.wishes[wish].calls]:
        if call.writes and replaced & call.new_ids:
            return True
        if not call.writes:
            then, now = (world.fork().call(call.tool, call.arguments) for world in (calls[0].before, calls[-1].after))
            if then.text != now.text:
                return True
    return False


def removes_something(call: PlannedCall) -> bool:
    """Return whether a call ends or removes something, by its tool or by an argument."""
    return bool(ENDS.match(call.tool)) or any(ENDS.match(f"{one}_") for one in call.arguments.values())


def takes_back(calls: Sequence[PlannedCall], wish: int) -> bool:
    """Return whether the wish at a position takes an earlier one back.

    It does if it restores a value that an earlier wish changed, removes what one created, or overwrites a value that
    the user gave for one.
    """
    writes = [call for call in calls if call.writes and call.wish <= wish]
    given = {place for call in writes if call.wish < wish for place in find_argument_values(call)}
    replaced = (one for call in writes if given and call.wish == wish for one in replaced_values(call))
    if any((*place, to_argument(old)) in given for *place, old in replaced):
        return True
    made = {id for call in writes if call.wish < wish for id in call.new_ids}
    if any(
        call.wish == wish and removes_something(call) and made & set(map(str, call.arguments.values()))
        for call in writes
    ):
        return True
    found = [(call.wish, one) for call in writes for one in changed_values(call)] if len(writes) > 1 else []
    taken = {(place, old) for at, (place, old, _) in found if at < wish}
    return any(at == wish and (place, new) in taken for at, (place, _, new) in found)
