"""API operations on many runs at once; a refusal for one run does not affect the others."""

from __future__ import annotations

from typing import Annotated, Any, Literal

from ninja import Router, Schema
from pydantic import Field

from prove_web.accounts.roles import Action
from prove_web.experiments.run_metadata import InvalidMetadata
from prove_web.experiments.table.bulk import ACTS, MARKS, MOST, apply_action_to_runs, find_selected_runs
from prove_web.experiments.table.bulk_pages import parse_action_value
from prove_web.experiments.table.params import parse_params
from prove_web.experiments.table.rows import filter_runs

from ..errors import ApiError
from ..paging import Number
from ..permissions import in_project
from ..schemas import StrictSchema
from .runs import RUNS

router = Router(tags=["Runs"])


class RunSelection(StrictSchema):
    """The runs by number, or all that match a search; send one of the two."""

    runs: list[Number] | None = Field(None, min_length=1, max_length=MOST)
    q: Annotated[str, Field(max_length=1_000)] | None = Field(
        None, description="Search query of the runs table, such as `state:failed`; empty for all."
    )
    archived: Literal["", "too", "only"] = Field("", description="With `q`: whether archived runs are included.")


class MarkRuns(RunSelection):
    act: Literal["tag", "untag", "pin", "unpin"]
    tag: str = Field("", max_length=8_000, description="With tag and untag: one or more, comma-separated.")


class ActOnRuns(RunSelection):
    act: Literal["archive", "unarchive", "base", "unbase", "stop-after", "stop-now", "resume", "delete", "undelete"]
    base: Number | None = Field(None, description="With base: number of the baseline run.")


class RunsDone(Schema):
    """`changed` runs, the number already in that state (`same`), and why others were not changed; `undo` is the reverse
    action."""

    changed: list[int]
    same: int
    refused: list[str]
    undo: str


@router.post(f"{RUNS}/mark", response=RunsDone)
@in_project(Action.ANNOTATE)
def mark_runs(request: Any, body: MarkRuns) -> Any:
    """Tag, untag, pin or unpin many runs."""
    return apply_to_runs(request, body, MARKS[body.act])


@router.post(f"{RUNS}/act", response=RunsDone)
@in_project(Action.LAUNCH)
def act_on_runs(request: Any, body: ActOnRuns) -> Any:
    """Archive, stop, resume or delete many runs, set their baseline, or undo these. `undelete` takes numbers."""
    if body.act == "undelete" and body.runs is None:
        raise ApiError(422, "Deleted runs must be given by number.", "body.runs", "See the trash for the numbers.")
    return apply_to_runs(request, body, ACTS[body.act])


def apply_to_runs(request: Any, body: MarkRuns | ActOnRuns, act: Any) -> dict[str, Any]:
    """Raises Refused."""
    if (body.runs is None) == (body.q is None):
        raise ApiError(422, "Either runs or a search is required, not both.", "body.runs", "Send `runs` or `q`.")
    view = parse_params({"q": body.q or "", "archived": body.archived})
    if fault := filter_runs(request.project, view)[1].fault:
        raise ApiError(422, fault.message, "body.q", "Change the query. Nothing was changed.")
    data = {name: str(value) for name, value in body.dict(include={"act", "tag", "base"}, exclude_none=True).items()}
    data |= {"all": "yes"} if body.runs is None else {"runs": ",".join(map(str, dict.fromkeys(body.runs)))}
    try:
        given = parse_action_value(request.project, request.user, data)
        runs, missing = find_selected_runs(request.project, data, view)
        outcome = apply_action_to_runs(act, runs, given, missing)
    except InvalidMetadata as why:
        raise ApiError(422, str(why), "body", "Change it and send the request again.") from None
    return {name: getattr(outcome, name) for name in ("changed", "same", "refused", "undo")}
