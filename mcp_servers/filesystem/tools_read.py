"""Tools that read files: whole, their first or last lines, two of them side by side."""

from __future__ import annotations

from difflib import unified_diff

from ..kit import Entity, ToolError
from .parameters import FileRef, LineCount, OtherFile
from .paths import locate_text
from .server import server
from .state import Disk
from .views import FileText

READ_AT_ONCE = 1_500
COMPARED_LINES, SHOWN_LINES = 400, 20


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
        changes=tuple(changes[:SHOWN_LINES]) or None,
    )
