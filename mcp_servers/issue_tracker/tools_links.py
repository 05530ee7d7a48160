"""Tools on links between issues: what blocks, duplicates or relates to what."""

from __future__ import annotations

from ..kit import ToolError
from .parameters import IssueRef, Kind, LinkRef, OtherIssue
from .rules import own_issue
from .server import server
from .state import IssueId, Link, LinkKind, Tracker


@server.write(idempotent=True)
def link_issues(tracker: Tracker, issue: IssueRef, kind: Kind, other: OtherIssue) -> Link:
    """Link two issues: the first blocks, duplicates or relates to the other."""
    source, target = own_issue(tracker, issue), own_issue(tracker, other)
    if issue == other:
        raise ToolError("same_issue", "An issue is not linked to itself; name two different ones.")
    for one, another in ((issue, other), (other, issue)):
        found = tracker.links.where(source=one, target=another, kind=kind)
        if found and (one == issue or kind == "relates to"):
            raise ToolError("link_exists", f"{found[0].id} says so already; nothing is left to do.")
    if kind != "relates to" and leads_to(tracker, target.id, kind, source.id):
        raise ToolError(
            "link_would_cycle", f"{other} {kind} {issue} already, directly or through others; link them otherwise."
        )
    return tracker.links.put(Link(id=tracker.links.new_id(), source=source.id, kind=kind, target=target.id))


def leads_to(tracker: Tracker, start: IssueId, kind: LinkKind, goal: IssueId) -> bool:
    """Whether links of a kind lead from one issue to another."""
    seen, waiting = {start: None}, [start]
    while waiting:
        for link in tracker.links.where(source=waiting.pop(), kind=kind):
            if link.target not in seen:
                seen[link.target] = None
                waiting.append(link.target)
    return goal in seen


@server.write(destructive=True, idempotent=True)
def remove_issue_link(tracker: Tracker, link: LinkRef) -> Link:
    """Remove a link, unless an issue was closed as a duplicate because of it."""
    row = tracker.links[link]
    source = own_issue(tracker, row.source)
    others = [one for one in tracker.links.where(source=source.id, kind="duplicates") if one.id != link]
    if source.resolution == "duplicate" and row.kind == "duplicates" and not others:
        raise ToolError("link_needed", f"{source.id} was closed as a duplicate because of {link}; reopen it first.")
    return tracker.links.remove(link)
