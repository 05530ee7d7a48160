"""The pages that make data sets from others, export them and import them."""

from __future__ import annotations

import asyncio
import csv
import io
import json
import zipfile
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from django.core.files.uploadedfile import SimpleUploadedFile
from django.core.management import CommandError, call_command
from django.test import Client
from django.urls import reverse
from django.utils.http import urlencode

from prove_web.accounts.models import Project, User
from prove_web.core.body_limit import MOST, BodyLimitMiddleware
from prove_web.live.models import Job, State
from prove_web.review.models import Acceptance, Item, Queue
from prove_web.review.schema import PLAIN
from prove_web.trajectories import uploads
from prove_web.trajectories.export_formats import FORMATS, file_name
from prove_web.trajectories.models import Dataset, Trajectory
from training_worker.core.trajectory import Example, loads
from training_worker.datasets.export.lines import TRIGGERS
from training_worker.datasets.importers.archive import MOST_PACKED
from training_worker.environment.episode import oracle

from .examples import chain, dataset_of, examples
from .trained import calling, keep_rollouts, run_of

pytestmark = pytest.mark.django_db
SignIn = Callable[[User], Client]


@pytest.fixture(autouse=True)
def own_folder(settings: Any, tmp_path: Path) -> None:
    settings.PROVE_DATA = tmp_path


@pytest.fixture
def source(project: Project) -> Dataset:
    return dataset_of(project, examples()[:20], name="Source")


@pytest.fixture
def client(mary: User, as_user: SignIn) -> Client:
    return as_user(mary)


def at(name: str, project: Project, *rest: Any, **query: Any) -> str:
    return reverse(name, args=[*project.path, *rest]) + (f"?{urlencode(query)}" if query else "")


def body(answer: Any) -> bytes:
    return b"".join(answer.streaming_content)


class TestVersions:
    def test_what_was_found_becomes_a_data_set_that_says_so(self, source: Dataset, client: Client) -> None:
        project, word = source.project, source.trajectories.filter(kind="chain").first().example
        here = at("version-new", project, dataset=source.number, q=word, kind="chain")
        found = source.trajectories.filter(example=word, kind="chain")
        assert found.count() and f">{found.count()}</span>" in client.get(here).text
        answer = client.post(here, {"name": "Mine"})
        made = Dataset.objects.get(name="Mine")
        assert answer.url == made.get_absolute_url() and made.parent == source
        assert made.origin == {"query": word, "dataset": source.number, "filter": {"kind": "chain"}}
        assert [row.example for row in made.trajectories.all()] == [row.example for row in found]

    def test_its_changes_are_listed_by_contents_with_links(self, source: Dataset, client: Client) -> None:
        project = source.project
        client.post(at("version-new", project, dataset=source.number), {"name": "Next"})
        made = Dataset.objects.get(name="Next")
        assert "Both have identical contents" in client.get(at("dataset-changes", project, made.number)).text
        gone, edited, *_ = made.trajectories.all()
        gone.delete()
        Trajectory.objects.filter(pk=edited.pk).update(record={**edited.record, "turns": ["Other words."]})
        (made.job.folder / "changes.json").unlink()
        page = client.get(at("dataset-changes", project, made.number))
        changes = page.context["changes"]
        assert changes.removed == [gone.example] and changes.changed == {edited.example: ["turns"]}
        assert (changes.same, changes.added) == (18, [])
        assert at("trajectory", project, source.number, gone.example) in page.text
        assert at("trajectory", project, made.number, edited.example) in page.text

    def test_a_split_is_another_data_set_and_says_how_it_was_made(self, source: Dataset, client: Client) -> None:
        form = {"name": "Halves", "percent": "40", "by": "world", "seed": "3"}
        client.post(at("dataset-split", source.project, source.number), form)
        made = Dataset.objects.get(name="Halves")
        assert made.origin == {"split": source.number, "share": 0.4, "by": "world", "seed": 3}
        sides = {row.record["split"]: row.split for row in made.trajectories.all()}
        assert sides == {side: side for side in sides} and "held_out" in sides
        left = made.job.result["manifest"]["splits"]["train"]["dropped"]
        assert made.trajectories.count() + sum(left.values()) == 20

    def test_a_mix_has_each_by_its_weight_and_nothing_twice(self, source: Dataset, client: Client) -> None:
        project = source.project
        other = dataset_of(project, [*examples()[:4], *examples()[20:32]], name="Other")
        form = {"name": "Mixed", "seed": "1", f"weight_{source.number}": "1", f"weight_{other.number}": "0.5"}
        client.post(at("dataset-mix", project), form)
        made = Dataset.objects.get(name="Mixed")
        ours = {one.id for one in examples()[:20]}
        ids = [row.example for row in made.trajectories.all()]
        assert (sum(id in ours for id in ids), len(ids)) == (20, 30)
        assert made.job.result["manifest"]["splits"]["train"]["dropped"] == {"it repeats another": 4}

    @pytest.mark.parametrize(
        ("page", "form"),
        [
            ("dataset-split", {"percent": "0", "by": "world", "seed": "0"}),
            ("dataset-split", {"percent": "lots", "by": "moon", "seed": "-1"}),
            ("dataset-mix", {"seed": "0", "weight_1": "1"}),
            ("dataset-mix", {"seed": "0", "weight_1": "-1", "weight_2": "nan"}),
        ],
    )
    def test_nonsense_makes_nothing(self, source: Dataset, client: Client, page: str, form: dict[str, str]) -> None:
        dataset_of(source.project, examples()[:2])
        rest = [source.number] if page == "dataset-split" else []
        assert client.post(at(page, source.project, *rest), form).status_code == 422
        assert Dataset.objects.count() == 2

    def test_a_queue_gives_what_was_accepted_and_attempts_become_demonstrations(
        self, source: Dataset, mary: User, client: Client
    ) -> None:
        project, example = source.project, chain()
        tried = dataset_of(project, [replace(example, id="attempt")], name="Tried")
        attempt = tried.trajectories.get()
        Trajectory.objects.filter(pk=attempt.pk).update(rollout=json.loads(dumped(oracle(example))), origin={"run": 1})
        Dataset.objects.filter(pk=tried.pk).update(holds=Dataset.ContentKind.ROLLOUTS)
        queue = Queue.objects.create(project=project, number=1, name="Check", schema=PLAIN.model_dump(mode="json"))
        rows = [attempt, *source.trajectories.exclude(example=example.id)[:3]]
        for position, (row, verdict) in enumerate(zip(rows, ("accept", "accept", "reject", "accept"), strict=True), 1):
            Item.objects.create(queue=queue, position=position, trajectory=row, state="settled", verdict=verdict)
            if position < 3:
                Acceptance.objects.create(trajectory=row, accepted_by=mary, fingerprint="")
        assert ">2</span>" in client.get(at("version-new", project, queue=1)).text
        assert ">1</span>" in client.get(at("version-new", project, queue=1, verdict="reject")).text
        client.post(at("version-new", project, queue=1), {"name": "Accepted"})
        made = Dataset.objects.get(name="Accepted")
        assert made.holds == "demos" and made.trajectories.count() == 2
        accepted = made.trajectories.get(example="attempt")
        assert accepted.rollout is None and accepted.origin == {"run": 1}
        assert [s["calls"] for s in accepted.record["steps"]]


