"""The settings of a run as columns: where its configuration holds each, and what it is where nothing is said."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from django import forms
from django.db.models import Case, CharField, Expression, FloatField, Value, When
from django.db.models.fields.json import KT
from django.db.models.functions import Cast, Coalesce

from ..defaults import DEFAULTS, EVALUATE, LIMITS, REWARD, SUPERVISED, SWITCHES
from ..form_fields import plain
from ..form_layout import SECTIONS
from ..forms import RunForm, only, worded
from ..models import RunKind
from .external_columns import select_setting

ELSEWHERE = {"name", "kind", "dataset", "recipe", *EVALUATE}  # columns of their own, or no setting of the run itself
PRESET = "reward_preset"


@dataclass(frozen=True)
class Setting:
    """A field of the launch form; `group` is the section of the form that it is in."""

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
        """Where a configuration has it."""
        if self.key == PRESET:
            return "reward"
        if self.key.startswith("reward_"):
            return f"reward__{self.key.removeprefix('reward_')}"
        return f"limits__{self.key.removeprefix('limit_')}" if self.key.startswith("limit_") else self.key

    @property
    def usual(self) -> Any:
        """What it is for a run that says nothing of it."""
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
        """The values that it can have, with their titles; none where it is free."""
        field = RunForm.base_fields[self.key]
        if self.key == "policy" or not isinstance(field, forms.ChoiceField):
            return {}
        return {str(key): str(title) for key, title in field.choices}

    @property
    def value(self) -> Expression:
        """As a number, or as text; null for a kind of run that does not have it.

        A run trained elsewhere has what its program told under this very name.
        """
        at = f"config__{self.path}"
        if self.numeric:
            return self.within(Cast(KT(at), FloatField()), FloatField())
        if self.boolean:
            said = Case(When(**{at: True}, then=Value("yes")), When(**{at: False}, then=Value("no")))
            return self.within(said, CharField())
        return self.within(Cast(KT(at), CharField()), CharField())

    def within(self, found: Expression, type_of: Any) -> Expression:
        usual = float(self.usual) if self.numeric and self.usual is not None else self.usual
        if usual is not None:
            found = Coalesce(found, Value(usual if self.numeric else plain(usual)), output_field=type_of)
        kinds = [kind] if (kind := only(self.key)) else [RunKind.GRPO, RunKind.SFT]
        elsewhere = select_setting(self.key, "number" if self.numeric else "text")
        return Case(
            When(kind__in=kinds, then=found),
            When(kind=RunKind.OUTSIDE, then=elsewhere),
            default=None,
            output_field=type_of,
        )

    def text(self, value: Any) -> str:
        """As the form words it."""
        if self.numeric and isinstance(value, float):
            return f"{value:g}"
        return worded(self.key, value) if value is not None else ""


SETTINGS = {
    name: Setting(
        name,
        str(RunForm.base_fields[name].label or name.capitalize()),
        f"Settings: {section.title.lower()}",
        isinstance(RunForm.base_fields[name], forms.IntegerField),  # which a field for other numbers is, too
    )
    for section in SECTIONS
    for name in section.names
    if name not in ELSEWHERE
}
