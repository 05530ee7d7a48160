"""The fields that settings of a run are typed into: numbers, choices, yes or no; each with its default and its help."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from django import forms

from .defaults import START

TIMES = "\N{MULTIPLICATION SIGN}"


def plain(value: Any) -> str:
    """A value as people write it: 6 for 6.0, yes for True; nothing for None."""
    if isinstance(value, bool):
        return "yes" if value else "no"
    if value is None:
        return ""
    return f"{value:g}" if isinstance(value, float) else str(value)


def number(label: str, name: str, least: float, most: float, help_text: str, required: bool = True) -> forms.Field:
    """A field for a number of its default's type."""
    whole = isinstance(START[name], int)
    kind = forms.IntegerField if whole else forms.FloatField
    widget = forms.NumberInput(attrs={"step": 1 if whole else "any", "inputmode": "numeric" if whole else "decimal"})
    field: forms.Field = kind(
        label=label,
        min_value=least,
        max_value=most,
        initial=plain(START[name]),
        help_text=help_text,
        widget=widget,
        required=required,
    )
    return field


def choice(label: str, name: str, options: Sequence[tuple[str, str]], help_text: str) -> forms.Field:
    field: forms.Field = forms.ChoiceField(
        label=label, choices=list(options), initial=plain(START[name]), help_text=help_text
    )
    return field


def yes_or_no(label: str, name: str, help_text: str) -> forms.Field:
    """A choice rather than a box to tick, so that what is left out and what is unticked differ."""
    field: forms.Field = forms.TypedChoiceField(
        label=label,
        choices=[("yes", "Yes"), ("no", "No")],
        coerce=lambda value: value == "yes",
        initial=plain(START[name]),
        help_text=help_text,
    )
    return field
