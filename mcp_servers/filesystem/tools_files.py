"""Tools on files and folders: list, find, describe, create, copy, move."""

from __future__ import annotations

import re
from collections.abc import Iterable
from fnmatch import translate
from functools import lru_cache
from hashlib import sha256
from itertools import islice
from operator import attrgetter

from ..core import Entity, ToolError
from .paths import (
    ENTER,
    READ,
    WRITE,
    allows,
    filter_reachable_nodes,
    locate,
    locate_directory,
    locate_file,
    locate_spot,
    require,
    require_open,
    require_spot,
)
from .server import (
    ROWS,
    CopyName,
    Depth,
    DirectoryParam,
    DirectoryRef,
    EntryRef,
    FileRef,
    FolderName,
    IntoDirectory,
    KindParam,
    Limit,
    NewFolder,
    NewLink,
    NewName,
    NextDirectory,
    Pattern,
    Scope,
    Sort,
    TagRef,
    TargetRef,
    Under,
    Words,
    server,
)
from .state import WORD, Disk, Node, TrashedItem, bytes_of
from .storage import add, is_within, require_not_in_use, require_unlocked
from .views import (
    DirectoryPath,
    Entries,
    FileEntry,
    FileInfo,
    FilePath,
    FileState,
    FolderEntry,
    LinkState,
    TrashEntry,
    entries,
    file_entry,
    file_state,
    folder_entry,
    info_of,
    kind_of,
    name_of,
    trash_entry,
)

# Tools for navigation: the working directory, the contents of a folder, the tree below it.


class WorkingDirectory(Entity):
    """The folder that relative paths start from, and who works in it."""

    __label__ = "the folder {name}"
    id: DirectoryPath
    name: str
    user: str
    previous: DirectoryPath | None = None


class Branch(Entity):
    """A folder of a tree: how far down it lies and how many files are in it; none when it is closed to the user."""

    __label__ = "the folder {name}"
    id: DirectoryPath
    name: str
    depth: int
    files: int | None = None


def working_directory(disk: Disk) -> WorkingDirectory:
    shell = disk.shell
    here, before = disk.nodes[shell.cwd], disk.nodes.get(shell.previous or "")
    return WorkingDirectory(
        id=DirectoryPath(disk.path(here)),
        name=name_of(here),
        user=shell.user,
        previous=DirectoryPath(disk.path(before)) if before and not disk.is_trashed(before) else None,
    )


@server.read()
def get_working_directory(disk: Disk) -> WorkingDirectory:
    """Get the working directory, which relative paths start from."""
    return working_directory(disk)


@server.write()
def change_directory(disk: Disk, directory: NextDirectory) -> WorkingDirectory:
    """Change the working directory."""
    shell = disk.shell
    if directory == "-":
        before = disk.nodes.get(shell.previous or "")
        if before is None or disk.is_trashed(before):
            raise ToolError("no_previous_directory", "There is no previous directory to go back to; name a folder.")
        directory = DirectoryPath(disk.path(before))
    node = locate_directory(disk, directory)
    require(disk, node, ENTER)
    disk.shells.change(shell.id, cwd=node.id, previous=shell.cwd)
    return working_directory(disk)


@server.read()
def list_directory(disk: Disk, directory: DirectoryParam = None, sort: Sort = "name", limit: Limit = ROWS) -> Entries:
    """List what is in a folder: its folders, files and archives."""
    folder = locate_directory(disk, directory or ".")
    require(disk, folder, READ)
    path = disk.path(folder).rstrip("/")
    rows = disk.children(folder.id)
    if sort != "name":
        rows.sort(key=attrgetter(sort), reverse=True)
    return entries([(node, f"{path}/{node.name}") for node in rows], limit)


@server.read()
def show_directory_tree(
    disk: Disk, directory: DirectoryRef, depth: Depth = 2, limit: Limit = 3 * ROWS
) -> tuple[Branch, ...]:
    """Show the folders below a folder, each with its number of files."""
    folder = locate_directory(disk, directory)
    require(disk, folder, READ)
    found: list[Branch] = []
    waiting, shell = [(folder, 0)], disk.shell
    while waiting and len(found) < limit:
        node, level = waiting.pop()
        inside = disk.children(node.id) if allows(shell, node, READ | ENTER) else None
        found.append(branch(disk, node, level, inside))
        if level < depth:
            waiting += [(child, level + 1) for child in reversed(inside or ()) if child.kind == "directory"]
    return tuple(found)


