"""All tools and laws of the issue tracker, on its one server object."""

from . import (
    laws,
    tools_browse,
    tools_issues,
    tools_links,
    tools_people,
    tools_planning,
    tools_workflow,
)
from .server import server

__all__ = [
    "laws",
    "server",
    "tools_browse",
    "tools_issues",
    "tools_links",
    "tools_people",
    "tools_planning",
    "tools_workflow",
]
