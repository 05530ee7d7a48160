"""Forms for a project's environment, and for a third-party server."""

from __future__ import annotations

import shlex
from typing import Any

from django import forms
from django.conf import settings
from django.db import IntegrityError, transaction

from mcp_servers.catalogue import SERVERS
from prove_web.accounts.models import Project, User
from prove_web.servers.forms import MOST_SEED, SIZES

from .enabled_servers import environment_of, list_enabled_servers
from .models import Environment, ThirdParty

MOST_WORDS = 40
NAME = r"\A[a-z][a-z0-9_]{0,39}\Z"


class EnvironmentForm(forms.Form):
    """Enabled servers of the project, and the initial world of its forms."""

    servers = forms.MultipleChoiceField(
        widget=forms.CheckboxSelectMultiple,
        error_messages={
            "required": "Enable at least one server.",
            "invalid_choice": "Unknown server “%(value)s”.",
        },
    )
    seed = forms.IntegerField(
        min_value=0,
        max_value=MOST_SEED,
        widget=forms.TextInput(attrs={"inputmode": "numeric", "autocomplete": "off"}),
        help_text="Default seed of new sessions and of calls on tool pages.",
        error_messages={"invalid": "A seed is a whole number, such as 7.", "min_value": "A seed is 0 or more."},
    )
    size = forms.ChoiceField(choices=SIZES.items())

    def __init__(self, project: Project, data: Any = None):
        now = environment_of(project)
        super().__init__(data, initial={"servers": list_enabled_servers(project), "seed": now.seed, "size": now.size})
        self.fields["servers"].choices = [(name, name) for name in SERVERS]
        self.project = project

    def save(self) -> Environment:
        """Save the environment. The form must be valid."""
        on = set(self.cleaned_data["servers"])
        chosen = {"off": [name for name in SERVERS if name not in on]}
        chosen |= {name: self.cleaned_data[name] for name in ("seed", "size")}
        found, _ = Environment.objects.update_or_create(project=self.project, defaults=chosen)
        return found


class GatewaySessionForm(forms.Form):
    """A session of the MCP gateway: its title and its world."""

    title = forms.CharField(
        max_length=60,
        required=False,
        label="Title",
        widget=forms.TextInput(attrs={"autocomplete": "off", "placeholder": "Claude Desktop on my laptop"}),
    )
    seed = forms.IntegerField(
        min_value=0,
        max_value=MOST_SEED,
        widget=forms.TextInput(attrs={"inputmode": "numeric", "autocomplete": "off"}),
        error_messages={"invalid": "A seed is a whole number, such as 7.", "min_value": "A seed is 0 or more."},
    )
    size = forms.ChoiceField(choices=SIZES.items())

    def __init__(self, project: Project, data: Any = None):
        now = environment_of(project)
        super().__init__(data, initial={"seed": now.seed, "size": now.size}, auto_id="id_gateway_%s")


class ThirdPartyForm(forms.Form):
    """A third-party server: its name and its command or URL. Adding it starts nothing."""

    name = forms.RegexField(
        NAME,
        widget=forms.TextInput(attrs={"autocomplete": "off", "spellcheck": "false"}),
        help_text="Lowercase letters, digits and _.",
        error_messages={"invalid": "Use only lowercase letters, digits and _, starting with a letter."},
    )
    command = forms.CharField(
        required=False,
        max_length=1000,
        widget=forms.TextInput(attrs={"autocomplete": "off", "spellcheck": "false"}),
        help_text="Program and arguments; no shell features.",
    )
    url = forms.URLField(
        required=False,
        max_length=500,
        assume_scheme="https",
        label="URL",
        widget=forms.TextInput(attrs={"autocomplete": "off", "inputmode": "url"}),
        help_text="Streamable HTTP endpoint. Addresses inside this network are rejected.",
    )

    def __init__(self, data: Any = None):
        super().__init__(data)
        for kind in ("command", "url"):
            if kind not in settings.EXTERNAL_SERVERS:
                del self.fields[kind]

    def clean_name(self) -> str:
        if self.cleaned_data["name"] in SERVERS:
            raise forms.ValidationError("A built-in server has this name; choose another.")
        return str(self.cleaned_data["name"])

    def clean_command(self) -> list[str]:
        try:
            words = shlex.split(self.cleaned_data["command"])
        except ValueError as error:
            raise forms.ValidationError(f"Invalid command line: {error}.") from None
        if len(words) > MOST_WORDS:
            raise forms.ValidationError(f"A command has at most {MOST_WORDS} words.")
        return words

    def clean(self) -> dict[str, Any]:
        given = [kind for kind in ("command", "url") if self.cleaned_data.get(kind)]
        if not self.errors and len(given) != 1:
            both = len(self.fields) == 3
            raise forms.ValidationError("Enter either a command or a URL." if both else "Enter its command or URL.")
        return self.cleaned_data

    def save(self, project: Project, user: User) -> ThirdParty | None:
        """Return the saved server; None, with an error at its field, if the name is taken."""
        fields: dict[str, Any] = {
            kind: self.cleaned_data.get(kind) or empty for kind, empty in (("command", []), ("url", ""))
        }
        try:
            with transaction.atomic():
                return ThirdParty.objects.create(
                    project=project, name=self.cleaned_data["name"], added_by=user, **fields
                )
        except IntegrityError:
            self.add_error("name", "The project already has a server with this name; choose another.")
            return None
