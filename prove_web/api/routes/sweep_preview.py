"""What a sweep would be: its members as they are asked for, and what each and all of them would take."""

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

from ..errors import Refused, ill_filled
from ..form_schemas import body_of, posted
from ..permissions import in_project
from ..schemas import Strict

router = Router(tags=["Sweeps"])
SWEEPS = "/{slug:organisation}/{slug:project}/sweeps"
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


class PlannedOut(Schema):
    """A member as it would be, and what it would take; `seconds` are at most so many where they are not `known`.

    `tight` is one that needs more memory than the workers have.
    """

    name: str
    varied: dict[str, str]
    seconds: float
    known: bool
    source: str = Field(description="Who says how long it takes.")
    tokens: float | None = Field(description="That its policy would write.")
    memory: float | None = Field(description="Bytes that it needs at least.")
    tight: bool


class Plan(Schema):
    """What a sweep would take: `seconds` and `tokens` are those of all members, `memory` that of the largest."""

    members: list[PlannedOut]
    seconds: float
    known: bool
    tokens: float | None
    memory: float | None
    tight: bool
    before: int = Field(description="Jobs that wait already.")
    slots: int = Field(description="Jobs that the workers that train do at once.")
    done: float | None = Field(
        description="Seconds from now until the last member is done; null where nobody can tell."
    )
    why: str = Field(description="Why nobody can tell.")


@router.post(f"{SWEEPS}/plan", response=Plan)
@in_project(Action.LAUNCH)
def plan_sweep(request: Any, body: SweepBody) -> Any:
    """The members that a sweep would have, and what each and all of them would take. Nothing is launched."""
    form = checked(request.project, body)
    found = outlook(request.project, form.planned)
    names = [name_of(form.cleaned_data["name"], one.varied) for one in found.members]
    members = [{"name": name, **asdict(one)} for name, one in zip(names, found.members, strict=True)]
    whole = {name: getattr(found, name) for name in Plan.model_fields if name != "members"}
    return {"members": members, **whole}


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
