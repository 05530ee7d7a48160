"""URL parameters of a list."""

from __future__ import annotations

from collections.abc import Mapping

from django.http import QueryDict


def parse_search(query: Mapping[str, str]) -> str:
    """Return the search; a text of any length, on one line."""
    return " ".join(query.get("q", "").splitlines())


def build_query_string(query: Mapping[str, str]) -> str:
    """Return a query string without empty fields."""
    result = QueryDict(mutable=True)
    result.update({name: value for name, value in query.items() if value})
    return result.urlencode()
