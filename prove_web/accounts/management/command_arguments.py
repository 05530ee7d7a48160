"""Command line arguments: a project by its URL path, a person by name, and settings as NAME=VALUE."""

from __future__ import annotations

import json
from collections.abc import Iterable
from typing import Any

from django.core.management.base import CommandError

from prove_web.accounts.memberships import find
from prove_web.accounts.models import Organisation, Project, User
from prove_web.accounts.roles import Action, Role


def project_named(name: str) -> Project:
    """Return the project `organisation/project`. Raises CommandError."""
    organisation, _, project = name.partition("/")
    rows = Project.objects.select_related("organisation").filter(deleted_at=None)
    found: Project | None = rows.filter(slug=project, organisation__slug=organisation).first()
    if found is None:
        raise CommandError(f"There is no project {name}. Write it as in its URL: organisation/project.")
    return found


def person_named(name: str, action: Action, organisation: Organisation) -> User:
    """Return a user who may do this in the organisation. Raises CommandError."""
    found = find(name)
    role = organisation.memberships.filter(user=found).first() if found else None
    if found is None or role is None:
        raise CommandError(f"{organisation.slug} has no member with the user name or e-mail address {name}.")
    if not Role(role.role).covers(action):
        raise CommandError(f"{found} is not allowed to {action.label}: their role is {role.get_role_display()}.")
    return found


def parse_settings(changes: Iterable[str]) -> dict[str, Any]:
    """Parse settings such as `learning_rate=1e-6`; a value that is not JSON is text. Raises CommandError."""
    found: dict[str, Any] = {}
    for change in changes:
        name, equals, value = change.partition("=")
        if not equals:
            raise CommandError(f"--set takes NAME=VALUE, such as learning_rate=1e-6, not {change!r}.")
        try:
            found[name] = json.loads(value)
        except ValueError:
            found[name] = value
    return found


def format_errors(errors: Any) -> str:
    """Return the errors of a form, a line for each field."""
    return "\n".join(f"{name}: {' '.join(map(str, each))}" for name, each in errors.items())
