"""One thing done to many runs at once, as the table of runs does it; what is refused for one holds up no other."""

from __future__ import annotations

from typing import Annotated, Any, Literal

from ninja import Router, Schema
from pydantic import Field

from prove_web.accounts.roles import Action
from prove_web.experiments.run_metadata import InvalidMetadata
from prove_web.experiments.table.bulk import ACTS, MARKS, MOST, chosen, do
from prove_web.experiments.table.bulk_pages import parse_action_value
from prove_web.experiments.table.params import parse_params
from prove_web.experiments.table.rows import filter_runs

from ..errors import Refused
from ..paging import Number
from ..permissions import in_project
from ..schemas import Strict
from .runs import RUNS

router = Router(tags=["Runs"])


class Chosen(Strict):
    """The runs by their numbers, or every one that a search finds; one of the two."""

    runs: list[Number] | None = Field(None, min_length=1, max_length=MOST)
    q: Annotated[str, Field(max_length=1_000)] | None = Field(
        None, description="A search of the table of runs, such as `state:failed`; empty for all."
    )
    archived: Literal["", "too", "only"] = Field("", description="With a search: whether archived runs are among them.")


class MarkRuns(Chosen):
    act: Literal["tag", "untag", "pin", "unpin"]
    tag: str = Field("", max_length=8_000, description="With tag and untag: one, or several with commas between them.")


class ActOnRuns(Chosen):
    act: Literal["archive", "unarchive", "base", "unbase", "stop-after", "stop-now", "resume", "delete", "undelete"]
    base: Number | None = Field(None, description="With base: the number of the run to measure against.")


class RunsDone(Schema):
    """The runs that were changed, how many were so before, why others stay; `undo` is the act that takes it back."""

    changed: list[int]
    same: int
    refused: list[str]
    undo: str


@router.post(f"{RUNS}/mark", response=RunsDone)
@in_project(Action.ANNOTATE)
def mark_runs(request: Any, body: MarkRuns) -> Any:
    """Tag or pin many runs, or take that back."""
    return done(request, body, MARKS[body.act])


@router.post(f"{RUNS}/act", response=RunsDone)
@in_project(Action.LAUNCH)
def act_on_runs(request: Any, body: ActOnRuns) -> Any:
    """Archive, stop, resume or delete many runs, choose their baseline, or take that back. `undelete` takes numbers."""
    if body.act == "undelete" and body.runs is None:
        raise Refused(422, "Runs in the bin are named by their numbers.", "body.runs", "Read them off the bin.")
    return done(request, body, ACTS[body.act])


def done(request: Any, body: MarkRuns | ActOnRuns, act: Any) -> dict[str, Any]:
    """Raises Refused."""
    if (body.runs is None) == (body.q is None):
        raise Refused(422, "Name the runs, or a search that finds them.", "body.runs", "Send `runs` or `q`.")
    view = parse_params({"q": body.q or "", "archived": body.archived})
    if fault := filter_runs(request.project, view)[1].fault:
        raise Refused(422, fault.message, "body.q", "Change the search. Nothing was changed.")
    data = {name: str(value) for name, value in body.dict(include={"act", "tag", "base"}, exclude_none=True).items()}
    data |= {"all": "yes"} if body.runs is None else {"runs": ",".join(map(str, dict.fromkeys(body.runs)))}
    try:
        given = parse_action_value(request.project, request.user, data)
        runs, missing = chosen(request.project, data, view)
        told = do(act, runs, given, missing)
    except InvalidMetadata as why:
        raise Refused(422, str(why), "body", "Change it and send the request again.") from None
    return {name: getattr(told, name) for name in ("changed", "same", "refused", "undo")}
