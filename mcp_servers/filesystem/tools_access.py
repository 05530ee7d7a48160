"""Tools that guard and mark files: permission bits, locks, tags."""

from __future__ import annotations

from ..kit import ToolError
from .parameters import EntryRef, FileRef, Mode, NewTag, TagRef
from .paths import WRITE, locate, locate_file, require
from .serializers import access_of, tags_of
from .server import server
from .state import Disk, FileTagId
from .views import FileAccess, FileTags

MOST_TAGS = 5


@server.write(idempotent=True)
def change_permissions(disk: Disk, file: EntryRef, mode: Mode) -> FileAccess:
    """Set who may read, write and enter a file or folder of yours."""
    node = locate(disk, file)
    if node.owner != disk.shell.user:
        raise ToolError("not_owner", f"{file} belongs to {node.owner}; only its owner sets its permissions.")
    return access_of(disk, disk.nodes.change(node.id, mode=int(mode, 8)))


@server.write(idempotent=True)
def lock_file(disk: Disk, file: FileRef) -> FileAccess:
    """Lock a file, so that nobody, you included, changes or moves it."""
    node = locate_file(disk, file)
    require(disk, node, WRITE)
    if node.locked_by is not None:
        raise ToolError("already_locked", f"{file} is locked by {node.locked_by} already; nothing is left to do.")
    return access_of(disk, disk.nodes.change(node.id, locked_by=disk.shell.user))


@server.write(idempotent=True)
def unlock_file(disk: Disk, file: FileRef) -> FileAccess:
    """Unlock a file that you have locked."""
    node = locate_file(disk, file)
    if node.locked_by is None:
        raise ToolError("not_locked", f"{file} is not locked; nothing is left to do.")
    if node.locked_by != disk.shell.user:
        raise ToolError("not_lock_holder", f"{file} is locked by {node.locked_by}, who alone can unlock it; ask them.")
    return access_of(disk, disk.nodes.change(node.id, locked_by=None))


@server.write(idempotent=True)
def tag_file(disk: Disk, file: FileRef, tag: NewTag) -> FileTags:
    """Put a tag on a file, by which it is found."""
    node = locate_file(disk, file)
    require(disk, node, WRITE)
    if tag in node.tags:
        raise ToolError("already_tagged", f"{file} has the tag {tag} already; nothing is left to do.")
    if len(node.tags) >= MOST_TAGS:
        raise ToolError("too_many_tags", f"{file} has {MOST_TAGS} tags, which is the most; take one off first.")
    return tags_of(disk, disk.nodes.change(node.id, tags=tuple(sorted((*node.tags, FileTagId(tag))))))


@server.write(idempotent=True)
def untag_file(disk: Disk, file: FileRef, tag: TagRef) -> FileTags:
    """Take a tag off a file."""
    node = locate_file(disk, file)
    require(disk, node, WRITE)
    if tag not in node.tags:
        raise ToolError("not_tagged", f"{file} does not have the tag {tag}; get_file_info shows those it has.")
    return tags_of(disk, disk.nodes.change(node.id, tags=tuple(one for one in node.tags if one != tag)))
