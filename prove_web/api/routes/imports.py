"""API operations for imports: chunked upload, preview, job, and invalid rows."""

from __future__ import annotations

from typing import Annotated, Any, Literal
from uuid import UUID

from ninja import Query, Router, Schema
from pydantic import Field

from prove_web.accounts.roles import Action
from prove_web.core.disk_guard import NoDiskSpace
from prove_web.trajectories import uploads
from prove_web.trajectories.import_pages import describe_error as why_not
from prove_web.trajectories.import_preview import COLUMN, Import, Sample, preview_rows, sample
from prove_web.trajectories.import_services import faults_of, launch, read_as, upload_of
from prove_web.trajectories.uploads import NotTaken, Upload
from prove_web.trajectories.versions import LONGEST
from prove_web.trajectories.views.lookup import one_of
from training_worker.datasets.importers.columns import FIELDS
from training_worker.datasets.importers.reader import TITLES

from ..errors import ApiError, ill_filled
from ..paging import Cursor, Limit, Number, Piece, by_place
from ..permissions import in_project
from ..schemas import StrictSchema
from .datasets import DATASET, DatasetDetail, reload_dataset

router = Router(tags=["Imports"])
IMPORTS = "/{slug:organisation}/{slug:project}/imports"
IMPORT = IMPORTS + "/{uuid:upload}"
BINARY = {"requestBody": {"content": {"application/octet-stream": {"schema": {"type": "string", "format": "binary"}}}}}


class FileIn(StrictSchema):
    name: str = Field(max_length=500)
    size: int = Field(ge=0, le=10**15, description="File size in bytes.")


class UploadOut(Schema):
    """An upload: `received` of `size` bytes have arrived; the next chunk starts there."""

    id: UUID
    name: str
    size: int
    received: int
    most: int = Field(description="Maximum chunk size in bytes.")

    @staticmethod
    def resolve_most(upload: Upload) -> int:
        return uploads.PIECE


class ReadAs(StrictSchema):
    """How to read the file; omitted options are detected."""

    format: str = Field("", max_length=40, description="; ".join(f"{name}: {title}" for name, title in TITLES.items()))
    split: Literal["", "train", "held_out"] = Field("", description="Empty: as given by the file or its format.")
    columns: dict[str, Annotated[str, Field(max_length=500)]] = Field(
        {},
        max_length=len(FIELDS),
        description="For tables, the column of "
        + "; ".join(f"{name}: {description}" for name, description in FIELDS.items()),
    )


class StartImport(ReadAs):
    name: str = Field("", max_length=LONGEST, description="Dataset name; default: the file name.")
    keep_good: bool = Field(False, description="Import the valid rows even if others are invalid.")


class RowOut(Schema):
    """A row as it would be imported, and `why` if it would not. `tools` is the number of offered tools."""

    number: int
    what: str
    about: str
    tools: int
    calls: str
    why: str


class ImportPreview(Schema):
    """The first rows and how they were read. `columns` are the file's columns."""

    format: str
    unit: str
    columns: list[str]
    chosen: dict[str, str]
    bad: int
    rows: list[RowOut]


class FaultRow(Schema):
    """An invalid row: `place` is the unit of `number`, `begins` its first characters."""

    place: str
    number: int
    why: str
    begins: str


@router.post(IMPORTS, response={201: UploadOut})
@in_project(Action.LAUNCH)
def begin_import(request: Any, body: FileIn) -> Any:
    """Start an upload; send the bytes in chunks. Uploads expire after a day."""
    try:
        return uploads.begin(request.project, body.name, body.size)
    except (NotTaken, NoDiskSpace, OSError) as why:
        raise ApiError(422, why_not(why), "body.size", "Choose another file, or split it.") from None


@router.get(IMPORT, response=UploadOut)
@in_project(Action.LAUNCH)
def read_import(request: Any, upload: UUID) -> Any:
    """Return how much of a file has arrived, to resume an interrupted upload."""
    return upload_of(request.project, upload)


