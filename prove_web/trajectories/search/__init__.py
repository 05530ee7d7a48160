"""Search in trajectories: the query language, and the rows that a query finds."""

from prove_web.query_language.ast import Fault

from .trajectory_search import SearchResult, search

__all__ = ["Fault", "SearchResult", "search"]
