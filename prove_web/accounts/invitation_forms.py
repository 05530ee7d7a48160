"""What an owner fills in about an invitation, and what someone fills in who follows one."""

from __future__ import annotations

from typing import Any

from django import forms
from django.contrib.auth.password_validation import validate_password

from .invitations import Asked, suits
from .models import Invitation, User
from .roles import Role

PLAIN = {"autocapitalize": "none", "spellcheck": "false"}
DAYS = ((1, "1 day"), (7, "7 days"), (30, "30 days"))
MOST = 100  # people by one link


class Invite(forms.Form):
    role = forms.ChoiceField(label="Role", choices=Role.choices, initial=Role.VIEWER)
    days = forms.TypedChoiceField(label="Good for", choices=DAYS, coerce=int, initial=7)
    most = forms.IntegerField(label="People who may use it", min_value=1, max_value=MOST, initial=1)
    email = forms.EmailField(
        label="Only for this e-mail address",
        required=False,
        widget=forms.EmailInput(attrs={"autocomplete": "off", **PLAIN}),
        help_text="Left empty, whoever has the link joins by it. No mail is sent: pass the link on yourself.",
    )
    note = forms.CharField(
        label="Note", required=False, max_length=120, help_text="Who it is for; only owners see it.", strip=True
    )

    def clean(self) -> dict[str, Any]:
        given: dict[str, Any] = super().clean()
        if given.get("email") and given.get("most", 1) > 1:
            self.add_error("most", "An address belongs to one person. Leave the address empty to invite several.")
        return given

    def asked(self) -> Asked:
        return Asked(**self.cleaned_data)


class SignUp(forms.Form):
    """A new account, for who follows an invitation."""

    name = forms.CharField(label="Your name", max_length=150, widget=forms.TextInput(attrs={"autocomplete": "name"}))
    email = forms.EmailField(
        label="E-mail address", max_length=254, widget=forms.EmailInput(attrs={"autocomplete": "username", **PLAIN})
    )
    password = forms.CharField(
        label="Password",
        strip=False,
        widget=forms.PasswordInput(attrs={"autocomplete": "new-password"}, render_value=False),
        help_text="At least 8 characters, not only digits, and none of the usual ones.",
    )

    def __init__(self, *args: Any, invitation: Invitation, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self.invitation = invitation
        if invitation.email:
            self.fields["email"].initial = invitation.email
            self.fields["email"].widget.attrs["readonly"] = True

    def clean_email(self) -> str:
        email: str = self.cleaned_data["email"]
        if not suits(self.invitation, email):
            raise forms.ValidationError("This invitation is for another e-mail address.")
        if User.objects.filter(email__iexact=email).exists():
            raise forms.ValidationError("There is an account with this address already. Sign in to it instead.")
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
