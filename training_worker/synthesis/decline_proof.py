"""Search for another way to serve a request whose tool is hidden: proof, within bounds, that declining is correct."""

from __future__ import annotations

import json
import re
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, fields, is_dataclass
from datetime import datetime
from itertools import islice, product
from typing import Any, Protocol, TypeAlias

import networkx as nx

from mcp_servers.catalogue import TOOLS
from mcp_servers.core import Tool
from mcp_servers.core.arguments import MAX_TEXT
from mcp_servers.core.state import as_json
from mcp_servers.world import World

from ..core.trajectory import ToolCall
from ..dataflow.provenance import instant_of, is_date, single
from ..graph.explicit_edges import as_taken
from ..graph.result_schema import find_entity_refs
from ..graph.sampler import Context, contexts, unwrap, widest
from .plan import Plan

BUDGET = 3_000  # calls per search
DEPTH = 3  # calls per path
GROUNDINGS = 40  # argument sets of a tool's first calls
CONTINUATIONS = 8  # argument sets of a tool with ids from an earlier call of the path
FOLLOWED = 6  # states reached by one tool that are followed further
EXTRAS = 3  # values per optional parameter
WIDTHS = {0: 1, 1: GROUNDINGS, 2: 12, 3: 6, 4: 4}  # values per required parameter, by the number of such parameters
TOGETHER = 8  # reads whose results may serve a request together
LEAST_NUMBER = 10  # smaller ones occur everywhere
DISTINCTIVE_NUMBER = 1_000  # smaller ones count only under a similar field name
CODE = re.compile(r"[a-z][a-z _-]{0,23}")  # a choice such as "open" counts only under a similar field name
SERVED = "Another tool serves this"
EXHAUSTED = "Whether another tool serves this was not found out within the calls of a search."
UNSEARCHABLE = "The request cannot be searched"
SLOT = re.compile(r"\{[^{}]*\}")
QUANTITY = re.compile(r"\bhow (?:much|many|long|far|deep|high|low|big|large|small|old|full|heavy|strong|warm)\b")
ALL_OF_IT = re.compile(
    r"\b(?:details?|everything|all|full|whole|entire|complete|about|more|open|read|look|show|see|particulars|overview|"
    r"info|information|which|who|whom|whose|where's|go through|contents?|what does|list|way|route|"
    r"describe|explain|navigate|steps?)\b"
)
MOMENT = re.compile(r"\b(?:when|what time|what day|which day|what date|how soon)\b")

Scalar: TypeAlias = str | float | bool
Key: TypeAlias = tuple[str, str, Scalar]
Leaf: TypeAlias = tuple[str, str, Scalar]
"""A plain value of a result: the id of its entity ("" where none is named), its field and the value."""
Effect: TypeAlias = tuple[str, ...]
Ids: TypeAlias = Mapping[str, Sequence[str]]


class HiddenCall(Protocol):
    """The call that would serve the request if its tool were offered."""

    @property
    def tool(self) -> str: ...

    @property
    def arguments(self) -> dict[str, Any]: ...


class Unsearchable(Exception):
    """A request for which no search is possible; the message says why."""


@dataclass(frozen=True)
class Search:
    """The result of a search: whether offered tools serve the request, and by which calls.

    `calls` is the number of calls that ran; `exhausted` says that the budget ended before all were tried.
    """

    served: bool
    by: tuple[ToolCall, ...] = ()
    calls: int = 0
    exhausted: bool = False


@dataclass
class Budget:
    """The calls that a search may still run."""

    limit: int
    spent: int = 0
    exhausted: bool = False

    def take(self) -> bool:
        """Count one more call; return whether it may run."""
        if self.spent >= self.limit:
            self.exhausted = True
            return False
        self.spent += 1
        return True

    def result(self, by: tuple[ToolCall, ...] | None) -> Search:
        """Return the result of a search that found a path, or None."""
        return Search(by is not None, by or (), self.spent, self.exhausted and by is None)


