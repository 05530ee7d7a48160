"""Catalogue of servers and tools for pages: marks, counts, producers and consumers of id types, search."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from functools import cache, cached_property

from mcp_servers.catalogue import SERVERS, TOOLS
from mcp_servers.core import Tool

MARKS = {"read": "Read-only", "write": "Writes", "destructive": "Destructive"}
EXAMPLE_SEED = 1  # the world whose table rows the server pages count
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
    """A tool in lists; `words` is the text to search.

    `takes` are the id types it requires, `may_take` those it accepts optionally, `gives` those in its result.
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
    """A server in lists: its tools counted by mark, and the rows of each table of a default world."""

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
    """Return `read`, `write` or `destructive`: a key of MARKS."""
    return "destructive" if tool.destructive else "write" if tool.writes else "read"


@cache
def entries() -> dict[str, Entry]:
    """Return all tools by name, in the order of the catalogue."""
    return {
        name: Entry(server.name, tool, mark(tool), build_search_text(server.name, tool))
        for name, (server, tool) in TOOLS.items()
    }


def build_search_text(server: str, tool: Tool) -> str:
    ids = sorted({*tool.ids.values(), *tool.produces})
    names = (tool.name, tool.name.replace("_", " "), server, *tool.taken, *ids)
    return " ".join((*names, tool.description)).lower()


@cache
def card(name: str) -> Card:
    """Return the card of a server. Raises KeyError for one that is not in the catalogue."""
    server = SERVERS[name]
    counts = Counter(mark(tool) for tool in server.tools.values())
    tables = server.open(EXAMPLE_SEED).state.tables()
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
    """Return the category title of a server; its own name if no category lists it."""
    return next((title for title, names in CATEGORIES.items() if server in names), server)


def by_category(servers: Iterable[str]) -> list[tuple[str, list[Card]]]:
    """Return cards under their category titles, in the order of the catalogue."""
    groups: dict[str, list[Card]] = {}
    for name in servers:
        groups.setdefault(category(name), []).append(card(name))
    return list(groups.items())


@cache
def id_types() -> tuple[str, ...]:
    """Return every id type that some tool takes or gives."""
    return tuple(sorted({each for one in entries().values() for each in (*one.takes, *one.may_take, *one.gives)}))


def rules_of(policy: str) -> tuple[str, ...]:
    """Return the items of a policy's list, each on one line."""
    items = re.split(r"^[*-] ", policy, flags=re.MULTILINE)[1:]
    return tuple(" ".join(item.split("\n\n")[0].split()) for item in items)


def search(text: str = "", kind: str = "", servers: Iterable[str] = ()) -> list[Entry]:
    """Return the tools that contain every word of the text, optionally of one mark and of some servers."""
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
    """Return the tools whose result contains this id type without having received it."""
    return (entry for entry in entries().values() if id_type in entry.tool.produces)


def takers(id_type: str) -> Iterator[Entry]:
    """Return the tools with a parameter of this id type."""
    return (entry for entry in entries().values() if id_type in entry.tool.ids.values())
