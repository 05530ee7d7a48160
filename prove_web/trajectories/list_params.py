"""URL parameters of a trajectory list, parsed and written back."""

from __future__ import annotations

from collections.abc import Mapping

from prove_web.query_language.query_string import build_query_string, parse_search

from .paging import SORTS

ALL = {"in": "all"}  # for a trajectory that was found among all of its project


def address(query: Mapping[str, str], **more: str) -> str:
    """Return the query string of the same list, from its start."""
    sort = query.get("sort", "")
    return build_query_string({"q": parse_search(query).strip(), "sort": sort if sort in SORTS else "", **more})
