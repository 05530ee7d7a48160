"""How the tree of a new world grows: folders and files with drawn names, contents, tags and old versions."""

from __future__ import annotations

from dataclasses import dataclass, field
from datetime import datetime, timedelta
from typing import Any, TypeVar

from ..kit import Draw, fresh
from .state import ROOT, Disk, FileTagId, FileVersion, Member, Node, NodeId, NodeKind, bytes_of, packed
from .texts import TOPICS, Writer

Id = TypeVar("Id", bound=str)

FORMS = {
    "notes": (("notes", "todo", "ideas", "checklist", "minutes", "plan"), ("md", "txt")),
    "reports": (("report", "summary", "review", "analysis", "proposal"), ("md", "txt")),
    "data": (("expenses", "orders", "hours", "stock", "results", "forecast"), ("csv",)),
    "scripts": (("import", "export", "cleanup", "backup", "convert", "sync"), ("py", "sh")),
    "logs": (("server", "build", "access", "errors", "jobs"), ("log",)),
    "settings": (("settings", "options", "defaults", "profile"), ("ini", "yaml", "json")),
    "letters": (("letter", "offer", "invitation", "complaint", "reminder"), ("txt",)),
    "photos": (("photo", "portrait", "poster", "scan", "screenshot"), ("jpg", "png")),
    "papers": (("contract", "manual", "brochure", "slides"), ("pdf",)),
}
BINARY = ("photos", "papers")
KINDS = tuple(FORMS)
SUBFOLDERS = (*TOPICS, "drafts", "old", "templates", "2022", "2023", "2024", "2025", "checked", "team", "private")
DEEPEST = 4


@dataclass
class Planter:
    """Puts nodes into a new world; `names` keeps what each folder already holds, `depth` how far down it lies."""

    disk: Disk
    draw: Draw
    writer: Writer
    user: str
    tagged: list[str]
    names: dict[NodeId, dict[str, None]] = field(default_factory=dict)
    depth: dict[NodeId, int] = field(default_factory=dict)
    themes: dict[NodeId, str] = field(default_factory=dict)

    def put(self, parent: NodeId | None, name: str, kind: NodeKind, owner: str, mode: int, **rest: Any) -> Node:
        group = rest.pop("group", "root" if owner == ROOT else "staff")
        if parent is not None:
            self.names[parent][name] = None
        node = self.disk.nodes.put(
            Node(
                id=fresh(self.disk.nodes, f"{parent}/{name}"),
                parent=parent,
                name=name,
                kind=kind,
                owner=owner,
                group=group,
                mode=mode,
                size=rest.pop("size", bytes_of(rest.get("content", ""))),
                modified=rest.pop("modified", None) or self.past(),
                **rest,
            )
        )
        self.names[node.id] = {}
        return node

    def folder(self, parent: Node, name: str, owner: str, mode: int = 0o755, group: str = "") -> Node:
        extra = {"group": group} if group else {}
        node = self.put(parent.id, name, "directory", owner, mode, **extra)
        self.depth[node.id] = self.depth.get(parent.id, 0) + 1
        self.themes[node.id] = name if name in FORMS else self.themes.get(parent.id, "")
        return node

    def subfolder(self, folders: list[Node]) -> Node:
        """A folder of the user somewhere below one of these."""
        while True:
            parent, name = self.draw.choice(folders), self.draw.choice(SUBFOLDERS)
            if self.depth[parent.id] < DEEPEST and name not in self.names[parent.id]:
                return self.folder(parent, name, self.user)

    def file(self, parent: Node, owner: str, mode: int = 0o644, text: bool = False, **rest: Any) -> Node:
        """A file with a drawn name and a content that goes with it; with `text` never a binary one."""
        draw, themed = self.draw, self.themes[parent.id]
        kind = themed if themed and draw.chance(0.7) else draw.choice(KINDS)
        kind = "reports" if text and kind in BINARY else kind
        name, extension, topic = self.name(parent.id, kind)
        rest["modified"] = self.writer.today = self.past()
        if kind in BINARY:
            rest |= {"content": f"{extension} {draw.integer(0, 10**9)}", "size": draw.integer(2, 90) * 411}
            return self.put(parent.id, name, "binary", owner, mode, **rest)
        content = self.writer.write(kind, extension, topic)
        return self.put(parent.id, name, "file", owner, mode, content=content, **rest)

    def name(self, folder: NodeId, kind: str) -> tuple[str, str, str]:
        """A file name the folder does not hold yet, its extension and its topic."""
        draw, (forms, extensions) = self.draw, FORMS[kind]
        while True:
            topic, form, extension = draw.choice(TOPICS), draw.choice(forms), draw.choice(extensions)
            shape = draw.choice(("{t}-{f}", "{t}-{f}", "{f}-{t}", "{t}-{f}-{y}", "{t}_{f}_{n}"))
            stem = shape.format(t=topic, f=form, y=draw.integer(2021, 2026), n=draw.integer(1, 12))
            if f"{stem}.{extension}" not in self.names[folder]:
                return f"{stem}.{extension}", extension, topic

    def tags(self, share: float) -> tuple[FileTagId, ...]:
        draw = self.draw
        return tuple(sorted(map(FileTagId, draw.sample(self.tagged, draw.integer(1, 3))))) if draw.chance(share) else ()

    def versions(self, node: Node, count: int) -> None:
        """Older contents of a text file, each a little shorter or longer than the one after it."""
        lines = node.content.splitlines()
        for number in range(1, count + 1):
            kept = [*lines[: max(1, len(lines) * number // (count + 1))], "(to be continued)"]
            content = "\n".join(kept) + "\n"
            self.disk.versions.put(
                FileVersion(
                    id=fresh(self.disk.versions, f"{node.id}/{number}"),
                    node=node.id,
                    number=number,
                    content=content,
                    size=bytes_of(content),
                    saved=node.modified - timedelta(hours=9 * (count - number) + self.draw.integer(1, 8)),
                )
            )

    def archive(self, parent: Node, name: str, count: int) -> Node:
        """An archive of files like those that lie around it."""
        draw, members = self.draw, dict[str, Member]()
        while len(members) < count:
            kind = draw.choice(("notes", "reports", "data", "letters"))
            file, extension, topic = self.name(parent.id, kind)
            path = f"{draw.choice(('drafts', 'old'))}/{file}" if draw.chance(0.3) else file
            content = self.writer.write(kind, extension, topic)
            members[path] = Member(path=path, content=content, binary=False, size=bytes_of(content))
        packed_members = tuple(members[path] for path in sorted(members))
        size = packed(packed_members)
        return self.put(parent.id, name, "archive", self.user, 0o644, size=size, members=packed_members)

    def link(self, parent: Node, name: str, target: str) -> Node:
        return self.put(parent.id, name, "link", self.user, 0o777, target=target, size=bytes_of(target))

    def past(self) -> datetime:
        """A moment of the past thirteen months."""
        return self.disk.now - timedelta(days=self.draw.integer(1, 400), minutes=self.draw.integer(0, 540))
