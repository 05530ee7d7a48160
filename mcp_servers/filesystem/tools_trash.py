"""Tools on the trash: what is in it, taking things out again, emptying it."""

from __future__ import annotations

from ..kit import Entity, ToolError
from .parameters import ROWS, Limit, RestoreTo, TrashedRef
from .paths import locate_directory, require_spot
from .serializers import entries, trash_entry
from .server import server
from .state import Disk
from .storage import erase
from .views import Entries, TrashEntry


class EmptiedTrash(Entity):
    """How much was erased, and what the user's files take now; sizes are in bytes."""

    erased: int
    used: int
    quota: int


@server.read()
def list_trash(disk: Disk, limit: Limit = ROWS) -> tuple[TrashEntry, ...]:
    """List deleted files and folders, the last deleted first."""
    rows = sorted(disk.trash, key=lambda item: (item.deleted, item.id), reverse=True)
    return tuple(trash_entry(item) for item in rows[:limit])


@server.write(idempotent=True)
def restore_from_trash(disk: Disk, item: TrashedRef, directory: RestoreTo = None) -> Entries:
    """Put a deleted file or folder back where it was, or into another folder."""
    row = disk.trash[item]
    folder = disk.nodes[row.folder] if directory is None else locate_directory(disk, directory)
    if disk.is_trashed(folder):
        raise ToolError("original_folder_gone", f"The folder of {row.path} is deleted too; name another directory.")
    require_spot(disk, folder, row.name)
    disk.trash.remove(item)
    node = disk.nodes.change(row.node, parent=folder.id)
    return entries([(node, disk.path(node))], 1)


@server.write(destructive=True, idempotent=True)
def empty_trash(disk: Disk) -> EmptiedTrash:
    """Erase everything in the trash for good, which frees its space."""
    items = list(disk.trash)
    if not items:
        raise ToolError("trash_empty", "The trash is empty already; nothing is left to erase.")
    for item in items:
        disk.trash.remove(item.id)
    erased = sum(erase(disk, disk.nodes[item.node]) for item in items)
    shell = disk.shell
    return EmptiedTrash(erased=erased, used=shell.used, quota=shell.quota)
