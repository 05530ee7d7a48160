"""Form for a token."""

from __future__ import annotations

from typing import Any

from django import forms

from prove_web.accounts.models import Organisation, Project
from prove_web.accounts.roles import Action, Role

DAYS = ((30, "30 days"), (90, "90 days"), (365, "1 year"), (0, "Never"))


class NewToken(forms.Form):
    """A token's name, scopes, project and duration. It can't exceed the role of its user."""

    name = forms.CharField(
        max_length=80,
        help_text="What the token is for, such as “nightly evaluation on the cluster”.",
        widget=forms.TextInput(attrs={"autocomplete": "off"}),
    )
    scopes = forms.MultipleChoiceField(
        label="Scopes",
        choices=[(action.value, action.label[0].upper() + action.label[1:]) for action in Action],
        initial=[Action.VIEW.value],
        widget=forms.CheckboxSelectMultiple,
    )
    project = forms.ModelChoiceField(
        Project.objects.none(), required=False, empty_label="All projects of the team", label="Project"
    )
    days = forms.TypedChoiceField(label="Expires in", choices=DAYS, coerce=int, initial=90)

    def __init__(self, *args: Any, organisation: Organisation, role: Role, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self.fields["project"].queryset = organisation.projects.filter(deleted_at=None)
        self.fields["scopes"].choices = [
            (value, label) for value, label in self.fields["scopes"].choices if role.covers(Action(value))
        ]

    def clean_name(self) -> str:
        name = " ".join(self.cleaned_data["name"].split())
        if not name:
            raise forms.ValidationError("Enter a name that says what the token is for.")
        return name
