"""Runs for programs, as in the table and on the page of a run: bulk actions, exports, worlds, priority."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from django.conf import LazySettings

from prove_web.accounts.models import Entry, Organisation, Project, User
from prove_web.experiments.exports import Export
from prove_web.experiments.models import Run
from prove_web.live.models import Job, Kind, State
from prove_web.servers.models import LiveSession
from training_worker.environment.episode import oracle

from .api_operations import Program, program
from .examples import chain, dataset_of
from .trained import keep_checkpoint, keep_rollouts, run_of

pytestmark = pytest.mark.django_db
STEP = 2


@pytest.fixture(autouse=True)
def folder(settings: LazySettings, tmp_path: Path) -> None:
    settings.PROVE_DATA, settings.PROVE_STORAGE = tmp_path, ""


@pytest.fixture
def maries(mary: User, organisation: Organisation, project: Project) -> Program:
    return program(mary, organisation)


@pytest.fixture
def runs(project: Project) -> list[Run]:
    return [run_of(project, [0.5], name=f"Run {n}") for n in range(1, 4)]


class TestManyRuns:
    def test_they_are_marked_and_only_what_changed_is_listed(
        self, runs: list[Run], mary: User, maries: Program
    ) -> None:
        assert maries.post("/runs/mark", {"act": "tag", "tag": "a", "runs": [1]}) == {
            **{"changed": [1], "same": 0, "refused": [], "undo": "untag"}
        }
        marked = maries.post("/runs/mark", {"act": "tag", "tag": "a", "q": ""})
        assert marked == {"changed": [2, 3], "same": 1, "refused": [], "undo": "untag"}
        back = maries.post("/runs/mark", {"act": marked["undo"], "tag": "a", "runs": marked["changed"]})
        assert back["changed"] == [2, 3]
        assert [*Run.objects.order_by("number").values_list("tags", flat=True)] == [["a"], [], []]
        assert maries.post("/runs/mark", {"act": "pin", "q": "tag:a"})["changed"] == [1]
        assert Entry.objects.filter(content_type__model="run", actor=mary).count() == 6

    def test_they_are_deleted_and_brought_back_by_number(self, runs: list[Run], maries: Program) -> None:
        Job.objects.filter(pk=runs[1].job_id).update(state=State.RUNNING)
        deleted = maries.post("/runs/act", {"act": "delete", "q": ""})
        assert (deleted["changed"], deleted["undo"], len(deleted["refused"])) == ([1, 3], "undelete", 1)
        assert "Run 2" in deleted["refused"][0] and "stop it first" in deleted["refused"][0]
        assert [one["number"] for one in maries.get("/runs")["items"]] == [2]
        assert maries.post("/runs/act", {"act": "undelete", "q": ""}, 422)["where"] == "body.runs"
        assert maries.post("/runs/act", {"act": "undelete", "runs": [1, 3]})["changed"] == [1, 3]

    def test_they_are_measured_against_one_and_archived(self, runs: list[Run], maries: Program) -> None:
        assert maries.post("/runs/act", {"act": "base", "base": 1, "runs": [2, 3]})["changed"] == [2, 3]
        assert {run.base_id for run in Run.objects.filter(number__gt=1)} == {runs[0].pk}
        assert maries.post("/runs/act", {"act": "archive", "q": ""})["changed"] == [1, 2, 3]
        maries.post("/runs/act", {"act": "unarchive", "q": ""}, 422)
        assert maries.post("/runs/act", {"act": "unarchive", "q": "", "archived": "only"})["changed"] == [1, 2, 3]

    @pytest.mark.parametrize(
        "body, where",
        [
            ({"act": "pin"}, "body.runs"),
            ({"act": "pin", "runs": [1], "q": ""}, "body.runs"),
            ({"act": "pin", "runs": []}, "body.runs"),
            ({"act": "pin", "runs": [99]}, "body"),
            ({"act": "pin", "runs": [1] * 1_001}, "body.runs"),
            ({"act": "pin", "q": "reward<<"}, "body.q"),
            ({"act": "delete", "q": ""}, "body.act"),
            ({"act": "tag", "tag": " , ", "q": ""}, "body"),
        ],
    )
    def test_what_says_not_which_or_what_changes_nothing(
        self, runs: list[Run], maries: Program, body: dict[str, Any], where: str
    ) -> None:
        assert maries.post("/runs/mark", body, 422)["where"] == where
        assert not Run.objects.filter(pinned=True).exists()

    def test_who_may_annotate_marks_and_does_no_more(
        self, runs: list[Run], bob: User, organisation: Organisation
    ) -> None:
        bobs = program(bob, organisation)
        assert bobs.post("/runs/mark", {"act": "pin", "runs": [1]})["changed"] == [1]
        bobs.post("/runs/act", {"act": "delete", "runs": [1]}, 403)


class TestOneRollout:
    @pytest.fixture
    def rollout(self, project: Project) -> str:
        run = run_of(project, [0.5] * STEP, dataset=dataset_of(project, [chain()]))
        keep_rollouts(run, STEP, [oracle(chain())])
        return f"/runs/1/rollouts/{STEP}/1"

    def test_its_world_is_opened_after_some_of_its_calls(self, rollout: str, mary: User, maries: Program) -> None:
        opened = maries.post(f"{rollout}/session", {"calls": 1}, 201)
        assert (opened["differs"], opened["left_out"]) == (False, 0)
        session = LiveSession.objects.get(pk=opened["session"]["id"])
        assert session.calls.count() == 1 and session.created_by == mary
        assert maries.post(f"{rollout[:-1]}9/session", {}, 404)["error"] == "This step has no rollout 9."
        assert maries.post("/runs/1/rollouts/77/1/session", {}, 404)["do"]

    def test_it_is_run_without_a_call_and_nothing_is_stored(self, rollout: str, maries: Program) -> None:
        result = maries.post(f"{rollout}/what-if", {"call": 1})
        assert result["before"]["total"] > result["after"]["total"]
        assert maries.post(f"{rollout}/what-if", {"call": 99}, 422)["where"] == "body.call"
        assert not LiveSession.objects.exists()

    def test_without_its_example_neither_is_done(self, rollout: str, project: Project, maries: Program) -> None:
        run = Run.objects.get()
        run.dataset = None
        run.save()
        for act in ("session", "what-if"):
            assert (
                "no longer in the dataset"
                in maries.post(f"{rollout}/{act}", {"call": 1} if act != "session" else {}, 409)["error"]
            )


class TestExports:
    def test_one_is_requested_followed_and_downloaded(self, project: Project, maries: Program, broker: str) -> None:
        run = run_of(project, [0.5] * STEP)
        keep_checkpoint(run, STEP)
        path = f"/runs/1/checkpoints/{STEP}/export"
        assert maries.get(path)["state"] == "none"
        assert maries.get(f"{path}/files", 404)["error"].startswith("The checkpoint of step 2 is not exported")
        assert maries.post(path, {})["state"] == "working" == maries.post(path, {})["state"]
        export = Export(run.job, STEP)
        export.working.unlink()
        export.failed.write_text("No room is left.", "utf-8")
        assert (maries.get(path)["state"], maries.get(path)["why"]) == ("failed", "No room is left.")
        export.folder.mkdir()
        (export.folder / "config.json").write_text("{}", "utf-8")
        assert maries.get(path)["state"] == "ready"
        answer = maries.client.get(f"{maries.site}{path}/files")
        assert b"".join(answer.streaming_content).startswith(b"PK")
        assert maries.get(f"/runs/1/checkpoints/{STEP + 1}/export", 404)["error"].startswith("Run 1 has no checkpoint")

    def test_without_a_broker_none_is_begun(self, project: Project, maries: Program) -> None:
        keep_checkpoint(run_of(project, [0.5] * STEP), STEP)
        assert maries.post(f"/runs/1/checkpoints/{STEP}/export", {}, 503)["do"]


def test_a_job_goes_before_others_of_its_project(project: Project, maries: Program) -> None:
    first, second = (Job.objects.create(project=project, kind=Kind.GRAPH, title=title) for title in "ab")
    before = second.priority
    assert maries.post(f"/jobs/{second.pk}/move", {"to": "first"})["priority"] > before
    assert maries.post(f"/jobs/{second.pk}/move", {"to": "aside"}, 422)["where"] == "body.to"
    Job.objects.filter(pk=first.pk).update(state=State.DONE)
    assert maries.post(f"/jobs/{first.pk}/move", {"to": "up"}, 409)["do"] == "Nothing was moved."
