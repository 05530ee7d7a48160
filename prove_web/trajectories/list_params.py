"""What an address asks of a list of trajectories, and the address that asks the same."""

from __future__ import annotations

from collections.abc import Mapping

from django.http import QueryDict

from .paging import SORTS

ALL = {"in": "all"}  # of a trajectory that was found among all of its project


def parse_search(query: Mapping[str, str]) -> str:
    """The search; a text of any length, on one line."""
    return " ".join(query.get("q", "").splitlines())


def address(query: Mapping[str, str], **more: str) -> str:
    """The query string that asks for the same list, from its start."""
    sort = query.get("sort", "")
    return tidy({"q": parse_search(query).strip(), "sort": sort if sort in SORTS else "", **more})


def tidy(query: Mapping[str, str]) -> str:
    """A query string without the fields that were left empty."""
    kept = QueryDict(mutable=True)
    kept.update({name: value for name, value in query.items() if value})
    return kept.urlencode()