def branch(disk: Disk, node: Node, level: int, inside: list[Node] | None) -> Branch:
    return Branch(
        id=DirectoryPath(disk.path(node)),
        name=name_of(node),
        depth=level,
        files=None if inside is None else sum(child.kind != "directory" for child in inside),
    )


# Move to the trash: the node leaves the tree, and its old place is recorded.


def discard(disk: Disk, node: Node) -> TrashEntry:
    """Move a node of the tree, with everything below it, to the trash."""
    assert node.parent is not None
    item = disk.trash.put(
        TrashedItem(
            id=disk.trash.new_id(),
            node=node.id,
            folder=node.parent,
            name=node.name,
            path=disk.path(node),
            size=sum(one.size for one in disk.walk_subtree(node)),
            deleted=disk.now,
        )
    )
    disk.nodes.change(node.id, parent=None)
    return trash_entry(item)


# Tools that copy, move, rename, delete and link files.


def movable(disk: Disk, path: str) -> Node:
    """Return a file, archive or link that the user may move away. Raises ToolError otherwise."""
    node = locate_file(disk, path, follow=False)
    require_open(disk, disk.nodes[node.parent] if node.parent else node)
    require_unlocked(disk, node)
    return node


@server.write(idempotent=True)
def copy_file(disk: Disk, file: FileRef, directory: IntoDirectory, name: CopyName = None) -> FileState:
    """Copy a file into a folder; the copy is yours."""
    node, folder = locate_file(disk, file), locate_directory(disk, directory)
    require(disk, node, READ)
    require_spot(disk, folder, name or node.name)
    copy = add(disk, folder, name or node.name, node.kind, content=node.content, size=node.size, members=node.members)
    return file_state(disk, copy)


@server.write(idempotent=True)
def move_file(disk: Disk, file: FileRef, directory: IntoDirectory) -> FileState:
    """Move a file, archive or link into another folder."""
    node, folder = movable(disk, file), locate_directory(disk, directory)
    if node.parent == folder.id:
        raise ToolError("same_place", f"{file} is in {disk.path(folder)} already; name another folder.")
    require_spot(disk, folder, node.name)
    return file_state(disk, disk.nodes.change(node.id, parent=folder.id))


@server.write(idempotent=True)
def rename_file(disk: Disk, file: FileRef, name: NewName) -> FileState:
    """Rename a file, archive or link within its folder."""
    node = movable(disk, file)
    require_spot(disk, disk.nodes[node.parent] if node.parent else node, name)
    return file_state(disk, disk.nodes.change(node.id, name=name))


@server.write(idempotent=True)
def delete_file(disk: Disk, file: FileRef) -> TrashEntry:
    """Move a file, archive or link to the trash; of a link only itself."""
    return discard(disk, movable(disk, file))


@server.write(idempotent=True)
def create_link(disk: Disk, target: TargetRef, path: NewLink) -> LinkState:
    """Create a symbolic link to a file or folder that exists."""
    leads_to = disk.path(locate(disk, target, follow=False))
    folder, name = locate_spot(disk, path)
    node = add(disk, folder, name, "link", target=leads_to, size=bytes_of(leads_to))
    return LinkState(id=FilePath(disk.path(node)), name=name, leads_to=leads_to)


# Tools that find files: by name, by words in their contents, by tag.

COMPLETE_WORD = re.compile(r"(?<![^\W_])(?<![*?])[^\W_]+(?![^\W_]|[*?])")
GAP = r"(?:[^\w\n]|_)+"
EXCERPT_CHARS = 120


class Match(Entity):
    """A line that holds the words: its file, its number from 1 on, its text."""

    __label__ = "the file {name}"
    id: FilePath
    name: str
    line: int
    text: str


@server.read()
def find_files(
    disk: Disk, pattern: Pattern, directory: Under = None, kind: KindParam = None, limit: Limit = ROWS
) -> Entries:
    """Find files and folders by name, in a folder and all below it."""
    under = locate_search_folder(disk, directory)
    matches = glob(pattern)
    named = (node for node in candidates(disk, pattern) if node.id != under.id and matches.fullmatch(node.name))
    return entries(
        list(filter_reachable_nodes(disk, (node for node in named if kind in (None, kind_of(node))), under)), limit
    )


def locate_search_folder(disk: Disk, directory: str | None) -> Node:
    """Return the folder in which a search begins."""
    under = locate_directory(disk, directory or ".")
    require(disk, under, READ)
    return under


