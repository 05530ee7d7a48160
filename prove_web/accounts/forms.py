"""Forms for users, organisations and projects."""

from __future__ import annotations

from typing import Any

from django import forms
from django.contrib.auth.forms import AuthenticationForm
from django.core.validators import validate_email
from django.utils.text import slugify

from .memberships import find
from .models import Organisation, Project
from .roles import Role


class SignIn(AuthenticationForm):
    """Django's form, for a user name or an e-mail address."""

    error_messages = {
        **AuthenticationForm.error_messages,
        "invalid_login": "Wrong username or password. Passwords are case-sensitive.",
    }

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self.fields["username"].label = "User name or e-mail address"


class AddMember(forms.Form):
    """A user with an account here, by user name or e-mail address; a new user, by e-mail address."""

    person = forms.CharField(
        label="User name or e-mail address",
        max_length=254,
        help_text="For a new user, enter an e-mail address; you get an initial password to pass on.",
        widget=forms.TextInput(attrs={"autocomplete": "off", "autocapitalize": "none", "spellcheck": "false"}),
    )
    role = forms.ChoiceField(choices=Role.choices, initial=Role.VIEWER)

    def __init__(self, *args: Any, organisation: Organisation, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self.organisation = organisation

    def clean_person(self) -> str:
        person: str = self.cleaned_data["person"]
        found = find(person)
        if found is None and "@" not in person:
            raise forms.ValidationError(
                f"No account has the user name “{person}”. To add a new user, enter their e-mail address."
            )
        if found is None:
            validate_email(person)
        elif self.organisation.memberships.filter(user=found).exists():
            raise forms.ValidationError(f"{found.get_username()} is already a member; change their role in the list.")
        return person


class ChangeRole(forms.Form):
    role = forms.ChoiceField(choices=Role.choices)


class NewProject(forms.ModelForm):
    """A project's name and URL slug, which is derived from the name if it is empty."""

    slug = forms.SlugField(
        label="URL slug",
        required=False,
        max_length=40,
        help_text="Lowercase letters, digits and hyphens. If empty, it is derived from the name.",
        widget=forms.TextInput(attrs={"autocapitalize": "none", "spellcheck": "false"}),
    )

    class Meta:
        model = Project
        fields = ["name", "slug"]

    def __init__(self, *args: Any, organisation: Organisation, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self.instance.organisation = organisation

    def clean_slug(self) -> str:
        slug = self.cleaned_data["slug"].lower() or slugify(self.cleaned_data.get("name", ""))[:40].strip("-")
        if not slug:
            raise forms.ValidationError("Can't derive a URL slug from this name. Enter one.")
        for taken in Project.everything.filter(organisation=self.instance.organisation, slug=slug):
            where = " by a project in the trash. Restore it, or choose another slug" if taken.deleted_at else ""
            raise forms.ValidationError(f"The slug “{slug}” is already used{where}.")
        return slug
