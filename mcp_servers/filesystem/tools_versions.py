"""Tools on what files held before: listing versions, bringing one back, undoing the last change."""

from __future__ import annotations

from ..kit import ToolError
from .parameters import ROWS, FileRef, Limit, VersionRef
from .paths import locate_text
from .serializers import file_state, version_entry
from .server import server
from .state import Disk
from .storage import editable, put_content, rewrite
from .views import FileState, VersionEntry


@server.read()
def list_file_versions(disk: Disk, file: FileRef, limit: Limit = ROWS) -> tuple[VersionEntry, ...]:
    """List the kept versions of a text file, the newest first."""
    kept = disk.versions.where(node=locate_text(disk, file).id)
    return tuple(version_entry(version) for version in kept[::-1][:limit])


@server.write()
def restore_file_version(disk: Disk, version: VersionRef) -> FileState:
    """Make a kept version the text of its file again. The present text becomes a version."""
    row = disk.versions[version]
    node = disk.nodes[row.node]
    if disk.is_trashed(node):
        raise ToolError("file_deleted", f"{node.name} is in the trash; restore it from there first.")
    node = editable(disk, disk.path(node))
    return file_state(disk, rewrite(disk, node, row.content))


@server.write()
def undo_file_change(disk: Disk, file: FileRef) -> FileState:
    """Undo the last change of a text file; its newest version is used up."""
    node = editable(disk, file)
    kept = disk.versions.where(node=node.id)
    if not kept:
        raise ToolError("nothing_to_undo", f"No earlier version of {file} is kept; nothing can be undone.")
    last = disk.versions.remove(kept[-1].id)
    return file_state(disk, put_content(disk, node, last.content))
