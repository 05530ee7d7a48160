"""Forms of alert rules and webhooks."""

from __future__ import annotations

from math import isfinite
from typing import Any

from django import forms
from django.db import models

from prove_web.accounts.models import Project, User
from prove_web.experiments.models import RunKind
from training_worker.monitoring.alerts.presets import PATTERNS, Preset
from training_worker.monitoring.metrics import BY_NAME, METRICS

from .models import Aggregate, Comparison, Rule, Webhook
from .ssrf import UrlRefusedError, parse_url

HELD_OUT = {
    "reward": "Reward",
    "success": "Success rate",
    "goal_success": "Goal success",
    "act_accuracy": "Act accuracy",
    "state": "Final state reached",
}
MOST_STEPS = 1_000
KINDS = [("", "All runs"), *RunKind.choices]


def metrics() -> list[Any]:
    """Return the metrics that a custom rule can watch, in groups."""
    groups: dict[str, list[tuple[str, str]]] = {}
    for one in METRICS:
        groups.setdefault(one.group, []).append((f"points.{one.name}", one.title))
    groups["Held-out evaluation"] = [(f"held_out.{name}", title) for name, title in HELD_OUT.items()]
    groups["Reward hacking"] = [(f"patterns.{name}", title) for name, title in PATTERNS.items()]
    return list(groups.items())


def describe_metric(rule: Rule) -> str:
    """Return the definition of the rule's metric; "" if the rule is not about a metric."""
    name = "held_out" if rule.measured == "reward" else f"held_out_{rule.measured}"
    found = BY_NAME.get(name if rule.source == "held_out" else rule.measured)
    return found.formula if found else ""


class RuleForm(forms.ModelForm):
    """A rule's scope and threshold; the metric of a preset rule cannot be changed."""

    class Meta:
        model = Rule
        fields = ["name", "metric", "comparison", "aggregate", "over", "threshold", "kind", "tag"]
        labels = {"over": "Window (steps)", "kind": "Applies to", "tag": "Tag"}
        widgets = {
            "threshold": forms.TextInput(attrs={"inputmode": "decimal", "autocomplete": "off"}),
            "over": forms.TextInput(attrs={"inputmode": "numeric", "autocomplete": "off"}),
            "name": forms.TextInput(attrs={"autocomplete": "off"}),
            "tag": forms.TextInput(attrs={"autocomplete": "off", "spellcheck": "false"}),
        }
        help_texts = {
            "over": "Number of steps, or of evaluations for a held-out metric. Ignored for the latest value.",
            "tag": "Leave empty for all tags.",
        }

    def __init__(self, project: Project, data: Any = None, instance: Rule | None = None):
        super().__init__(data, instance=instance)
        self.instance.project = project
        self.fields["kind"].choices = KINDS
        self.fields["metric"] = forms.ChoiceField(choices=metrics())
        preset = self.instance.ready_made
        self.fields["threshold"].help_text = unit_of(preset)
        if preset is not None:
            gone = ["metric", "comparison", "aggregate", *([] if preset.aggregate != "last" else ["over"])]
            for name in gone + ([] if preset.unit else ["threshold"]):
                del self.fields[name]

    def clean_threshold(self) -> float:
        value = float(self.cleaned_data["threshold"])
        if not isfinite(value):
            raise forms.ValidationError("A threshold is a number, such as 0.5.")
        return value

    def clean_over(self) -> int:
        value = int(self.cleaned_data["over"])
        if not 1 <= value <= MOST_STEPS:
            raise forms.ValidationError(f"Enter a number from 1 to {MOST_STEPS:,}.")
        return value


def unit_of(preset: Preset | None) -> str:
    if preset is None:
        return "In the metric's unit. For a change since the start, a fraction: 0.5 is half."
    return "Fraction, 0 to 1." if preset.unit == "share" else f"In {preset.unit}."


def from_preset(project: Project, preset: Preset, user: User | None = None) -> Rule:
    """Return an unsaved rule with the preset's values."""
    return Rule(
        project=project,
        preset=preset.key,
        name=preset.title,
        metric=preset.metric,
        comparison=Comparison(preset.comparison),
        aggregate=Aggregate(preset.aggregate),
        over=preset.over,
        threshold=preset.threshold,
        made_by=user,
    )


class WebhookForm(forms.ModelForm):
    """A webhook's URL and format. Adding one sends nothing."""

    class Meta:
        model = Webhook
        fields = ["name", "url", "format"]
        labels = {"url": "URL"}
        widgets: dict[str, Any] = {
            "name": forms.TextInput(attrs={"autocomplete": "off"}),
            "url": forms.TextInput(attrs={"autocomplete": "off", "spellcheck": "false", "inputmode": "url"}),
        }
        help_texts = {"url": "Public host, https recommended. Only the operator can allow an internal host."}

    def clean_url(self) -> str:
        text = str(self.cleaned_data["url"])
        try:
            parse_url(text)
        except UrlRefusedError as why:
            raise forms.ValidationError(str(why)) from None
        return text


def describe_condition(rule: Rule) -> str:
    """Return the condition of a rule in one line."""
    preset = rule.ready_made
    if rule.source == "run" and not (preset and preset.unit):
        return "When it happens"
    unit = f" {preset.unit}" if preset and preset.unit not in ("share", "") else ""
    if rule.source == "run":
        return upper_first(f"{Comparison(rule.comparison).label} {rule.threshold:g}{unit}")
    if rule.comparison == Comparison.NOT_FINITE:
        return "At any step"
    over = "" if rule.aggregate == Aggregate.LAST else f" {rule.over}"
    said = f"{Aggregate(rule.aggregate).label}{over} {Comparison(rule.comparison).label} {rule.threshold:g}{unit}"
    return upper_first(said)


def upper_first(said: str) -> str:
    """Capitalise the first letter only, so that units such as GB are unchanged."""
    return said[:1].upper() + said[1:]


def count_alerts_by_rule(rows: models.QuerySet) -> dict[int, int]:
    """Return the number of alerts in `rows` by rule."""
    return dict(rows.order_by().values_list("rule").annotate(n=models.Count("pk")))
