"""State of a file server: nodes of one tree, a user's shell in it, saved versions of files, and a trash."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from functools import lru_cache
from operator import attrgetter
from types import MappingProxyType
from typing import Literal, NewType

from ..core import Entity, Minute, State, Table, table
from ..shared.people import EmailAddress, cast

NodeId = NewType("NodeId", str)
ShellId = NewType("ShellId", str)
FileVersionId = NewType("FileVersionId", str)
TrashedItemId = NewType("TrashedItemId", str)
FileTagId = NewType("FileTagId", str)

NodeKind = Literal["directory", "file", "binary", "archive", "link"]

WORD = re.compile(r"[^\W_]+")
ROOT = "root"
COLLEAGUES = 9


class Member(Entity):
    """A file inside an archive; `path` is relative to the folder that was archived."""

    path: str
    content: str
    binary: bool
    size: int


class Node(Entity):
    """A file, folder, link or archive; sizes are in bytes. The root and what lies in the trash have no parent.

    `content` is the text of a file; of a binary one it only stands for its bytes. A link has a `target`, an absolute
    path. `mode` has the nine permission bits.
    """

    __label__ = "the {kind} {name}"
    id: NodeId
    parent: NodeId | None
    name: str
    kind: NodeKind
    owner: str
    group: str
    mode: int
    size: int
    modified: Minute
    content: str = ""
    target: str | None = None
    members: tuple[Member, ...] = ()
    tags: tuple[FileTagId, ...] = ()
    locked_by: str | None = None

    @property
    def place(self) -> str:
        """The folder and the name, which no two nodes of the tree share."""
        return f"{self.parent}/{self.name}"

    @property
    def name_words(self) -> tuple[str, ...]:
        """The distinct words of the name."""
        return words_of(self.name)

    @property
    def words(self) -> tuple[str, ...]:
        """The distinct words of a text file."""
        return words_of(self.content) if self.kind == "file" else ()


class Shell(Entity):
    """Who works here, and in which folder; `used` and `quota` are bytes, `previous` the folder before this one."""

    id: ShellId
    user: str
    groups: tuple[str, ...]
    home: NodeId
    cwd: NodeId
    previous: NodeId | None
    used: int
    quota: int


class FileVersion(Entity):
    """What a text file held before it was changed; the highest `number` is the newest."""

    __label__ = "version {number}"
    id: FileVersionId
    node: NodeId
    number: int
    content: str
    size: int
    saved: Minute


class TrashedItem(Entity):
    """Something in the trash, with all that is in it; `folder` is where it was, `path` what it was called there."""

    __label__ = "the deleted {name}"
    id: TrashedItemId
    node: NodeId
    folder: NodeId
    name: str
    path: str
    size: int
    deleted: Minute


class Disk(State):
    """The whole file server as one user's session sees it."""

    nodes: Table[NodeId, Node] = table("NOD", "node", index=("parent", "place", "name_words", "words", "tags"))
    shells: Table[ShellId, Shell] = table("SHLL", "shell")
    versions: Table[FileVersionId, FileVersion] = table("FVR", "version", index=("node",))
    trash: Table[TrashedItemId, TrashedItem] = table("TRSH", "item in the trash", index=("node",))

    @property
    def shell(self) -> Shell:
        """The shell of this session."""
        return next(iter(self.shells))

    @property
    def root(self) -> Node:
        """The folder that holds all others."""
        return self.nodes.where(place="None/")[0]

    def child(self, folder: NodeId, name: str) -> Node | None:
        found = self.nodes.where(place=f"{folder}/{name}")
        return found[0] if found else None

    def children(self, folder: NodeId) -> list[Node]:
        """Return the nodes in a folder, sorted by name."""
        return sorted(self.nodes.where(parent=folder), key=attrgetter("name"))

    def walk_subtree(self, node: Node) -> Iterator[Node]:
        """Yield the node and everything in it, folders before their contents."""
        yield node
        if node.kind == "directory":
            for child in self.children(node.id):
                yield from self.walk_subtree(child)

    def walk_ancestors(self, node: Node) -> Iterator[Node]:
        """Yield the folders that contain a node, the nearest first."""
        while node.parent is not None:
            node = self.nodes[node.parent]
            yield node

    def path(self, node: Node) -> str:
        """Return the absolute path of a node; for a node in the trash, the path within the trash."""
        names = [node.name]
        while node.parent is not None:
            node = self.nodes[node.parent]
            names.append(node.name)
        return "/".join(reversed(names)) or "/"

    def is_trashed(self, node: Node) -> bool:
        top = [node, *self.walk_ancestors(node)][-1]
        return top.name != ""

    def logins(self) -> Mapping[str, EmailAddress]:
        """Return the addresses of the people who may own something here, by login; the user comes first."""
        return logins(self.seed)


@lru_cache(maxsize=64)
def logins(seed: int) -> Mapping[str, EmailAddress]:
    """Return the addresses of the user and the colleagues of a world, by login."""
    return MappingProxyType({login(person.name): person.id for person in cast(seed, COLLEAGUES)})


def login(name: str) -> str:
    """Return the login of a person: the first name in lowercase."""
    return name.split()[0].lower()


def words_of(text: str) -> tuple[str, ...]:
    """Return the distinct words and numbers of a text in lowercase."""
    return tuple(dict.fromkeys(WORD.findall(text.casefold())))


def bytes_of(text: str) -> int:
    return len(text.encode())


def compute_archive_size(members: tuple[Member, ...]) -> int:
    """Return the bytes that an archive of these files takes: a third of their sizes plus an overhead for each."""
    return 22 + sum(30 + member.size // 3 for member in members)
