"""Alerts: what the rules of a project found in its runs, and what people do about it."""

from __future__ import annotations

from datetime import datetime
from typing import Annotated, Any, Literal

from ninja import Query, Router, Schema
from pydantic import Field

from prove_web.accounts.roles import Action
from prove_web.alerts.acting import NotDone, act, asked
from prove_web.alerts.exemplars import exemplars
from prove_web.alerts.forms import about, numbered, words
from prove_web.alerts.models import Alert, Rule
from prove_web.alerts.pages import one_alert
from prove_web.alerts.rule_pages import one_rule

from ..paging import Cursor, Limit, Piece, by_key
from ..refusals import Refused
from ..rules import in_project
from ..schemas import Strict, username

router = Router(tags=["Alerts"])
ALERTS = "/{slug:organisation}/{slug:project}/alerts"
ALERT = ALERTS + "/{int:alert}"
RULES = ALERTS + "/rules"
Key = Annotated[int, Field(ge=1, le=2**63 - 1)]


class AlertOut(Schema):
    """That a rule fired for a run at a step; `value` is what was judged, null for what is no number."""

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
    """A rollout that shows it, by its step and its index there."""

    step: int
    index: int
    why: str


class AlertWhole(AlertOut):
    """`condition` is its rule in words; what it means, likely causes and what to try are told by ready-made rules."""

    condition: str
    about: str
    means: str
    causes: list[str]
    tries: list[str]
    rollouts: list[ExemplarOut]

    @staticmethod
    def resolve_condition(alert: Alert) -> str:
        return words(alert.rule)

    @staticmethod
    def resolve_about(alert: Alert) -> str:
        return about(alert.rule) or ""

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


class AlertChange(Strict):
    do: Literal["acknowledge", "snooze", "reopen"]
    hours: Literal[1, 8, 24, 168] | None = Field(None, description="For how long it is left, with snooze.")


class RuleOut(Schema):
    """`open` is how many alerts of it are."""

    id: int
    name: str
    preset: str
    metric: str
    condition: str
    kind: str
    tag: str
    enabled: bool
    open: int

    @staticmethod
    def resolve_condition(rule: Rule) -> str:
        return words(rule)


class RuleSwitch(Strict):
    enabled: bool


@router.get(ALERTS, response=Piece[AlertOut])
@in_project(Action.VIEW)
def list_alerts(
    request: Any,
    state: Annotated[Literal["open", "acknowledged", "snoozed", "cleared"], Query()] = "open",
    run: Annotated[int | None, Query(ge=1, le=10**9 - 1, description="Only of this run.")] = None,
    rule: Annotated[int | None, Query(ge=1, le=2**63 - 1, description="Only of this rule.")] = None,
    cursor: Cursor = "",
    limit: Limit = 50,
) -> Any:
    """The alerts of a project in one state, the newest first."""
    rows = asked(request.project, run, rule).state(state)
    related = ("rule", "run", "project__organisation", "acknowledged_by")
    return by_key(rows.select_related(*related).defer("run__config", "run__notes"), "pk", cursor, limit)


@router.get(RULES, response=list[RuleOut])
@in_project(Action.VIEW)
def list_alert_rules(request: Any) -> Any:
    """The rules that watch the runs of a project."""
    standing = numbered(asked(request.project).state(Alert.State.OPEN))
    rules = Rule.objects.filter(project=request.project, removed_at=None)
    return [counted(rule, standing.get(rule.pk, 0)) for rule in rules]


def counted(rule: Rule, open: int) -> Rule:
    rule.open = open
    return rule


@router.post(f"{RULES}/{{int:rule}}/switch", response=RuleOut)
@in_project(Action.LAUNCH)
def switch_alert_rule(request: Any, rule: Key, body: RuleSwitch) -> Any:
    """Switch a rule on or off; what it found stays."""
    found = one_rule(request, rule)
    if found.removed_at is not None:
        raise Refused(409, "This rule was removed.", "rule", "Put it back on the page of rules first.")
    found.enabled = body.enabled
    found.save(update_fields=["enabled"])
    return counted(found, asked(request.project, rule=found.pk).state(Alert.State.OPEN).count())


@router.get(ALERT, response=AlertWhole)
@in_project(Action.VIEW)
def read_alert(request: Any, alert: Key) -> Any:
    """One alert: what fired, what it means, which rollouts show it, and what to try."""
    return one_alert(request, alert)


@router.post(f"{ALERT}/change", response=AlertWhole)
@in_project(Action.ANNOTATE)
def change_alert(request: Any, alert: Key, body: AlertChange) -> Any:
    """Acknowledge an alert, leave it for a while, or open it again."""
    try:
        act(one_alert(request, alert), request.user, body.do, str(body.hours or ""))
    except NotDone as why:
        raise Refused(422, str(why), "body.hours", "Name 1, 8, 24 or 168 hours.") from None
    return one_alert(request, alert)
