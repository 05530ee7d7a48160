"""Who may follow what: asked once for all who follow it, in one query however many they are."""

from __future__ import annotations

from collections.abc import Iterable

from django.core.exceptions import ObjectDoesNotExist, ValidationError

from prove_web.accounts.models import Membership, Organisation
from prove_web.accounts.roles import Action, Role
from prove_web.accounts.second_factor import exists, open_now

Topic = tuple[str, str]  # ("job", id), ("project", id), ("session", id) or ("trajectory", id)
OWNER_OF = {
    "job": "projects__jobs",
    "project": "projects",
    "session": "projects__sessions",
    "trajectory": "projects__datasets__trajectories",
}
KEPT = {  # and what must not be deleted, besides the project
    "job": ("projects__jobs__run", "projects__jobs__dataset"),
    "trajectory": ("projects__datasets",),
}


def permitted(topic: Topic, people: Iterable[int]) -> set[int] | None:
    """Those of the people, by their keys, who may see what the topic is about; None where there is no such thing."""
    kind, key = topic
    kept = {f"{each}__deleted_at": None for each in ("projects", *KEPT.get(kind, ()))}
    try:
        organisation = Organisation.objects.get(**{OWNER_OF[kind]: key}, **kept)
    except (ObjectDoesNotExist, ValidationError):
        return None
    entered = open_now("organisation") | exists("user")
    roles = Membership.objects.filter(entered, organisation=organisation, user__in=set(people), user__is_active=True)
    return {user for user, role in roles.values_list("user", "role") if Role(role).covers(Action.VIEW)}
