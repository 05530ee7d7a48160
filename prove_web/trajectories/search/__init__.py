"""Search in trajectories: the query language, and the rows that a query finds."""

from .finding import Found, search
from .nodes import Fault

__all__ = ["Fault", "Found", "search"]
