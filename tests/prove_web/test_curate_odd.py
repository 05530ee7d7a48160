"""Odd cases of data sets made from others: unreadable rows, unfinished sets, attempts from files."""

from __future__ import annotations

import io
import json
import zipfile
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pyarrow.parquet as pq
import pytest
from django.http import Http404
from django.test import Client
from django.urls import reverse
from django.utils.http import urlencode

from prove_web.accounts.models import Project, User
from prove_web.live.models import Job, State
from prove_web.trajectories import import_services, uploads
from prove_web.trajectories.import_preview import Import, Sample, holds_attempts, sample
from prove_web.trajectories.load_dataset import import_dataset
from prove_web.trajectories.models import Dataset, Trajectory
from prove_web.trajectories.search import search
from prove_web.trajectories.selection import select_trajectories
from prove_web.trajectories.versions import InvalidDataset, make_version
from training_worker.core.trajectory import dumps, write_lines
from training_worker.datasets.export import parquet
from training_worker.datasets.rollout_dataset import ROLLOUTS, DatasetRollout
from training_worker.environment.episode import oracle

from .examples import chain, dataset_of, examples
from .judged import collected
from .trained import run_of

pytestmark = pytest.mark.django_db
SignIn = Callable[[User], Client]


@pytest.fixture(autouse=True)
def own_folder(settings: Any, tmp_path: Path) -> None:
    settings.PROVE_DATA = tmp_path


@pytest.fixture
def client(mary: User, as_user: SignIn) -> Client:
    return as_user(mary)


def at(name: str, project: Project, *rest: Any, **query: Any) -> str:
    return reverse(name, args=[*project.path, *rest]) + (f"?{urlencode(query)}" if query else "")


def sent(client: Client, project: Project, **params: Any) -> bytes:
    return b"".join(client.get(at("export", project, **params)).streaming_content)


def manifest(lines: bytes) -> Any:
    return json.loads(lines.splitlines()[-1])["manifest"]


def tries(project: Project, count: int = 3) -> Dataset:
    """Create a data set of attempts at one conversation, all of them right."""
    example = chain()
    return collected(project, [(example, oracle(example))] * count, run=1, step=1)


@pytest.mark.long
@pytest.mark.parametrize("spoil", [{"record": {"of": "long ago"}}, {"rollout": {"of": "long ago"}}, {"rollout": {}}])
def test_what_cannot_be_read_is_left_out_and_counted(
    project: Project, mary: User, client: Client, spoil: dict[str, Any]
) -> None:
    dataset = tries(project)
    Trajectory.objects.filter(pk=dataset.trajectories.first().pk).update(**spoil)
    for format in ("jsonl", "parquet", "openai", "huggingface", "csv"):
        assert sent(client, project, dataset=dataset.number, format=format)
    info = manifest(sent(client, project, dataset=dataset.number, format="jsonl"))
    assert info["left_out"] == {"its record cannot be read any more": 1} and info["trajectories"] == {"rollouts": 2}
    made = make_version(project, mary, "", dataset.trajectories.all(), origin={})
    assert made.trajectories.count() == 2


