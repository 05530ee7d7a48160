"""The launch form as a request to the API: the body that launches the very same run, and lines that send it."""

from __future__ import annotations

import json
import shlex
from dataclasses import dataclass
from typing import Any

from django.urls import reverse

from prove_web.accounts.models import Project

from .api_form import filled_form
from .evaluate_fields import NAMES as BENCHMARKS
from .form_fields import plain
from .forms import RunForm, belongs, usual

ALWAYS = ("name", "kind", "dataset", "policy")
NEVER = ("recipe",)  # it only fills other fields in


@dataclass(frozen=True)
class ByApi:
    """One request three times: its body, and the same sent by curl and by our client for Python."""

    body: str
    curl: str
    python: str

    @property
    def texts(self) -> list[tuple[str, str, str]]:
        return [("body", "Body", self.body), ("curl", "curl", self.curl), ("python", "Python", self.python)]


def by_api(form: RunForm, site: str) -> ByApi | None:
    """Of a form that is valid, for the `site` at https://…; None where the API would not launch the same."""
    told = body(form)
    again = filled_form(form.project, told)
    if not again.is_valid() or outcome(again) != outcome(form):
        return None
    text = json.dumps(told, indent=2, ensure_ascii=False)
    return ByApi(text, curl(form.project, told, site), python(form.project, told, site))


def body(form: RunForm) -> dict[str, Any]:
    """What the API is sent: what it always wants to know, and what is not as it usually is."""
    given, kind = form.cleaned_data, form.cleaned_data["kind"]
    names = [name for name in RunForm.base_fields if name not in NEVER and (name in ALWAYS or belongs(name, kind))]
    found = {name: value for name in names if (value := said(name, given.get(name))) is not None}
    return {name: value for name, value in found.items() if name in ALWAYS or plain(value) not in usual(name)}


def said(name: str, value: Any) -> Any:
    """A value as the API takes it: a data set by its number, yes or no as words, numbers as such."""
    if value in (None, ""):
        return None
    if name == "dataset":
        return value.number
    if name == "base":
        return str(value.pk)
    return plain(value) if isinstance(value, bool) else value


def outcome(form: RunForm) -> tuple[Any, ...]:
    """All that a form launches."""
    given = form.cleaned_data
    after = [given.get(name) for name in (*BENCHMARKS, "benchmark_limit")]
    return form.spec, given["name"], given["kind"], given["dataset"], given["base"], after


def curl(project: Project, told: dict[str, Any], site: str) -> str:
    address = f"{site}{reverse('api-v1:launch_run', args=project.path)}"
    lines = [
        f"curl -X POST {shlex.quote(address)}",
        '  -H "Authorization: Bearer $PROVE_TOKEN"',
        "  -H 'Content-Type: application/json'",
        f"  -d {shlex.quote(json.dumps(told))}",
    ]
    return " \\\n".join(lines)


def python(project: Project, told: dict[str, Any], site: str) -> str:
    settings = [f"        {name}={value!r},\n" for name, value in told.items() if name != "name"]
    place = ", ".join(map(repr, project.path))
    return (
        "from training_worker.client import Studio\n\n"
        f"with Studio({site!r}) as studio:  # with a token in PROVE_TOKEN\n"
        f"    run = studio.project({place}).launch_run(\n"
        f"        {told['name']!r},\n{''.join(settings)}    )\n"
    )
