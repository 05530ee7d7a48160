"""Permission to follow a topic, checked for all its followers in one query."""

from __future__ import annotations

from collections.abc import Iterable

from django.core.exceptions import ObjectDoesNotExist, ValidationError

from prove_web.accounts.models import Membership, Organisation
from prove_web.accounts.roles import Action, Role
from prove_web.accounts.second_factor import exists, open_now

from . import hooks

Topic = tuple[str, str]  # ("job", id), ("project", id), or one of the registered kinds of topics and its id
OWNER_OF = {"job": "projects__jobs", "project": "projects"}
PARENTS = {"job": ("projects__jobs__run", "projects__jobs__dataset")}


def get_permitted_users(topic: Topic, people: Iterable[int]) -> set[int] | None:
    """Return the users who may see the topic's object; None if it does not exist."""
    kind, key = topic
    known = hooks.topics.get(kind)
    owner, parents = (known.owner, known.parents) if known else (OWNER_OF[kind], PARENTS.get(kind, ()))
    not_deleted = {f"{each}__deleted_at": None for each in ("projects", *parents)}
    try:
        organisation = Organisation.objects.get(**{owner: key}, **not_deleted)
    except (ObjectDoesNotExist, ValidationError):
        return None
    entered = open_now("organisation") | exists("user")
    roles = Membership.objects.filter(entered, organisation=organisation, user__in=set(people), user__is_active=True)
    may = {user for user, role in roles.values_list("user", "role") if Role(role).covers(Action.VIEW)}
    return may - known.hidden_from(key, may) if known and known.hidden_from else may
