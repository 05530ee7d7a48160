"""Initial policies of a run, and the audit of a model's chat template."""

from __future__ import annotations

import json
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from django import forms
from django.conf import settings

from prove_web.accounts.models import Project
from prove_web.live.models import ENDED
from training_worker.core.models import best_of, left_by, model_folders

from .checkpoints import checkpoints
from .models import Run

WARM = "warm"
AUDIT = "audit.json"  # next to the model's weights; `manage.py audit_template --json` writes it
MAX_QUOTED = 100  # characters of an unknown policy that the error quotes
MOST_RUNS = 30  # newest runs whose policies are offered
LARGEST_AUDIT = 1_000_000  # bytes
Choices = list[tuple[str, Any]]


@dataclass(frozen=True)
class Check:
    name: str
    ok: bool
    detail: str


@dataclass(frozen=True)
class Audit:
    """The audit result of a model's chat template; if it cannot be read, `checks` is empty and `problem` says why."""

    family: str = ""
    checks: tuple[Check, ...] = ()
    problem: str = ""

    @property
    def ok(self) -> bool:
        return bool(self.checks) and all(check.ok for check in self.checks)

    @property
    def failed(self) -> list[Check]:
        return [check for check in self.checks if not check.ok]


class PolicyField(forms.ChoiceField):
    """A choice among a project's policies; the error for an unknown value lists the possible ones."""

    def validate(self, value: str) -> None:
        if value and not self.valid_value(value):
            known = ", ".join(str(name) for name, _ in flatten_choices(self.choices))
            raise forms.ValidationError(
                'There is no policy "%(value)s" here. Possible values: %(known)s.',
                code="invalid_choice",
                params={"value": value[:MAX_QUOTED], "known": known},
            )
        super().validate(value)


def flatten_choices(groups: Iterable[tuple[Any, Any]]) -> list[tuple[Any, Any]]:
    """Return the choices without their groups."""
    return [one for name, inner in groups for one in (inner if isinstance(inner, list | tuple) else [(name, inner)])]


def policy_choices(project: Project) -> Choices:
    """Return the choices in groups: the shipped policy, the available models, and policies of ended runs."""
    found: Choices = [(WARM, "Shipped warm-start policy")]
    if models := [(name, name) for name in model_folders(Path(settings.PROVE_DATA))]:
        found.append(("Models", models))
    runs = Run.objects.filter(project=project, job__state__in=ENDED).select_related("job").order_by("-number")
    if left := [one for run in runs[:MOST_RUNS] for one in left_choices(run)]:
        found.append(("Trained in this project", left))
    return found


def left_choices(run: Run) -> list[tuple[str, str]]:
    name, title = f"run:{run.job_id}", f"Run {run.number}, {run.name}"
    found = [(name, title)] if left_by(run.job.folder) else []
    best = best_of(run.job.folder)
    for one in checkpoints(run.job):
        if left_by(run.job.folder, one.folder.name):
            suffix = ", best held-out reward" if one.folder == best else ""
            found.append((f"{name}/{one.folder.name}", f"{title}: checkpoint of step {one.step}{suffix}"))
    return found


def title_of(policy: str, project: Project) -> str:
    """Return the display name of the policy that a run started from."""
    if not policy.startswith("run:"):
        return {WARM: "shipped warm-start policy"}.get(policy, policy)
    job, _, checkpoint = policy.removeprefix("run:").partition("/")
    run = Run.objects.filter(project=project, job_id=job).first()
    return (f"run {run.number}" if run else "a deleted run") + (f", {checkpoint}" if checkpoint else "")


def model_folder(policy: str) -> Path | None:
    """Return the folder of a model under the model roots; None for any other policy."""
    return model_folders(Path(settings.PROVE_DATA)).get(policy)


def audit_of(policy: str) -> Audit | None:
    """Return the audit of a model; None for a policy that needs none."""
    folder = model_folder(policy)
    if folder is None:
        return None
    path = folder / AUDIT
    if not path.is_file():
        return Audit(problem="Its chat template has not been audited. Run `manage.py audit_template` on it first.")
    try:
        if path.stat().st_size > LARGEST_AUDIT:
            raise ValueError("too large")
        found = json.loads(path.read_text("utf-8"))
        checks = tuple(
            Check(str(one["name"]), one["ok"] is True, str(one.get("detail", ""))) for one in found["checks"]
        )
        return Audit(str(found["family"]), checks)
    except (OSError, ValueError, KeyError, TypeError, AttributeError):
        return Audit(problem=f"Its {AUDIT} cannot be read. Run `manage.py audit_template` on it again.")
