"""Sweeps: found, planned, launched whole, what their members say of the settings, and stopped."""

from __future__ import annotations

from datetime import datetime
from typing import Annotated, Any, Literal
from uuid import UUID

from ninja import Router, Schema
from pydantic import Field

from prove_web.accounts.roles import Action
from prove_web.experiments.filling import NotThere, filled_form
from prove_web.experiments.forms import RunForm
from prove_web.experiments.models import Run, Sweep
from prove_web.experiments.sweep_form import PRESETS, ROWS, SweepForm, name_of
from prove_web.experiments.sweep_found import weights
from prove_web.experiments.sweeping import (
    best_of,
    counted,
    ended_of,
    launch_all,
    members_of,
    next_number,
    stop_all,
    sweep_of,
    titles_of,
)

from ..paging import Cursor, Limit, Number, Piece, by_key
from ..posted import body_of, posted
from ..refusals import Refused, ill_filled
from ..rules import in_project
from ..schemas import Strict, username
from .forecasts import Forecast, forecast_of
from .jobs import Stop

router = Router(tags=["Sweeps"])
SWEEPS = "/{slug:organisation}/{slug:project}/sweeps"
SWEEP = SWEEPS + "/{int:sweep}"
Shared = body_of(
    RunForm,
    "SharedSettings",
    without=("name", "dataset"),
    optional=True,
    dataset=(int | None, Field(None, description="The number of a finished data set.")),
    clone=(int | None, Field(None, description="The number of a run whose settings all members begin with.")),
)
Value = Annotated[str | int | float, Field(union_mode="left_to_right")]
VARY = (
    f"At most {ROWS} settings of the launch form, each with its values: a list, or as text such as "
    "`1e-6, 3e-7`, `1e-7 to 1e-4, log` or `0 to 0.04 in 3`."
)


class SweepBody(Strict):
    """Which settings vary and how. A grid takes every combination; random draws so many."""

    name: str = Field("", max_length=60, description="Left out, it is named by its number.")
    method: Literal["grid", "random"] = "grid"
    preset: Literal["", "rates", "ablations", "seeds"] = Field(
        "", description="What varies where `vary` is left out: " + "; ".join(f"{k}: {v[0]}" for k, v in PRESETS.items())
    )
    vary: dict[str, str | list[Value]] = Field({}, max_length=ROWS, description=VARY)
    draws: int = Field(8, description="Members drawn at random.")
    seed: int = Field(0, description="Of the draws: the same seed, the same members.")
    settings: Shared = Field(..., description="What all members share; what is left out is as usual.")  # type: ignore[valid-type]


class SweepOut(Schema):
    """`best` is the best held-out reward of a member that has ended."""

    number: int
    name: str
    method: str
    space: dict[str, str]
    draws: int | None
    seed: int
    by: str | None
    created_at: datetime
    members: int
    done: int
    failed: int
    active: int
    best: float | None
    url: str

    @staticmethod
    def resolve_draws(sweep: Sweep) -> int | None:
        return sweep.budget

    @staticmethod
    def resolve_by(sweep: Sweep) -> str | None:
        return username(sweep.created_by)

    @staticmethod
    def resolve_members(sweep: Any) -> int:
        return int(sweep.count)

    @staticmethod
    def resolve_url(sweep: Sweep) -> str:
        return sweep.get_absolute_url()


class SweepMember(Schema):
    """A run of a sweep; `before` and `after` are its rewards on held-out worlds."""

    number: int
    name: str
    varied: dict[str, str]
    state: str
    job: UUID
    steps: int | None
    reward_start: float | None
    reward_now: float | None
    before: float | None
    after: float | None
    gain: float | None
    gain_low: float | None
    gain_high: float | None
    best: bool
    url: str

    @staticmethod
    def resolve_state(run: Run) -> str:
        return run.job.state

    @staticmethod
    def resolve_job(run: Run) -> UUID:
        return run.job_id

    @staticmethod
    def resolve_url(run: Run) -> str:
        return run.get_absolute_url()


class Importance(Schema):
    """The share of the order of held-out rewards that a setting explains by itself, with the p-value of none at all."""

    setting: str
    share: float
    p: float
    sign: str