def search(
    opening: World,
    tools: Sequence[str],
    hidden: HiddenCall,
    graph: nx.DiGraph,
    contexts: Mapping[str, Context],
    known: frozenset[Any] = frozenset(),
    phrase: str = "",
    budget: int = BUDGET,
) -> Search:
    """Search for calls of some tools that have the same effect or result in a world as a hidden call.

    A read is served by read-only calls that show what the request asks for (see `facts`): one path, or several calls
    whose results show it for the same entities. Their ids are those of the hidden call or come from their own results.
    A write is served by a path of writes that leaves equal rows (see `effect`), or the new rows that the hidden call's
    result names. First calls take the arguments of the hidden call, numbers and times that it shows or values that it
    writes, and the values of `contexts`; further calls of a path follow `graph` with ids from the previous result, up
    to three calls in all.

    The search misses results and effects that only other arguments give, a write whose rows differ although a user
    would accept them, and paths that change something else and undo it again. `opening` is not changed.

    Args:
        opening: World in which the request is made.
        tools: Names of the offered tools.
        hidden: The call that would serve the request; its ids and values exist in the opening world.
        graph: Graph of all tools.
        contexts: Values that read-only tools show, by server.
        known: Values that the request itself depends on: those shown by look-ups before the hidden call.
        phrase: Words of the request; a read must show the fields that they name.
        budget: Maximum number of calls.

    Raises:
        Unsearchable: The hidden call is refused, shows nothing to search for, or changes nothing.
    """
    if hidden.tool in tools:
        return Search(True, (ToolCall(hidden.tool, hidden.arguments),))
    after = opening.fork()
    reply = after.call(hidden.tool, hidden.arguments)
    if not reply.ok:
        raise Unsearchable(f"{hidden.tool} is refused: {reply.text}")
    left = Budget(budget)
    if TOOLS[hidden.tool][1].writes:
        target = effect(opening, after)
        if not target:
            raise Unsearchable(f"{hidden.tool} changes nothing.")
        values = Values(opening, hidden, collect_written(opening, after), contexts)
        gave = {found.id for found in find_entity_refs(hidden.tool, reply.data)}
        created = frozenset(text for id, text in list_changes(opening, after) if id in gave and is_new(text))
        return left.result(WriteSearch(opening, tools, hidden, graph, values, target, created, left).run())
    wanted = facts(hidden, reply.data, known, phrase)
    if not wanted:
        raise Unsearchable(f"{hidden.tool} shows nothing to search for.")
    goal = [
        (name, value)
        for _, name, value in walk_leaves(reply.data)
        if not isinstance(value, str) or is_time(value) or value in known
    ]
    values = Values(opening, hidden, goal, contexts)
    return left.result(ReadSearch(opening.fork(), tools, hidden, graph, values, wanted, left).run())


def search_for_plan(opening: World, plan: Plan, tools: Sequence[str], graph: nx.DiGraph, position: int = -1) -> Search:
    """Search for another way to serve the wish at a position of a plan, by default the last one; see `search`.

    The search begins in the opening world. Where this refuses the wish's call, or earlier wishes are served as well, it
    begins in the world after the earlier calls of the plan. Also raises Unsearchable for a wish that is not done or
    takes several calls.
    """
    wish = plan.wishes[position]
    if not wish.done or len(wish.calls) != 1:
        raise Unsearchable(f"{wish.tool} is not called exactly once.")
    call = plan.calls[wish.calls[0]]
    alone = position == -1 and opening.fork().call(call.tool, call.arguments).ok
    start = opening if alone else call.before
    known_contexts = {name: contexts(opening, [name], 0) for name in opening.sessions}
    before = [json.loads(plan.calls[at].text) for at in collect_ancestors(plan, wish.calls[0])]
    known = frozenset(value for data in before for _, _, value in walk_leaves(data))
    return search(start, tools, call, graph, known_contexts, known, wish.phrase)


def collect_ancestors(plan: Plan, position: int) -> set[int]:
    """Return the positions of the calls that a call depends on, directly or through others."""
    found, waiting = set[int](), [position]
    while waiting:
        new = plan.calls[waiting.pop()].rests_on - found
        found |= new
        waiting += new
    return found


@dataclass(frozen=True)
class Fact:
    """A value that a read must show, as its key in a result (see `make_key`)."""

    key: Key