def test_a_table_of_attempts_and_demonstrations_holds_both_in_full(
    project: Project, client: Client, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setattr(parquet, "BATCH", 2)
    tries(project)
    dataset_of(project, examples()[:5])
    (tmp_path / "all.parquet").write_bytes(sent(client, project, format="parquet"))
    rows = pq.read_table(tmp_path / "all.parquet").to_pylist()
    assert ["rollout" in json.loads(row["record"]) for row in rows] == [True] * 3 + [False] * 5
    assert all(row["split"] for row in rows) and [row["reward"] is None for row in rows] == [False] * 3 + [True] * 5


def test_each_that_is_taken_away_has_an_id_of_its_own_however_often_it_is_there(
    project: Project, client: Client
) -> None:
    for _ in range(4):
        dataset_of(project, [replace(examples()[0], id="x" * 40)])
    ids = [json.loads(line)["id"] for line in sent(client, project, format="jsonl").splitlines()[:-1]]
    assert len({*ids}) == 4 and all(len(one) <= 40 for one in ids)


@pytest.mark.long
def test_the_folder_of_attempts_has_them_and_their_question_once(project: Project, client: Client) -> None:
    dataset = tries(project)
    archive = zipfile.ZipFile(io.BytesIO(sent(client, project, dataset=dataset.number, format="huggingface")))
    assert len(archive.read("train.jsonl").splitlines()) == 1 and len(archive.read(ROLLOUTS).splitlines()) == 3


def test_a_data_set_that_a_job_still_fills_says_so_and_no_search_finds_it(project: Project, client: Client) -> None:
    complete, half = dataset_of(project, examples()[:2]), dataset_of(project, examples()[:4], State.RUNNING)
    assert "trajectories/dataset_unfinished.html" in {one.name for one in client.get(half.get_absolute_url()).templates}
    assert {row.dataset_id for row in search(project, "").rows} == {complete.pk}
    for page in ("export", "version-new"):
        assert client.get(at(page, project, dataset=half.number)).status_code == 404
    assert select_trajectories(project, {}).rows.count() == 2


@pytest.mark.parametrize("odd", [{"steps": "many"}, {"kind": "odd"}, {"server": "\0"}, {"steps": "9" * 400}])
def test_what_narrows_nothing_is_not_said_to(project: Project, odd: dict[str, str]) -> None:
    dataset_of(project, examples()[:3])
    found = select_trajectories(project, {**odd, "split": "train"})
    assert found.origin == {"query": "", "filter": {"split": "train"}} and found.rows.count() == 3


def test_a_bad_first_row_does_not_make_attempts_demonstrations() -> None:
    good = DatasetRollout(id="a", example=chain(), rollout=oracle(chain()))
    rows = [(1, {"record": "none"}), (2, json.loads(dumps(good)))]
    assert holds_attempts(Sample("line", rows)) and not holds_attempts(Sample("line", rows[:1]))


def test_what_is_not_made_leaves_nothing_behind(project: Project, mary: User, tmp_path: Path) -> None:
    source = dataset_of(project, examples()[:1])
    source.trajectories.update(record={"of": "long ago"})
    before = {job.folder for job in Job.objects.all()}
    with pytest.raises(InvalidDataset, match="cannot be read any more"):
        make_version(project, mary, "", source.trajectories.all(), origin={})
    assert Dataset.objects.count() == 1
    assert {path for job in before for path in job.parent.glob("*") if path.is_dir()} <= before


def test_a_data_folder_that_takes_nothing_is_reported(
    project: Project, mary: User, client: Client, settings: Any, tmp_path: Path
) -> None:
    source = dataset_of(project, examples()[:2])
    (tmp_path / "file").write_text("in the way")
    settings.PROVE_DATA = tmp_path / "file"
    answer = client.post(at("version-new", project, dataset=source.number), {"name": "x"})
    assert answer.status_code == 422 and "Contact the site" in answer.text and Dataset.objects.count() == 1
    answer = client.post(at("import-new", project), {"name": "a", "size": 10})
    assert answer.status_code == 422 and "contact the administrator" in answer.json()["error"]


def test_attempts_that_have_to_be_replayed_are_left_to_a_job(project: Project, mary: User, broker: str) -> None:
    several = tries(project, 30)
    many = make_version(project, mary, "", several.trajectories.all(), origin={}, demonstrations=True)
    one = make_version(
        project, mary, "", several.trajectories.filter(example__endswith="-1"), origin={}, demonstrations=True
    )
    assert (many.job.state, one.job.state) == (State.QUEUED, State.DONE)


class TestStrangersAttempts:
    """Attempts that come in a file belong to no run here, whatever they say."""

    @pytest.fixture
    def brought(self, project: Project) -> Dataset:
        run_of(project, [0.5])
        dataset = dataset_of(project)
        Dataset.objects.filter(pk=dataset.pk).update(holds=Dataset.ContentKind.ROLLOUTS, origin={"import": "a.jsonl"})
        dataset.job.out.mkdir(parents=True)
        origins: list[Any] = [{"run": 1, "step": 1, "rollout": 1}, {"run": ["x"], "step": {}, "rollout": None}, {}]
        found = [
            DatasetRollout(id=f"try-{number}", example=chain(), rollout=oracle(chain()), origin=origin)
            for number, origin in enumerate(origins)
        ]
        write_lines(dataset.job.out / ROLLOUTS, found)
        import_dataset(str(dataset.job_id))
        return dataset

    def test_none_is_taken_for_one_of_a_run(self, brought: Dataset, client: Client) -> None:
        assert brought.trajectories.count() == 3 and not brought.trajectories.exclude(run=None).exists()
        for row in brought.trajectories.all():
            page = client.get(row.get_absolute_url())
            assert page.status_code == 200 and "Rollout of" not in page.text

    def test_what_it_says_of_itself_is_stored_for_the_next(self, brought: Dataset, mary: User, client: Client) -> None:
        lines = sent(client, brought.project, dataset=brought.number, format="jsonl")
        assert b"".join(lines.splitlines(True)[:-1]) == (brought.job.out / ROLLOUTS).read_bytes()
        made = make_version(brought.project, mary, "", brought.trajectories.all(), origin={})
        assert made.job.result["content"] == manifest(lines)["content"]


class TestUploads:
    @pytest.mark.parametrize("place", ["9" * 5000, "-1", "x", "", "1.5", "²", "\0"])
    def test_a_place_that_is_none_is_refused(self, project: Project, client: Client, place: str) -> None:
        upload = uploads.begin(project, "a", 10)
        here = at("import-piece", project, upload.id, at=place)
        answer = client.post(here, b"12345", content_type="application/octet-stream")
        assert answer.status_code == 400 and answer.json()["received"] == 0

    def test_of_two_who_import_it_at_once_one_does(self, project: Project, mary: User, broker: str) -> None:
        upload = uploads.begin(project, "a.csv", 20)
        upload.add(0, [b"query,more\nWhat?,No.\n"[:20]])
        seen = sample(upload)
        form = Import(list(seen.first), {"format": "columns", "column_query": "query"})  # type: ignore[arg-type]
        assert form.is_valid()
        import_services.launch(project, mary, upload, form, seen)
        with pytest.raises(Http404, match="already being imported"):
            import_services.launch(project, mary, upload, form, seen)
        assert Dataset.objects.count() == 1
