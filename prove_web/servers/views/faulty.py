"""Page that sets the fault injection of a session, from the next call on."""

from __future__ import annotations

from typing import Any

from django import forms
from django.contrib import messages
from django.http import HttpResponse
from django.shortcuts import redirect, render

from mcp_servers.faults import MOST_DELAY, Faults
from prove_web.accounts.permissions import Action, ProjectRequest, in_project

from ..session_page import has_missing_server
from ..session_services import set_faults
from ..world_cache import faults_of
from .sessions import UNPROCESSABLE, build_session_url, get_session_or_404

MOST_SEED = 10**9
KINDS = {
    "unavailable": (
        "Unavailable",
        "The call fails without changes; a retry may succeed.",
    ),
    "rate_limited": ("Busy", "The call fails with the advice to retry later."),
    "stale": ("Stale", "Reads return the state before the last write."),
    "slow": ("Slow", "The call succeeds with a delay for MCP clients; this site does not wait."),
}


def build_integer_field(label: str, most: int, text: str, first: int = 0) -> forms.IntegerField:
    """Return a field for a whole number from 0, with an initial value."""
    attributes = {"inputmode": "numeric", "autocomplete": "off"}
    wrong = f"Enter a whole number from 0 to {most:,}."
    return forms.IntegerField(
        label=label,
        min_value=0,
        max_value=most,
        initial=first,
        help_text=text,
        widget=forms.TextInput(attrs=attributes),
        error_messages=dict.fromkeys(("invalid", "min_value", "max_value", "required"), wrong),
    )


class FaultsForm(forms.Form):
    """Percentages of calls for each kind of fault."""

    unavailable, rate_limited, stale, slow = (
        build_integer_field(f"{title}, %", 100, text) for title, text in KINDS.values()
    )
    delay = build_integer_field("Delay (ms)", MOST_DELAY, "Response time of slow calls.", Faults().delay)
    seed = build_integer_field("Seed", MOST_SEED, "Equal seeds and calls give equal faults.")

    def clean(self) -> dict[str, Any]:
        given = super().clean() or {}
        if sum(given.get(kind) or 0 for kind in KINDS) > 100:
            raise forms.ValidationError("The shares must add up to at most 100 %.")
        return given

    @property
    def faults(self) -> Faults:
        return Faults(**self.cleaned_data)


@in_project(Action.ANNOTATE)
def faults(request: ProjectRequest, session: int) -> HttpResponse:
    """Set the faults of a session, or disable them."""
    target = get_session_or_404(request, session)
    if has_missing_server(target):
        return redirect(target)  # whose page says so
    if request.method != "POST":
        now = faults_of(target)
        form = FaultsForm(initial={name: getattr(now, name) for name in FaultsForm.base_fields} if now else None)
        return render(request, "servers/faults.html", {"session": target, "form": form, "on": now})
    if "off" in request.POST:
        set_faults(target, None)
        messages.success(request, "Fault injection disabled. Earlier calls keep their faults.")
        return redirect(build_session_url(target))
    form = FaultsForm(request.POST)
    if not form.is_valid():
        known = {"session": target, "form": form, "on": faults_of(target)}
        return render(request, "servers/faults.html", known, status=UNPROCESSABLE)
    set_faults(target, form.faults)
    messages.success(request, "Fault injection applies from the next call on; earlier calls are unchanged.")
    return redirect(build_session_url(target))
