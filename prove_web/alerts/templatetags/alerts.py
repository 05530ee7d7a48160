"""Template tag for the open alerts of a run."""

from __future__ import annotations

from typing import Any

from django import template

from prove_web.alerts.models import Alert
from prove_web.experiments.models import Run

register = template.Library()
MAX_LISTED = 4


@register.inclusion_tag("alerts/of_run.html")
def alerts_of(run: Run) -> dict[str, Any]:
    """Return the newest open alerts, and whether there are more."""
    rows = Alert.objects.filter(run=run).state(Alert.State.OPEN).select_related("rule")
    found = list(rows[: MAX_LISTED + 1])
    for one in found:
        one.project = run.project
    return {"alerts": found[:MAX_LISTED], "more": len(found) > MAX_LISTED, "run": run}
