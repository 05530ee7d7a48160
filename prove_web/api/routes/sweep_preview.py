"""API operation for the estimate of a sweep before its launch."""

from __future__ import annotations

from dataclasses import asdict
from typing import Annotated, Any, Literal

from ninja import Router, Schema
from pydantic import Field

from prove_web.accounts.roles import Action
from prove_web.experiments.api_form import NotThere, filled_form
from prove_web.experiments.forms import RunForm
from prove_web.experiments.sweep_estimate import outlook
from prove_web.experiments.sweep_form import PRESETS, ROWS, SweepForm, name_of
from prove_web.experiments.sweep_services import next_number

from ..errors import ApiError, ill_filled
from ..form_schemas import body_of, build_query_dict
from ..permissions import in_project
from ..schemas import StrictSchema

router = Router(tags=["Sweeps"])
SWEEPS = "/{slug:organisation}/{slug:project}/sweeps"
Shared = body_of(
    RunForm,
    "SharedSettings",
    without=("name", "dataset"),
    optional=True,
    dataset=(int | None, Field(None, description="Number of a finished dataset.")),
    clone=(int | None, Field(None, description="Number of a run whose settings all members copy.")),
)
Value = Annotated[str | int | float, Field(union_mode="left_to_right")]
VARY = (
    f"Up to {ROWS} settings of the launch form with their values: a list, or text such as "
    "`1e-6, 3e-7`, `1e-7 to 1e-4, log` or `0 to 0.04 in 3`."
)


class SweepBody(StrictSchema):
    """Which settings vary and how. `grid` runs every combination, `random` draws a number of them."""

    name: str = Field("", max_length=60, description="Default: named by its number.")
    method: Literal["grid", "random"] = "grid"
    preset: Literal["", "rates", "ablations", "seeds"] = Field(
        "", description="Default of `vary`: " + "; ".join(f"{k}: {v[0]}" for k, v in PRESETS.items())
    )
    vary: dict[str, str | list[Value]] = Field({}, max_length=ROWS, description=VARY)
    draws: int = Field(8, description="Number of random members.")
    seed: int = Field(0, description="Random seed; the same seed draws the same members.")
    settings: Shared = Field(..., description="Settings shared by all members; omitted ones have their default.")  # type: ignore[valid-type]


class PlannedOut(Schema):
    """A planned member and its estimate; `seconds` is an upper bound unless `known`.

    `tight`: it needs more memory than the workers have.
    """

    name: str
    varied: dict[str, str]
    seconds: float
    known: bool
    source: str = Field(description="Source of the time estimate.")
    tokens: float | None = Field(description="Tokens that its policy would generate.")
    memory: float | None = Field(description="Minimum memory in bytes.")
    tight: bool


class Plan(Schema):
    """The estimate of a sweep: `seconds` and `tokens` in total, `memory` of the largest member."""

    members: list[PlannedOut]
    seconds: float
    known: bool
    tokens: float | None
    memory: float | None
    tight: bool
    before: int = Field(description="Jobs already queued.")
    slots: int = Field(description="Concurrency of the training workers.")
    done: float | None = Field(description="Seconds from now until the last member is done; null if unknown.")
    why: str = Field(description="Why it is unknown.")


@router.post(f"{SWEEPS}/plan", response=Plan)
@in_project(Action.LAUNCH)
def plan_sweep(request: Any, body: SweepBody) -> Any:
    """Estimate a sweep: its members, and the cost of each and in total. Nothing is launched."""
    form = validate_sweep(request.project, body)
    found = outlook(request.project, form.planned)
    names = [name_of(form.cleaned_data["name"], one.varied) for one in found.members]
    members = [{"name": name, **asdict(one)} for name, one in zip(names, found.members, strict=True)]
    fields = {name: getattr(found, name) for name in Plan.model_fields if name != "members"}
    return {"members": members, **fields}


def validate_sweep(project: Any, body: SweepBody) -> SweepForm:
    """Return the valid sweep form with its planned members. Raises Refused."""
    try:
        shared = filled_form(project, body.settings.dict(exclude_unset=True)).data
    except NotThere as why:
        raise ApiError(422, str(why), f"body.settings.{why.field}", "Choose another one.") from None
    vary = {field: values if isinstance(values, str) else ", ".join(map(str, values)) for field, values in space(body)}
    plan: dict[str, Any] = {"name": body.name or f"Sweep {next_number(project)}", "method": body.method}
    plan |= {"budget": body.draws, "seed": body.seed}
    for row, (field, values) in enumerate(vary.items(), 1):
        plan |= {f"field_{row}": field, f"values_{row}": values}
    form = SweepForm(
        project, build_query_dict({**shared, **{f"{SweepForm.prefix}-{name}": value for name, value in plan.items()}})
    )
    if not form.is_valid():
        raise ill_filled({body_property(name, [*vary]): said for name, said in form.errors.items()})
    return form


def space(body: SweepBody) -> Any:
    return (body.vary or dict(PRESETS[body.preset][1] if body.preset else {})).items()


def body_property(field: str, varied: list[str]) -> str:
    """Return the property of the body that a form field stands for."""
    name, _, row = field.partition("_")
    if name in ("field", "values") and row.isdecimal() and int(row) <= len(varied):
        return f"vary.{varied[int(row) - 1]}"
    return {"budget": "draws", "field_1": "vary"}.get(field, field)