def dumped(value: object) -> str:
    from training_worker.core.trajectory import dumps

    return dumps(value)


class TestExports:
    def test_a_file_holds_exactly_what_was_found(self, source: Dataset, client: Client) -> None:
        here = at("export", source.project, dataset=source.number, kind="chain", format="jsonl")
        answer = client.get(here)
        *lines, last = body(answer).decode().splitlines()
        found = source.trajectories.filter(kind="chain")
        assert [loads(Example, line).id for line in lines] == [row.example for row in found]
        manifest = json.loads(last)["manifest"]
        assert manifest["found_by"] == {"query": "", "dataset": source.number, "filter": {"kind": "chain"}}
        assert answer["Content-Disposition"] == 'attachment; filename="source-chain.jsonl"'

    @pytest.mark.parametrize("format", FORMATS)
    def test_every_format_can_be_taken_away_by_who_may_look(
        self, source: Dataset, victor: User, as_user: SignIn, format: str
    ) -> None:
        answer = as_user(victor).get(at("export", source.project, dataset=source.number, format=format))
        assert answer.status_code == 200 and len(body(answer)) > 1000

    @pytest.mark.long
    def test_the_folder_for_hugging_face_is_complete(self, source: Dataset, client: Client) -> None:
        sent = body(client.get(at("export", source.project, dataset=source.number, format="huggingface")))
        names = zipfile.ZipFile(io.BytesIO(sent)).namelist()
        assert {"README.md", "manifest.json", "train.jsonl", "train.parquet", "held_out.jsonl"} <= {*names}

    def test_a_cell_that_a_spreadsheet_would_run_is_harmless(self, source: Dataset, client: Client) -> None:
        source.trajectories.filter(example=examples()[0].id).update(query='=HYPERLINK("http://x","y")')
        text = body(client.get(at("export", source.project, format="csv"))).decode("utf-8-sig")
        rows = list(csv.DictReader(io.StringIO(text, newline="")))
        assert rows[0]["query"].startswith("'=HYPERLINK") and len(rows) == 20
        assert not any(str(cell).startswith(TRIGGERS) for row in rows for cell in row.values())

    @pytest.mark.parametrize("name", ["../../etc/passwd", 'a"; rm -rf', "\r\nSet-Cookie: x", "…", "A" * 300])
    def test_the_name_of_a_file_is_safe(self, name: str) -> None:
        safe = file_name(name, ".jsonl")
        assert safe.removesuffix(".jsonl").replace("-", "").isalnum() and safe.isascii() and len(safe) <= 70

    def test_the_command_writes_the_same_file(self, source: Dataset, client: Client, tmp_path: Path) -> None:
        where = {"project": "acme/demo", "dataset": source.number, "out": tmp_path / "x.jsonl"}
        call_command("export", **where, stdout=io.StringIO())
        answer = body(client.get(at("export", source.project, dataset=source.number, format="jsonl")))
        assert (tmp_path / "x.jsonl").read_bytes().splitlines()[:-1] == answer.splitlines()[:-1]
        with pytest.raises(CommandError, match="no dataset 9"):
            call_command("export", **{**where, "dataset": 9})


