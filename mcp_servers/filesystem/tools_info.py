"""Tools that tell about files without reading them: details, checksum, the space that is taken."""

from __future__ import annotations

from hashlib import sha256

from ..kit import Entity
from .parameters import DirectoryRef, EntryRef, FileRef
from .paths import ENTER, READ, allows, locate, locate_directory, locate_file, require
from .serializers import file_entry, info_of, name_of
from .server import server
from .state import Disk, Node
from .views import DirectoryPath, FileEntry, FileInfo

LARGEST = 3


class Usage(Entity):
    """What a folder takes with all below it, its largest files, and the user's quota; sizes are in bytes."""

    __label__ = "the folder {name}"
    id: DirectoryPath
    name: str
    bytes: int
    files: int
    folders: int
    largest: tuple[FileEntry, ...]
    used: int
    quota: int


class Checksum(Entity):
    """A file's size and the first 16 hex digits of its SHA hash, equal when the contents are."""

    name: str
    bytes: int
    sha256: str


@server.read()
def get_file_info(disk: Disk, file: EntryRef) -> FileInfo:
    """Get the details of a file, folder or link; a link is not followed."""
    return info_of(disk, locate(disk, file, follow=False))


@server.read()
def get_disk_usage(disk: Disk, directory: DirectoryRef) -> Usage:
    """Get the size of a folder with all below it, and of your quota."""
    folder, shell = locate_directory(disk, directory), disk.shell
    require(disk, folder, READ)
    files, folders, waiting = list[tuple[Node, str]](), 0, [(folder, disk.path(folder).rstrip("/"))]
    while waiting:
        parent, path = waiting.pop()
        if allows(shell, parent, READ | ENTER):
            for node in disk.children(parent.id):
                if node.kind == "directory":
                    waiting.append((node, f"{path}/{node.name}"))
                    folders += 1
                else:
                    files.append((node, f"{path}/{node.name}"))
    largest = sorted(files, key=lambda row: (-row[0].size, row[1]))[:LARGEST]
    return Usage(
        id=DirectoryPath(disk.path(folder)),
        name=name_of(folder),
        bytes=sum(node.size for node, _ in files),
        files=len(files),
        folders=folders,
        largest=tuple(file_entry(*row) for row in largest),
        used=shell.used,
        quota=shell.quota,
    )


@server.read()
def checksum_file(disk: Disk, file: FileRef) -> Checksum:
    """Compute a checksum of a file: files with one checksum are equal."""
    node = locate_file(disk, file)
    require(disk, node, READ)
    text = "\n".join([node.content, *(f"{member.path}\n{member.content}" for member in node.members)])
    return Checksum(name=node.name, bytes=node.size, sha256=sha256(text.encode()).hexdigest()[:16])
