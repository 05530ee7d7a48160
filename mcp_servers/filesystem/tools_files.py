"""Tools that copy, move, rename, delete and link files."""

from __future__ import annotations

from ..kit import ToolError
from .parameters import CopyName, FileRef, IntoDirectory, NewLink, NewName, TargetRef
from .paths import READ, locate, locate_directory, locate_file, locate_spot, require, require_open, require_spot
from .serializers import file_state
from .server import server
from .state import Disk, Node, bytes_of
from .storage import add, require_unlocked
from .trash import discard
from .views import FilePath, FileState, LinkState, TrashEntry


def movable(disk: Disk, path: str) -> Node:
    """A file, archive or link the user may take from where it is."""
    node = locate_file(disk, path, follow=False)
    require_open(disk, disk.nodes[node.parent] if node.parent else node)
    require_unlocked(disk, node)
    return node


@server.write(idempotent=True)
def copy_file(disk: Disk, file: FileRef, directory: IntoDirectory, name: CopyName = None) -> FileState:
    """Copy a file into a folder; the copy is yours."""
    node, folder = locate_file(disk, file), locate_directory(disk, directory)
    require(disk, node, READ)
    require_spot(disk, folder, name or node.name)
    copy = add(disk, folder, name or node.name, node.kind, content=node.content, size=node.size, members=node.members)
    return file_state(disk, copy)


@server.write(idempotent=True)
def move_file(disk: Disk, file: FileRef, directory: IntoDirectory) -> FileState:
    """Move a file, archive or link into another folder."""
    node, folder = movable(disk, file), locate_directory(disk, directory)
    if node.parent == folder.id:
        raise ToolError("same_place", f"{file} is in {disk.path(folder)} already; name another folder.")
    require_spot(disk, folder, node.name)
    return file_state(disk, disk.nodes.change(node.id, parent=folder.id))


@server.write(idempotent=True)
def rename_file(disk: Disk, file: FileRef, name: NewName) -> FileState:
    """Rename a file, archive or link within its folder."""
    node = movable(disk, file)
    require_spot(disk, disk.nodes[node.parent] if node.parent else node, name)
    return file_state(disk, disk.nodes.change(node.id, name=name))


@server.write(idempotent=True)
def delete_file(disk: Disk, file: FileRef) -> TrashEntry:
    """Move a file, archive or link to the trash; of a link only itself."""
    return discard(disk, movable(disk, file))


@server.write(idempotent=True)
def create_link(disk: Disk, target: TargetRef, path: NewLink) -> LinkState:
    """Create a symbolic link to a file or folder that exists."""
    leads_to = disk.path(locate(disk, target, follow=False))
    folder, name = locate_spot(disk, path)
    node = add(disk, folder, name, "link", target=leads_to, size=bytes_of(leads_to))
    return LinkState(id=FilePath(disk.path(node)), name=name, leads_to=leads_to)
