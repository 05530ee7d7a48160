"""API operations for estimates before a launch: the forecast, and a dry run with a few prompts."""

from __future__ import annotations

from typing import Any

from ninja import Router, Schema
from pydantic import Field

from prove_web.accounts.roles import Action
from prove_web.experiments import dry_run
from prove_web.experiments.api_form import NotThere, filled_form
from prove_web.experiments.dry_run import Trial
from prove_web.experiments.forms import RunForm
from prove_web.experiments.models import RunKind
from prove_web.experiments.run_launch import build_launch_preview

from ..errors import ApiError, ill_filled
from ..permissions import in_project
from ..schemas import JobOut
from .runs import RUNS, Launch

router = Router(tags=["Runs"])


class FigureOut(Schema):
    """An estimated value and its source; `worry` if it exceeds what is available."""

    label: str
    value: str
    source: str
    worry: bool


class DifferenceOut(Schema):
    """A setting that differs between the run and its baseline."""

    label: str
    base: str
    here: str


class TrialOut(Schema):
    """A dry run: one step with a few prompts. Once done, `groups` has the mean and standard deviation of each group's
    rewards, `dead` the share of zero-variance groups."""

    job: JobOut
    groups: list[tuple[float, float]]
    dead: float | None

    @staticmethod
    def resolve_groups(trial: Trial) -> list[tuple[float, float]]:
        return trial.spreads

    @staticmethod
    def resolve_dead(trial: Trial) -> float | None:
        return trial.dead.accuracy if trial.dead else None


class Forecast(Schema):
    line: str
    figures: list[FigureOut]
    differences: list[DifferenceOut] = Field(description="Compared with the run given by `base` or `clone`.")
    trial: TrialOut | None = Field(description="The newest dry run with these settings.")


@router.post(f"{RUNS}/forecast", response=Forecast)
@in_project(Action.LAUNCH)
def forecast_run(request: Any, body: Launch) -> Any:  # type: ignore[valid-type]
    """Estimate a run with these settings: rollouts, minutes, tokens, memory, disk. Nothing is launched."""
    preview = build_launch_preview(validate_launch(request.project, body))
    rest = {
        "figures": preview.get("figures", []),
        "differences": preview.get("differences", []),
        "trial": preview.get("trial"),
    }
    return {"line": preview["forecast"], **rest}


@router.post(f"{RUNS}/trial", response={201: TrialOut})
@in_project(Action.LAUNCH)
def try_run(request: Any, body: Launch) -> Any:  # type: ignore[valid-type]
    """Start a dry run of one step with a few prompts; an existing dry run of these settings is returned."""
    form = validate_launch(request.project, body)
    can_be_tried(form)
    return dry_run.begin(request.project, request.user, form.spec)


@router.post(f"{RUNS}/trial/stop", response=TrialOut)
@in_project(Action.LAUNCH)
def stop_trial(request: Any, body: Launch) -> Any:  # type: ignore[valid-type]
    """Stop the dry run of these settings."""
    form = validate_launch(request.project, body)
    can_be_tried(form)
    dry_run.end(request.project, form.spec)
    found = dry_run.trial_of(request.project, form.spec)
    if found is None:
        raise ApiError(409, "There is no dry run with these settings.", "body", "Start a dry run first.")
    return found


def validate_launch(project: Any, body: Any) -> RunForm:
    """Return the valid launch form; its name may be missing. Raises Refused."""
    try:
        form = filled_form(project, {"name": "Forecast", **body.dict(exclude_unset=True)})
    except NotThere as why:
        raise ApiError(422, str(why), f"body.{why.field}", "Choose another one.") from None
    if not form.is_valid():
        raise ill_filled(form.errors)
    return form


def can_be_tried(form: RunForm) -> None:
    if form.cleaned_data["kind"] != RunKind.GRPO:
        do = "Request its estimate instead."
        raise ApiError(422, "Dry runs are only available for GRPO, since they sample rollouts.", "body.kind", do)