@dataclass(frozen=True)
class ResultIndex:
    """An index of results: the keys of their values, and texts that are distinctive without an entity."""

    keys: frozenset[Key] = frozenset()
    values: frozenset[str] = frozenset()

    def __or__(self, other: ResultIndex) -> ResultIndex:
        return ResultIndex(self.keys | other.keys, self.values | other.values)

    def has(self, fact: Fact) -> bool:
        return fact.key in self.keys or fact.key[2] in self.values


Facts: TypeAlias = frozenset[Fact]


def walk_leaves(data: Any, name: str = "", owner: str = "") -> Iterator[Leaf]:
    """Yield every plain value in a result at any depth, except nulls."""
    if isinstance(data, dict):
        own = data["id"] if isinstance(data.get("id"), str) else owner
        for field_name, value in data.items():
            yield from walk_leaves(value, field_name, own)
    elif isinstance(data, list):
        for value in data:
            yield from walk_leaves(value, name, owner)
    elif data is not None:
        yield owner, name, data


def last_word(name: str) -> str:
    """Return the last word of a field's name in the singular."""
    return singularize(name.rsplit("_", 1)[-1])


def singularize(word: str) -> str:
    return word[:-1] if word.endswith("s") and not word.endswith("ss") else word


def is_number(value: Any) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool)


def is_distinctive(value: Scalar) -> bool:
    """Return whether a value is distinctive by itself: a large number, an id, a date or a text that is not a choice."""
    return abs(value) >= DISTINCTIVE_NUMBER if not isinstance(value, str) else not CODE.fullmatch(value)


def make_key(owner: str, name: str, value: Scalar) -> Key:
    """Return the key of a value: its entity and, unless it is distinctive, its field's last word."""
    return owner, "" if is_distinctive(value) else last_word(name), value


def index_result(data: Any, owners: Iterable[str]) -> ResultIndex:
    """Return the index of a result; a value in no row with an id belongs to each of the `owners` and to no entity."""
    keys, values, others = set[Key](), set[str](), ("", *owners)
    for owner, name, value in walk_leaves(data):
        distinctive = is_distinctive(value)
        word = "" if distinctive else last_word(name)
        keys.update([(one, word, value) for one in ((owner, "") if owner else others)])
        if distinctive and isinstance(value, str):
            values.add(value)
    return ResultIndex(frozenset(keys), frozenset(values))


def facts(hidden: HiddenCall, reply: Any, known: frozenset[Any] = frozenset(), phrase: str = "") -> tuple[Facts, ...]:
    """Return what a read must show to serve a request, as alternatives, any one of which suffices.

    Where the phrase names fields of the reply ("the balance of"), it asks for these, known or not. Where it asks for a
    quantity or a time without naming a field ("how much is left on"), or is vague about one entity ("where does my
    account stand"), it may mean any single number or date. Otherwise it asks for all values that are not known, or, if
    all are known, for all values. Values of the arguments are never facts, nor are numbers below 10 and booleans that
    belong to no entity. Empty where the reply shows nothing else.
    """
    given = set(map(str, single(hidden.arguments)))
    about = next(iter(collect_ids(hidden.tool, hidden.arguments)), "")
    leaves = [
        (owner or about, name, value)
        for owner, name, value in walk_leaves(reply)
        if str(value) not in given and value != "" and (owner or about or is_standalone_fact(value))
    ]
    words = collect_words(phrase) - {singularize(word) for word in hidden.tool.split("_")}
    if named := make_facts(one for one in leaves if last_word(one[1]) in words):
        return (named,)
    vague = bool(phrase) and isinstance(reply, dict) and not ALL_OF_IT.search(phrase.lower())
    if (vague or QUANTITY.search(phrase.lower())) and (sizes := [one for one in leaves if is_number(one[2])]):
        return tuple(dict.fromkeys(make_facts([one]) for one in sizes))
    if MOMENT.search(phrase.lower()) and (times := [one for one in leaves if is_time(one[2])]):
        return tuple(dict.fromkeys(make_facts([one]) for one in times))
    wanted = make_facts(one for one in leaves if one[2] not in known) or make_facts(leaves)
    return (wanted,) if wanted else ()


