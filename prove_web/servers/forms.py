"""Form that opens a session."""

from __future__ import annotations

from typing import Any

from django import forms

from mcp_servers.catalogue import SERVERS, fingerprint
from mcp_servers.core.rng import FIRST_HELD_OUT_SEED
from prove_web.accounts.models import Project, User
from prove_web.environments.enabled_servers import environment_of, list_enabled_servers

from .models import LiveSession, Source

MOST_SEED = 2**53 - 1  # the largest integer that every JSON reader represents exactly
SIZES = {
    "small": "Small: a few rows",
    "default": "Default: as in training",
    "large": "Large: thousands of rows",
}


class SessionForm(forms.Form):
    """Servers and world of a new session."""

    servers = forms.MultipleChoiceField(
        widget=forms.CheckboxSelectMultiple,
        error_messages={
            "required": "Choose at least one server.",
            "invalid_choice": "Server “%(value)s” does not exist or is disabled.",
        },
    )
    seed = forms.IntegerField(
        min_value=0,
        max_value=MOST_SEED,
        initial=1,
        widget=forms.TextInput(attrs={"inputmode": "numeric", "autocomplete": "off"}),
        help_text=f"Equal seeds give equal initial states. Held out of training: seeds from {FIRST_HELD_OUT_SEED:,}.",
        error_messages={
            "invalid": "A seed is a whole number, such as 7.",
            "min_value": "A seed is 0 or more.",
            "max_value": f"A seed is at most {MOST_SEED:,}.",
        },
    )
    size = forms.ChoiceField(choices=SIZES.items(), initial="default")
    title = forms.CharField(
        max_length=80,
        required=False,
        help_text="Optional: purpose of this session.",
        widget=forms.TextInput(attrs={"autocomplete": "off"}),
    )
    tool = forms.CharField(required=False, max_length=80, widget=forms.HiddenInput)
    connect = forms.CharField(required=False, max_length=1, widget=forms.HiddenInput)
    saved = forms.CharField(required=False, max_length=20, widget=forms.HiddenInput)

    def __init__(self, project: Project, *arguments: Any, **rest: Any):
        super().__init__(*arguments, **rest)
        first = environment_of(project)
        self.fields["servers"].choices = [(name, name) for name in list_enabled_servers(project)]
        self.fields["seed"].initial, self.fields["size"].initial = first.seed, first.size

    def open(self, project: Project, user: User) -> LiveSession:
        """Create the session. The form must be valid."""
        wanted = [name for name in SERVERS if name in self.cleaned_data["servers"]]
        return LiveSession.objects.create(
            project=project,
            title=self.cleaned_data["title"],
            servers=wanted,
            seed=self.cleaned_data["seed"],
            size=self.cleaned_data["size"],
            fingerprint=fingerprint(wanted),
            created_by=user,
            source=Source.MCP if self.cleaned_data["connect"] else Source.HAND,
        )
