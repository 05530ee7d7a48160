"""API operations for exporting checkpoints as folders for other tools."""

from __future__ import annotations

from typing import Annotated, Any, Literal

from ninja import Query, Router, Schema
from pydantic import Field

from prove_web.accounts.roles import Action
from prove_web.experiments.detail import checkpoint_of, run_of
from prove_web.experiments.export_pages import stream_export
from prove_web.experiments.exports import Export, start_export

from ..errors import ApiError
from ..paging import Number
from ..permissions import in_project
from ..schemas import StrictSchema
from .run_metrics import Step
from .runs import RUN

router = Router(tags=["Metrics and rollouts"])
EXPORT = f"{RUN}/checkpoints/{{int:step}}/export"
Merged = Annotated[bool, Query(description="The export with the adapter merged into the base weights.")]


class MakeExport(StrictSchema):
    merged: bool = Field(False, description="Merge the adapter into the base weights.")


class ExportOut(Schema):
    """`why` is the error, if a requested export failed. A run keeps one export at a time."""

    name: str
    state: Literal["none", "working", "ready", "failed"]
    why: str


@router.post(EXPORT, response=ExportOut)
@in_project(Action.LAUNCH)
def make_export(request: Any, run: Number, step: Step, body: MakeExport) -> Any:
    """Start exporting a checkpoint unless the export exists; it replaces the run's previous export."""
    found = run_of(request.project, run)
    checkpoint_of(found, step)
    export = Export(found.job, step, body.merged)
    if not start_export(export):
        raise ApiError(503, "Export not started: the message broker does not respond.", "", "Try again in a moment.")
    return serialize_export(export)


@router.get(EXPORT, response=ExportOut)
@in_project(Action.VIEW)
def read_export(request: Any, run: Number, step: Step, merged: Merged = False) -> Any:
    """Return the state of a checkpoint's export."""
    found = run_of(request.project, run)
    export = Export(found.job, step, merged)
    if not export.ready:
        checkpoint_of(found, step)
    return serialize_export(export)


@router.get(f"{EXPORT}/files")
@in_project(Action.VIEW)
def download_export(request: Any, run: Number, step: Step, merged: Merged = False) -> Any:
    """Download the exported folder as a streamed zip."""
    return stream_export(run_of(request.project, run), step, merged)


def serialize_export(export: Export) -> dict[str, str]:
    state = "ready" if export.ready else "working" if export.at_work else "failed" if export.why else "none"
    return {"name": export.name, "state": state, "why": export.why}