def make_facts(leaves: Iterable[Leaf]) -> Facts:
    return frozenset(Fact(make_key(*one)) for one in leaves)


def is_standalone_fact(value: Scalar) -> bool:
    """Return whether a value that belongs to no entity is a fact: a text or a number of at least 10."""
    return isinstance(value, str) or (is_number(value) and abs(value) >= LEAST_NUMBER)


def collect_ids(tool: str, arguments: Mapping[str, Any]) -> list[str]:
    """Return the ids among the arguments of a call."""
    types = TOOLS[tool][1].ids
    return [str(one) for name, value in arguments.items() if name in types for one in as_list(value)]


def collect_words(phrase: str) -> set[str]:
    """Return the words of a phrase in the singular, without those of its slots."""
    return {singularize(word) for word in re.findall(r"[a-z]+", SLOT.sub(" ", phrase).lower())}


def is_time(value: Any) -> bool:
    return isinstance(value, str) and (is_date(value) or instant_of(value) is not None)


def effect(before: World, after: World) -> Effect:
    """Return the changes between two states of a world as sorted texts, which are equal when the rows are.

    The clock is left out, times between the two states become the same "now", and ids of new rows, which are derived
    from the call that created them, become the same for all new rows of a table. So two effects differ where a row
    records the tool that created it; and they are equal where other rows refer to different new rows of one table.
    """
    return tuple(sorted(text for _, text in list_changes(before, after)))


def list_changes(before: World, after: World) -> Iterator[tuple[str, str]]:
    """Yield each new row, removed row and changed field between two states of a world as an id and a text."""
    rows = [
        (f"{name}.{table}", id, old, new)
        for name, session in after.sessions.items()
        if session.state is not before.sessions[name].state
        for table, pairs in session.state.changes_since(before.sessions[name].state).items()
        for id, (old, new) in pairs.items()
    ]
    names = {id: f"<{place}>" for place, id, old, _ in rows if old is None}
    for place, id, old, new in rows:
        if new is None:
            yield id, f"{place} {id} is removed"
            continue
        then, now = ({} if row is None else vars(row) for row in (old, new))
        fresh = [
            own.name for own in fields(new) if own.name != "id" and (old is None or now[own.name] != then[own.name])
        ]
        values = {name: normalize(now[name], names, before.now, after.now) for name in fresh}
        if old is None:
            yield id, f"{place} {names[id]} {values!r}"
        else:
            yield from ((id, f"{place} {id} {name}={value!r}") for name, value in values.items())


def normalize(value: Any, names: Mapping[str, str], first: datetime, last: datetime) -> Any:
    """Return a value of a row with "now" for the time and the names of new rows for their ids."""
    if isinstance(value, datetime):
        return "now" if first <= value <= last else value.isoformat()
    if isinstance(value, str):
        for id, name in names.items():
            value = value.replace(id, name) if id in value else value
        return value
    if isinstance(value, tuple | list):
        return [normalize(one, names, first, last) for one in value]
    if is_dataclass(value):
        return [normalize(vars(value)[own.name], names, first, last) for own in fields(value)]
    return value


def is_new(item: str) -> bool:
    """Return whether an item of an effect is about a row that was created."""
    return item.split(" ", 2)[1].startswith("<")


def collect_written(before: World, after: World) -> list[tuple[str, Any]]:
    """Return the values that a write put into rows, each with its field's name."""
    found = list[tuple[str, Any]]()
    for name, session in after.sessions.items():
        state, then = session.state, before.sessions[name].state
        for table, rows in state.changes_since(then).items():
            for old, new in rows.values():
                row, past = (as_json(state.row_types()[table], one) if one else {} for one in (new, old))
                found += [(own, value) for own, value in row.items() if own != "id" and past.get(own) != value]
    return [(own, value) for own, value in found if value is not None and not isinstance(value, dict)]