class TestCollecting:
    @pytest.fixture
    def run(self, source: Dataset) -> Any:
        run = run_of(source.project, [0.5], dataset=source, config={"group": 2})
        one, other = [example for example in examples()[:20] if example.steps][:2]
        bad = replace(one.steps[0].calls[0], name="nothing_like_it")
        tried = [
            oracle(one),
            calling(one, bad),
            oracle(other),
            replace(oracle(other), reward=None, failed_at="environment"),
        ]
        keep_rollouts(run, 1, tried)
        return run

    def test_rollouts_become_attempts_that_say_where_they_are_from(self, run: Any, client: Client) -> None:
        client.post(at("run-collect", run.project, run.number), {"name": "Tries", "steps": "1"})
        made = Dataset.objects.get(name="Tries")
        assert (made.holds, made.origin) == ("rollouts", {"run": run.number, "steps": [1]})
        rows = list(made.trajectories.all())
        assert [row.origin["rollout"] for row in rows] == [1, 2, 3]
        assert rows[0].reward == pytest.approx(1.3) and rows[1].reward < 1 and rows[1].validity is not None
        assert len({row.example for row in rows}) == 3

    def test_only_the_requested_rollouts_are_collected(self, run: Any, client: Client) -> None:
        for form, expected in (({"failing": "on"}, [2]), ({"groups": "2"}, [3]), ({"low": "1", "high": "2"}, [1, 3])):
            client.post(at("run-collect", run.project, run.number), {"name": "Some", "steps": "1", **form})
            made = Dataset.objects.filter(name="Some").first()
            assert [row.origin["rollout"] for row in made.trajectories.all()] == expected

    @pytest.mark.parametrize("steps", ["", "x", "1-", "1-99999", "7", "1,,2;"])
    def test_steps_that_are_none_or_not_there_make_nothing(self, run: Any, client: Client, steps: str) -> None:
        assert client.post(at("run-collect", run.project, run.number), {"steps": steps}).status_code == 422
        assert not Dataset.objects.filter(holds="rollouts").exists()

    def test_the_command_collects_too(self, run: Any) -> None:
        out = io.StringIO()
        call_command("collect", "acme/demo", run.number, steps="1", failing=True, stdout=out)
        assert "1 rollouts" in out.getvalue()

    def test_attempts_are_exported_and_made_into_versions(self, run: Any, client: Client) -> None:
        client.post(at("run-collect", run.project, run.number), {"name": "Tries", "steps": "1"})
        tries = Dataset.objects.get(name="Tries")
        client.post(at("version-new", run.project, dataset=tries.number), {"name": "Again"})
        again = Dataset.objects.get(name="Again")
        assert again.job.result["content"] == tries.job.result["content"] and again.holds == "rollouts"
        sent = body(client.get(at("export", run.project, dataset=again.number, format="jsonl"))).splitlines()
        assert json.loads(sent[-1])["manifest"]["content"] == again.job.result["content"]


