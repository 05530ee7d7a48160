"""Tools that make text files and change what is in them."""

from __future__ import annotations

from ..kit import ToolError
from .parameters import Addition, Content, FileRef, New, NewFile, Old, Which
from .paths import locate_spot
from .server import server
from .showing import file_state
from .state import Disk
from .storage import add_text, editable, rewrite
from .views import FileState


def closed(text: str) -> str:
    """The text with its last line ended."""
    return text if not text or text.endswith("\n") else f"{text}\n"


@server.write(
    'create the file {path} with the text "{content}"',
    'make a new text file {path} that says "{content}"',
    'write "{content}" into a new file {path}',
    'save the text "{content}" as {path}',
    idempotent=True,
)
def create_file(disk: Disk, path: NewFile, content: Content) -> FileState:
    """Create a text file in a folder that exists."""
    folder, name = locate_spot(disk, path)
    return file_state(disk, add_text(disk, folder, name, closed(content)))


@server.write(
    'overwrite the file {file} with "{content}"',
    'replace all that is in {file} by the text "{content}"',
    'make "{content}" the whole text of {file}',
    'put nothing but "{content}" into the file {file}',
)
def write_file(disk: Disk, file: FileRef, content: Content) -> FileState:
    """Overwrite a text file; the old text is kept as a version."""
    return file_state(disk, rewrite(disk, editable(disk, file), closed(content)))


@server.write(
    'append "{text}" to the file {file}',
    'add "{text}" at the end of {file}',
    'write "{text}" below what is in {file}',
    'put the line "{text}" at the bottom of {file}',
)
def append_to_file(disk: Disk, file: FileRef, text: Addition) -> FileState:
    """Append lines to a text file; the old text is kept as a version."""
    node = editable(disk, file)
    return file_state(disk, rewrite(disk, node, closed(node.content) + closed(text)))


@server.write(
    'replace "{old}" by "{new}" in the file {file}[, the {which} occurrence]',
    'change "{old}" to "{new}" in {file}[, {which} one]',
    'in the file {file}, swap "{old}" for "{new}"[, at the {which} place]',
    'edit {file} so that it says "{new}" instead of "{old}"[, the {which} time]',
)
def replace_in_file(disk: Disk, file: FileRef, old: Old, new: New, which: Which = "first") -> FileState:
    """Replace a piece of text in a file. What it was is kept as a version."""
    node = editable(disk, file)
    if old not in node.content:
        raise ToolError("text_not_found", f"{file} does not hold this text; read it and name a piece as it stands.")
    if old == new:
        raise ToolError("text_unchanged", "The old and the new text are the same; name another new text.")
    return file_state(disk, rewrite(disk, node, node.content.replace(old, new, 1 if which == "first" else -1)))
