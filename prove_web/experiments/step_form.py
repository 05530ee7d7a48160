"""What is asked of the rollouts of a step, as the address says it."""

from __future__ import annotations

from django import forms

from training_worker.prove.outcomes import OF_CALLS
from training_worker.prove.store.query import ORDERS, RolloutFilter
from training_worker.prove.store.record import COMPONENTS

from .templatetags.runs import ENDS
from .tool_outcomes import TITLES

LONGEST = 120


class StepForm(forms.Form):
    """Every field may be empty. What cannot be read stays as typed, says why, and asks nothing."""

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
    """By which column, and whether from the largest down, which a minus says; as asked where it names none."""
    name = sort.removeprefix("-")
    return (name, sort.startswith("-")) if name in ORDERS else ("index", False)
