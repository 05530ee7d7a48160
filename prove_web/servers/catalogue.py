"""What the pages say of the servers and their tools: marks, counts, which tools give and take an id type, search."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from functools import cache, cached_property

from mcp_servers.catalogue import SERVERS, TOOLS
from mcp_servers.kit import Tool

MARKS = {"read": "Read-only", "write": "Writes", "destructive": "Destructive"}
SHOWN_SEED = 1  # the world whose tables the server pages count
CATEGORIES = {
    "Finance": ("banking", "trading", "payments"),
    "Productivity": ("calendar", "email", "filesystem"),
    "Commerce": ("shopping", "marketplace", "retail_chain"),
    "Travel": ("travel_booking", "maps"),
    "Social": ("social_media", "team_chat"),
    "IoT": ("iot_devices", "vehicle"),
    "Knowledge and CRM": ("crm", "issue_tracker", "budget"),
    "Lifestyle": ("food_delivery", "video_meeting"),
}


@dataclass(frozen=True)
class Entry:
    """A tool as lists show it; `words` is what a search looks in.

    `takes` are the id types it cannot do without, `may_take` those it accepts besides, `gives` what its result carries.
    """

    server: str
    tool: Tool
    mark: str
    words: str

    @property
    def name(self) -> str:
        return self.tool.name

    @cached_property
    def takes(self) -> tuple[str, ...]:
        return tuple(sorted(self.tool.consumes))

    @cached_property
    def may_take(self) -> tuple[str, ...]:
        return tuple(sorted(self.tool.accepts))

    @cached_property
    def gives(self) -> tuple[str, ...]:
        return tuple(sorted(self.tool.produces))

    @cached_property
    def sensitive(self) -> tuple[str, ...]:
        return tuple(sorted(self.tool.sensitive))


@dataclass(frozen=True)
class Card:
    """A server as lists show it: its tools counted by mark, and the rows of each table of a default world."""

    name: str
    category: str
    description: str
    marks: tuple[tuple[str, int], ...]
    tools: int
    tables: tuple[tuple[str, int], ...]
    rules: tuple[str, ...]
    laws: tuple[str, ...]

    @property
    def rows(self) -> int:
        return sum(rows for _, rows in self.tables)


def mark(tool: Tool) -> str:
    """`read`, `write` or `destructive`: a key of MARKS."""
    return "destructive" if tool.destructive else "write" if tool.writes else "read"


@cache
def entries() -> dict[str, Entry]:
    """All tools by name, in the order of the catalogue."""
    return {
        name: Entry(server.name, tool, mark(tool), words(server.name, tool)) for name, (server, tool) in TOOLS.items()
    }


def words(server: str, tool: Tool) -> str:
    ids = sorted({*tool.ids.values(), *tool.produces})
    names = (tool.name, tool.name.replace("_", " "), server, *tool.taken, *ids)
    return " ".join((*names, tool.description)).lower()


@cache
def card(name: str) -> Card:
    """Raises KeyError for a server that is not in the catalogue."""
    server = SERVERS[name]
    counts = Counter(mark(tool) for tool in server.tools.values())
    tables = server.open(SHOWN_SEED).state.tables()
    return Card(
        name,
        category(name),
        server.description,
        tuple((each, counts[each]) for each in MARKS if counts[each]),
        len(server.tools),
        tuple((table, len(rows)) for table, rows in tables.items()),
        rules_of(server.policy),
        tuple(" ".join((law.__doc__ or "").split()) for law in server.invariants.values()),
    )


def category(server: str) -> str:
    """The title a server stands under; its own name for one that no category lists."""
    return next((title for title, names in CATEGORIES.items() if server in names), server)


def by_category(servers: Iterable[str]) -> list[tuple[str, list[Card]]]:
    """Cards under their titles, in the order of the catalogue."""
    groups: dict[str, list[Card]] = {}
    for name in servers:
        groups.setdefault(category(name), []).append(card(name))
    return list(groups.items())


@cache
def id_types() -> tuple[str, ...]:
    """Every id type that some tool takes or gives."""
    return tuple(sorted({each for one in entries().values() for each in (*one.takes, *one.may_take, *one.gives)}))


def rules_of(policy: str) -> tuple[str, ...]:
    """The items of a policy's list, each on one line."""
    items = re.split(r"^[*-] ", policy, flags=re.MULTILINE)[1:]
    return tuple(" ".join(item.split("\n\n")[0].split()) for item in items)


def search(text: str = "", kind: str = "", servers: Iterable[str] = ()) -> list[Entry]:
    """The tools in which every word of the text occurs, of one mark and of some servers where these are given."""
    wanted, among = text.lower().split(), set(servers)
    return [
        entry
        for entry in entries().values()
        if (not kind or entry.mark == kind)
        and (not among or entry.server in among)
        and all(word in entry.words for word in wanted)
    ]


def by_server(found: Iterable[Entry]) -> list[tuple[str, list[Entry]]]:
    groups: dict[str, list[Entry]] = {}
    for entry in found:
        groups.setdefault(entry.server, []).append(entry)
    return list(groups.items())


def producers(id_type: str) -> Iterator[Entry]:
    """The tools whose result carries this id type, without having been given it."""
    return (entry for entry in entries().values() if id_type in entry.tool.produces)


def takers(id_type: str) -> Iterator[Entry]:
    """The tools with a parameter of this id type."""
    return (entry for entry in entries().values() if id_type in entry.tool.ids.values())
