"""Form field factories for run settings: numbers, choices and yes/no, with defaults and help texts."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from django import forms

from .defaults import START

TIMES = "\N{MULTIPLICATION SIGN}"


def format_config_value(value: Any) -> str:
    """Format a value for people: 6 for 6.0, yes for True, empty for None."""
    if isinstance(value, bool):
        return "yes" if value else "no"
    if value is None:
        return ""
    return f"{value:g}" if isinstance(value, float) else str(value)


def number(label: str, name: str, least: float, most: float, help_text: str, required: bool = True) -> forms.Field:
    """Return a number field of the default's type."""
    integral = isinstance(START[name], int)
    kind = forms.IntegerField if integral else forms.FloatField
    widget = forms.NumberInput(
        attrs={"step": 1 if integral else "any", "inputmode": "numeric" if integral else "decimal"}
    )
    field: forms.Field = kind(
        label=label,
        min_value=least,
        max_value=most,
        initial=format_config_value(START[name]),
        help_text=help_text,
        widget=widget,
        required=required,
    )
    return field


def choice(label: str, name: str, options: Sequence[tuple[str, str]], help_text: str) -> forms.Field:
    field: forms.Field = forms.ChoiceField(
        label=label, choices=list(options), initial=format_config_value(START[name]), help_text=help_text
    )
    return field


def yes_or_no(label: str, name: str, help_text: str) -> forms.Field:
    """Return a yes/no choice; unlike a checkbox it distinguishes a missing value from no."""
    field: forms.Field = forms.TypedChoiceField(
        label=label,
        choices=[("yes", "Yes"), ("no", "No")],
        coerce=lambda value: value == "yes",
        initial=format_config_value(START[name]),
        help_text=help_text,
    )
    return field
