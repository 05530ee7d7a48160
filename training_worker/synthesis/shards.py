"""Shards: portions of a dataset's draws in files, so that any process may make them and interrupted work resumes.

A shard's name identifies everything that its content depends on, including the code: a file of that name is valid
whichever process made it, and made twice it has the same bytes. So processes need no coordination.
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

from mcp_servers.catalogue import SERVERS, compute_wording_digest, fingerprint

from ..core.stage_cache import code_digest, only_one
from ..core.trajectory import Example, Kind, Split, UnreadableData, read_lines, write_lines
from ..graph.dependency_graph import read
from .conversation import Recipe, make

SHARDS = "shards"  # the folder of shards in the dataset's folder
SIZE = 25  # draws per shard: about a second's work
Task = tuple[int, Kind | None, str | None]  # index, kind and target tool of a conversation


@dataclass(frozen=True)
class Result:
    """The result of one draw: a conversation or None, and the reasons of dropped trials."""

    example: Example | None
    dropped: tuple[str, ...] = ()


@dataclass(frozen=True)
class Draws:
    """The common settings of all draws of a split."""

    graph: nx.DiGraph
    recipe: Recipe
    split: Split

    @classmethod
    def load(cls, graph: Path, recipe: Recipe, split: Split) -> Draws:
        """Load the graph from a file. Raises LookupError when it does not exist."""
        if (found := read(graph)) is None:
            raise LookupError(graph)
        return cls(found, recipe, split)

    def make(self, tasks: Sequence[Task]) -> list[Result]:
        return [self.make_result(*task) for task in tasks]

    def make_result(self, index: int, kind: Kind | None, target: str | None) -> Result:
        example, dropped = make(index, self.split, self.graph, self.recipe, kind, target)
        return Result(example, tuple(dropped))

    @cached_property
    def key(self) -> str:
        """Digest of everything that a draw depends on, except its task."""
        return digest([own_code(), nx.node_link_data(self.graph, edges="edges"), asdict(self.recipe), self.split])

    def graph_file(self, folder: Path) -> Path:
        return folder / f"graph-{self.key}.json"

    def leave_graph(self, folder: Path) -> Path:
        """Write the graph to a file for worker processes, and return its path."""
        path = self.graph_file(folder)
        own = own_name(path)
        write_lines(own, [nx.node_link_data(self.graph, edges="edges")])
        own.replace(path)
        return path


@dataclass(frozen=True)
class Shard:
    """Some draws, and the file that contains them once they are made."""

    path: Path
    tasks: tuple[Task, ...] = field(compare=False)

    @classmethod
    def from_tasks(cls, draws: Draws, tasks: Sequence[Task], folder: Path) -> Shard:
        name = f"{draws.split}-{tasks[0][0]:06d}-{digest([draws.key, tasks])}.jsonl"
        return cls(folder / name, tuple(tasks))

    def read(self) -> list[Result] | None:
        """Return the results in the order of the tasks; None when not made. Removes an incomplete file."""
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
        """Make the draws and write them atomically. Raises OSError when writing fails."""
        own = own_name(self.path)
        write_lines(own, draws.make(self.tasks))
        own.replace(self.path)


def in_shards(tasks: Sequence[Task], draws: Draws, folder: Path) -> list[Shard]:
    return [Shard.from_tasks(draws, tasks[start : start + SIZE], folder) for start in range(0, len(tasks), SIZE)]


@contextmanager
def open_shard_folder(folder: Path) -> Iterator[Path]:
    """Open a folder for shards exclusively; it is removed at the end, but kept when the work is interrupted.

    Raises StageFailed when another process uses it.
    """
    with only_one(folder):
        yield folder
        away = own_name(folder)  # renamed first, since a late helper may still write to it
        folder.replace(away)
        rmtree(away)


def own_name(path: Path) -> Path:
    """Return a unique name next to a path."""
    return path.with_name(f"{path.name}.{uuid4().hex}")


def digest(value: object) -> str:
    return blake2b(json.dumps(value).encode(), digest_size=8).hexdigest()


@cache
def own_code() -> str:
    """Return a digest of the synthesis code and the servers' behaviour, computed once per process."""
    return digest([code_digest(), fingerprint(SERVERS), compute_wording_digest(SERVERS)])
