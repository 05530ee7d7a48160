"""Initial state of the file server: the user's home, folders of colleagues and teams, and system folders."""

from __future__ import annotations

from dataclasses import dataclass, field
from datetime import datetime, timedelta
from typing import Any, TypeVar

from ..core import Draw, derive_row_id
from ..shared.fake_text import FakeText
from ..shared.people import cast, get_start_time
from .state import (
    COLLEAGUES,
    ROOT,
    Disk,
    FileTagId,
    FileVersion,
    Member,
    Node,
    NodeId,
    NodeKind,
    Shell,
    TrashedItem,
    bytes_of,
    compute_archive_size,
    login,
)
from .texts import TAGS, TOPICS, Writer

# Generation of the tree: folders and files with random names, contents, tags and old versions.

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
                id=derive_row_id(self.disk.nodes, f"{parent}/{name}"),
                parent=parent,
                name=name,
                kind=kind,
                owner=owner,
                group=group,
                mode=mode,
                size=rest.pop("size", bytes_of(rest.get("content", ""))),
                modified=rest.pop("modified", None) or self.draw_past_moment(),
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
        """Add a folder of the user somewhere below one of these folders."""
        while True:
            parent, name = self.draw.choice(folders), self.draw.choice(SUBFOLDERS)
            if self.depth[parent.id] < DEEPEST and name not in self.names[parent.id]:
                return self.folder(parent, name, self.user)

    def file(self, parent: Node, owner: str, mode: int = 0o644, text: bool = False, **rest: Any) -> Node:
        """Add a file with a random name and matching content; with `text`, never a binary file."""
        draw, themed = self.draw, self.themes[parent.id]
        kind = themed if themed and draw.chance(0.7) else draw.choice(KINDS)
        kind = "reports" if text and kind in BINARY else kind
        name, extension, topic = self.draw_file_name(parent.id, kind)
        rest["modified"] = self.writer.today = self.draw_past_moment()
        if kind in BINARY:
            rest |= {"content": f"{extension} {draw.integer(0, 10**9)}", "size": draw.integer(2, 90) * 411}
            return self.put(parent.id, name, "binary", owner, mode, **rest)
        content = self.writer.write(kind, extension, topic)
        return self.put(parent.id, name, "file", owner, mode, content=content, **rest)

    def draw_file_name(self, folder: NodeId, kind: str) -> tuple[str, str, str]:
        """Return a file name that the folder does not contain yet, its extension and its topic."""
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
        """Add older contents of a text file, each a little shorter or longer than the one after it."""
        lines = node.content.splitlines()
        for number in range(1, count + 1):
            text = [*lines[: max(1, len(lines) * number // (count + 1))], "(to be continued)"]
            content = "\n".join(text) + "\n"
            self.disk.versions.put(
                FileVersion(
                    id=derive_row_id(self.disk.versions, f"{node.id}/{number}"),
                    node=node.id,
                    number=number,
                    content=content,
                    size=bytes_of(content),
                    saved=node.modified - timedelta(hours=9 * (count - number) + self.draw.integer(1, 8)),
                )
            )

    def archive(self, parent: Node, name: str, count: int) -> Node:
        """Add an archive of files like those around it."""
        draw, members = self.draw, dict[str, Member]()
        while len(members) < count:
            kind = draw.choice(("notes", "reports", "data", "letters"))
            file, extension, topic = self.draw_file_name(parent.id, kind)
            path = f"{draw.choice(('drafts', 'old'))}/{file}" if draw.chance(0.3) else file
            content = self.writer.write(kind, extension, topic)
            members[path] = Member(path=path, content=content, binary=False, size=bytes_of(content))
        packed_members = tuple(members[path] for path in sorted(members))
        size = compute_archive_size(packed_members)
        return self.put(parent.id, name, "archive", self.user, 0o644, size=size, members=packed_members)

    def link(self, parent: Node, name: str, target: str) -> Node:
        return self.put(parent.id, name, "link", self.user, 0o777, target=target, size=bytes_of(target))

    def draw_past_moment(self) -> datetime:
        """Return a moment in the past thirteen months."""
        return self.disk.now - timedelta(days=self.draw.integer(1, 400), minutes=self.draw.integer(0, 540))


TEAMS = ("finance", "design", "sales", "legal", "research", "events")
SYSTEM = (
    ("etc", "hosts.ini", "settings", 0o644), ("etc", "printers.yaml", "settings", 0o644),
    ("etc", "access.json", "settings", 0o600), ("etc", "backup.sh", "scripts", 0o755),
    ("log", "system.log", "logs", 0o644), ("log", "mail.log", "logs", 0o644), ("log", "audit.log", "logs", 0o640),
)  # fmt: skip
ARCHIVES = ("old-files.zip", "last-year.zip", "photos-and-notes.zip", "from-client.zip", "moving.zip", "sent.zip")


@dataclass(frozen=True)
class Size:
    """How much of each a world begins with; `top` and `files` are in the home, `system` files elsewhere."""

    top: int
    folders: int
    files: int
    colleagues: int
    teams: int
    shared: int
    system: int
    archives: int
    trashed: int


SIZES = {
    "small": Size(3, 2, 7, 1, 2, 2, 3, 1, 2),
    "default": Size(8, 18, 150, 4, 4, 6, 7, 4, 8),
    "large": Size(9, 230, 3200, 7, 6, 25, 7, 6, 40),
}


def seed(seed: int, size: str) -> Disk:
    """Return the file server of a seed; sizes are small, default and large."""
    disk, scale, draw = Disk(seed, get_start_time(seed)), SIZES[size], Draw("filesystem", seed, size)
    if size == "large":
        disk.nodes.width = disk.versions.width = 6
    people = [person.name for person in cast(seed, COLLEAGUES)]
    companies = list(FakeText(draw).different("company", 6))
    planter = Planter(disk, draw, Writer(draw, disk.now, people, companies), login(people[0]), draw.sample(TAGS, 8))
    root = planter.put(None, "", "directory", ROOT, 0o755)
    home = planter.folder(planter.folder(root, "home", ROOT), planter.user, planter.user, 0o750)
    folders = plant_home(planter, home, scale)
    teams = draw.sample(TEAMS, scale.teams)
    plant_system(planter, root, scale)
    plant_colleagues(planter, disk.child(root.id, "home") or root, people[1 : scale.colleagues + 1])
    plant_teams(planter, planter.folder(root, "shared", ROOT), teams, [login(name) for name in people[1:]], scale)
    plant_links(planter, home, folders)
    plant_trash(planter, home, folders, scale.trashed)
    used = sum(node.size for node in disk.nodes if node.owner == planter.user)
    disk.shells.put(
        Shell(
            id=disk.shells.new_id(),
            user=planter.user,
            groups=("staff", *teams[: max(1, len(teams) // 2)]),
            home=home.id,
            cwd=home.id,
            previous=None,
            used=used,
            quota=used + draw.integer(6, 60) * 500,
        )
    )
    return disk


def plant_home(planter: Planter, home: Node, scale: Size) -> list[Node]:
    """Add the folders of the home and return them, with files in them and in the home itself; some files are locked."""
    draw, user = planter.draw, planter.user
    folders = [planter.folder(home, name, user) for name in draw.sample(tuple(FORMS), scale.top)]
    planter.folder(home, draw.choice(("empty", "new-folder", "to-sort")), user)
    for _ in range(scale.folders):
        folders.append(planter.subfolder(folders))
    for number in range(5):
        tags = planter.tags(0.9)
        planter.versions(planter.file(home, user, text=True, tags=tags), draw.integer(1, 3) if number < 4 else 0)
    for number in range(scale.files):
        mine = user if number % 5 == 0 and draw.chance(0.4) else None
        node = planter.file(draw.choice(folders), user, tags=planter.tags(0.5), locked_by=mine)
        if node.kind == "file" and draw.chance(0.3):
            planter.versions(node, draw.integer(1, 3))
    planter.put(home.id, "keep-as-is.txt", "file", user, 0o644, content="Do not edit.\n", locked_by=user)
    for name in draw.sample(ARCHIVES, scale.archives):
        folder = home if draw.chance(0.5) else draw.choice(folders)
        planter.archive(folder, name, draw.integer(2, 4))
    return folders


def plant_system(planter: Planter, root: Node, scale: Size) -> None:
    """Add the system folders; only the one for temporary files is writable by all."""
    places = {"etc": planter.folder(root, "etc", ROOT)}
    places["log"] = planter.folder(planter.folder(root, "var", ROOT), "log", ROOT)
    planter.folder(root, "tmp", ROOT, 0o777)
    for place, name, kind, mode in planter.draw.sample(SYSTEM, scale.system):
        content = planter.writer.write(kind, name.rpartition(".")[2], "server")
        planter.put(places[place].id, name, "file", ROOT, mode, content=content)


def plant_colleagues(planter: Planter, homes: Node, names: list[str]) -> None:
    """Add the homes of colleagues; some of them can be read."""
    draw = planter.draw
    for name in names:
        mode = draw.choice((0o755, 0o700, 0o750))
        home = planter.folder(homes, login(name), login(name), mode, group=login(name))
        for _ in range(draw.integer(1, 3)):
            planter.file(home, login(name), draw.choice((0o644, 0o600)))


def plant_teams(planter: Planter, shared: Node, teams: list[str], owners: list[str], scale: Size) -> None:
    """Add the folders of teams; the user belongs to the first half of the teams and may write in their folders."""
    draw = planter.draw
    for number, team in enumerate(teams):
        open_to_all = number < max(1, len(teams) // 2)
        folder = planter.folder(shared, team, ROOT, 0o775 if open_to_all else draw.choice((0o750, 0o755)), group=team)
        for _ in range(scale.shared):
            owner = draw.choice(owners)
            mode = draw.choice((0o664, 0o664, 0o644))
            locked = owner if draw.chance(0.25) else None
            planter.file(folder, owner, mode, group=team, tags=planter.tags(0.3), locked_by=locked)


def plant_links(planter: Planter, home: Node, folders: list[Node]) -> None:
    """Add links to a file and to a folder, one whose target is gone, and two that lead to each other."""
    draw, disk = planter.draw, planter.disk
    near = [node for node in disk.children(home.id) if node.kind == "file"]
    there = disk.path(home)
    planter.link(home, draw.choice(("latest", "important", "daily")), disk.path(draw.choice(near)))
    planter.link(draw.choice(folders), "workspace", disk.path(draw.choice(folders)))
    planter.link(draw.choice(folders), "missing", f"{there}/{draw.choice(('moved', 'gone', 'lost'))}.txt")
    planter.link(folders[0], "ring", f"{disk.path(folders[-1])}/circle")
    planter.link(folders[-1], "circle", f"{disk.path(folders[0])}/ring")


def plant_trash(planter: Planter, home: Node, folders: list[Node], count: int) -> None:
    """Add deleted items: files, of which the first has a name in use again, and a folder with one file in it."""
    draw, disk = planter.draw, planter.disk
    for number in range(count + 1):
        folder = home if number < 2 else draw.choice(folders)
        if number == 1:
            node = planter.folder(home, "scraps", planter.user)
            planter.file(node, planter.user, text=True)
        else:
            node = planter.file(folder, planter.user, text=True)
        path = disk.path(node)
        inside = list(disk.walk_subtree(node))
        last = max(one.modified for one in inside)
        disk.nodes.change(node.id, parent=None)
        disk.trash.put(
            TrashedItem(
                id=derive_row_id(disk.trash, node.id),
                node=node.id,
                folder=folder.id,
                name=node.name,
                path=path,
                size=sum(one.size for one in inside),
                deleted=last
                + timedelta(days=draw.integer(0, (disk.now - last).days - 1), minutes=draw.integer(5, 500)),
            )
        )
        if number == 0:
            planter.put(home.id, node.name, "file", planter.user, 0o644, content="A new start.\n")
