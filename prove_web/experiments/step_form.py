"""Filter form for the rollouts of a step, read from the query string."""

from __future__ import annotations

from django import forms

from training_worker.environment.outcomes import OF_CALLS
from training_worker.store.query import ORDERS, RolloutFilter
from training_worker.store.record import COMPONENTS

from .templatetags.runs import ENDS
from .tool_outcomes import TITLES

LONGEST = 120


class StepForm(forms.Form):
    """A filter form with optional fields; an invalid value is shown with its error and does not filter."""

    low = forms.FloatField(label="Min reward", required=False)
    high = forms.FloatField(label="Max reward", required=False)
    component = forms.ChoiceField(
        label="Component",
        required=False,
        choices=[("", "Any"), *((name, name.capitalize()) for name in COMPONENTS)],
    )
    below = forms.FloatField(label="Component below", required=False)
    tool = forms.CharField(
        label="Tool called",
        required=False,
        max_length=LONGEST,
        widget=forms.TextInput({"list": "step-tools", "autocomplete": "off", "spellcheck": "false"}),
    )
    outcome = forms.ChoiceField(
        label="Call outcome",
        required=False,
        choices=[("", "Any"), *((name, TITLES[name]) for name in OF_CALLS)],
    )
    end = forms.ChoiceField(
        label="Finish reason",
        required=False,
        choices=[("", "Any"), *((name, words[0].upper() + words[1:]) for name, words in ENDS.items())],
    )
    example = forms.CharField(label="Conversation", required=False, max_length=LONGEST)

    @property
    def rollout_filter(self) -> RolloutFilter:
        self.is_valid()
        return RolloutFilter(**{name: value for name, value in self.cleaned_data.items() if value is not None})


def order_of(sort: str) -> tuple[str, bool]:
    """Parse the sort parameter into a column and whether it is descending; unknown columns give the original order."""
    name = sort.removeprefix("-")
    return (name, sort.startswith("-")) if name in ORDERS else ("index", False)
