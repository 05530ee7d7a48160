"""A project to oneself: numbers are given, jobs arranged and things deleted one after another, in every web process.

Whoever also holds a job, a queue or a run takes the project first; so no two wait for each other. What only belongs
to the project, such as a comment, is written meanwhile: `no_key` leaves foreign keys to it alone.
"""

from __future__ import annotations

from django.http import Http404

from .models import Project


def hold(project: int) -> Project:
    """The project as it is now, until the transaction ends."""
    found: Project = Project.everything.select_for_update(no_key=True).get(pk=project)
    return found


def lock_active_project(project: Project) -> None:
    """As `hold`, for what begins something there. Raises Http404 where the project was deleted meanwhile."""
    if hold(project.pk).deleted_at:
        raise Http404("This project is in the trash. Restore it on the team's page “Deleted projects”, then try again.")