@router.put(f"{IMPORT}/content", response=UploadOut, openapi_extra=BINARY)
@in_project(Action.LAUNCH)
def send_piece(
    request: Any,
    upload: UUID,
    at: Annotated[int, Query(ge=0, le=10**15, description="Byte offset of this chunk.")] = 0,
) -> Any:
    """Upload the next chunk as raw bytes. 409 if it does not start at the received offset."""
    found = upload_of(request.project, upload)
    length = request.headers.get("Content-Length", "")
    if not (length.isascii() and length.isdecimal() and len(length) < 16 and 0 < int(length) <= uploads.PIECE):
        raise ApiError(
            422, f"A chunk has 1 to {uploads.PIECE:,} bytes.", "body", "Send it as application/octet-stream."
        )
    if at != found.received:
        text = f"{found.received:,} bytes have arrived; the chunk must start there."
        raise ApiError(409, text, "query.at", f"Continue at {found.received}.")
    try:
        found.add(at, iter(lambda: request.read(1 << 16), b""))
    except (NotTaken, NoDiskSpace, OSError) as why:
        raise ApiError(422, why_not(why), "body", "Read the upload state and continue from there.") from None
    return found


@router.post(f"{IMPORT}/preview", response=ImportPreview)
@in_project(Action.LAUNCH)
def preview_import(request: Any, upload: UUID, body: ReadAs) -> Any:
    """Preview the first rows of a file as they would be imported. Nothing is created."""
    _, seen, form = preview_upload(request.project, upload, body)
    rows = preview_rows(seen, form.options)
    known = {"format": form.options.format, "unit": seen.unit, "columns": list(map(str, seen.first))}
    return {**known, "chosen": form.options.mapped, "bad": sum(row.what == "bad" for row in rows), "rows": rows}


@router.post(f"{IMPORT}/start", response={201: DatasetDetail})
@in_project(Action.LAUNCH)
def start_import(request: Any, upload: UUID, body: StartImport) -> Any:
    """Start the import job that creates a dataset from the file. The job's result and the faults report on the rows."""
    found, seen, form = preview_upload(request.project, upload, body)
    return reload_dataset(request, launch(request.project, request.user, found, form, seen))


@router.get(f"{DATASET}/faults", response=Piece[FaultRow])
@in_project(Action.VIEW)
def list_import_faults(request: Any, dataset: Number, cursor: Cursor = "", limit: Limit = 100) -> Any:
    """List the invalid rows of an imported file, up to 10,000."""
    return by_place(faults_of(one_of(request.project, dataset)), cursor, limit)


def preview_upload(project: Any, upload: UUID, body: ReadAs) -> tuple[Upload, Sample, Import]:
    """Return an uploaded file, its first rows, and the form of its reading options. Raises Refused."""
    found = upload_of(project, upload)
    if not found.complete:
        missing = f"{found.received:,} of {found.size:,} bytes have arrived."
        raise ApiError(409, missing, "upload", "Upload the rest first.")
    seen = sample(found)
    if seen.problem:
        raise ApiError(422, seen.problem, "upload", "Fix the file and upload it again.")
    options = body.dict(exclude_unset=True)
    columns = {COLUMN + name: column for name, column in options.pop("columns", {}).items()}
    form = read_as(found, seen, options | columns)
    if strange := [*columns.keys() - form.fields.keys()]:
        name = strange[0].removeprefix(COLUMN)
        raise ApiError(422, f"Unknown field “{name}”.", "body.columns", f"Choose from {', '.join(FIELDS)}.")
    if not form.is_valid():
        raise ill_filled({place(name): said for name, said in form.errors.items()})
    return found, seen, form


def place(field: str) -> str:
    return f"columns.{field.removeprefix(COLUMN)}" if field.startswith(COLUMN) else field
