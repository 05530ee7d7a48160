"""Actions on alerts: acknowledge, snooze, reopen."""

from __future__ import annotations

from typing import Any

from django.utils import timezone

from prove_web.accounts.models import Project, User

from .models import SNOOZES, Alert, AlertQuerySet

SNOOZED = {"1": "an hour", "8": "8 hours", "24": "a day", "168": "a week"}


class NotDone(ValueError):
    """Error for an invalid action; the message lists the valid ones."""


def filter_alerts(project: Project, run: int | None = None, rule: int | None = None) -> AlertQuerySet:
    """Return the alerts of a project, optionally of one run or rule."""
    rows: AlertQuerySet = Alert.objects.filter(project=project)
    rows = rows if run is None else rows.filter(run__number=run)
    return rows if rule is None else rows.filter(rule=rule)


def act(alert: Alert, user: User, do: str, hours: str = "") -> str:
    """Apply an action and return a description of the new state. Raises NotDone."""
    now = timezone.now()
    changes: dict[str, Any] = {"acknowledged_at": None, "acknowledged_by": None, "snoozed_until": None}
    match do, hours:
        case "acknowledge", _:
            changes |= {"acknowledged_at": now, "acknowledged_by": user}
            said = "is acknowledged and no longer open."
        case "snooze", hours if hours in SNOOZES:
            changes |= {"snoozed_until": now + SNOOZES[hours]}
            said = f"is snoozed for {SNOOZED[hours]}."
        case "reopen", _:
            said = "is open again."
        case _:
            raise NotDone("Choose what to do: acknowledge, snooze with hours, or reopen.")
    Alert.objects.filter(pk=alert.pk).update(**changes)
    return said
