"""Lock of a project, which serializes numbering, job scheduling and deletion across all web processes.

Code that also locks a job, a queue or a run locks the project first, so that no two wait for each other. Rows that only
refer to the project, such as comments, are written meanwhile: `no_key` does not block foreign keys.
"""

from __future__ import annotations

from django.http import Http404

from .models import Project


def lock_project(project: int) -> Project:
    """Lock a project until the transaction ends, and return its current state."""
    found: Project = Project.everything.select_for_update(no_key=True).get(pk=project)
    return found


def lock_active_project(project: Project) -> None:
    """Lock a project like `lock_project` before starting something in it.

    Raises Http404 if it was deleted meanwhile.
    """
    if lock_project(project.pk).deleted_at:
        raise Http404("This project is in the trash. Restore it on the team's page “Deleted projects”, then try again.")
