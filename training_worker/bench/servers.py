"""The servers: calls of every tool, opening, forking, digests at every size of world, and many sessions at once."""

from __future__ import annotations

import gc
import statistics
import time
from collections.abc import Callable, Iterator
from functools import partial
from typing import Any, get_type_hints

from mcp_servers.catalogue import SERVERS
from mcp_servers.kit import Draw, Server, Session, Tool
from mcp_servers.world import World

SEED, TRIES, TIMES = 7, 400, 200
ALL = tuple(SERVERS)


def seconds(work: Callable[[], object], times: int) -> float:
    """Mean seconds of one run."""
    start = time.perf_counter()
    for _ in range(times):
        work()
    return (time.perf_counter() - start) / times


def working_calls(size: str = "default") -> Iterator[tuple[Session[Any], str, str]]:
    """For each tool a session and a call of it that succeeds there; a tool that none was found for is left out."""
    for server in SERVERS.values():
        session = server.open(SEED, size)
        for tool in server.tools.values():
            found = working_call(server, session, tool)
            if found:
                yield found


def working_call(server: Server[Any], session: Session[Any], tool: Tool) -> tuple[Session[Any], str, str] | None:
    """A call that succeeds in this session, or in one in which other tools were called before."""
    draw, here = Draw("bench", tool.name), session.fork()
    for number in range(TRIES):
        trial = here.fork()
        if trial.call(tool.name, drawn(server, here, tool, draw)).ok:
            return here, tool.name, trial.head.arguments
        if number % 4 == 3:  # its id may have to be made, or its mode to be entered, by another tool first
            other = draw.choice([one for one in server.tools.values() if one.writes])
            here.call(other.name, drawn(server, here, other, draw))
    return None


def drawn(server: Server[Any], session: Session[Any], tool: Tool, draw: Draw) -> dict[str, Any]:
    """Required arguments out of the rows of the session and the examples of the schema."""
    return {name: value(server, session, tool, name, draw) for name in tool.required}


def value(server: Server[Any], session: Session[Any], tool: Tool, name: str, draw: Draw) -> Any:
    schema = tool.input_schema["properties"][name]
    if name in tool.sensitive and (known := list(server.known(session.state).values())):
        return draw.choice(known)
    if name in tool.ids:
        for table, kind in session.state.row_types().items():
            if get_type_hints(kind)["id"].__name__ == tool.ids[name] and (rows := list(getattr(session.state, table))):
                return draw.choice(rows).id
    return fitting(schema, tool.input_schema.get("$defs", {}), session, draw)


def fitting(schema: dict[str, Any], definitions: dict[str, Any], session: Session[Any], draw: Draw) -> Any:
    """Any value of a schema: an example where it has some."""
    match schema:
        case {"$ref": str(ref)}:
            return fitting(definitions[ref.rsplit("/", 1)[-1]], definitions, session, draw)
        case {"examples": [*options]} | {"enum": [*options]} if options:
            return draw.choice(options)
        case {"const": constant}:
            return constant
        case {"anyOf": [first, *_]}:
            return fitting(first, definitions, session, draw)
        case {"type": "array", "items": dict(items)}:
            return [fitting(items, definitions, session, draw) for _ in range(max(1, schema.get("minItems", 1)))]
        case {"type": "object", "properties": dict(parts)}:
            return {name: fitting(part, definitions, session, draw) for name, part in parts.items()}
        case {"type": "boolean"}:
            return draw.chance(0.5)
        case {"type": "integer"}:
            low = schema.get("minimum", 0)
            return draw.integer(low, min(schema.get("maximum", low + 50), low + 50))
        case {"format": "date"}:
            return f"{session.state.now:%Y-%m}-{draw.integer(1, 28):02}"
        case {"format": "date-time"}:
            return f"{session.state.now:%Y-%m}-{draw.integer(1, 28):02}T{draw.integer(8, 18):02}:00"
    return "some text"


def calls_by_tool(size: str = "default") -> dict[str, float]:
    """By tool, the seconds of one call on a world of this size; each in a fork of its own."""

    return {name: seconds(partial(once, session, name, text), TIMES) for session, name, text in working_calls(size)}


def once(session: Session[Any], name: str, arguments: str) -> None:
    session.fork().call(name, arguments)


def open_all() -> float:
    World.open(SEED, ALL, "default")
    return statistics.median(seconds(lambda: World.open(SEED, ALL, "default"), 500) for _ in range(7))


def by_size(size: str) -> tuple[int, float, float]:
    """Rows of a world of all servers; the median over them of a fork, and of a digest right after a write."""
    rows, forks, digests = 0, [], []
    for server in SERVERS.values():
        session = server.open(SEED, size)
        rows += sum(1 for table in session.state.tables().values() for _ in table)
        forks.append(seconds(session.fork, 5_000))
        writes = (tool for tool in server.tools.values() if tool.writes)
        found = next(filter(None, (working_call(server, session, tool) for tool in writes)), None)
        if found:
            digests.append(digest_after_a_write(*found))
    return rows, statistics.median(forks), statistics.median(digests)


def digest_after_a_write(session: Session[Any], name: str, arguments: str) -> float:
    spent = 0.0
    for _ in range(TIMES):
        fork = session.fork()
        fork.call(name, arguments)
        start = time.perf_counter()
        fork.digest()
        spent += time.perf_counter() - start
    return spent / TIMES


def many_sessions(count: int = 10_000, calls: int = 10) -> float:
    """Megabytes that so many worlds of all servers take, each after so many calls, above what they share."""
    pool = [(name, text) for _, name, text in working_calls()]
    World.open(SEED, ALL, "default")
    gc.collect()
    before, alive = resident(), []
    for number in range(count):
        world = World.open(SEED, ALL, "default")
        for place in range(calls):
            world.call(*pool[(number * calls + place) % len(pool)])
        alive.append(world)
    gc.collect()
    return (resident() - before) / 1e6


def resident() -> int:
    """Bytes of memory that this process holds."""
    with open("/proc/self/statm") as file:
        return int(file.read().split()[1]) * 4096
