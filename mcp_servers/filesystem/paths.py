"""Resolution of paths to nodes: from the root, the home or the working directory, through `.`, `..` and links."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator

from ..core import NotFound, ToolError
from .state import Disk, Node, NodeId, Shell

READ, WRITE, ENTER = 4, 2, 1
MOST_LINKS = 8
LONGEST_NAME, LONGEST_PATH = 80, 400
BAD_NAME = re.compile(r'[\x00-\x1f\x7f/\\*?"<>|:]|^\s|\s$|^(\.{1,2}|~)$')


def allows(shell: Shell, node: Node, bits: int) -> bool:
    """Return whether the user has these bits (read, write, enter) by the owner's, else the group's, else all's mode."""
    shift = 6 if node.owner == shell.user else 3 if node.group in shell.groups else 0
    return node.mode >> shift & bits == bits


def require(disk: Disk, node: Node, bit: int) -> None:
    if not allows(disk.shell, node, bit):
        verb = {READ: "read", WRITE: "change", ENTER: "enter"}[bit]
        raise ToolError(
            "permission_denied",
            f"You may not {verb} {disk.path(node)}, which belongs to {node.owner}; work where you have the right to.",
        )


def locate(disk: Disk, path: str, follow: bool = True) -> Node:
    """Return the node at a path; with `follow`, a link at the end of the path is followed too."""
    node, pending = start(disk, path)
    links, tail, shell = 0, len(pending) + 1, disk.shell
    while pending:
        part = pending.pop()
        if node.kind != "directory":
            raise ToolError("not_a_directory", f"{disk.path(node)} is not a folder, so {path} leads nowhere; fix it.")
        if part == ".":
            continue
        if not allows(shell, node, ENTER):
            require(disk, node, ENTER)
        child = (disk.nodes[node.parent] if node.parent else node) if part == ".." else disk.child(node.id, part)
        if child is None:
            raise build_path_error(path, dangling=len(pending) >= tail)
        if child.kind == "link" and (pending or follow):
            links, tail = links + 1, len(pending)
            if links > MOST_LINKS:
                raise ToolError("too_many_links", f"{path} leads through links in a circle; use another path.")
            child, more = start(disk, child.target or "/")
            pending += more
        node = child
    return node


def start(disk: Disk, path: str) -> tuple[Node, list[str]]:
    """Return the node where a path begins, and the parts of the path, the last one first."""
    if path == "~" or path.startswith("~/"):
        first, rest = disk.nodes[disk.shell.home], path[2:]
    elif path.startswith("/"):
        first, rest = disk.root, path[1:]
    else:
        first, rest = disk.nodes[disk.shell.cwd], path
    return first, [part or "." for part in rest.split("/")][::-1] if rest else []


def build_path_error(path: str, dangling: bool) -> ToolError:
    if dangling:
        return ToolError("dangling_link", f"{path} leads through a link whose target is gone; use another path.")
    return NotFound(f"There is no file or folder {path}; list_directory or find_files shows what there is.")


def locate_directory(disk: Disk, path: str, follow: bool = True) -> Node:
    node = locate(disk, path, follow)
    if node.kind != "directory":
        raise ToolError("not_a_directory", f"{path} is not a folder; name a folder.")
    return node


def locate_file(disk: Disk, path: str, follow: bool = True) -> Node:
    """Return a file of any kind; with `follow`, never a link."""
    node = locate(disk, path, follow)
    if node.kind == "directory":
        raise ToolError("is_a_directory", f"{path} is a folder; name a file.")
    return node


def locate_text(disk: Disk, path: str, bit: int = READ) -> Node:
    """Return a text file that the user may read, or may write when `bit` is WRITE."""
    node = locate_file(disk, path)
    require(disk, node, bit)
    if node.kind != "file":
        raise ToolError("binary_file", f"{path} is not a text file; only text can be read and written.")
    return node


def locate_archive(disk: Disk, path: str) -> Node:
    node = locate_file(disk, path)
    require(disk, node, READ)
    if node.kind != "archive":
        raise ToolError("not_an_archive", f"{path} is not an archive; name one that ends in .zip.")
    return node


def locate_spot(disk: Disk, path: str) -> tuple[Node, str]:
    """Return the folder and the name of a new item at a path. Raises ToolError when the path is taken or invalid."""
    folder, _, name = path.rpartition("/")
    if name in ("", ".", ".."):
        raise ToolError("invalid_name", f"{path} does not end in a name; add the name of what is to be made.")
    parent = locate_directory(disk, folder or ("/" if path.startswith("/") else "."))
    require_spot(disk, parent, name)
    return parent, name


def require_spot(disk: Disk, folder: Node, name: str) -> None:
    """Raise ToolError unless something of this name can be put into the folder."""
    if BAD_NAME.search(name) or len(name) > LONGEST_NAME:
        raise ToolError(
            "invalid_name",
            f"A name has up to {LONGEST_NAME} characters, none of them a slash, colon, quote or wildcard, no space at "
            "either end; choose another name.",
        )
    require_open(disk, folder)
    if disk.child(folder.id, name):
        raise ToolError("file_exists", f"{disk.path(folder)} already has a {name}; choose another name or folder.")
    if len(disk.path(folder)) + 1 + len(name) > LONGEST_PATH:
        raise ToolError("path_too_long", f"A path has up to {LONGEST_PATH} characters; use a folder further up.")


def require_open(disk: Disk, folder: Node) -> None:
    """Raise ToolError unless the user may put things into this folder and take them out."""
    require(disk, folder, WRITE)
    require(disk, folder, ENTER)


def filter_reachable_nodes(disk: Disk, nodes: Iterable[Node], under: Node) -> Iterator[tuple[Node, str]]:
    """Yield the nodes that a search from a folder downwards can reach, with their paths."""
    known: dict[NodeId | None, str | None] = {None: None}
    prefix, shell = disk.path(under).rstrip("/"), disk.shell

    def resolve_folder_path(id: NodeId | None) -> str | None:
        """Return the path of a folder that the search enters; None when it lies elsewhere or is closed."""
        if id is not None and id not in known:
            folder = disk.nodes[id]
            above = prefix if id == under.id else resolve_folder_path(folder.parent)
            enters = above is not None and allows(shell, folder, READ | ENTER)
            known[id] = (above if id == under.id else f"{above}/{folder.name}") if enters else None
        return known[id]

    for node in nodes:
        path = resolve_folder_path(node.parent)
        if path is not None:
            yield node, f"{path}/{node.name}"
