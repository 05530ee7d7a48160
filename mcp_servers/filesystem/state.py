"""What a file server knows: nodes of one tree, a user's shell in it, kept versions of files, and a trash."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from functools import lru_cache
from operator import attrgetter
from types import MappingProxyType
from typing import Literal, NewType

from ..kit import Entity, Minute, State, Table, table
from ..people import EmailAddress, cast

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
        """The folder and the name: what no two nodes of the tree share."""
        return f"{self.parent}/{self.name}"

    @property
    def name_words(self) -> tuple[str, ...]:
        """The words of its name, each once."""
        return words_of(self.name)

    @property
    def words(self) -> tuple[str, ...]:
        """The words of a text file, each once."""
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
        """What a folder holds, by name."""
        return sorted(self.nodes.where(parent=folder), key=attrgetter("name"))

    def below(self, node: Node) -> Iterator[Node]:
        """The node and all that is in it, folders before their contents."""
        yield node
        if node.kind == "directory":
            for child in self.children(node.id):
                yield from self.below(child)

    def above(self, node: Node) -> Iterator[Node]:
        """The folders a node lies in, the nearest first."""
        while node.parent is not None:
            node = self.nodes[node.parent]
            yield node

    def path(self, node: Node) -> str:
        """The absolute path of a node; of one in the trash, the path within it."""
        names = [node.name]
        while node.parent is not None:
            node = self.nodes[node.parent]
            names.append(node.name)
        return "/".join(reversed(names)) or "/"

    def is_trashed(self, node: Node) -> bool:
        top = [node, *self.above(node)][-1]
        return top.name != ""

    def logins(self) -> Mapping[str, EmailAddress]:
        """The people who may own something here: by login, their addresses. The user comes first."""
        return logins(self.seed)


@lru_cache(maxsize=64)
def logins(seed: int) -> Mapping[str, EmailAddress]:
    """By login, the addresses of the user and the colleagues of a world."""
    return MappingProxyType({login(person.name): person.id for person in cast(seed, COLLEAGUES)})


def login(name: str) -> str:
    """The login of a person: the first name in small letters."""
    return name.split()[0].lower()


def words_of(text: str) -> tuple[str, ...]:
    """The words and numbers of a text in small letters, each once."""
    return tuple(dict.fromkeys(WORD.findall(text.casefold())))


def bytes_of(text: str) -> int:
    return len(text.encode())


def packed(members: tuple[Member, ...]) -> int:
    """The bytes an archive of these files takes: a third of theirs, and something for each."""
    return 22 + sum(30 + member.size // 3 for member in members)