class Values:
    """Values for the parameters of tools, the likeliest first: those of the hidden call, then those of contexts."""

    def __init__(
        self, opening: World, hidden: HiddenCall, goal: Sequence[tuple[str, Any]], contexts: Mapping[str, Context]
    ):
        """Collect the values; `goal` are those that the hidden call shows or writes, each with its field's name."""
        self.hidden, self.contexts, self.now = hidden, contexts, opening.now
        tool = TOOLS[hidden.tool][1]
        given = [(name, value) for name, many in hidden.arguments.items() for value in as_list(many)]
        self.named = defaultdict[str, list[Any]](list)
        for name, value in (*hidden.arguments.items(), *given, *goal):
            self.named[name].append(value)
        self.ids = defaultdict[str, list[str]](list)
        for name, value in given:
            if name in tool.ids:
                self.ids[tool.ids[name]].append(value)
        self.alike = [value for name, value in given if name not in tool.ids] + [value for _, value in goal]
        self.found: dict[tuple[str, str], list[Any]] = {}
        self.firsts: dict[str, list[dict[str, Any]]] = {}

    def options(self, tool: Tool, name: str) -> list[Any]:
        """Return values for a parameter, the likeliest first, each once."""
        key = (tool.name, name)
        if key not in self.found:
            part = unwrap(tool.input_schema["properties"][name])
            many = part.get("type") == "array"
            inner = unwrap(part["items"]) if many else part
            lists = [value for value in self.named[name] if isinstance(value, list)] if many else []
            values = [*self.iter_hidden_call_values(tool, name, inner), *self.known_values(tool, name, inner)]
            self.found[key] = drop_duplicates([*lists, *([[one] for one in values] if many else values)])
        return self.found[key]

    def iter_hidden_call_values(self, tool: Tool, name: str, part: dict[str, Any]) -> Iterator[Any]:
        """Yield the values that the hidden call takes, shows or writes and that this parameter accepts."""
        if name in tool.ids:
            yield from self.ids.get(tool.ids[name], ())
            yield from (one for one in self.named[name] if one in self.known_ids(tool, name))
            return
        yield from (one for one in self.named[name] if accepts(part, one))
        for one in self.alike:
            if accepts(part, one):
                yield one
            elif part.get("format") == "date" and isinstance(one, str) and is_date(one[:10]):
                yield one[:10]

    def known_values(self, tool: Tool, name: str, part: dict[str, Any]) -> Iterator[Any]:
        """Yield the choices of a parameter, and the values of contexts for it."""
        context = self.contexts.get(TOOLS[tool.name][0].name, Context())
        if name in tool.ids:
            yield from self.known_ids(tool, name)
        elif name in tool.seen:
            yield from context.values.get(tool.seen[name], ())
        elif name in tool.sensitive and not part.get("examples"):
            yield from (secret for (_, of), secret in context.secrets.items() if of == name)
        elif part.get("type") == "boolean":
            yield from (True, False)
        else:
            examples = part.get("examples", ())
            yield from ["*"] if any("*" in str(one) for one in examples) else []
            yield from part.get("enum") or examples or self.default(part)

    def default(self, part: dict[str, Any]) -> Iterator[Any]:
        """Yield a value for a parameter without known values."""
        if "const" in part:
            yield part["const"]
        elif part.get("format") == "date":
            yield f"{self.now:%Y-%m-%d}"
        elif part.get("type") == "integer":
            yield part.get("minimum", 1)

    def known_ids(self, tool: Tool, name: str) -> list[str]:
        """Return the ids that contexts show for a parameter, those of its own server first."""
        own, id_type = TOOLS[tool.name][0].name, tool.ids[name]
        servers = sorted(self.contexts, key=lambda server: server != own)
        return list(dict.fromkeys(id for server in servers for id in self.contexts[server].ids.get(id_type, ())))

    def groundings(self, tool: Tool, ids: Ids | None = None, most: int = GROUNDINGS) -> Iterator[dict[str, Any]]:
        """Yield at most `most` argument sets of a tool, the likeliest first.

        With `ids`, ids by type from a result, each set has at least one of them.
        """
        if ids is not None:
            return islice(self.iter_arguments_with_ids(tool, ids), most)
        if tool.name not in self.firsts:
            self.firsts[tool.name] = list(islice(self.iter_first_arguments(tool), GROUNDINGS))
        return islice(self.firsts[tool.name], most)

    def iter_first_arguments(self, tool: Tool) -> Iterator[dict[str, Any]]:
        """Yield argument sets: the likeliest required ones with each optional value, then the other required ones."""
        base = list(self.combine_values(tool, {}))
        for number, required in enumerate(base):
            yield required
            if number == 0:
                yield from ({**required, **optional} for optional in self.optional(tool))
        for required in base[1:]:
            yield from ({**required, **optional} for optional in islice(self.optional(tool), 1))

    def iter_arguments_with_ids(self, tool: Tool, ids: Ids) -> Iterator[dict[str, Any]]:
        """Yield argument sets with an id from a result."""
        for name in tool.required:
            for id in ids.get(tool.ids.get(name, ""), ()):
                yield from self.combine_values(tool, {name: as_taken(tool, name, id)})

    def combine_values(self, tool: Tool, fixed: dict[str, Any]) -> Iterator[dict[str, Any]]:
        """Yield combinations of values of the required parameters, the likeliest values first."""
        names = [name for name in tool.required if name not in fixed]
        width = WIDTHS.get(len(names), 3 if len(names) < 6 else 2)
        options = [list(enumerate(self.options(tool, name)[:width])) for name in names]
        most = {"limit": widest(tool)} if widest(tool) else {}
        for chosen in sorted(product(*options), key=lambda many: sum(rank for rank, _ in many)):
            arguments = fixed | dict(zip(names, (value for _, value in chosen), strict=True))
            ids = [(tool.ids[name], str(value)) for name, value in arguments.items() if name in tool.ids]
            if len(set(ids)) == len(ids):
                yield arguments | most

    def optional(self, tool: Tool) -> Iterator[dict[str, Any]]:
        """Yield sets of optional arguments: all that the hidden call determines, then single ones."""
        rest = [name for name in tool.input_schema["properties"] if name not in (*tool.required, "limit")]
        same = {name: self.options(tool, name)[0] for name in rest if name in self.named and self.options(tool, name)}
        if len(same) > 1:
            yield same
        for name in rest:
            yield from ({name: value} for value in self.options(tool, name)[:EXTRAS])


