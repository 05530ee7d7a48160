"""An issue tracker: projects, issues with a workflow, links, sprints, versions, work logs."""

from . import laws, tools_browse, tools_issues
from .server import server

__all__ = ["laws", "server", "tools_browse", "tools_issues"]
