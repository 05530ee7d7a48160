"""Tools that make, move and delete folders."""

from __future__ import annotations

from ..kit import ToolError
from .parameters import DirectoryRef, FolderName, IntoDirectory, NewFolder, Scope
from .paths import WRITE, locate_directory, locate_spot, require, require_open, require_spot
from .serializers import folder_entry
from .server import server
from .state import Disk, Node
from .storage import add, is_within, require_not_in_use, require_unlocked
from .trash import discard
from .views import FolderEntry, TrashEntry


@server.write(idempotent=True)
def create_directory(disk: Disk, path: NewFolder) -> FolderEntry:
    """Create an empty folder in a folder that exists."""
    parent, name = locate_spot(disk, path.rstrip("/") or path)
    node = add(disk, parent, name, "directory")
    return folder_entry(node, disk.path(node))


@server.write(idempotent=True)
def move_directory(disk: Disk, directory: DirectoryRef, target: IntoDirectory, name: FolderName = None) -> FolderEntry:
    """Move a folder with all its contents into another folder."""
    node, into = locate_directory(disk, directory, follow=False), locate_directory(disk, target)
    require_removable(disk, node)
    if is_within(disk, into, node.id):
        raise ToolError("inside_itself", f"{target} is or lies in {directory}; move it to a folder outside of it.")
    require_spot(disk, into, name or node.name)
    node = disk.nodes.change(node.id, parent=into.id, name=name or node.name)
    return folder_entry(node, disk.path(node))


def require_removable(disk: Disk, node: Node) -> None:
    """Raise ToolError unless the folder may be taken from where it is."""
    if node.parent is None:
        raise ToolError("permission_denied", "The root folder holds all others and stays; name another folder.")
    require_open(disk, disk.nodes[node.parent])
    require_not_in_use(disk, node)


@server.write(idempotent=True)
def delete_directory(disk: Disk, directory: DirectoryRef, scope: Scope = "only if empty") -> TrashEntry:
    """Move a folder to the trash, by default only when it is empty."""
    node = locate_directory(disk, directory, follow=False)
    require_removable(disk, node)
    inside = list(disk.below(node))[1:]
    if inside and scope == "only if empty":
        raise ToolError(
            "directory_not_empty", f'{directory} holds {len(inside)} items; ask for the scope "with all contents".'
        )
    if inside:
        require(disk, node, WRITE)
    for one in inside:
        require_unlocked(disk, one)
    return discard(disk, node)
