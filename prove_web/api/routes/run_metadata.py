"""API operations for the metadata of a run: tags, pin, notes, name, baseline, and archiving."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Annotated, Any

from ninja import Router, Schema
from pydantic import Field

from prove_web.accounts.roles import Action
from prove_web.experiments import run_metadata
from prove_web.experiments.detail import run_of
from prove_web.experiments.run_metadata import InvalidMetadata, NotesDiffer

from ..errors import ApiError
from ..paging import Number
from ..permissions import in_project
from ..schemas import StrictSchema
from .runs import RUN, RunDetail

router = Router(tags=["Runs"])
Tags = list[Annotated[str, Field(max_length=200)]]


class Marks(StrictSchema):
    """Omitted fields stay unchanged."""

    tags: Tags | None = Field(None, max_length=200, description="Replaces all tags.")
    add: Tags = Field([], max_length=200)
    remove: Tags = Field([], max_length=200)
    pinned: bool | None = None


class RunUpdate(StrictSchema):
    """Omitted fields stay unchanged."""

    name: str | None = Field(None, max_length=500)
    archived: bool | None = None
    base: int | None = Field(None, description="Number of the baseline run; null for none.")


class NotesIn(StrictSchema):
    text: str = Field(max_length=50_000)
    revision: str = Field(max_length=40, description="Revision of the notes being replaced.")


class Notes(Schema):
    text: str
    revision: str


@router.post(f"{RUN}/mark", response=RunDetail)
@in_project(Action.ANNOTATE)
def mark_run(request: Any, run: Number, body: Marks) -> Any:
    """Tag and pin a run."""
    found = run_of(request.project, run)
    with refusing_invalid("body.tags"):
        if body.tags is not None:
            run_metadata.set_tags(found, body.tags)
        if body.add or body.remove:
            run_metadata.change_tags(found, body.add, body.remove)
    if body.pinned is not None:
        run_metadata.pin(found, body.pinned)
    return run_of(request.project, run)


@router.post(f"{RUN}/keep", response=RunDetail)
@in_project(Action.LAUNCH)
def keep_run(request: Any, run: Number, body: RunUpdate) -> Any:
    """Rename, archive or unarchive a run, or set its baseline."""
    found, changes = run_of(request.project, run), body.dict(exclude_unset=True)
    base = run_of(request.project, body.base) if body.base is not None else None
    if body.name is not None:
        with refusing_invalid("body.name"):
            run_metadata.rename(found, body.name)
    if body.archived is not None:
        run_metadata.archive(found, body.archived)
    if "base" in changes:
        with refusing_invalid("body.base"):
            run_metadata.set_base(found, base)
    return run_of(request.project, run)


@router.get(f"{RUN}/notes", response=Notes)
@in_project(Action.VIEW)
def read_notes(request: Any, run: Number) -> Any:
    """Return the notes of a run, and the revision to send when changing them."""
    notes = run_of(request.project, run).notes
    return {"text": notes, "revision": run_metadata.revision_of(notes)}


@router.put(f"{RUN}/notes", response=Notes)
@in_project(Action.ANNOTATE)
def write_notes(request: Any, run: Number, body: NotesIn) -> Any:
    """Replace the notes of a run at a revision; 409 if they changed in the meantime."""
    found = run_of(request.project, run)
    try:
        with refusing_invalid("body.text"):
            run_metadata.write_notes(found, body.text, body.revision)
    except NotesDiffer as why:
        do = f"Read them again (now at revision {why.revision}) and merge both versions."
        raise ApiError(409, "The notes were changed in the meantime.", "body.revision", do) from None
    return {"text": found.notes, "revision": run_metadata.revision_of(found.notes)}


@contextmanager
def refusing_invalid(where: str) -> Iterator[None]:
    """Convert validation errors to API errors. NotesDiffer passes through."""
    try:
        yield
    except NotesDiffer:
        raise
    except InvalidMetadata as why:
        raise ApiError(422, str(why), where, "Change it and send the request again.") from None
