"""What the file tools answer: nodes by their absolute paths, which other tools take."""

from __future__ import annotations

from typing import Literal, NewType

from ..kit import Entity, Minute
from ..people import EmailAddress
from .state import FileTagId, FileVersionId, TrashedItemId

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
