"""Tools that look around: where one is, what a folder holds, the tree below it."""

from __future__ import annotations

from operator import attrgetter

from ..kit import Entity, ToolError
from .parameters import ROWS, AskedDirectory, Depth, DirectoryRef, Limit, NextDirectory, Sort
from .paths import ENTER, READ, allows, locate_directory, require
from .serializers import entries, name_of
from .server import server
from .state import Disk, Node
from .views import DirectoryPath, Entries


class WorkingDirectory(Entity):
    """The folder that relative paths start from, and who works in it."""

    __label__ = "the folder {name}"
    id: DirectoryPath
    name: str
    user: str
    previous: DirectoryPath | None = None


class Branch(Entity):
    """A folder of a tree: how far down it lies and how many files are in it; none when it is closed to the user."""

    __label__ = "the folder {name}"
    id: DirectoryPath
    name: str
    depth: int
    files: int | None = None


def working_directory(disk: Disk) -> WorkingDirectory:
    shell = disk.shell
    here, before = disk.nodes[shell.cwd], disk.nodes.get(shell.previous or "")
    return WorkingDirectory(
        id=DirectoryPath(disk.path(here)),
        name=name_of(here),
        user=shell.user,
        previous=DirectoryPath(disk.path(before)) if before and not disk.is_trashed(before) else None,
    )


@server.read()
def get_working_directory(disk: Disk) -> WorkingDirectory:
    """Get the working directory, which relative paths start from."""
    return working_directory(disk)


@server.write()
def change_directory(disk: Disk, directory: NextDirectory) -> WorkingDirectory:
    """Change the working directory."""
    shell = disk.shell
    if directory == "-":
        before = disk.nodes.get(shell.previous or "")
        if before is None or disk.is_trashed(before):
            raise ToolError("no_previous_directory", "There is no previous directory to go back to; name a folder.")
        directory = DirectoryPath(disk.path(before))
    node = locate_directory(disk, directory)
    require(disk, node, ENTER)
    disk.shells.change(shell.id, cwd=node.id, previous=shell.cwd)
    return working_directory(disk)


@server.read()
def list_directory(disk: Disk, directory: AskedDirectory = None, sort: Sort = "name", limit: Limit = ROWS) -> Entries:
    """List what is in a folder: its folders, files and archives."""
    folder = locate_directory(disk, directory or ".")
    require(disk, folder, READ)
    path = disk.path(folder).rstrip("/")
    rows = disk.children(folder.id)
    if sort != "name":
        rows.sort(key=attrgetter(sort), reverse=True)
    return entries([(node, f"{path}/{node.name}") for node in rows], limit)


@server.read()
def show_directory_tree(
    disk: Disk, directory: DirectoryRef, depth: Depth = 2, limit: Limit = 3 * ROWS
) -> tuple[Branch, ...]:
    """Show the folders below a folder, each with its number of files."""
    folder = locate_directory(disk, directory)
    require(disk, folder, READ)
    found: list[Branch] = []
    waiting, shell = [(folder, 0)], disk.shell
    while waiting and len(found) < limit:
        node, level = waiting.pop()
        inside = disk.children(node.id) if allows(shell, node, READ | ENTER) else None
        found.append(branch(disk, node, level, inside))
        if level < depth:
            waiting += [(child, level + 1) for child in reversed(inside or ()) if child.kind == "directory"]
    return tuple(found)


def branch(disk: Disk, node: Node, level: int, inside: list[Node] | None) -> Branch:
    return Branch(
        id=DirectoryPath(disk.path(node)),
        name=name_of(node),
        depth=level,
        files=None if inside is None else sum(child.kind != "directory" for child in inside),
    )