def accepts(part: dict[str, Any], value: Any) -> bool:
    """Return whether a value has the type and format of a parameter."""
    if "enum" in part:
        return value in part["enum"]
    match part.get("type"):
        case "integer":
            return type(value) is int and part.get("minimum", value) <= value <= part.get("maximum", value)
        case "number":
            return is_number(value)
        case "string" if part.get("format") == "date":
            return is_date(value)
        case "string" if part.get("format") == "date-time":
            return isinstance(value, str) and instant_of(value) is not None
        case "string":
            return isinstance(value, str) and len(value) <= part.get("maxLength", MAX_TEXT) and not is_time(value)
    return False


def as_list(value: Any) -> list[Any]:
    return value if isinstance(value, list) else [value]


def drop_duplicates(values: Iterable[Any]) -> list[Any]:
    """Return the distinct values in order of first occurrence."""
    found = dict[str, Any]()
    for value in values:
        found.setdefault(json.dumps(value), value)
    return list(found.values())


@dataclass(frozen=True)
class Reply:
    """A read that was run: the path of calls, the index of its own result and of the path's results, and ids.

    `gave` are the ids in its result, `fresh` those that nothing showed before, and `took` those in its arguments.
    """

    path: tuple[ToolCall, ...]
    own: ResultIndex
    known: ResultIndex
    gave: frozenset[str]
    fresh: Ids
    took: frozenset[str]


