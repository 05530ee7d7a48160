"""Imports: a file sent in pieces, looked at row by row, read by a job; and the rows that were bad."""

from __future__ import annotations

from typing import Annotated, Any, Literal
from uuid import UUID

from ninja import Query, Router, Schema
from pydantic import Field

from prove_web.accounts.roles import Action
from prove_web.disk_guard import NoRoom
from prove_web.trajectories import uploads
from prove_web.trajectories.import_pages import describe_error as why_not
from prove_web.trajectories.import_preview import COLUMN, Import, Sample, previewed, sample
from prove_web.trajectories.import_services import faults_of, launch, read_as, upload_of
from prove_web.trajectories.uploads import NotTaken, Upload
from prove_web.trajectories.versions import LONGEST
from prove_web.trajectories.views.finding import one_of
from training_worker.prove.importers.columns import FIELDS
from training_worker.prove.importers.reader import TITLES

from ..errors import Refused, ill_filled
from ..paging import Cursor, Limit, Number, Piece, by_place
from ..permissions import in_project
from ..schemas import Strict
from .datasets import DATASET, DatasetDetail, reload_dataset

router = Router(tags=["Imports"])
IMPORTS = "/{slug:organisation}/{slug:project}/imports"
IMPORT = IMPORTS + "/{uuid:upload}"
BINARY = {"requestBody": {"content": {"application/octet-stream": {"schema": {"type": "string", "format": "binary"}}}}}


class FileIn(Strict):
    name: str = Field(max_length=500)
    size: int = Field(ge=0, le=10**15, description="In bytes, as it is sent.")


class UploadOut(Schema):
    """A file on its way: `received` bytes of `size` are here, and the next piece begins there."""

    id: UUID
    name: str
    size: int
    received: int
    most: int = Field(description="Bytes of a piece.")

    @staticmethod
    def resolve_most(upload: Upload) -> int:
        return uploads.PIECE


class ReadAs(Strict):
    """How a file is to be read; what is left out is as the file seems to be meant."""

    format: str = Field("", max_length=40, description="; ".join(f"{name}: {title}" for name, title in TITLES.items()))
    split: Literal["", "train", "held_out"] = Field("", description="Empty: as the file or its format says.")
    columns: dict[str, Annotated[str, Field(max_length=500)]] = Field(
        {},
        max_length=len(FIELDS),
        description="Of a table, its column for " + "; ".join(f"{name}: {told}" for name, told in FIELDS.items()),
    )


class StartImport(ReadAs):
    name: str = Field("", max_length=LONGEST, description="Of the data set; the file's, if left out.")
    keep_good: bool = Field(False, description="Import the good rows where others are bad.")


class RowOut(Schema):
    """A row as it would come in, and `why` where it would not. `tools` is how many it offers."""

    number: int
    what: str
    about: str
    tools: int
    calls: str
    why: str


class ImportPreview(Schema):
    """The first rows, and how they were read. `columns` are the file's own."""

    format: str
    unit: str
    columns: list[str]
    chosen: dict[str, str]
    bad: int
    rows: list[RowOut]


class FaultRow(Schema):
    """A row that made nothing: `place` says of what kind `number` is, `begins` how it begins."""

    place: str
    number: int
    why: str
    begins: str


@router.post(IMPORTS, response={201: UploadOut})
@in_project(Action.LAUNCH)
def begin_import(request: Any, body: FileIn) -> Any:
    """Announce a file; its bytes follow in pieces. It is forgotten after a day."""
    try:
        return uploads.begin(request.project, body.name, body.size)
    except (NotTaken, NoRoom, OSError) as why:
        raise Refused(422, why_not(why), "body.size", "Choose another file, or part it.") from None


@router.get(IMPORT, response=UploadOut)
@in_project(Action.LAUNCH)
def read_import(request: Any, upload: UUID) -> Any:
    """How much of a file is here: who was cut off goes on from there."""
    return upload_of(request.project, upload)


@router.put(f"{IMPORT}/content", response=UploadOut, openapi_extra=BINARY)
@in_project(Action.LAUNCH)
def send_piece(
    request: Any,
    upload: UUID,
    at: Annotated[int, Query(ge=0, le=10**15, description="How many bytes of the file come before this piece.")] = 0,
) -> Any:
    """Send the next piece, as bytes. 409 where it does not follow what is here."""
    found = upload_of(request.project, upload)
    length = request.headers.get("Content-Length", "")
    if not (length.isascii() and length.isdecimal() and len(length) < 16 and 0 < int(length) <= uploads.PIECE):
        raise Refused(422, f"A piece has 1 to {uploads.PIECE:,} bytes.", "body", "Send it as application/octet-stream.")
    if at != found.received:
        told = f"{found.received:,} bytes are here; send what follows them."
        raise Refused(409, told, "query.at", f"Go on at {found.received}.")
    try:
        found.add(at, iter(lambda: request.read(1 << 16), b""))
    except (NotTaken, NoRoom, OSError) as why:
        raise Refused(422, why_not(why), "body", "Ask how much is here, and go on from there.") from None
    return found


@router.post(f"{IMPORT}/preview", response=ImportPreview)
@in_project(Action.LAUNCH)
def preview_import(request: Any, upload: UUID, body: ReadAs) -> Any:
    """The first rows of a file as they would come in. Nothing is made."""
    _, seen, form = looked_at(request.project, upload, body)
    rows = previewed(seen, form.asked)
    known = {"format": form.asked.format, "unit": seen.unit, "columns": list(map(str, seen.first))}
    return {**known, "chosen": form.asked.mapped, "bad": sum(row.what == "bad" for row in rows), "rows": rows}


@router.post(f"{IMPORT}/start", response={201: DatasetDetail})
@in_project(Action.LAUNCH)
def start_import(request: Any, upload: UUID, body: StartImport) -> Any:
    """Have a job make a data set of the file. What became of its rows is in the job's result and in the faults."""
    found, seen, form = looked_at(request.project, upload, body)
    return reload_dataset(request, launch(request.project, request.user, found, form, seen))


@router.get(f"{DATASET}/faults", response=Piece[FaultRow])
@in_project(Action.VIEW)
def list_import_faults(request: Any, dataset: Number, cursor: Cursor = "", limit: Limit = 100) -> Any:
    """The rows of an imported file that were bad, up to 10,000 of them."""
    return by_place(faults_of(one_of(request.project, dataset)), cursor, limit)


def looked_at(project: Any, upload: UUID, body: ReadAs) -> tuple[Upload, Sample, Import]:
    """A file that is here, its first rows, and the form that says how it is read. Raises Refused."""
    found = upload_of(project, upload)
    if not found.whole:
        missing = f"{found.received:,} of {found.size:,} bytes are here."
        raise Refused(409, missing, "upload", "Send the rest first.")
    seen = sample(found)
    if seen.problem:
        raise Refused(422, seen.problem, "upload", "Mend the file, and send it anew.")
    told = body.dict(exclude_unset=True)
    columns = {COLUMN + name: column for name, column in told.pop("columns", {}).items()}
    form = read_as(found, seen, told | columns)
    if strange := [*columns.keys() - form.fields.keys()]:
        name = strange[0].removeprefix(COLUMN)
        raise Refused(422, f"No column is asked for as “{name}”.", "body.columns", f"Take {', '.join(FIELDS)}.")
    if not form.is_valid():
        raise ill_filled({place(name): said for name, said in form.errors.items()})
    return found, seen, form


def place(field: str) -> str:
    return f"columns.{field.removeprefix(COLUMN)}" if field.startswith(COLUMN) else field
