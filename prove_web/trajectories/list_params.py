"""URL parameters of a trajectory list, parsed and written back."""

from __future__ import annotations

from collections.abc import Mapping

from django.http import QueryDict

from .paging import SORTS

ALL = {"in": "all"}  # for a trajectory that was found among all of its project


def parse_search(query: Mapping[str, str]) -> str:
    """Return the search; a text of any length, on one line."""
    return " ".join(query.get("q", "").splitlines())


def address(query: Mapping[str, str], **more: str) -> str:
    """Return the query string of the same list, from its start."""
    sort = query.get("sort", "")
    return build_query_string({"q": parse_search(query).strip(), "sort": sort if sort in SORTS else "", **more})


def build_query_string(query: Mapping[str, str]) -> str:
    """Return a query string without empty fields."""
    result = QueryDict(mutable=True)
    result.update({name: value for name, value in query.items() if value})
    return result.urlencode()
