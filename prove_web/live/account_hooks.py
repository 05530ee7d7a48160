"""Jobs in the file of a user's data."""

from __future__ import annotations

from django.db.models import QuerySet

from prove_web.accounts.hooks import PersonalData, personal_data
from prove_web.accounts.models import Project, User

from .models import Job


def find_jobs(user: User, projects: QuerySet[Project]) -> QuerySet[Job]:
    return Job.objects.filter(created_by=user, project__in=projects)


personal_data.append(PersonalData("jobs", find_jobs, ("kind", "title", "state", "created_at")))
