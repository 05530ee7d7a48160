"""Search of the palette in one project: pages, tools, servers, and the project's own objects, newest first."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from typing import Any

from django.db.models import Q, QuerySet, TextField
from django.db.models.functions import Cast
from django.urls import NoReverseMatch, reverse

from prove_web.accounts.context import SECTIONS
from prove_web.accounts.models import Project
from prove_web.accounts.roles import Action, Role
from prove_web.environments.enabled_servers import list_enabled_servers
from prove_web.evaluations.models import Evaluation
from prove_web.experiments.models import Run, Sweep
from prove_web.servers.catalogue import Entry, card, search
from prove_web.servers.models import LiveSession
from prove_web.trajectories.models import Dataset, Trajectory

MOST = 6  # of each kind
DOING = (
    ("session-new", "New session", "terminal-2", Action.ANNOTATE),
    ("dataset-new", "New dataset", "database", Action.LAUNCH),
    ("run-new", "New run", "rocket", Action.LAUNCH),
    ("sweep-new", "New sweep", "adjustments", Action.LAUNCH),
)


@dataclass(frozen=True)
class PaletteItem:
    """A line of the palette: its URL, its title, and what distinguishes it from others."""

    url: str
    title: str
    note: str = ""


@dataclass(frozen=True)
class Group:
    title: str
    icon: str
    found: tuple[PaletteItem, ...]


def find(project: Project, role: Role, text: str) -> list[Group]:
    """Return what matches all words; without words, pages and the newest objects. At most one query for each kind."""
    words = text.lower().split()
    made = [
        Group("Pages", "layout-grid", tuple(pages(project, role, words))),
        Group("Tools", "tool", tuple(tools(project, text)) if words else ()),
        Group("Servers", "server", tuple(servers(project, words)) if words else ()),
        Group("Sessions", "terminal-2", search_objects(sessions(project), words, "title", "of", title=str)),
        Group(
            "Datasets", "database", search_objects(Dataset.objects.filter(project=project), words, "name", title=str)
        ),
        Group("Runs", "rocket", search_objects(Run.objects.filter(project=project), words, "name", "notes", title=str)),
        Group("Sweeps", "adjustments", search_objects(Sweep.objects.filter(project=project), words, "name", title=str)),
        Group(
            "Evaluations",
            "trophy",
            search_objects(Evaluation.objects.filter(project=project), words, "name", title=str),
        ),
        Group("Trajectories", "message", tuple(trajectories(project, words)) if words else ()),
    ]
    return [group for group in made if group.found]


def pages(project: Project, role: Role, words: list[str]) -> Iterator[PaletteItem]:
    """Yield the sections and the creation pages that the role allows."""
    known = [(each.page, each.title) for each in SECTIONS]
    known += [(page, title) for page, title, _, action in DOING if role.covers(action)]
    known += [("sweeps", "Sweeps"), ("bin", "Trash")]
    known += [("shares", "Share links")] if role.covers(Action.LAUNCH) else []
    for page, title in known:
        if all(word in title.lower() for word in words):
            yield PaletteItem(reverse(page, args=project.path), title)


def tools(project: Project, text: str) -> list[PaletteItem]:
    """Return tools whose name starts with the text first, then those whose name contains it."""
    typed = "_".join(text.lower().split())

    def rank(entry: Entry) -> tuple[bool, bool, str]:
        return not entry.name.startswith(typed), typed not in entry.name, entry.name

    found = sorted(search(text, servers=list_enabled_servers(project)), key=rank)[:MOST]
    return [
        PaletteItem(reverse("tool", args=[*project.path, each.name]), each.name, each.tool.description)
        for each in found
    ]


def servers(project: Project, words: list[str]) -> list[PaletteItem]:
    cards = [card(name) for name in list_enabled_servers(project)]
    found = [each for each in cards if all(word in f"{each.name} {each.description}".lower() for word in words)]
    return [
        PaletteItem(reverse("server", args=[*project.path, each.name]), each.name, each.description) for each in found
    ]


def sessions(project: Project) -> QuerySet[LiveSession]:
    return LiveSession.objects.filter(project=project).alias(of=Cast("servers", TextField()))


def search_objects(
    rows: QuerySet[Any], words: list[str], *fields: str, title: Callable[[Any], str]
) -> tuple[PaletteItem, ...]:
    """Return the newest objects with every word in their fields; `#7` or `7` is the object of that number."""
    for word in words:
        rows = rows.filter(any_of(word, fields) | match_number(rows, word))
    rows = rows.select_related("project__organisation").order_by("-created_at")[:MOST]
    return tuple(iter_palette_items(rows, title))


def iter_palette_items(things: Iterable[Any], title: Callable[[Any], str]) -> Iterator[PaletteItem]:
    """Yield the objects that have a page."""
    for each in things:
        try:
            number = getattr(each, "number", each.pk)
            yield PaletteItem(each.get_absolute_url(), title(each), f"#{number}")
        except NoReverseMatch:
            return


def any_of(word: str, fields: Iterable[str]) -> Q:
    found = Q()
    for field in fields:
        found |= Q(**{f"{field}__icontains": word})
    return found


def match_number(rows: QuerySet[Any], word: str) -> Q:
    number, column = word.removeprefix("#"), "pk" if rows.model is LiveSession else "number"
    is_number = number.isascii() and number.isdecimal() and len(number) < 10
    return Q(**{column: int(number)}) if is_number else Q(pk__in=())


def trajectories(project: Project, words: list[str]) -> Iterator[PaletteItem]:
    """Yield trajectories by words of the first user turn, or of the id."""
    found = Trajectory.objects.filter_by_project(project).select_related("dataset__project__organisation")
    for word in words:
        found = found.filter(any_of(word, ("query", "example")))
    for each in found.defer("record").order_by("-pk")[:MOST]:
        yield PaletteItem(each.get_absolute_url(), each.query[:120], f"{each.example} of {each.dataset}")