class TestImports:
    def begin(self, client: Client, project: Project, name: str, data: bytes) -> str:
        answer = client.post(at("import-new", project), {"name": name, "size": len(data)}).json()
        for start in range(0, len(data), 50_000):
            piece = data[start : start + 50_000]
            client.post(f"{answer['piece']}?at={start}", piece, content_type="application/octet-stream")
        return str(answer["then"])

    def test_a_file_comes_in_pieces_is_looked_at_and_becomes_a_job(
        self, broker: str, source: Dataset, client: Client
    ) -> None:
        sent = body(client.get(at("export", source.project, dataset=source.number, format="jsonl")))
        here = self.begin(client, source.project, "ours.jsonl", sent)
        page = client.get(here)
        assert page.context["counts"] == {"bad": 0, "all": 20} and "all valid" in page.text
        answer = client.post(here, {"name": "Back", "format": "ours", "split": ""})
        made = Dataset.objects.get(name="Back")
        assert answer.url == made.get_absolute_url() and made.job.state == State.QUEUED
        assert (made.job.folder / "upload").read_bytes() == sent and client.get(here).status_code == 404

    def test_a_table_is_mapped_before_it_comes_in(self, source: Dataset, client: Client) -> None:
        rows = b"question,extra\nWhat is it?,1\n,2\n"
        here = self.begin(client, source.project, "a.csv", rows)
        page = client.get(here)
        assert page.context["form"]["column_query"].value() == "question"
        assert [row.what for row in page.context["rows"]] == ["irrelevance", "bad"]
        page = client.post(here, {"format": "columns", "column_query": ""})
        assert page.status_code == 422 and "Map a column" in page.text

    def test_a_small_file_comes_with_the_form_where_there_is_no_script(self, source: Dataset, client: Client) -> None:
        file = SimpleUploadedFile("a.csv", b"query,b\nWhat?,1\n")
        assert client.get(client.post(at("import-new", source.project), {"file": file}).url).status_code == 200

    def test_a_picture_is_named_as_what_it_is(self, source: Dataset, client: Client) -> None:
        page = client.get(self.begin(client, source.project, "data.jsonl", b"\x89PNG\r\n\x1a\n" + bytes(100)))
        assert page.status_code == 422 and "it seems to be a PNG image" in page.text

    def test_a_file_that_is_too_large_is_refused_before_a_byte_of_it_is_sent(
        self, source: Dataset, client: Client, tmp_path: Path
    ) -> None:
        answer = client.post(at("import-new", source.project), {"name": "big", "size": MOST_PACKED + 1})
        assert answer.status_code == 422 and "the limit is" in answer.json()["error"]
        assert not list(uploads.root().glob("*"))

    def test_more_than_was_announced_is_not_stored_and_a_lost_piece_is_requested_again(
        self, source: Dataset, client: Client
    ) -> None:
        piece = client.post(at("import-new", source.project), {"name": "a", "size": 10}).json()["piece"]

        def send(where: int, data: bytes) -> Any:
            return client.post(f"{piece}?at={where}", data, content_type="application/octet-stream")

        assert send(0, b"12345").json() == {"received": 5}
        assert send(0, b"12345").json()["received"] == 5, "the first came through, its answer did not"
        assert send(7, b"8").status_code == 422
        answer = send(5, b"6789012")
        assert answer.status_code == 422 and "announced" in answer.json()["error"]
        assert send(5, b"67890").json() == {"received": 10}
        assert send(10, b"x" * (uploads.PIECE + 1)).status_code == 400

    def test_old_uploads_are_forgotten(self, project: Project, monkeypatch: pytest.MonkeyPatch) -> None:
        old = uploads.begin(project, "old", 1)
        monkeypatch.setattr(uploads, "MAX_AGE", -1)
        uploads.begin(project, "new", 1)
        assert not old.folder.exists()

    def test_an_upload_of_another_project_is_not_found(self, project: Project, client: Client) -> None:
        other = Project.objects.create(organisation=project.organisation, slug="two", name="Two")
        upload = uploads.begin(other, "a", 1)
        assert client.get(at("import-preview", project, upload.id)).status_code == 404


def test_a_body_that_is_too_large_is_not_read_be_it_announced_or_not() -> None:
    """A client sends two gigabytes, once with a Content-Length header and once without."""
    read: list[int] = []

    async def pages(scope: Any, receive: Any, send: Any) -> None:
        while (message := await receive())["type"] == "http.request" and message["more_body"]:
            read.append(len(message["body"]))

    async def receive() -> dict[str, Any]:
        return {"type": "http.request", "body": bytes(1 << 20), "more_body": True}

    async def request(headers: list[tuple[bytes, bytes]]) -> list[dict[str, Any]]:
        sent: list[dict[str, Any]] = []

        async def send(message: Any) -> None:
            sent.append(message)

        await BodyLimitMiddleware(pages)({"type": "http", "headers": headers}, receive, send)
        return sent

    announced = asyncio.run(request([(b"content-length", b"2147483648")]))
    assert announced[0]["status"] == 413 and read == []
    asyncio.run(request([(b"transfer-encoding", b"chunked")]))
    assert sum(read) <= MOST


def test_jobs_of_what_there_is_wait_for_the_web_worker(project: Project) -> None:
    assert Job(project=project, kind="dataset", spec={"curate": {}}).queue == "files"
    assert Job(project=project, kind="dataset", spec={"import": {}}).queue == "synthesis"
