"""API operations for datasets: list, create, derive, export and compare."""

from __future__ import annotations

from dataclasses import asdict
from datetime import datetime
from typing import Annotated, Any, Literal
from uuid import UUID

from ninja import Query, Router, Schema
from pydantic import Field

from prove_web.accounts.roles import Action
from prove_web.experiments.detail import run_of
from prove_web.experiments.rollouts import NoRollouts
from prove_web.review.blinding import Blind
from prove_web.trajectories.collect_pages import collect_from_form
from prove_web.trajectories.curate_forms import Collect, Mix, Split
from prove_web.trajectories.dataset_diff import changes
from prove_web.trajectories.export_formats import FORMATS
from prove_web.trajectories.export_pages import file_of
from prove_web.trajectories.forms import NewDataset
from prove_web.trajectories.models import Dataset
from prove_web.trajectories.selection import Selection, select_trajectories
from prove_web.trajectories.version_pages import get_complete_dataset, mix_of, split_of, version_of
from prove_web.trajectories.versions import InvalidDataset
from prove_web.trajectories.views.lookup import one_of

from ..errors import ApiError, ill_filled
from ..form_schemas import body_of, build_query_dict
from ..paging import Cursor, Limit, Number, Piece, by_key
from ..permissions import in_project
from ..schemas import JobOut, StrictSchema, username
from .runs import RUN

router = Router(tags=["Datasets"])
DATASETS = "/{slug:organisation}/{slug:project}/datasets"
DATASET = DATASETS + "/{int:dataset}"
Make = body_of(NewDataset, "MakeDataset", optional=True)
SplitBody = body_of(Split, "SplitDataset", optional=True)
CollectBody = body_of(Collect, "CollectRollouts")


class DatasetOut(Schema):
    number: int
    name: str
    holds: str
    state: str
    parent: int | None
    origin: dict[str, Any]
    by: str | None
    created_at: datetime
    url: str

    @staticmethod
    def resolve_state(dataset: Dataset) -> str:
        return dataset.job.state

    @staticmethod
    def resolve_parent(dataset: Dataset) -> int | None:
        return dataset.parent.number if dataset.parent else None

    @staticmethod
    def resolve_by(dataset: Dataset) -> str | None:
        return username(dataset.job.created_by)

    @staticmethod
    def resolve_url(dataset: Dataset) -> str:
        return dataset.get_absolute_url()


class DatasetRow(DatasetOut):
    job: UUID

    @staticmethod
    def resolve_job(dataset: Dataset) -> UUID:
        return dataset.job_id


class DatasetDetail(DatasetOut):
    trajectories: int
    spec: dict[str, Any]
    job: JobOut

    @staticmethod
    def resolve_trajectories(dataset: Dataset) -> int:
        return dataset.trajectories.count()

    @staticmethod
    def resolve_spec(dataset: Dataset) -> dict[str, Any]:
        return dict(dataset.job.spec)


class SelectionQuery(Schema):
    """Which trajectories to select, with the same parameters as the page URLs."""

    q: str = Field("", max_length=1_100, description="Search query, as on the trajectories page.")
    dataset: int | None = Field(None, ge=1, le=10**9 - 1, description="Dataset number.")
    queue: int | None = Field(None, ge=1, le=10**9 - 1, description="Queue number: selects its settled items.")
    verdict: str = Field("", max_length=20, description="With a queue: verified, accept, reject or fix.")


class Version(SelectionQuery, StrictSchema):
    name: str = Field("", max_length=80)


class DatasetMixture(StrictSchema):
    name: str = Field("", max_length=80)
    seed: int = Field(0, ge=0, le=999_999)
    most: int | None = Field(None, ge=1, le=1_000_000)
    weights: dict[int, float] = Field(max_length=200, description='Weight per dataset number, such as {"1": 0.5}.')


class Changes(Schema):
    dataset: int
    before: int
    same: int
    added: list[str]
    removed: list[str]
    changed: dict[str, list[str]]
    moved: dict[str, dict[str, tuple[int, int]]]


@router.get(DATASETS, response=Piece[DatasetRow])
@in_project(Action.VIEW)
def list_datasets(request: Any, cursor: Cursor = "", limit: Limit = 25) -> Any:
    """List the project's datasets, newest first."""
    rows = Dataset.objects.filter(project=request.project, deleted_at=None)
    rows = rows.select_related("job__created_by", "parent", "project__organisation")
    return by_key(rows.defer("job__spec", "job__result"), "number", cursor, limit)


@router.post(DATASETS, response={201: DatasetDetail})
@in_project(Action.LAUNCH)
def make_dataset(request: Any, body: Make) -> Any:  # type: ignore[valid-type]
    """Create a dataset by synthesis: a number of conversations over given servers, a recipe, or a chain of tools."""
    form = NewDataset(request.project, build_query_dict(merge_with_initial(NewDataset, body)))
    if not form.is_valid():
        raise ill_filled(form.errors)
    return reload_dataset(request, form.launch(request.project, request.user))


