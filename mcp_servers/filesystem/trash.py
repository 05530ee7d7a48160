"""How something goes to the trash: out of the tree, with a note of where it was."""

from __future__ import annotations

from .serializers import trash_entry
from .state import Disk, Node, TrashedItem
from .views import TrashEntry


def discard(disk: Disk, node: Node) -> TrashEntry:
    """Put a node of the tree, with all below it, into the trash."""
    assert node.parent is not None
    item = disk.trash.put(
        TrashedItem(
            id=disk.trash.new_id(),
            node=node.id,
            folder=node.parent,
            name=node.name,
            path=disk.path(node),
            size=sum(one.size for one in disk.below(node)),
            deleted=disk.now,
        )
    )
    disk.nodes.change(node.id, parent=None)
    return trash_entry(item)