@dataclass
class ReadSearch:
    """A search for read-only calls that show what a hidden read shows, in a separate world."""

    world: World
    tools: Sequence[str]
    hidden: HiddenCall
    graph: nx.DiGraph
    values: Values
    wanted: tuple[Facts, ...]
    budget: Budget
    tried: set[str] = field(default_factory=set)
    replies: list[Reply] = field(default_factory=list)
    ids: dict[str, set[str]] = field(default_factory=dict)

    def run(self) -> tuple[ToolCall, ...] | None:
        """Return calls that serve the request; None when none are found."""
        reads = sorted(
            (name for name in self.tools if not TOOLS[name][1].writes),
            key=lambda name: rank_tool(name, self.hidden.tool),
        )
        first, latest = self.collect_named_ids(), list[Reply]()
        for name in reads:
            for arguments in self.values.groundings(TOOLS[name][1]):
                reply = self.call(name, arguments, None, latest)
                if reply and reply.took <= first and self.serves(reply):
                    return reply.path
        for _ in range(DEPTH - 1):
            before, latest = latest, []
            for reply in before:
                for name in self.followers(reply, reads):
                    for arguments in self.values.groundings(TOOLS[name][1], reply.fresh, CONTINUATIONS):
                        self.call(name, arguments, reply, latest)
        return self.find_path()

    def followers(self, reply: Reply, reads: Sequence[str]) -> list[str]:
        """Return the tools that take an id which this reply was the first to show."""
        giver = reply.path[-1].name
        return [
            name
            for name in reads
            if reply.fresh and TOOLS[name][1].consumes & reply.fresh.keys() and self.graph.has_edge(giver, name)
        ]

    def call(self, name: str, arguments: dict[str, Any], before: Reply | None, latest: list[Reply]) -> Reply | None:
        """Run a call and record its reply; None where it is refused, was run before or the budget is spent."""
        call = f"{name}{json.dumps(arguments, sort_keys=True)}"
        if call in self.tried or not self.budget.take():
            return None
        self.tried.add(call)
        answer = self.world.call(name, arguments)
        if not answer.ok:
            return None
        data, took = answer.data, frozenset(collect_ids(name, arguments))
        own, gave = index_result(data, took), find_entity_refs(name, data)
        path = (*(before.path if before else ()), ToolCall(name, arguments))
        fresh = defaultdict[str, list[str]](list)
        for found in gave:
            if found.id not in self.known_ids(found.type):
                self.known_ids(found.type).add(found.id)
                fresh[found.type].append(found.id)
        known = own | before.known if before else own
        latest.append(Reply(path, own, known, frozenset(one.id for one in gave), fresh, took))
        self.replies.append(latest[-1])
        return latest[-1]

    def known_ids(self, id_type: str) -> set[str]:
        """Return the ids of a type from contexts, the hidden call and earlier replies."""
        if id_type not in self.ids:
            by_server = (context.ids.get(id_type, {}) for context in self.values.contexts.values())
            self.ids[id_type] = {*self.values.ids.get(id_type, ()), *(id for ids in by_server for id in ids)}
        return self.ids[id_type]

    def serves(self, reply: Reply) -> bool:
        """Return whether a reply, with those on the path to it, shows what the request asks for."""
        return any(all(reply.known.has(fact) for fact in wanted) for wanted in self.wanted)

    def collect_named_ids(self) -> set[str]:
        """Return the ids that the request names."""
        return {id for many in self.values.ids.values() for id in many}

    def find_path(self) -> tuple[ToolCall, ...] | None:
        """Return the calls of a path that serves the request, or several calls that together do; else None."""
        replies = self.reachable()
        if (one := next(filter(self.serves, replies), None)) is not None:
            return one.path
        return next(filter(None, (self.find_covering_calls(wanted, replies) for wanted in self.wanted)), None)

    def find_covering_calls(self, wanted: Facts, replies: Sequence[Reply]) -> tuple[ToolCall, ...] | None:
        """Return calls whose results together show all wanted facts; None where there are none."""
        rest, by = {fact.key for fact in wanted}, list[ToolCall]()
        useful = [(rest & one.own.keys, one) for one in replies if not rest.isdisjoint(one.own.keys)]
        if not rest <= set[Key]().union(*(keys for keys, _ in useful)):
            return None
        while rest and len(by) < TOGETHER:
            keys, reply = max(useful, key=lambda one: len(rest & one[0]))
            rest -= keys
            by.append(reply.path[-1])
        return None if rest else tuple(by)

    def reachable(self) -> list[Reply]:
        """Return the replies to calls whose ids come from the request or from such replies, not only from contexts."""
        ids, found, rest = self.collect_named_ids(), list[Reply](), self.replies
        while ready := [one for one in rest if one.took <= ids]:
            found += ready
            rest = [one for one in rest if not one.took <= ids]
            ids = ids.union(*(one.gave for one in ready))
        return found


