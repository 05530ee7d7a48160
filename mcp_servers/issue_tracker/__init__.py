"""An issue tracker: projects, issues with a workflow, links, sprints, versions, work logs."""

from .tools import server

__all__ = ["server"]