class SweepWhole(SweepOut):
    """`importance` is there once eight members have ended; the setting that explains most is first."""

    runs: list[SweepMember]
    importance: list[Importance]


class PlannedOut(Schema):
    name: str
    varied: dict[str, str]


class Plan(Schema):
    """The members as they would be, and the forecast of the first of them."""

    members: list[PlannedOut]
    forecast: Forecast


class StopAsked(Schema):
    asked: int = Field(description="Members that were not over, and are asked to stop.")


@router.get(SWEEPS, response=Piece[SweepOut])
@in_project(Action.VIEW)
def list_sweeps(request: Any, cursor: Cursor = "", limit: Limit = 25) -> Any:
    """The project's sweeps, the newest first."""
    return by_key(counted(Sweep.objects.filter(project=request.project)), "number", cursor, limit)


@router.post(f"{SWEEPS}/plan", response=Plan)
@in_project(Action.LAUNCH)
def plan_sweep(request: Any, body: SweepBody) -> Any:
    """The members that a sweep would have, and what one of them would take. Nothing is launched."""
    form = checked(request.project, body)
    names = [{"name": name_of(form.cleaned_data["name"], one.varied), "varied": one.varied} for one in form.planned]
    return {"members": names, "forecast": forecast_of(form.planned[0].form)}


@router.post(SWEEPS, response={201: SweepWhole})
@in_project(Action.LAUNCH)
def launch_sweep(request: Any, body: SweepBody) -> Any:
    """Put all members of a sweep into the queue, or none where one of them could not be launched."""
    return whole(request.project, launch_all(request.project, request.user, checked(request.project, body)).number)


@router.get(SWEEP, response=SweepWhole)
@in_project(Action.VIEW)
def read_sweep(request: Any, sweep: Number) -> Any:
    """One sweep with its members, and how much of their order each setting explains."""
    return whole(request.project, sweep)


@router.post(f"{SWEEP}/stop", response=StopAsked)
@in_project(Action.LAUNCH)
def stop_sweep(request: Any, sweep: Number, body: Stop) -> Any:
    """Ask every member that is not over to stop: after its step, with a checkpoint, or now."""
    return {"asked": stop_all(sweep_of(request.project, sweep), body.level)}


def whole(project: Any, number: int) -> Sweep:
    """The sweep with what its page shows. Raises Http404."""
    sweep_of(project, number)
    found = counted(Sweep.objects.filter(project=project, number=number)).get()
    members = members_of(found)
    best = best_of(members)
    for run in members:
        run.best = run == best
    found.runs = members
    found.importance = [
        {"setting": one.title, "share": one.share, "p": one.p, "sign": one.sign}
        for one in weights(ended_of(found, members, best), titles_of(found))
    ]
    return found


def checked(project: Any, body: SweepBody) -> SweepForm:
    """The form of the page with what was told, and its members planned. Raises Refused."""
    try:
        shared = filled_form(project, body.settings.dict(exclude_unset=True)).data
    except NotThere as why:
        raise Refused(422, str(why), f"body.settings.{why.field}", "Name another one.") from None
    vary = {field: values if isinstance(values, str) else ", ".join(map(str, values)) for field, values in space(body)}
    told: dict[str, Any] = {"name": body.name or f"Sweep {next_number(project)}", "method": body.method}
    told |= {"budget": body.draws, "seed": body.seed}
    for row, (field, values) in enumerate(vary.items(), 1):
        told |= {f"field_{row}": field, f"values_{row}": values}
    form = SweepForm(
        project, posted({**shared, **{f"{SweepForm.prefix}-{name}": value for name, value in told.items()}})
    )
    if not form.is_valid():
        raise ill_filled({where(name, [*vary]): said for name, said in form.errors.items()})
    return form


def space(body: SweepBody) -> Any:
    return (body.vary or dict(PRESETS[body.preset][1] if body.preset else {})).items()


def where(field: str, varied: list[str]) -> str:
    """Which property of the body a field of the form is."""
    name, _, row = field.partition("_")
    if name in ("field", "values") and row.isdecimal() and int(row) <= len(varied):
        return f"vary.{varied[int(row) - 1]}"
    return {"budget": "draws", "field_1": "vary"}.get(field, field)
