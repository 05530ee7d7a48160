"""Forms for creating invitations and for accepting one."""

from __future__ import annotations

import re
from typing import Any

from django import forms
from django.contrib.auth.password_validation import validate_password
from django.core.validators import validate_email

from .invitations import InvitationRequest, matches_email
from .models import Invitation, Organisation, User
from .roles import Role

PLAIN = {"autocapitalize": "none", "spellcheck": "false"}
DAYS = ((1, "1 day"), (7, "7 days"), (30, "30 days"))
MOST = 100  # uses of one link
AT_ONCE = 50  # links


class Addresses(forms.CharField):
    """E-mail addresses separated by commas, semicolons or white space, without duplicates in any case."""

    def to_python(self, value: Any) -> list[str]:
        words = re.split(r"[\s,;]+", super().to_python(value))
        return [*{word.casefold(): word for word in words if word}.values()]

    def validate(self, value: Any) -> None:
        if len(value) > AT_ONCE:
            raise forms.ValidationError(f"{len(value)} addresses entered. Invite at most {AT_ONCE} at a time.")
        for one in value:
            try:
                validate_email(one)
            except forms.ValidationError:
                raise forms.ValidationError(f"“{one[:80]}” is not an e-mail address.") from None

    def run_validators(self, value: Any) -> None:
        """Do nothing, because the validators are for text."""


class Invite(forms.Form):
    role = forms.ChoiceField(label="Role", choices=Role.choices, initial=Role.VIEWER)
    days = forms.TypedChoiceField(label="Expires in", choices=DAYS, coerce=int, initial=7)
    most = forms.IntegerField(label="Max uses", min_value=1, max_value=MOST, initial=1)
    email = Addresses(
        label="E-mail addresses",
        required=False,
        widget=forms.Textarea(attrs={"rows": 2, "autocomplete": "off", **PLAIN}),
        help_text="One link per address, separated by commas or line breaks. If empty, anyone with the link can join. "
        "No e-mail is sent: send the links yourself.",
    )
    note = forms.CharField(
        label="Note", required=False, max_length=120, help_text="Who it is for; only owners see it.", strip=True
    )

    def __init__(self, *args: Any, organisation: Organisation | None = None, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self.organisation = organisation

    def clean(self) -> dict[str, Any]:
        given: dict[str, Any] = super().clean()
        self.refuse_members(given.get("email") or [])
        if given.get("email") and given.get("most", 1) > 1:
            self.add_error("most", "An address belongs to one person. Leave the field empty to invite several.")
        return given

    def refuse_members(self, addresses: list[str]) -> None:
        """Reject addresses of members, who need no link."""
        if self.organisation is None:
            return
        here = {one.casefold() for one in self.organisation.members.values_list("email", flat=True)}
        if known := [one for one in addresses if one.casefold() in here]:
            self.add_error("email", f"{', '.join(known)}: already in the team. Remove the address, or change the role.")

    def requests(self) -> list[InvitationRequest]:
        """Return one invitation, or one for each address."""
        rest = {name: value for name, value in self.cleaned_data.items() if name != "email"}
        return [InvitationRequest(email=address, **rest) for address in self.cleaned_data["email"] or [""]]


class SignUp(forms.Form):
    """A new account for someone who follows an invitation."""

    name = forms.CharField(label="Your name", max_length=150, widget=forms.TextInput(attrs={"autocomplete": "name"}))
    email = forms.EmailField(
        label="E-mail address", max_length=254, widget=forms.EmailInput(attrs={"autocomplete": "username", **PLAIN})
    )
    password = forms.CharField(
        label="Password",
        strip=False,
        widget=forms.PasswordInput(attrs={"autocomplete": "new-password"}, render_value=False),
        help_text="At least 8 characters, not only digits, not a common password.",
    )

    def __init__(self, *args: Any, invitation: Invitation, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self.invitation = invitation
        if invitation.email:
            self.fields["email"].initial = invitation.email
            self.fields["email"].widget.attrs["readonly"] = True

    def clean_email(self) -> str:
        email: str = self.cleaned_data["email"]
        if not matches_email(self.invitation, email):
            raise forms.ValidationError("This invitation is for another e-mail address.")
        if User.objects.filter(email__iexact=email).exists():
            raise forms.ValidationError("An account with this address already exists. Sign in instead.")
        return email

    def clean(self) -> dict[str, Any]:
        given: dict[str, Any] = super().clean()
        if password := given.get("password"):
            person = User(first_name=given.get("name", ""), email=given.get("email", ""))
            try:
                validate_password(password, person)
            except forms.ValidationError as error:
                self.add_error("password", error)
        return given
