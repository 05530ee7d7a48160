"""Values that complete a field of a query, by project."""

from __future__ import annotations

from collections.abc import Callable, Iterable

from prove_web.accounts.models import Project, User

MOST = 200  # values that are read
Values = Callable[[Project], list[str]]


def people(project: Project) -> list[str]:
    members = User.objects.filter(memberships__organisation=project.organisation_id)
    return list(members.order_by("username").values_list("username", flat=True)[:MOST])


def numbers(name: str) -> Values:
    def list_numbers(project: Project) -> list[str]:
        return [str(one) for one in getattr(project, name).values_list("number", flat=True)[:MOST]]

    return list_numbers


def provide_fixed_values(values: Iterable[str]) -> Values:
    found = list(values)
    return lambda project: found
