"""Views of the file server in tool results; the ids of nodes are absolute paths, which other tools take."""

from __future__ import annotations

from typing import Literal, NewType

from ..core import Entity, Minute, ToolError
from ..shared.people import EmailAddress
from .paths import locate
from .state import Disk, FileTagId, FileVersion, FileVersionId, Node, TrashedItem, TrashedItemId

FilePath = NewType("FilePath", str)
DirectoryPath = NewType("DirectoryPath", str)
ArchivePath = NewType("ArchivePath", str)

EntryKind = Literal["file", "folder", "archive", "link"]


class FileEntry(Entity):
    """A file or link; `leads_to` is the target of a link."""

    __label__ = "the file {name}"
    id: FilePath
    name: str
    bytes: int
    leads_to: str | None = None
    locked_by: str | None = None


class FolderEntry(Entity):
    """A folder."""

    __label__ = "the folder {name}"
    id: DirectoryPath
    name: str


class ArchiveEntry(Entity):
    """A .zip archive."""

    __label__ = "the archive {name}"
    id: ArchivePath
    name: str
    bytes: int


class Entries(Entity):
    """Some nodes by kind; `more` counts those left out."""

    folders: tuple[FolderEntry, ...] | None = None
    files: tuple[FileEntry, ...] | None = None
    archives: tuple[ArchiveEntry, ...] | None = None
    more: int | None = None


class FileState(Entity):
    """A file after it was made or changed."""

    __label__ = "the file {name}"
    id: FilePath
    name: str
    bytes: int
    modified: Minute


class LinkState(Entity):
    """A link and the path it leads to."""

    __label__ = "the link {name}"
    id: FilePath
    name: str
    leads_to: str


class FileAccess(Entity):
    """Who may do what with a file, and who has locked it."""

    __label__ = "the file {name}"
    id: FilePath
    name: str
    owner: str
    mode: str
    locked_by: str | None = None


class FileTags(Entity):
    """A file and its tags."""

    __label__ = "the file {name}"
    id: FilePath
    name: str
    tags: tuple[FileTagId, ...]


class FileInfo(Entity):
    """All that is known of a node but its contents; `owner_address` is where a person who owns it is reached."""

    __label__ = "the {kind} {name}"
    id: FilePath
    name: str
    kind: EntryKind
    bytes: int
    lines: int | None = None
    owner: str
    owner_address: EmailAddress | None = None
    group: str
    mode: str
    modified: Minute
    tags: tuple[FileTagId, ...] | None = None
    locked_by: str | None = None
    versions: int | None = None
    leads_to: str | None = None
    broken: bool | None = None


class FileText(Entity):
    """Lines of a text file; `lines` is how many it has in all."""

    name: str
    lines: int
    text: str


class VersionEntry(Entity):
    """A kept version of a file: its size and first line."""

    __label__ = "version {number}"
    id: FileVersionId
    number: int
    saved: Minute
    bytes: int
    begins: str


class TrashEntry(Entity):
    """An item in the trash and where it was."""

    __label__ = "the deleted {name}"
    id: TrashedItemId
    name: str
    path: str
    bytes: int
    deleted: Minute


# Conversion of nodes, versions and deleted items to views.


def kind_of(node: Node) -> EntryKind:
    """Return the kind of a node as shown to the user: a binary file is a file."""
    if node.kind == "directory":
        return "folder"
    return "file" if node.kind == "binary" else node.kind


def name_of(node: Node) -> str:
    return node.name or "/"


def file_entry(node: Node, path: str) -> FileEntry:
    return FileEntry(id=FilePath(path), name=node.name, bytes=node.size, leads_to=node.target, locked_by=node.locked_by)


def folder_entry(node: Node, path: str) -> FolderEntry:
    return FolderEntry(id=DirectoryPath(path), name=name_of(node))


def archive_entry(node: Node, path: str) -> ArchiveEntry:
    return ArchiveEntry(id=ArchivePath(path), name=node.name, bytes=node.size)


def entries(found: list[tuple[Node, str]], limit: int) -> Entries:
    """Return up to `limit` nodes of each kind, in the order given; kinds without nodes are left out."""
    folders = [row for row in found if row[0].kind == "directory"]
    archives = [row for row in found if row[0].kind == "archive"]
    files = [row for row in found if row[0].kind not in ("directory", "archive")]
    return Entries(
        folders=tuple(folder_entry(*row) for row in folders[:limit]) or None,
        files=tuple(file_entry(*row) for row in files[:limit]) or None,
        archives=tuple(archive_entry(*row) for row in archives[:limit]) or None,
        more=sum(max(0, len(rows) - limit) for rows in (folders, files, archives)) or None,
    )


def file_state(disk: Disk, node: Node) -> FileState:
    return FileState(id=FilePath(disk.path(node)), name=node.name, bytes=node.size, modified=node.modified)


def access_of(disk: Disk, node: Node) -> FileAccess:
    return FileAccess(
        id=FilePath(disk.path(node)),
        name=name_of(node),
        owner=node.owner,
        mode=f"{node.mode:03o}",
        locked_by=node.locked_by,
    )


def tags_of(disk: Disk, node: Node) -> FileTags:
    return FileTags(id=FilePath(disk.path(node)), name=node.name, tags=node.tags)


def info_of(disk: Disk, node: Node) -> FileInfo:
    return FileInfo.from_row(
        node,
        id=FilePath(disk.path(node)),
        name=name_of(node),
        kind=kind_of(node),
        bytes=node.size,
        lines=len(node.content.splitlines()) if node.kind == "file" else None,
        owner_address=disk.logins().get(node.owner),
        mode=f"{node.mode:03o}",
        tags=node.tags or None,
        versions=len(disk.versions.where(node=node.id)) or None,
        leads_to=node.target,
        broken=is_broken(disk, node) if node.kind == "link" else None,
    )


def is_broken(disk: Disk, link: Node) -> bool:
    """Return whether a link leads to nothing that the user can reach."""
    try:
        locate(disk, link.target or "/")
    except ToolError:
        return True
    return False


def version_entry(version: FileVersion) -> VersionEntry:
    return VersionEntry.from_row(version, bytes=version.size, begins=next(iter(version.content.splitlines()), "")[:60])


def trash_entry(item: TrashedItem) -> TrashEntry:
    return TrashEntry.from_row(item, bytes=item.size)
