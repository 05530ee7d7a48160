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
class AuditedModel:
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
    "accounts.Organisation": AuditedModel("name second_factor_from", way=""),
    "accounts.Membership": AuditedModel("role", way="organisation", made="added", changed="changed the role of"),
    "accounts.Invitation": AuditedModel("role email note most expires_at withdrawn_at", way="organisation"),
    "accounts.User": AuditedModel("", way=""),
    "accounts.Project": AuditedModel("name slug deleted_at", way=""),
    "accounts.SavedView": AuditedModel("name query"),
    "environments.Environment": AuditedModel("off seed size"),
    "environments.ThirdParty": AuditedModel("name", made="added"),
    "api.ApiToken": AuditedModel("name scopes project expires_at", way="organisation"),
    "workers.Enrolment": AuditedModel("name expires_at", way="organisation", made="enrolled"),
    "sharing.Share": AuditedModel("title path expires_at", made="shared"),
    "servers.ConnectToken": AuditedModel("name writes", way="session.project"),
    "servers.SavedCall": AuditedModel("name tool", way="organisation"),
    "trajectories.Dataset": AuditedModel("name holds deleted_at"),
    "review.Queue": AuditedModel("name instructions reviewers pull blind closed_at"),
    "review.Item": AuditedModel("", way="queue.project"),
    "review.Acceptance": AuditedModel("drift reason", way="trajectory.dataset.project", made="accepted"),
    "experiments.Run": AuditedModel("name kind notes tags pinned archived_at deleted_at base", made="launched"),
    "experiments.Sweep": AuditedModel("name method space budget", made="launched"),
    "experiments.SavedReward": AuditedModel("name config"),
    "evaluations.Evaluation": AuditedModel("name benchmark checkpoint", made="launched"),
    "alerts.Rule": AuditedModel("name metric comparison aggregate over threshold kind tag enabled removed_at"),
    "alerts.Webhook": AuditedModel("name format enabled removed_at", made="added"),
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


def get_audited_model(instance: Any) -> AuditedModel:
    return MODELS.get(instance._meta.label, AuditedModel(""))


def describe_action(instance: Any, action: int, changes: dict[str, Any], actor: int | None) -> str:
    """Return the action in words."""
    words = get_audited_model(instance)
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
        end = follow(instance, get_audited_model(instance).way)
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