def merge_with_initial(form: Any, body: Any) -> dict[str, Any]:
    """Return the form's initial values, overridden by the body's."""
    start = {name: field.initial for name, field in form.base_fields.items() if field.initial is not None}
    return start | {name: value for name, value in body.dict(exclude_unset=True).items() if value is not None}


def reload_dataset(request: Any, dataset: Dataset) -> Dataset:
    found: Dataset = one_of(request.project, dataset.number)
    return found


@router.post(f"{DATASETS}/versions", response={201: DatasetDetail})
@in_project(Action.LAUNCH)
def make_version(request: Any, body: Version) -> Any:
    """Create a dataset from a search, or from the settled items of a queue."""
    selection = parse_selection_query(request, body)
    try:
        return reload_dataset(
            request, version_of(request.project, request.user, body.name or selection.name, selection)
        )
    except InvalidDataset as why:
        raise to_api_error(why) from None


def parse_selection_query(request: Any, query: SelectionQuery) -> Selection:
    given = {name: str(value) for name, value in query.dict().items() if value not in (None, "")}
    selection = select_trajectories(request.project, given, Blind(request.user, request.project))
    if selection.fault:
        text = f"At character {selection.fault.at + 1}: {selection.fault.message}"
        raise ApiError(422, text, "q", "Change the query; the trajectories page autocompletes it.")
    return selection


def to_api_error(why: Exception) -> ApiError:
    return ApiError(422, str(why), "body", "Change the selection and send the request again.")


@router.post(f"{DATASET}/split", response={201: DatasetDetail})
@in_project(Action.LAUNCH)
def split_dataset(request: Any, dataset: Number, body: SplitBody) -> Any:  # type: ignore[valid-type]
    """Create a dataset that holds out a share of this one."""
    form = Split(build_query_dict(merge_with_initial(Split, body)))
    if not form.is_valid():
        raise ill_filled(form.errors)
    try:
        return reload_dataset(
            request, split_of(request.project, request.user, form, get_complete_dataset(request.project, dataset))
        )
    except InvalidDataset as why:
        raise to_api_error(why) from None


@router.post(f"{DATASETS}/mix", response={201: DatasetDetail})
@in_project(Action.LAUNCH)
def mix_datasets(request: Any, body: DatasetMixture) -> Any:
    """Create a dataset from several, by weight."""
    values = body.dict(exclude={"weights"}) | {f"weight_{number}": weight for number, weight in body.weights.items()}
    form = Mix(request.project, build_query_dict(values))
    if strange := [number for number in body.weights if f"weight_{number}" not in form.fields]:
        do = "Use numbers of finished datasets that contain demonstrations."
        raise ApiError(422, f"Dataset {strange[0]} not found or can't be mixed.", "body.weights", do)
    if not form.is_valid():
        raise ill_filled(form.errors)
    try:
        return reload_dataset(request, mix_of(request.project, request.user, form))
    except InvalidDataset as why:
        raise to_api_error(why) from None


@router.post(f"{RUN}/collect", response={201: DatasetDetail})
@in_project(Action.LAUNCH)
def collect_rollouts(request: Any, run: Number, body: CollectBody) -> Any:  # type: ignore[valid-type]
    """Create a dataset from a run's rollouts, selected by step, group and reward."""
    form = Collect(run_of(request.project, run), build_query_dict(body.dict(exclude_unset=True)))
    if not form.is_valid():
        raise ill_filled(form.errors)
    try:
        return reload_dataset(request, collect_from_form(request.user, form))
    except (InvalidDataset, NoRollouts) as why:
        raise to_api_error(why) from None


@router.get(f"{DATASETS}/export")
@in_project(Action.VIEW)
def export_trajectories(
    request: Any,
    query: Query[SelectionQuery],
    format: Literal["jsonl", "parquet", "huggingface", "openai", "csv"] = "jsonl",
) -> Any:
    """Export the trajectories of a dataset, a search or a queue as a streamed file."""
    return file_of(request, parse_selection_query(request, query), FORMATS[format])


@router.get(DATASET, response=DatasetDetail)
@in_project(Action.VIEW)
def read_dataset(request: Any, dataset: Number) -> Any:
    """Return one dataset with its specification and job."""
    return one_of(request.project, dataset)


@router.get(f"{DATASET}/changes", response=Changes)
@in_project(Action.VIEW)
def read_changes(request: Any, dataset: Number, beside: Annotated[int | None, Query(alias="with", ge=1)] = None) -> Any:
    """Return the differences between this dataset and its parent, or another dataset."""
    found = get_complete_dataset(request.project, dataset)
    before = found.parent if beside is None else get_complete_dataset(request.project, beside)
    if before is None or before == found:
        text = "This dataset has no parent to compare with."
        raise ApiError(422, text, "query.with", "Choose another dataset.")
    return {"dataset": found.number, "before": before.number, **asdict(changes(found, before))}
