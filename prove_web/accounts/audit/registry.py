"""Registry of the audited models: their logged fields, and the words for actions."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from auditlog.registry import auditlog
from django.apps import apps
from django.core.exceptions import ObjectDoesNotExist
from django.urls import NoReverseMatch

MADE, CHANGED, REMOVED = 0, 1, 2  # auditlog's numbers


@dataclass(frozen=True)
class Watched:
    """An audited model: the fields to log, none of them a secret; the path to its project or team; the words.

    A model without fields is not audited: its entry only says where a `note` of such a thing belongs.
    """

    fields: str
    way: str = "project"
    made: str = "made"
    changed: str = "changed"
    removed: str = "removed"


@dataclass(frozen=True)
class Place:
    """The team and project of an entry, by number, and the URL of its subject."""

    organisation: int
    project: int | None
    url: str


MODELS = {
    "accounts.Organisation": Watched("name second_factor_from", way=""),
    "accounts.Membership": Watched("role", way="organisation", made="added", changed="changed the role of"),
    "accounts.Invitation": Watched("role email note most expires_at withdrawn_at", way="organisation"),
    "accounts.User": Watched("", way=""),
    "accounts.Project": Watched("name slug deleted_at", way=""),
    "accounts.SavedView": Watched("name query"),
    "environments.Environment": Watched("off seed size"),
    "environments.ThirdParty": Watched("name", made="added"),
    "api.ApiToken": Watched("name scopes project expires_at", way="organisation"),
    "workers.Enrolment": Watched("name expires_at", way="organisation", made="enrolled"),
    "sharing.Share": Watched("title path expires_at", made="shared"),
    "servers.ConnectToken": Watched("name writes", way="session.project"),
    "servers.SavedCall": Watched("name tool", way="organisation"),
    "trajectories.Dataset": Watched("name holds deleted_at"),
    "review.Queue": Watched("name instructions reviewers pull blind closed_at"),
    "review.Item": Watched("", way="queue.project"),
    "review.Acceptance": Watched("drift reason", way="trajectory.dataset.project", made="accepted"),
    "experiments.Run": Watched("name kind notes tags pinned archived_at deleted_at base", made="launched"),
    "experiments.Sweep": Watched("name method space budget", made="launched"),
    "experiments.SavedReward": Watched("name config"),
    "evaluations.Evaluation": Watched("name benchmark checkpoint", made="launched"),
    "alerts.Rule": Watched("name metric comparison aggregate over threshold kind tag enabled removed_at"),
    "alerts.Webhook": Watched("name format enabled removed_at", made="added"),
}
# Words for setting a time, and for clearing it.
MOMENTS = {
    "deleted_at": ("deleted", "restored"),
    "archived_at": ("archived", "unarchived"),
    "withdrawn_at": ("withdrew", "gave back"),
    "closed_at": ("closed", "opened again"),
    "removed_at": ("removed", "put back"),
    "second_factor_from": ("asked for a second factor in", "asks for no second factor in"),
}


def watch() -> None:
    """Register these models with auditlog; called once, when all models are loaded."""
    for label, each in MODELS.items():
        if fields := each.fields.split():
            auditlog.register(apps.get_model(label), include_fields=fields)


def of(instance: Any) -> Watched:
    return MODELS.get(instance._meta.label, Watched(""))


def did(instance: Any, action: int, changes: dict[str, Any], actor: int | None) -> str:
    """Return the action in words."""
    words = of(instance)
    if instance._meta.label == "accounts.Membership" and instance.user_id == actor:
        return {MADE: "joined", REMOVED: "left"}.get(action, words.changed)
    if action != CHANGED:
        return words.made if action == MADE else words.removed
    for field, (begun, over) in MOMENTS.items():
        if field in changes:
            return over if changes[field][1] in (None, "None") else begun
    return words.changed


def place(instance: Any, organisation: Any = None) -> Place | None:
    """Return where an entry belongs, by the model's path unless given; None without a team."""
    try:
        end = follow(instance, of(instance).way)
        url = instance.get_absolute_url() if hasattr(instance, "get_absolute_url") else ""
    except (ObjectDoesNotExist, AttributeError, NoReverseMatch):
        end, url = None, ""
    project = end if end is not None and end._meta.label == "accounts.Project" else None
    team = organisation.pk if organisation else getattr(end, "organisation_id", None) or getattr(end, "pk", None)
    return Place(team, project.pk if project else None, url) if team else None


def follow(instance: Any, way: str) -> Any:
    """Follow a path of attributes; that of a model that is not audited is `project`, if it has one."""
    for step in filter(None, way.split(".")):
        instance = getattr(instance, step)
    return instance
