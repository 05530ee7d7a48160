"""The form by which an owner enrols a machine."""

from __future__ import annotations

from django import forms

DAYS = (("1", "A day"), ("30", "30 days"), ("365", "A year"))


class EnrolForm(forms.Form):
    name = forms.CharField(label="Machine", max_length=40, help_text="What pages call it, such as the name of its GPU.")
    days = forms.ChoiceField(
        label="Token is good for", choices=DAYS, initial="30", help_text="The machine is refused after that."
    )
