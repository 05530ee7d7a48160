"""API operations for alert rules: predefined and custom ones."""

from __future__ import annotations

from datetime import datetime
from typing import Annotated, Any

from django.forms import model_to_dict
from django.utils import timezone
from ninja import Query, Router, Schema
from pydantic import Field

from prove_web.accounts.roles import Action
from prove_web.alerts.forms import RuleForm, count_alerts_by_rule, describe_condition, from_preset
from prove_web.alerts.models import Alert, Rule
from prove_web.alerts.rule_pages import add_ready_made, one_rule
from prove_web.alerts.services import filter_alerts
from training_worker.monitoring.alerts.presets import PRESETS

from ..errors import ApiError, ill_filled
from ..form_schemas import body_of, build_query_dict
from ..paging import Key
from ..permissions import in_project
from ..schemas import StrictSchema, username
from .alerts import ALERTS

router = Router(tags=["Alerts"])
RULES = f"{ALERTS}/rules"
RULE = RULES + "/{int:rule}"
OWN = tuple(RuleForm.base_fields)
Make = body_of(RuleForm, "MakeRule")
Change = body_of(RuleForm, "ChangeRule", optional=True)


class RuleOut(Schema):
    """`condition` is the rule as text, `open` its number of open alerts. Custom rules have no `preset`."""

    id: int
    name: str
    preset: str
    metric: str
    comparison: str
    aggregate: str
    over: int
    threshold: float
    condition: str
    kind: str
    tag: str
    enabled: bool
    open: int
    by: str | None
    removed_at: datetime | None

    @staticmethod
    def resolve_condition(rule: Rule) -> str:
        return describe_condition(rule)

    @staticmethod
    def resolve_by(rule: Rule) -> str | None:
        return username(rule.made_by)


class ReadyMadeRule(Schema):
    """A predefined rule; `rule` is the id of the project's copy, if added."""

    key: str
    name: str
    group: str
    metric: str
    condition: str
    means: str
    causes: list[str]
    tries: list[str]
    rule: int | None


class AddReadyMade(StrictSchema):
    presets: list[Annotated[str, Field(max_length=40)]] = Field(
        min_length=1, max_length=len(PRESETS), description="Keys of predefined rules; rules already added stay."
    )


class RuleSwitch(StrictSchema):
    enabled: bool


class RuleRemoved(Schema):
    removed: int


@router.get(RULES, response=list[RuleOut])
@in_project(Action.VIEW)
def list_alert_rules(
    request: Any, removed: Annotated[bool, Query(description="List the removed rules instead.")] = False
) -> Any:
    """List the alert rules of a project."""
    standing = count_alerts_by_rule(filter_alerts(request.project).state(Alert.State.OPEN))
    rules = Rule.objects.filter(project=request.project, removed_at__isnull=not removed).select_related("made_by")
    return [set_open_count(rule, standing.get(rule.pk, 0)) for rule in rules]


@router.get(f"{RULES}/ready-made", response=list[ReadyMadeRule])
@in_project(Action.VIEW)
def list_ready_made_rules(request: Any) -> Any:
    """List the predefined rules, with their meaning and remedies."""
    rows = Rule.objects.filter(project=request.project, removed_at=None).exclude(preset="")
    added = dict(rows.values_list("preset", "pk"))
    names = ("key", "group", "metric", "means", "causes", "tries")
    return [
        {name: getattr(preset, name) for name in names}
        | {
            "name": preset.title,
            "rule": added.get(preset.key),
            "condition": describe_condition(from_preset(request.project, preset)),
        }
        for preset in PRESETS.values()
    ]


@router.post(f"{RULES}/ready-made", response={201: list[RuleOut]})
@in_project(Action.LAUNCH)
def add_ready_made_rules(request: Any, body: AddReadyMade) -> Any:
    """Add predefined rules; returns the newly added ones."""
    if strange := [key for key in body.presets if key not in PRESETS]:
        text = f"Unknown predefined rule {strange[0]!r}."
        raise ApiError(422, text, "body.presets", f"Available: {', '.join(PRESETS)}.")
    wanted = [PRESETS[key] for key in dict.fromkeys(body.presets)]
    return [set_open_count(rule, 0) for rule in add_ready_made(request.project, request.user, wanted)]


@router.post(RULES, response={201: RuleOut})
@in_project(Action.LAUNCH)
def make_alert_rule(request: Any, body: Make) -> Any:  # type: ignore[valid-type]
    """Create a custom rule; it applies to metrics reported from now on."""
    usual = {name: field.initial for name, field in RuleForm.base_fields.items()}
    sent = {name: value for name, value in body.dict(exclude_unset=True).items() if value is not None}
    form = RuleForm(request.project, build_query_dict(usual | sent))
    if not form.is_valid():
        raise ill_filled(form.errors)
    form.instance.made_by = request.user
    return set_open_count(form.save(), 0)


@router.get(RULE, response=RuleOut)
@in_project(Action.VIEW)
def read_alert_rule(request: Any, rule: Key) -> Any:
    """Return one rule, removed or not."""
    return attach_open_count(request, one_rule(request, rule))


@router.post(f"{RULE}/change", response=RuleOut)
@in_project(Action.LAUNCH)
def change_alert_rule(request: Any, rule: Key, body: Change) -> Any:  # type: ignore[valid-type]
    """Change a rule's scope and threshold; omitted fields stay unchanged. The metric of a predefined rule can't be
    changed."""
    found = get_rule(request, rule)
    sent = {name: value for name, value in body.dict(exclude_unset=True).items() if value is not None}
    form = RuleForm(request.project, build_query_dict(model_to_dict(found, OWN) | sent), found)
    if fixed := [name for name in sent if name not in form.fields]:
        raise ApiError(422, "Predefined rules can't change this field.", f"body.{fixed[0]}", "Create a custom rule.")
    if not form.is_valid():
        raise ill_filled(form.errors)
    return attach_open_count(request, form.save())


@router.post(f"{RULE}/switch", response=RuleOut)
@in_project(Action.LAUNCH)
def switch_alert_rule(request: Any, rule: Key, body: RuleSwitch) -> Any:
    """Enable or disable a rule; its alerts stay."""
    found = get_rule(request, rule)
    found.enabled = body.enabled
    found.save(update_fields=["enabled"])
    return attach_open_count(request, found)


@router.delete(RULE, response=RuleRemoved)
@in_project(Action.LAUNCH)
def remove_alert_rule(request: Any, rule: Key) -> Any:
    """Remove a rule and its alerts; both can be restored."""
    found = one_rule(request, rule)
    if found.removed_at is None:
        found.removed_at = timezone.now()
        found.save(update_fields=["removed_at"])
    return {"removed": found.pk}


@router.post(f"{RULE}/restore", response=RuleOut)
@in_project(Action.LAUNCH)
def restore_alert_rule(request: Any, rule: Key) -> Any:
    """Restore a removed rule and its alerts."""
    found = one_rule(request, rule)
    if found.removed_at is not None:
        found.removed_at = None
        found.save(update_fields=["removed_at"])
    return attach_open_count(request, found)


def get_rule(request: Any, rule: int) -> Rule:
    """Return a rule that is not removed. Raises Http404, Refused."""
    found: Rule = one_rule(request, rule)
    if found.removed_at is not None:
        raise ApiError(409, "This rule was removed.", "rule", "Restore it first.")
    return found


def attach_open_count(request: Any, rule: Rule) -> Rule:
    return set_open_count(rule, filter_alerts(request.project, rule=rule.pk).state(Alert.State.OPEN).count())


def set_open_count(rule: Rule, open: int) -> Rule:
    rule.open = open
    return rule