@dataclass(frozen=True)
class SearchState:
    """A state after some writes: the calls, its world and effect, and the ids in the last result."""

    world: World
    path: tuple[ToolCall, ...] = ()
    effect: Effect = ()
    gave: Ids = field(default_factory=dict)
    closer: bool = True


@dataclass
class WriteSearch:
    """A search for writes that leave the rows that a hidden write leaves, or the new ones that its result names.

    Sending an equal message thus counts as sending a draft, although the draft stays. Writes on other servers than the
    hidden call's change other rows, so they are not tried.
    """

    opening: World
    tools: Sequence[str]
    hidden: HiddenCall
    graph: nx.DiGraph
    values: Values
    target: Effect
    created: frozenset[str]
    budget: Budget
    seen: set[Effect] = field(default_factory=lambda: {()})

    def __post_init__(self) -> None:
        self.wanted = frozenset(self.target)

    def run(self) -> tuple[ToolCall, ...] | None:
        """Return calls that serve the request; None when none are found."""
        server = TOOLS[self.hidden.tool][0]
        writes = sorted(
            (name for name in self.tools if TOOLS[name][1].writes and TOOLS[name][0] is server),
            key=lambda name: rank_tool(name, self.hidden.tool),
        )
        states = [SearchState(self.opening)]
        for _ in range(DEPTH):
            reached = list[SearchState]()
            for state in states:
                for name in writes:
                    if by := self.follow(state, name, reached):
                        return by
            states = sorted(reached, key=lambda one: self.distance(one.effect))
        return None

    def follow(self, state: SearchState, name: str, reached: list[SearchState]) -> tuple[ToolCall, ...] | None:
        """Run a tool in a state and record states to follow; return the path if it serves the request."""
        tool, followed = TOOLS[name][1], 0
        for arguments in self.arguments(state, tool):
            if not self.budget.take():
                return None
            world = state.world.fork()
            reply = world.call(name, arguments)
            if not reply.ok:
                continue
            path, after = (*state.path, ToolCall(name, arguments)), effect(self.opening, world)
            if self.serves(after):
                return path
            if after in self.seen:
                continue
            self.seen.add(after)
            closer = self.distance(after) < self.distance(state.effect)
            if len(path) < DEPTH and followed < FOLLOWED and (closer or self.only_adds(after)):
                gave = defaultdict[str, list[str]](list)
                for found in find_entity_refs(name, reply.data):
                    gave[found.type].append(found.id)
                reached.append(SearchState(world, path, after, gave, closer))
                followed += 1
        return None

    def arguments(self, state: SearchState, tool: Tool) -> Iterator[dict[str, Any]]:
        """Yield argument sets of a tool in a state; none where the tool is unrelated to the path."""
        if not state.path:
            yield from self.values.groundings(tool)
            return
        if self.graph.has_edge(state.path[-1].name, tool.name):
            yield from self.values.groundings(tool, state.gave, CONTINUATIONS)
        if state.closer:
            yield from self.values.groundings(tool, None, CONTINUATIONS)

    def serves(self, after: Effect) -> bool:
        """Return whether an effect is the target, or has the new rows that the hidden call's result names."""
        return after == self.target or (bool(self.created) and self.created <= frozenset(after))

    def only_adds(self, after: Effect) -> bool:
        """Return whether all extra changes concern new rows, which a further call may use up."""
        return all(is_new(item) for item in frozenset(after) - self.wanted)

    def distance(self, after: Effect) -> int:
        """Return the number of fields in which an effect differs from the target."""
        return len(self.wanted.symmetric_difference(after))


def rank_tool(name: str, hidden: str) -> tuple[bool, int, str]:
    """Return a sort key of a tool; tools that are more similar to the hidden one come first."""
    (server, tool), (own, other) = TOOLS[name], TOOLS[hidden]
    shared = len({*tool.ids.values(), *tool.produces} & {*other.ids.values(), *other.produces})
    return server is not own, -shared, name
