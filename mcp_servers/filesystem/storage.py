"""Changes to the tree: adding, rewriting and erasing nodes, charging sizes to the quota, saving old contents."""

from __future__ import annotations

from ..core import ToolError
from .paths import WRITE, locate_text
from .state import Disk, FileVersion, Member, Node, NodeId, NodeKind, bytes_of

MOST_BYTES = 20_000
MAX_VERSIONS = 5
NEW_FILE, NEW_FOLDER, NEW_LINK = 0o644, 0o755, 0o777


def charge(disk: Disk, owner: str, size: int) -> None:
    """Charge `size` bytes to the user, or release them when negative. Raises ToolError when the quota is exceeded."""
    shell = disk.shell
    if owner != shell.user or size == 0:
        return
    if size > 0 and shell.used + size > shell.quota:
        raise ToolError(
            "quota_exceeded",
            f"This needs {size} bytes and {shell.quota - shell.used} of your quota are left; empty the trash or "
            "use less.",
        )
    disk.shells.change(shell.id, used=shell.used + size)


def add(
    disk: Disk,
    folder: Node,
    name: str,
    kind: NodeKind,
    *,
    content: str = "",
    size: int = 0,
    target: str | None = None,
    members: tuple[Member, ...] = (),
) -> Node:
    """Add a new node of the user to a folder; only the quota is checked."""
    shell = disk.shell
    charge(disk, shell.user, size)
    modes: dict[NodeKind, int] = {"directory": NEW_FOLDER, "link": NEW_LINK}
    return disk.nodes.put(
        Node(
            id=disk.nodes.new_id(),
            parent=folder.id,
            name=name,
            kind=kind,
            owner=shell.user,
            group=shell.groups[0],
            mode=modes.get(kind, NEW_FILE),
            size=size,
            modified=disk.now,
            content=content,
            target=target,
            members=members,
        )
    )


def add_text(disk: Disk, folder: Node, name: str, content: str) -> Node:
    return add(disk, folder, name, "file", content=content, size=bytes_of(content))


def editable(disk: Disk, path: str) -> Node:
    """Return a text file that the user may change and that nobody has locked."""
    node = locate_text(disk, path, WRITE)
    require_unlocked(disk, node)
    return node


def require_unlocked(disk: Disk, node: Node) -> None:
    if node.locked_by is not None:
        who = "you" if node.locked_by == disk.shell.user else node.locked_by
        raise ToolError(
            "file_locked",
            f"{disk.path(node)} is locked by {who}, so it can be neither changed nor moved; unlock it first.",
        )


def rewrite(disk: Disk, node: Node, content: str) -> Node:
    """Replace a file's content and save the old one as a version; the oldest of more than five versions is dropped."""
    if bytes_of(content) > MOST_BYTES:
        raise ToolError("file_too_large", f"A text file has at most {MOST_BYTES} bytes; write less or use two files.")
    versions = disk.versions.where(node=node.id)
    number = versions[-1].number + 1 if versions else 1
    disk.versions.put(
        FileVersion(
            id=disk.versions.new_id(),
            node=node.id,
            number=number,
            content=node.content,
            size=node.size,
            saved=disk.now,
        )
    )
    for version in versions[: max(0, len(versions) + 1 - MAX_VERSIONS)]:
        disk.versions.remove(version.id)
    return put_content(disk, node, content)


def put_content(disk: Disk, node: Node, content: str) -> Node:
    """Replace a file's content without saving the old one."""
    size = bytes_of(content)
    charge(disk, node.owner, size - node.size)
    return disk.nodes.change(node.id, content=content, size=size, modified=disk.now)


def erase(disk: Disk, node: Node) -> int:
    """Delete a node and everything below it permanently; return the number of deleted nodes."""
    doomed = list(disk.walk_subtree(node))
    for one in doomed:
        charge(disk, one.owner, -one.size)
        for version in disk.versions.where(node=one.id):
            disk.versions.remove(version.id)
        disk.nodes.remove(one.id)
    return len(doomed)


def require_not_in_use(disk: Disk, folder: Node) -> None:
    """Raise ToolError when the working directory is this folder or lies in it, so the folder must stay."""
    if is_within(disk, disk.nodes[disk.shell.cwd], folder.id):
        raise ToolError(
            "directory_in_use", f"You are working in {disk.path(folder)}; change to a directory outside of it first."
        )


def is_within(disk: Disk, node: Node, folder: NodeId) -> bool:
    """Return whether a node is this folder or lies anywhere in it."""
    return node.id == folder or any(above.id == folder for above in disk.walk_ancestors(node))
