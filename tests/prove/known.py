"""Three servers that the small policy knows, for the tests of synthesis; their tools, graph and examples."""

from collections.abc import Callable, Iterable
from dataclasses import replace
from functools import cache
from pathlib import Path

import networkx as nx

from mcp_servers.catalogue import SERVERS as EVERY
from tests.sharing import CODE, GRAPH, cached_folder
from training_worker.core.trajectory import Example, Split, dumps, loads, read_lines, write_lines
from training_worker.graph.dependency_graph import load_or_build
from training_worker.synthesis.conversation import Recipe, make
from training_worker.synthesis.knobs import TINY

NAMES = ("banking", "calendar", "email")
RECIPE = Recipe(knobs=replace(TINY, recovery=0.0))
BLOCK = 10
SERVERS = {name: EVERY[name] for name in NAMES}
TOOLS = {name: (server, tool) for server in SERVERS.values() for name, tool in server.tools.items()}


@cache
def graph_of(*servers: str) -> nx.DiGraph:
    """Return the graph of some servers, built once for all test runs until a server or the engine changes."""
    with cached_folder(*GRAPH) as folder:
        return load_or_build(folder, servers=servers)


def share_graph(data: Path) -> None:
    """Give a data folder the tests' graph of all servers, whose build takes longer than most tests."""
    with cached_folder(*GRAPH) as folder:
        load_or_build(folder)
    if not (data / "graph").exists():
        (data / "graph").symlink_to(folder)


def known_graph() -> nx.DiGraph:
    return graph_of(*NAMES)


def cached_examples(name: str, test: str, make: Callable[[], Iterable[Example]]) -> list[Example]:
    """Return what `make` of this test file gives; it is called again when the file, a server or the engine changes."""
    with cached_folder(f"examples-{name}", (*CODE, test)) as folder:
        if not (path := folder / "examples.jsonl").exists():
            write_lines(path, make())
        return list(read_lines(Example, path))


@cache
def example_block(block: int, split: Split) -> list[Example | None]:
    """Return what a recipe without failures makes of a block of indices, cached until their sources change."""
    with cached_folder(f"known-{split}-{block}", (*CODE, __file__)) as folder:
        if not (path := folder / "examples.jsonl").exists():
            drawn = [make(block * BLOCK + at, split, known_graph(), RECIPE)[0] for at in range(BLOCK)]
            path.write_text("\n".join(dumps(example) if example else "" for example in drawn), "utf-8")
        return [loads(Example, line) if line else None for line in path.read_text("utf-8").split("\n")]


def known_example(index: int, split: Split = "train") -> Example | None:
    return example_block(index // BLOCK, split)[index % BLOCK]


def known_examples(count: int, split: Split = "train") -> tuple[Example, ...]:
    """Return the examples of the first indices."""
    return tuple(example for index in range(count) if (example := known_example(index, split)))
