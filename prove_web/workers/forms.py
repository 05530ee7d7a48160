"""The form by which an owner enrols a machine."""

from __future__ import annotations

from django import forms

DAYS = (("1", "1 day"), ("30", "30 days"), ("365", "1 year"))


class EnrolForm(forms.Form):
    name = forms.CharField(label="Machine", max_length=40, help_text="Display name, such as the name of its GPU.")
    days = forms.ChoiceField(
        label="Expires in", choices=DAYS, initial="30", help_text="After that the machine is refused."
    )
