"""Tools that make text files and change what is in them."""

from __future__ import annotations

from ..kit import ToolError
from .parameters import Addition, Content, FileRef, New, NewFile, Old, Which
from .paths import locate_spot
from .serializers import file_state
from .server import server
from .state import Disk
from .storage import add_text, editable, rewrite
from .views import FileState


def closed(text: str) -> str:
    """The text with its last line ended."""
    return text if not text or text.endswith("\n") else f"{text}\n"


@server.write(idempotent=True)
def create_file(disk: Disk, path: NewFile, content: Content) -> FileState:
    """Create a text file in a folder that exists."""
    folder, name = locate_spot(disk, path)
    return file_state(disk, add_text(disk, folder, name, closed(content)))


@server.write()
def write_file(disk: Disk, file: FileRef, content: Content) -> FileState:
    """Overwrite a text file; the old text is kept as a version."""
    return file_state(disk, rewrite(disk, editable(disk, file), closed(content)))


@server.write()
def append_to_file(disk: Disk, file: FileRef, text: Addition) -> FileState:
    """Append lines to a text file; the old text is kept as a version."""
    node = editable(disk, file)
    return file_state(disk, rewrite(disk, node, closed(node.content) + closed(text)))


@server.write()
def replace_in_file(disk: Disk, file: FileRef, old: Old, new: New, which: Which = "first") -> FileState:
    """Replace a piece of text in a file. What it was is kept as a version."""
    node = editable(disk, file)
    if old not in node.content:
        raise ToolError("text_not_found", f"{file} does not hold this text; read it and name a piece as it stands.")
    if old == new:
        raise ToolError("text_unchanged", "The old and the new text are the same; name another new text.")
    return file_state(disk, rewrite(disk, node, node.content.replace(old, new, 1 if which == "first" else -1)))
