"""Scope of a share link: one page of a project, and the parts that the page itself requests."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any
from urllib.parse import parse_qs

from django.http import QueryDict
from django.urls import Resolver404, ResolverMatch, resolve, reverse

from prove_web.accounts.models import Project
from prove_web.accounts.permissions import Action
from prove_web.experiments.models import Run

from .models import Share

COMPARISON = "runs/compare/"
PAGES = {"run": Share.Kind.RUN, "trajectory": Share.Kind.TRAJECTORY, "rollout": Share.Kind.ROLLOUT}
OF_RUN = frozenset({"run-points", "run-metric", "run-tools"})
PARTS = {
    Share.Kind.RUN: OF_RUN,
    Share.Kind.COMPARISON: OF_RUN,
    Share.Kind.TRAJECTORY: frozenset({"trajectory-tokens"}),
    Share.Kind.ROLLOUT: frozenset({"rollout-tokens"}),
}
# Query parameters that a visitor may set; all that could lead elsewhere stay as shared.
LOOKING = frozenset({"part", "sort", "names", "from", "to", "points", "source", "after"})
COMPARING = frozenset({"base", "metric", "axis", "band", "group", "all", "by", "tools"})  # of the compared runs
OPEN_PARTS = frozenset({"", "curves", "finals", "tools"})  # parts of a page; others choose among things of the project
MOST_RUNS = 100  # of a comparison


@dataclass(frozen=True)
class SharedPage:
    """A page that can be shared: `path` is its path below the project."""

    kind: Share.Kind
    path: str
    query: str
    match: ResolverMatch
    title: str = ""


def resolve_page(project: Project, path: str, query: str) -> SharedPage | None:
    """Return the page at a path of a project; None if there is none that can be shared."""
    match = match_of(project, path)
    if match is None:
        return None
    kind = Share.Kind.COMPARISON if path == COMPARISON else PAGES.get(match.url_name or "")
    return SharedPage(kind, path, query, match, title_of(kind, match, query)) if kind else None


def match_of(project: Project, path: str) -> ResolverMatch | None:
    """Return the match of a path below the project; None unless it is a read-only page."""
    try:
        match = resolve(f"{project.get_absolute_url()}{path}")
    except Resolver404:
        return None
    inside = (match.kwargs.get("organisation"), match.kwargs.get("project")) == project.path
    looks = getattr(match.func, "rule", "") == f"project: {Action.VIEW}"
    return match if inside and looks else None


def title_of(kind: Share.Kind, match: ResolverMatch, query: str) -> str:
    parts = match.kwargs
    match kind:
        case Share.Kind.RUN:
            return f"Run {parts['run']}"
        case Share.Kind.TRAJECTORY:
            return f"{parts['example']} of dataset {parts['dataset']}"
        case Share.Kind.ROLLOUT:
            return f"Rollout {parts['index']} of step {parts['step']}, run {parts['run']}"
    return f"Comparison of runs {', '.join(map(str, parse_run_numbers(query)))}"


def parse_run_numbers(query: str) -> list[int]:
    """Return the numbers of the runs in the query of a comparison."""
    named = [word for text in QueryDict(query).getlist("run") for word in text.replace(",", " ").split()]
    return [int(word) for word in named if word.isascii() and word.isdecimal() and len(word) < 10][:MOST_RUNS]


def part_of(address: str) -> str:
    """Return the part of a page that a URL requests; "" for the page."""
    return parse_qs(address.partition("?")[2]).get("part", [""])[-1]


class Reach:
    """Reach of a link and its URLs: `base` is the URL of the link itself."""

    def __init__(self, share: Share, secret: str):
        self.share, self.base = share, reverse("shared", args=[secret])
        self.team = share.project.get_absolute_url()

    def match(self, path: str) -> ResolverMatch | None:
        """Return the match of a path below the project, if the link reaches it."""
        share, found = self.share, match_of(self.share.project, path)
        if found is None or path == share.path:
            return found
        known = found.url_name in PARTS[Share.Kind(share.kind)]
        if share.kind != Share.Kind.COMPARISON:
            page = match_of(share.project, share.path)
            return found if known and page and found.kwargs == page.kwargs else None
        numbers = {value for value in found.kwargs.values() if isinstance(value, int)}
        inside = (known or path.startswith(COMPARISON)) and numbers <= {*parse_run_numbers(share.query)}
        return found if inside else None

    def address(self, url: str) -> str | None:
        """Return the visitor's URL for one of the team's pages; None if the link does not reach it."""
        if part_of(url) not in OPEN_PARTS:
            return None
        if url.startswith((self.base, "?")):
            return url
        if not url.startswith(self.team):
            return None
        path, mark, query = url.removeprefix(self.team).partition("?")
        if self.match(path) is None:
            return None
        return f"{self.base}{'' if path == self.share.path else path}{mark}{query}"

    def query(self, query: QueryDict) -> QueryDict:
        """Return the shared query, with the parameters that a visitor may set."""
        comparison = self.share.kind == Share.Kind.COMPARISON
        merged = QueryDict(self.share.query, mutable=True)
        for name in (LOOKING | COMPARING if comparison else LOOKING) & query.keys():
            merged.setlist(name, query.getlist(name))
        if not comparison:
            merged["base"] = "none"  # its baseline is another run, which is not shared
        merged._mutable = False
        return merged

    def runs(self) -> Sequence[Any]:
        """Return the runs on the page, whose charts may be followed."""
        share = self.share
        if share.kind == Share.Kind.COMPARISON:
            numbers = parse_run_numbers(share.query)
        else:
            page = match_of(share.project, share.path)
            numbers = [page.kwargs["run"]] if page and share.kind == Share.Kind.RUN else []
        return list(Run.objects.filter(project=share.project, number__in=numbers).select_related("job"))
