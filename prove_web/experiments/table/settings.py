"""Run settings as columns: their location in the configuration, and their defaults."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from django import forms
from django.db.models import Case, CharField, Expression, FloatField, Value, When
from django.db.models.fields.json import KT
from django.db.models.functions import Cast, Coalesce

from ..defaults import DEFAULTS, EVALUATE, LIMITS, REWARD, SUPERVISED, SWITCHES
from ..form_fields import format_config_value
from ..form_layout import SECTIONS
from ..forms import RunForm, format_setting, get_only_kind
from ..models import RunKind
from .external_columns import select_setting

ELSEWHERE = {"name", "kind", "dataset", "recipe", *EVALUATE}  # have columns of their own, or are not settings of a run
PRESET = "reward_preset"


@dataclass(frozen=True)
class Setting:
    """A field of the launch form; `group` is the form section that contains it."""

    key: str
    title: str
    group: str
    numeric: bool
    kind = "setting"

    @property
    def help(self) -> str:
        return str(RunForm.base_fields[self.key].help_text)

    @property
    def path(self) -> str:
        """Return the lookup path in the configuration."""
        if self.key == PRESET:
            return "reward"
        if self.key.startswith("reward_"):
            return f"reward__{self.key.removeprefix('reward_')}"
        return f"limits__{self.key.removeprefix('limit_')}" if self.key.startswith("limit_") else self.key

    @property
    def usual(self) -> Any:
        """Return the default, which applies to runs that do not set it."""
        if self.key.startswith("reward_"):
            return REWARD.get(self.key.removeprefix("reward_"))
        if self.key.startswith("limit_"):
            return LIMITS[self.key.removeprefix("limit_")]
        return {**SWITCHES, **DEFAULTS, **SUPERVISED}.get(self.key)

    @property
    def boolean(self) -> bool:
        return isinstance(self.usual, bool)

    @property
    def choices(self) -> dict[str, str]:
        """Return the possible values with their titles; empty for free values."""
        field = RunForm.base_fields[self.key]
        if self.key == "policy" or not isinstance(field, forms.ChoiceField):
            return {}
        return {str(key): str(title) for key, title in field.choices}

    @property
    def value(self) -> Expression:
        """Return a number or text expression; null for a kind of run without this setting.

        For an external run it is the setting that its program logged under the same name.
        """
        at = f"config__{self.path}"
        if self.numeric:
            return self.restrict_to_kinds(Cast(KT(at), FloatField()), FloatField())
        if self.boolean:
            said = Case(When(**{at: True}, then=Value("yes")), When(**{at: False}, then=Value("no")))
            return self.restrict_to_kinds(said, CharField())
        return self.restrict_to_kinds(Cast(KT(at), CharField()), CharField())

    def restrict_to_kinds(self, found: Expression, type_of: Any) -> Expression:
        usual = float(self.usual) if self.numeric and self.usual is not None else self.usual
        if usual is not None:
            found = Coalesce(found, Value(usual if self.numeric else format_config_value(usual)), output_field=type_of)
        kinds = [kind] if (kind := get_only_kind(self.key)) else [RunKind.GRPO, RunKind.SFT]
        elsewhere = select_setting(self.key, "number" if self.numeric else "text")
        return Case(
            When(kind__in=kinds, then=found),
            When(kind=RunKind.OUTSIDE, then=elsewhere),
            default=None,
            output_field=type_of,
        )

    def text(self, value: Any) -> str:
        """Return the value as the form displays it."""
        if self.numeric and isinstance(value, float):
            return f"{value:g}"
        return format_setting(self.key, value) if value is not None else ""


SETTINGS = {
    name: Setting(
        name,
        str(RunForm.base_fields[name].label or name.capitalize()),
        f"Settings: {section.title.lower()}",
        isinstance(RunForm.base_fields[name], forms.IntegerField),  # FloatField is a subclass
    )
    for section in SECTIONS
    for name in section.names
    if name not in ELSEWHERE
}