@lru_cache(maxsize=256)
def glob(pattern: str) -> re.Pattern[str]:
    """Compile a name with wildcards to a regular expression that never backtracks over what a star matched."""
    return re.compile(translate(pattern.replace("[", "[[]")), re.IGNORECASE)


def candidates(disk: Disk, pattern: str) -> Iterable[Node]:
    """Return the nodes that may match: those with the rarest whole word of the pattern, or all if it has none."""
    found = [disk.nodes.where(name_words=word) for word in dict.fromkeys(COMPLETE_WORD.findall(pattern.casefold()))]
    return min(found, key=len, default=disk.nodes)


@server.read()
def search_file_contents(disk: Disk, text: Words, directory: Under = None, limit: Limit = ROWS) -> tuple[Match, ...]:
    """Search the contents of text files for words. The first line of each file that holds them is shown."""
    under, words = locate_search_folder(disk, directory), WORD.findall(text.casefold())
    if not words:
        raise ToolError("no_words", "There is no word or number to search for; name at least one.")
    holding = min((disk.nodes.where(words=word) for word in dict.fromkeys(words)), key=len)
    phrase = re.compile(rf"(?<![^\W_]){GAP.join(words)}(?![^\W_])")
    readable = filter_reachable_nodes(disk, (node for node in holding if allows(disk.shell, node, READ)), under)
    found = ((node, path, line_of(node, phrase)) for node, path in readable)
    matches = (
        Match(id=FilePath(path), name=node.name, line=line[0], text=line[1]) for node, path, line in found if line
    )
    return tuple(islice(matches, limit))


def line_of(node: Node, phrase: re.Pattern[str]) -> tuple[int, str] | None:
    """Return the number and the beginning of the first line that contains the phrase, or None."""
    text = node.content.casefold()
    found = phrase.search(text)
    if found is None:
        return None
    number = text.count("\n", 0, found.start())
    return number + 1, node.content.split("\n")[number][:EXCERPT_CHARS]


@server.read()
def find_tagged_files(disk: Disk, tag: TagRef, directory: Under = None, limit: Limit = ROWS) -> tuple[FileEntry, ...]:
    """Find files by tag, in a folder and all below it."""
    under, tagged = locate_search_folder(disk, directory), disk.nodes.where(tags=tag)
    if not tagged:
        raise ToolError("no_such_tag", f"No file has the tag {tag}; get_file_info shows the tags of a file.")
    return tuple(file_entry(node, path) for node, path in islice(filter_reachable_nodes(disk, tagged, under), limit))


# Tools that create, move and delete folders.


@server.write(idempotent=True)
def create_directory(disk: Disk, path: NewFolder) -> FolderEntry:
    """Create an empty folder in a folder that exists."""
    parent, name = locate_spot(disk, path.rstrip("/") or path)
    node = add(disk, parent, name, "directory")
    return folder_entry(node, disk.path(node))


@server.write(idempotent=True)
def move_directory(disk: Disk, directory: DirectoryRef, target: IntoDirectory, name: FolderName = None) -> FolderEntry:
    """Move a folder with all its contents into another folder."""
    node, into = locate_directory(disk, directory, follow=False), locate_directory(disk, target)
    require_removable(disk, node)
    if is_within(disk, into, node.id):
        raise ToolError("inside_itself", f"{target} is or lies in {directory}; move it to a folder outside of it.")
    require_spot(disk, into, name or node.name)
    node = disk.nodes.change(node.id, parent=into.id, name=name or node.name)
    return folder_entry(node, disk.path(node))


def require_removable(disk: Disk, node: Node) -> None:
    """Raise ToolError unless the folder may be moved away or deleted."""
    if node.parent is None:
        raise ToolError("permission_denied", "The root folder holds all others and stays; name another folder.")
    require_open(disk, disk.nodes[node.parent])
    require_not_in_use(disk, node)


@server.write(idempotent=True)
def delete_directory(disk: Disk, directory: DirectoryRef, scope: Scope = "only if empty") -> TrashEntry:
    """Move a folder to the trash, by default only when it is empty."""
    node = locate_directory(disk, directory, follow=False)
    require_removable(disk, node)
    inside = list(disk.walk_subtree(node))[1:]
    if inside and scope == "only if empty":
        raise ToolError(
            "directory_not_empty", f'{directory} holds {len(inside)} items; ask for the scope "with all contents".'
        )
    if inside:
        require(disk, node, WRITE)
    for one in inside:
        require_unlocked(disk, one)
    return discard(disk, node)


# Tools that describe files without reading them: details, disk usage, checksum.

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
