"""Invariants of the file server: they hold in every state that a session can reach."""

from __future__ import annotations

from itertools import pairwise

from .paths import BAD_NAME, LONGEST_NAME
from .server import server
from .state import Disk, Member, bytes_of, compute_archive_size
from .storage import MAX_VERSIONS, MOST_BYTES
from .tools_access import MOST_TAGS


@server.invariant
def every_node_hangs_on_the_root_or_in_the_trash(disk: Disk) -> bool:
    """Going up from any node, only by folders, ends at the one root or at something in the trash: no cycles."""
    tops = {row.id: row.parent for row in disk.nodes}
    roots = [row for row in disk.nodes if row.parent is None and row.name == ""]
    if len(roots) != 1 or roots[0].kind != "directory":
        return False
    ends = {roots[0].id, *(item.node for item in disk.trash)}
    for row in disk.nodes:
        seen, node = {row.id}, row.id
        while (parent := tops[node]) is not None:
            if parent in seen or parent not in tops or disk.nodes[parent].kind != "directory":
                return False
            seen.add(parent)
            node = parent
        if node not in ends:
            return False
    return True


@server.invariant
def siblings_have_names_of_their_own(disk: Disk) -> bool:
    """In a folder no name occurs twice, and every name but the root's is a good one."""
    places = [row.place for row in disk.nodes if row.parent is not None]
    names = [row.name for row in disk.nodes if row.place != "None/"]
    return len(set(places)) == len(places) and not any(
        BAD_NAME.search(name) or not 0 < len(name) <= LONGEST_NAME for name in names
    )


@server.invariant
def sizes_are_those_of_the_contents(disk: Disk) -> bool:
    """Texts and links take their bytes, archives a third of what is in them, folders nothing."""
    for row in disk.nodes:
        sizes = {
            "directory": 0,
            "file": bytes_of(row.content),
            "archive": compute_archive_size(row.members),
            "link": bytes_of(row.target or ""),
        }
        if row.size != sizes.get(row.kind, row.size) or row.size < 0 or (row.kind == "file" and row.size > MOST_BYTES):
            return False
    return True


@server.invariant
def the_quota_is_kept(disk: Disk) -> bool:
    """The counted usage is the size of the user's nodes, including the trash, and stays within the quota."""
    shell = disk.shell
    return shell.used == sum(row.size for row in disk.nodes if row.owner == shell.user) and shell.used <= shell.quota


@server.invariant
def the_user_works_in_a_folder_of_the_tree(disk: Disk) -> bool:
    """There is one shell; its working directory is a folder that is not in the trash."""
    here = disk.nodes.get(disk.shell.cwd)
    return len(disk.shells) == 1 and here is not None and here.kind == "directory" and not disk.is_trashed(here)


@server.invariant
def kinds_have_what_belongs_to_them(disk: Disk) -> bool:
    """Only links have targets, absolute ones, only archives members, only text and binary files a content."""
    return all(
        (row.kind == "link") == (row.target is not None)
        and (row.target or "/").startswith("/")
        and (row.kind == "archive") == bool(row.members)
        and (row.kind in ("file", "binary") or not row.content)
        for row in disk.nodes
    )


@server.invariant
def archives_are_intact(disk: Disk) -> bool:
    """The files of an archive have different relative paths in order, none of which is a folder of another."""
    return all(is_intact(row.members) for row in disk.nodes)


def is_intact(members: tuple[Member, ...]) -> bool:
    paths = [member.path for member in members]
    return (
        all(a < b and not b.startswith(f"{a}/") for a, b in pairwise(paths))
        and not any(BAD_NAME.search(part) or not part for path in paths for part in path.split("/"))
        and all(member.binary or member.size == bytes_of(member.content) for member in members)
    )


@server.invariant
def permissions_are_nine_bits(disk: Disk) -> bool:
    """The permission bits of every node lie between 000 and 777, and somebody known owns it."""
    owners = {"root", *disk.logins()}
    return all(0 <= row.mode <= 0o777 and row.owner in owners for row in disk.nodes)


@server.invariant
def versions_are_of_text_files_in_order(disk: Disk) -> bool:
    """Only text files have versions, up to five, numbered without a gap, each no earlier than the one before."""
    versions: dict[str, list[tuple[int, str]]] = {}
    for row in disk.versions:
        node = disk.nodes.get(row.node)
        if node is None or node.kind != "file" or row.size != bytes_of(row.content):
            return False
        versions.setdefault(row.node, []).append((row.number, row.saved.isoformat()))
    return all(
        len(rows) <= MAX_VERSIONS and all(a[0] + 1 == b[0] and a[1] <= b[1] for a, b in pairwise(rows))
        for rows in versions.values()
    )


@server.invariant
def the_trash_knows_what_it_holds(disk: Disk) -> bool:
    """Each item of the trash is a node without a parent under its own name, which was in a folder that exists."""
    loose = sorted(row.id for row in disk.nodes if row.place != "None/" and row.parent is None)
    if sorted(item.node for item in disk.trash) != loose:
        return False
    return all(
        item.name == disk.nodes[item.node].name
        and item.folder in disk.nodes
        and disk.nodes[item.folder].kind == "directory"
        and item.path.endswith(f"/{item.name}")
        and item.size == sum(node.size for node in disk.walk_subtree(disk.nodes[item.node]))
        for item in disk.trash
    )


@server.invariant
def only_files_are_locked_and_tagged(disk: Disk) -> bool:
    """A lock is on a file and held by somebody known, tags are up to five in order, and no locked file is deleted."""
    people = disk.logins()
    for row in disk.nodes:
        if (row.locked_by or row.tags) and row.kind in ("directory", "link"):
            return False
        if row.locked_by and (row.locked_by not in people or disk.is_trashed(row)):
            return False
        if len(row.tags) > MOST_TAGS or list(row.tags) != sorted(set(row.tags)):
            return False
    return True
