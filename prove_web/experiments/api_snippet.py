"""The launch form as an API request: a body that launches the same run, and code snippets that send it."""

from __future__ import annotations

import json
import shlex
from dataclasses import dataclass
from typing import Any

from django.urls import reverse

from prove_web.accounts.models import Project

from .api_form import filled_form
from .evaluate_fields import NAMES as BENCHMARKS
from .form_fields import format_config_value
from .forms import RunForm, belongs, list_default_texts

ALWAYS = ("name", "kind", "dataset", "policy")
NEVER = ("recipe",)  # only fills in other fields


@dataclass(frozen=True)
class ByApi:
    """One request in three forms: its body, a curl command, and a call of our Python client."""

    body: str
    curl: str
    python: str

    @property
    def texts(self) -> list[tuple[str, str, str]]:
        return [("body", "Body", self.body), ("curl", "curl", self.curl), ("python", "Python", self.python)]


def by_api(form: RunForm, site: str) -> ByApi | None:
    """Return a valid form's API request to the URL `site`; None where the API would launch a different run."""
    fields = body(form)
    again = filled_form(form.project, fields)
    if not again.is_valid() or outcome(again) != outcome(form):
        return None
    text = json.dumps(fields, indent=2, ensure_ascii=False)
    return ByApi(text, curl(form.project, fields, site), python(form.project, fields, site))


def body(form: RunForm) -> dict[str, Any]:
    """Return the request body: the fields that are always required, and those that differ from their defaults."""
    given, kind = form.cleaned_data, form.cleaned_data["kind"]
    names = [name for name in RunForm.base_fields if name not in NEVER and (name in ALWAYS or belongs(name, kind))]
    found = {name: value for name in names if (value := to_api_value(name, given.get(name))) is not None}
    return {
        name: value
        for name, value in found.items()
        if name in ALWAYS or format_config_value(value) not in list_default_texts(name)
    }


def to_api_value(name: str, value: Any) -> Any:
    """Return a value as the API expects it: datasets by number, booleans as words, numbers as numbers."""
    if value in (None, ""):
        return None
    if name == "dataset":
        return value.number
    if name == "base":
        return str(value.pk)
    return format_config_value(value) if isinstance(value, bool) else value


def outcome(form: RunForm) -> tuple[Any, ...]:
    """Return everything that determines what the form launches."""
    given = form.cleaned_data
    after = [given.get(name) for name in (*BENCHMARKS, "benchmark_limit")]
    return form.spec, given["name"], given["kind"], given["dataset"], given["base"], after


def curl(project: Project, fields: dict[str, Any], site: str) -> str:
    address = f"{site}{reverse('api-v1:launch_run', args=project.path)}"
    lines = [
        f"curl -X POST {shlex.quote(address)}",
        '  -H "Authorization: Bearer $PROVE_TOKEN"',
        "  -H 'Content-Type: application/json'",
        f"  -d {shlex.quote(json.dumps(fields))}",
    ]
    return " \\\n".join(lines)


def python(project: Project, fields: dict[str, Any], site: str) -> str:
    settings = [f"        {name}={value!r},\n" for name, value in fields.items() if name != "name"]
    place = ", ".join(map(repr, project.path))
    return (
        "from training_worker.client import Studio\n\n"
        f"with Studio({site!r}) as studio:  # with a token in PROVE_TOKEN\n"
        f"    run = studio.project({place}).launch_run(\n"
        f"        {fields['name']!r},\n{''.join(settings)}    )\n"
    )
