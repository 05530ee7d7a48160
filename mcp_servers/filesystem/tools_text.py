"""Tools for contents: reading and writing text, versions, and the trash."""

from __future__ import annotations

from difflib import unified_diff

from ..core import Entity, ToolError
from .paths import locate_directory, locate_spot, locate_text, require_spot
from .server import (
    ROWS,
    Addition,
    Content,
    FileRef,
    Limit,
    LineCount,
    New,
    NewFile,
    Old,
    OtherFile,
    RestoreTo,
    TrashedRef,
    VersionRef,
    Which,
    server,
)
from .state import Disk
from .storage import add_text, editable, erase, put_content, rewrite
from .views import (
    Entries,
    FileState,
    FileText,
    TrashEntry,
    VersionEntry,
    entries,
    file_state,
    trash_entry,
    version_entry,
)

# Tools that read files: whole, their first or last lines, or two files compared.

READ_AT_ONCE = 1_500
COMPARED_LINES, LISTED_LINES = 400, 20


class Comparison(Entity):
    """How two files differ: lines only the second has, lines only the first has, and the first of these."""

    added: int
    removed: int
    changes: tuple[str, ...] | None = None


@server.read()
def read_file(disk: Disk, file: FileRef) -> FileText:
    """Read a whole text file; long ones are read in parts."""
    node = locate_text(disk, file)
    if len(node.content) > READ_AT_ONCE:
        raise ToolError(
            "file_too_long",
            f"{file} has over {READ_AT_ONCE} characters; use read_file_head, read_file_tail or search_file_contents.",
        )
    return FileText(name=node.name, lines=len(node.content.splitlines()), text=node.content)


@server.read()
def read_file_head(disk: Disk, file: FileRef, lines: LineCount = 5) -> FileText:
    """Read the first lines of a text file."""
    node = locate_text(disk, file)
    rows = node.content.splitlines()
    return FileText(name=node.name, lines=len(rows), text="\n".join(rows[:lines]))


@server.read()
def read_file_tail(disk: Disk, file: FileRef, lines: LineCount = 5) -> FileText:
    """Read the last lines of a text file."""
    node = locate_text(disk, file)
    rows = node.content.splitlines()
    return FileText(name=node.name, lines=len(rows), text="\n".join(rows[-lines:]))


@server.read()
def compare_files(disk: Disk, file: FileRef, other: OtherFile) -> Comparison:
    """Compare two text files line by line."""
    first, second = locate_text(disk, file), locate_text(disk, other)
    if first.id == second.id:
        raise ToolError("same_file", "Both paths lead to one file; name two different ones.")
    before, after = first.content.splitlines(), second.content.splitlines()
    if max(len(before), len(after)) > COMPARED_LINES:
        raise ToolError("file_too_long", f"Files of up to {COMPARED_LINES} lines can be compared; these are longer.")
    changes = list(unified_diff(before, after, lineterm="", n=0))[2:]
    return Comparison(
        added=sum(line.startswith("+") for line in changes),
        removed=sum(line.startswith("-") for line in changes),
        changes=tuple(changes[:LISTED_LINES]) or None,
    )


# Tools for the trash: list, restore, empty.


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


# Tools for file versions: list, restore, undo the last change.


@server.read()
def list_file_versions(disk: Disk, file: FileRef, limit: Limit = ROWS) -> tuple[VersionEntry, ...]:
    """List the kept versions of a text file, the newest first."""
    versions = disk.versions.where(node=locate_text(disk, file).id)
    return tuple(version_entry(version) for version in versions[::-1][:limit])


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
    versions = disk.versions.where(node=node.id)
    if not versions:
        raise ToolError("nothing_to_undo", f"No earlier version of {file} is kept; nothing can be undone.")
    last = disk.versions.remove(versions[-1].id)
    return file_state(disk, put_content(disk, node, last.content))


# Tools that create text files and change their contents.


def ensure_trailing_newline(text: str) -> str:
    """Return the text with a line break at the end of its last line."""
    return text if not text or text.endswith("\n") else f"{text}\n"


@server.write(idempotent=True)
def create_file(disk: Disk, path: NewFile, content: Content) -> FileState:
    """Create a text file in a folder that exists."""
    folder, name = locate_spot(disk, path)
    return file_state(disk, add_text(disk, folder, name, ensure_trailing_newline(content)))


@server.write()
def write_file(disk: Disk, file: FileRef, content: Content) -> FileState:
    """Overwrite a text file; the old text is kept as a version."""
    return file_state(disk, rewrite(disk, editable(disk, file), ensure_trailing_newline(content)))


@server.write()
def append_to_file(disk: Disk, file: FileRef, text: Addition) -> FileState:
    """Append lines to a text file; the old text is kept as a version."""
    node = editable(disk, file)
    return file_state(disk, rewrite(disk, node, ensure_trailing_newline(node.content) + ensure_trailing_newline(text)))


@server.write()
def replace_in_file(disk: Disk, file: FileRef, old: Old, new: New, which: Which = "first") -> FileState:
    """Replace a piece of text in a file. What it was is kept as a version."""
    node = editable(disk, file)
    if old not in node.content:
        raise ToolError("text_not_found", f"{file} does not hold this text; read it and name a piece as it stands.")
    if old == new:
        raise ToolError("text_unchanged", "The old and the new text are the same; name another new text.")
    return file_state(disk, rewrite(disk, node, node.content.replace(old, new, 1 if which == "first" else -1)))
