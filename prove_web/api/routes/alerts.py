"""API operations for the alerts of a project."""

from __future__ import annotations

from datetime import datetime
from typing import Annotated, Any, Literal

from ninja import Query, Router, Schema
from pydantic import Field

from prove_web.accounts.roles import Action
from prove_web.alerts.exemplars import exemplars
from prove_web.alerts.forms import describe_condition, describe_metric
from prove_web.alerts.models import Alert
from prove_web.alerts.pages import one_alert
from prove_web.alerts.services import NotDone, act, filter_alerts

from ..errors import ApiError
from ..paging import Cursor, Key, Limit, Piece, by_key
from ..permissions import in_project
from ..schemas import StrictSchema, username

router = Router(tags=["Alerts"])
ALERTS = "/{slug:organisation}/{slug:project}/alerts"
ALERT = ALERTS + "/{int:alert}"


class AlertOut(Schema):
    """A rule that fired for a run at a step; `value` is the measured value, null for NaN or infinity."""

    id: int
    rule: int
    name: str
    run: int
    step: int
    value: float | None
    threshold: float
    state: str
    made_at: datetime
    cleared_at: datetime | None
    acknowledged_by: str | None
    snoozed_until: datetime | None
    url: str

    @staticmethod
    def resolve_rule(alert: Alert) -> int:
        return alert.rule_id

    @staticmethod
    def resolve_name(alert: Alert) -> str:
        return alert.rule.name

    @staticmethod
    def resolve_run(alert: Alert) -> int:
        return alert.run.number

    @staticmethod
    def resolve_acknowledged_by(alert: Alert) -> str | None:
        return username(alert.acknowledged_by)

    @staticmethod
    def resolve_url(alert: Alert) -> str:
        return alert.get_absolute_url()


class ExemplarOut(Schema):
    """A rollout that shows the problem, by step and index."""

    step: int
    index: int
    why: str


class AlertDetail(AlertOut):
    """`condition` is the rule as text; predefined rules add meaning, likely causes and remedies."""

    condition: str
    about: str
    means: str
    causes: list[str]
    tries: list[str]
    rollouts: list[ExemplarOut]

    @staticmethod
    def resolve_condition(alert: Alert) -> str:
        return describe_condition(alert.rule)

    @staticmethod
    def resolve_about(alert: Alert) -> str:
        return describe_metric(alert.rule) or ""

    @staticmethod
    def resolve_means(alert: Alert) -> str:
        return alert.rule.ready_made.means if alert.rule.ready_made else ""

    @staticmethod
    def resolve_causes(alert: Alert) -> list[str]:
        return list(alert.rule.ready_made.causes) if alert.rule.ready_made else []

    @staticmethod
    def resolve_tries(alert: Alert) -> list[str]:
        return list(alert.rule.ready_made.tries) if alert.rule.ready_made else []

    @staticmethod
    def resolve_rollouts(alert: Alert) -> list[Any]:
        return exemplars(alert)


class AlertChange(StrictSchema):
    do: Literal["acknowledge", "snooze", "reopen"]
    hours: Literal[1, 8, 24, 168] | None = Field(None, description="Snooze duration in hours; only with snooze.")


@router.get(ALERTS, response=Piece[AlertOut])
@in_project(Action.VIEW)
def list_alerts(
    request: Any,
    state: Annotated[Literal["open", "acknowledged", "snoozed", "cleared"], Query()] = "open",
    run: Annotated[int | None, Query(ge=1, le=10**9 - 1, description="Limit to this run.")] = None,
    rule: Annotated[int | None, Query(ge=1, le=2**63 - 1, description="Limit to this rule.")] = None,
    cursor: Cursor = "",
    limit: Limit = 50,
) -> Any:
    """List the alerts of a project in one state, newest first."""
    rows = filter_alerts(request.project, run, rule).state(state)
    related = ("rule", "run", "project__organisation", "acknowledged_by")
    return by_key(rows.select_related(*related).defer("run__config", "run__notes"), "pk", cursor, limit)


@router.get(ALERT, response=AlertDetail)
@in_project(Action.VIEW)
def read_alert(request: Any, alert: Key) -> Any:
    """Return one alert: what fired, what it means, example rollouts, and what to try."""
    return one_alert(request, alert)


@router.post(f"{ALERT}/change", response=AlertDetail)
@in_project(Action.ANNOTATE)
def change_alert(request: Any, alert: Key, body: AlertChange) -> Any:
    """Acknowledge, snooze or reopen an alert."""
    try:
        act(one_alert(request, alert), request.user, body.do, str(body.hours or ""))
    except NotDone as why:
        raise ApiError(422, str(why), "body.hours", "Choose 1, 8, 24 or 168 hours.") from None
    return one_alert(request, alert)
