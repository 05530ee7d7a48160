"""Search in trajectories: the query language, and the rows that a query finds."""

from .ast import Fault
from .trajectory_search import SearchResult, search

__all__ = ["Fault", "SearchResult", "search"]
