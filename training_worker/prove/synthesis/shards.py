"""A shard: a portion of a data set's draws, kept in a file, so that any process may make it and none is lost by a stop.

Its name says all that its content depends on, the code included: a file of that name is the right one whoever made
it, and made twice it has the same bytes. So nobody needs to ask whether another process is at it.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import asdict, dataclass, field
from functools import cache, cached_property
from hashlib import blake2b
from pathlib import Path
from shutil import rmtree
from uuid import uuid4

import networkx as nx

from mcp_servers.catalogue import SERVERS, fingerprint, wording

from ...stage_cache import code_digest, only_one
from ..graph import read
from ..trajectory import Example, Kind, Split, UnreadableData, read_lines, write_lines
from .conversation import Recipe, make

SHARDS = "shards"  # the folder of shards, in that of their data set
SIZE = 25  # draws of a shard: about a second's work
PROVE = Path(__file__).parents[1]
Task = tuple[int, Kind | None, str | None]  # the index of a conversation, its kind and the tool it is to be about


@dataclass(frozen=True)
class Result:
    """What came of one draw: a conversation or none, and why trials were dropped."""

    example: Example | None
    dropped: tuple[str, ...] = ()


@dataclass(frozen=True)
class Draws:
    """What all draws of a split are made with."""

    graph: nx.DiGraph
    recipe: Recipe
    split: Split

    @classmethod
    def load(cls, graph: Path, recipe: Recipe, split: Split) -> Draws:
        """With the graph that is left in a file. Raises LookupError when it is not there."""
        if (found := read(graph)) is None:
            raise LookupError(graph)
        return cls(found, recipe, split)

    def make(self, tasks: Sequence[Task]) -> list[Result]:
        return [self.one(*task) for task in tasks]

    def one(self, index: int, kind: Kind | None, target: str | None) -> Result:
        example, dropped = make(index, self.split, self.graph, self.recipe, kind, target)
        return Result(example, tuple(dropped))

    @cached_property
    def key(self) -> str:
        """Names everything that a draw depends on, but its task."""
        return digest([own_code(), nx.node_link_data(self.graph, edges="edges"), asdict(self.recipe), self.split])

    def graph_file(self, folder: Path) -> Path:
        return folder / f"graph-{self.key}.json"

    def leave_graph(self, folder: Path) -> Path:
        """A file with the graph, for processes that start with nothing."""
        path = self.graph_file(folder)
        own = own_name(path)
        write_lines(own, [nx.node_link_data(self.graph, edges="edges")])
        own.replace(path)
        return path


@dataclass(frozen=True)
class Shard:
    """Some draws, and the file that they are in when they are made."""

    path: Path
    tasks: tuple[Task, ...] = field(compare=False)

    @classmethod
    def of(cls, draws: Draws, tasks: Sequence[Task], folder: Path) -> Shard:
        name = f"{draws.split}-{tasks[0][0]:06d}-{digest([draws.key, tasks])}.jsonl"
        return cls(folder / name, tuple(tasks))

    def read(self) -> list[Result] | None:
        """What was drawn, task by task; None when it is not made. A file that a crash left torn is removed."""
        try:
            drawn = list(read_lines(Result, self.path))
        except FileNotFoundError:
            return None
        except UnreadableData:
            drawn = []
        if len(drawn) != len(self.tasks):
            self.path.unlink(missing_ok=True)
            return None
        return drawn

    def make(self, draws: Draws) -> None:
        """Draw, and write it down, whole or not at all. Raises OSError when it cannot be written."""
        own = own_name(self.path)
        write_lines(own, draws.make(self.tasks))
        own.replace(self.path)


def in_shards(tasks: Sequence[Task], draws: Draws, folder: Path) -> list[Shard]:
    return [Shard.of(draws, tasks[start : start + SIZE], folder) for start in range(0, len(tasks), SIZE)]


@contextmanager
def open_shard_folder(folder: Path) -> Iterator[Path]:
    """A folder for shards, for this process alone to coordinate; removed at the end, but kept when work is broken off.

    Raises StageFailed when another process holds it.
    """
    with only_one(folder):
        yield folder
        away = own_name(folder)  # at once: a late helper may still write to it
        folder.replace(away)
        rmtree(away)


def own_name(path: Path) -> Path:
    """A name beside it that no other process has."""
    return path.with_name(f"{path.name}.{uuid4().hex}")


def digest(value: object) -> str:
    return blake2b(json.dumps(value).encode(), digest_size=8).hexdigest()


@cache
def own_code() -> str:
    """The code of this package and what the servers do, as this process found it when it first asked."""
    return digest([code_digest(PROVE), fingerprint(SERVERS), wording(SERVERS)])
