"""Tools for permissions, locks, tags and archives."""

from __future__ import annotations

from ..core import Entity, ToolError
from .paths import (
    ENTER,
    READ,
    WRITE,
    locate,
    locate_archive,
    locate_directory,
    locate_file,
    locate_spot,
    require,
    require_spot,
)
from .server import (
    ArchiveRef,
    DirectoryRef,
    EntryRef,
    FileRef,
    IntoDirectory,
    Limit,
    Mode,
    NewArchive,
    NewTag,
    TagRef,
    server,
)
from .state import Disk, FileTagId, Member, Node, NodeKind, compute_archive_size
from .storage import add
from .views import ArchivePath, DirectoryPath, FileAccess, FileTags, access_of, name_of, tags_of

# Tools for permission bits, locks and tags.

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


# Tools for .zip archives: create one from a folder, list its files, extract it.

ENDING = ".zip"
MOST_MEMBERS = 40
ROWS = 10


class ArchiveState(Entity):
    """An archive and how many files are in it."""

    __label__ = "the archive {name}"
    id: ArchivePath
    name: str
    bytes: int
    files: int


class PackedFile(Entity):
    """A file in an archive: its path there and its size when extracted."""

    path: str
    bytes: int


class ExtractedFolder(Entity):
    """The folder that was made of an archive, and how many files are in it."""

    __label__ = "the folder {name}"
    id: DirectoryPath
    name: str
    files: int


@server.write(idempotent=True)
def create_archive(disk: Disk, directory: DirectoryRef, path: NewArchive) -> ArchiveState:
    """Pack all files of a folder and below it into a new .zip archive."""
    source = locate_directory(disk, directory)
    if not path.endswith(ENDING) or path.endswith(f"/{ENDING}") or path == ENDING:
        raise ToolError("invalid_name", f"The name of an archive ends in {ENDING}; add the ending.")
    members = tuple(sorted(pack(disk, source, ""), key=lambda member: member.path))
    if not members:
        raise ToolError("nothing_to_archive", f"There are no files in {directory}; choose a folder that has some.")
    folder, name = archive_spot(disk, path)
    node = add(disk, folder, name, "archive", size=compute_archive_size(members), members=members)
    return ArchiveState(id=ArchivePath(disk.path(node)), name=name, bytes=node.size, files=len(members))


def archive_spot(disk: Disk, path: str) -> tuple[Node, str]:
    try:
        return locate_spot(disk, path)
    except ToolError as refusal:
        if refusal.code != "file_exists":
            raise
        raise ToolError("archive_exists", f"There is an archive {path} already; choose another name.") from None


def pack(disk: Disk, folder: Node, prefix: str) -> list[Member]:
    """Return the files in and below a folder as archive members; links and other archives are left out."""
    require(disk, folder, READ)
    require(disk, folder, ENTER)
    found: list[Member] = []
    for node in disk.children(folder.id):
        if node.kind == "directory":
            found += pack(disk, node, f"{prefix}{node.name}/")
        elif node.kind in ("file", "binary"):
            require(disk, node, READ)
            binary = node.kind == "binary"
            found.append(Member(path=f"{prefix}{node.name}", content=node.content, binary=binary, size=node.size))
        if len(found) > MOST_MEMBERS:
            raise ToolError(
                "too_many_files", f"An archive takes up to {MOST_MEMBERS} files; pack a folder further down."
            )
    return found


@server.read()
def list_archive(disk: Disk, archive: ArchiveRef, limit: Limit = ROWS) -> tuple[PackedFile, ...]:
    """List the files in an archive without extracting them."""
    node = locate_archive(disk, archive)
    return tuple(PackedFile(path=member.path, bytes=member.size) for member in node.members[:limit])


@server.write(idempotent=True)
def extract_archive(disk: Disk, archive: ArchiveRef, directory: IntoDirectory) -> ExtractedFolder:
    """Extract an archive into a new folder that has its name."""
    node, into = locate_archive(disk, archive), locate_directory(disk, directory)
    name = node.name.removesuffix(ENDING)
    require_spot(disk, into, name)
    top = add(disk, into, name, "directory")
    folders = {"": top}
    for member in node.members:
        path, _, file = member.path.rpartition("/")
        folder = folder_for(disk, path, folders)
        kind: NodeKind = "binary" if member.binary else "file"
        add(disk, folder, file, kind, content=member.content, size=member.size)
    return ExtractedFolder(id=DirectoryPath(disk.path(top)), name=name_of(top), files=len(node.members))


def folder_for(disk: Disk, path: str, made: dict[str, Node]) -> Node:
    """Return the folder for a path in an archive; create it when it is first needed."""
    if path not in made:
        parent, _, name = path.rpartition("/")
        made[path] = add(disk, folder_for(disk, parent, made), name, "directory")
    return made[path]
