"""Permission to follow a topic, checked for all its followers in one query."""

from __future__ import annotations

from collections.abc import Iterable

from django.core.exceptions import ObjectDoesNotExist, ValidationError

from prove_web.accounts.models import Membership, Organisation, User
from prove_web.accounts.roles import Action, Role
from prove_web.accounts.second_factor import exists, open_now
from prove_web.review.blinding import blind_since
from prove_web.trajectories.models import Trajectory

Topic = tuple[str, str]  # ("job", id), ("project", id), ("session", id) or ("trajectory", id)
OWNER_OF = {
    "job": "projects__jobs",
    "project": "projects",
    "session": "projects__sessions",
    "trajectory": "projects__datasets__trajectories",
}
PARENTS = {  # related objects that must not be deleted, besides the project
    "job": ("projects__jobs__run", "projects__jobs__dataset"),
    "trajectory": ("projects__datasets",),
}


def get_permitted_users(topic: Topic, people: Iterable[int]) -> set[int] | None:
    """Return the users who may see the topic's object; None if it does not exist."""
    kind, key = topic
    not_deleted = {f"{each}__deleted_at": None for each in ("projects", *PARENTS.get(kind, ()))}
    try:
        organisation = Organisation.objects.get(**{OWNER_OF[kind]: key}, **not_deleted)
    except (ObjectDoesNotExist, ValidationError):
        return None
    entered = open_now("organisation") | exists("user")
    roles = Membership.objects.filter(entered, organisation=organisation, user__in=set(people), user__is_active=True)
    may = {user for user, role in roles.values_list("user", "role") if Role(role).covers(Action.VIEW)}
    return may - blind_to(key, may) if kind == "trajectory" else may


def blind_to(trajectory: str, people: Iterable[int]) -> set[int]:
    """Return the users who still have to review the trajectory blind.

    They must not learn of comments on it.
    """
    row = (
        Trajectory.objects.select_related("dataset__project__organisation")
        .defer("record", "rollout")
        .get(pk=trajectory)
    )
    return {one.pk for one in User.objects.filter(pk__in=people) if blind_since(row, one)}
