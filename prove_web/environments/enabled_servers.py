"""Enabled servers of a project, and the initial world of its forms."""

from __future__ import annotations

from mcp_servers.catalogue import SERVERS
from prove_web.accounts.models import Project

from .models import Environment


def environment_of(project: Project) -> Environment:
    """Return the project's environment, or a default one with all servers on; one query for each Project object."""
    found: Environment | None = getattr(project, "_environment", None)
    if found is None:
        found = Environment.objects.filter(project=project).first() or Environment(project=project)
        project._environment = found
    return found


def list_enabled_servers(project: Project) -> tuple[str, ...]:
    """Return the names of the servers that are switched on, in the order of the catalogue."""
    off = set(environment_of(project).off)
    return tuple(name for name in SERVERS if name not in off)
