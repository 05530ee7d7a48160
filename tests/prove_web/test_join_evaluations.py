"""Evaluations on machines that join: which machine gets which, what it sees, and that no item is evaluated twice."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest
from django.conf import LazySettings

from prove_web.accounts.models import Project, User
from prove_web.evaluations.models import Evaluation, EvaluationItem
from prove_web.evaluations.storage import result_of
from prove_web.live.models import Job, State
from prove_web.live.reconcile import reconcile
from prove_web.workers.capabilities import describe_missing_capability
from prove_web.workers.enrolment import enrol
from prove_web.workers.file_transfer import iter_required_files
from tests.waiting import eventually
from training_worker.evaluation.results import IDENTITY, ITEMS, slugify_model_name
from training_worker.graph.dependency_graph import graph_path
from training_worker.jobs.evaluate import begin_with
from training_worker.jobs.spool import SpoolReader, spool_path
from training_worker.join.file_sync import ground

from .joining import CAN, ROOT, Machine, evaluation, fresh, joining, over_http, run, said_of
from .story import event

pytestmark = [pytest.mark.django_db(transaction=True), pytest.mark.usefixtures("broker")]
KNOWN = "warm-0123456789ab"  # a folder of results


@pytest.fixture(autouse=True)
def data(settings: LazySettings, tmp_path: Path) -> Path:
    settings.PROVE_DATA = tmp_path / "site"
    settings.PROVE_DATA.mkdir()
    return tmp_path / "site"


@pytest.fixture
def token(project: Project, alice: User) -> str:
    return enrol(project.organisation, alice, "GPU box", 1)[1]


@pytest.fixture
def machine(token: str) -> Machine:
    return Machine(token)


def item(**more: Any) -> dict[str, Any]:
    fields = {"item": "chain-0", "category": "email", "passed": True, "value": 1.0, "failure": "", "steps": 2}
    return {**fields, "calls": 1, "tokens": 3, "seconds": 0.5, "line": 0, **more}


def items(job: Job, *found: Any, seq: int = 1, **more: Any) -> dict[str, Any]:
    identity = {"benchmark": "worlds", "version": "1", "settings": {}, "model": "warm"}
    payload = {"identity": identity, "folder": f"jobs/{job.pk}/out/results/worlds/{KNOWN}", "items": list(found)}
    return event(seq, "items", **{**payload, **more})


def tell(machine: Machine, job: Job, *events: Any) -> int:
    return int(machine.ask("tell", job=str(job.pk), attempt=job.attempt, events=list(events)).status_code)


def test_a_machine_gets_what_it_says_it_can_do_and_the_rest_waits_for_another(
    project: Project, machine: Machine
) -> None:
    by_endpoint = evaluation(project, source="endpoint", url="http://ours/v1")
    bfcl, ours = evaluation(project, benchmark="bfcl", options={}), evaluation(project)
    named = run(project, policy="qwen3-0.6b")
    assert machine.next() == {}, "a machine that names no benchmark and no model gets neither"
    assert machine.next(**CAN)["job"] == str(ours.pk)
    assert machine.next(**CAN, models=["qwen3-0.6b"])["job"] == str(named.pk)
    assert machine.next(benchmarks=["bfcl"])["job"] == str(bfcl.pk)
    assert machine.next(**CAN) == {} and fresh(by_endpoint).state == State.QUEUED


def test_what_a_machine_lacks_is_named(project: Project) -> None:
    assert describe_missing_capability(evaluation(project), CAN) == ""
    assert "does not have Held-out worlds" in describe_missing_capability(evaluation(project), {})
    for job in (evaluation(project, source="endpoint", url="http://ours/v1"), evaluation(project, benchmark="tau2")):
        assert "whose key never leaves the site" in describe_missing_capability(job, {"benchmarks": ["worlds", "tau2"]})
    assert (
        describe_missing_capability(evaluation(project, policy="granite"), CAN) == "it does not have the model granite"
    )
    assert describe_missing_capability(run(project, device="cuda"), CAN) == "it has no GPU"
    assert describe_missing_capability(run(project, device="cuda"), {"gpus": [{"name": "H200"}]}) == ""
    assert describe_missing_capability(run(project, backend="vllm"), {"vllm": False}) == "it does not have vLLM"


def adapter_of(project: Project, policy: str) -> Job:
    """Create a run that left an adapter on this policy."""
    job = run(project, policy=policy)
    for name in ("card.json", "adapter_config.json", "adapter_model.safetensors"):
        file = job.out / "policy" / name
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(json.dumps({"base_model_name_or_path": "/site/somewhere"}))
    Job.objects.filter(pk=job.pk).update(state=State.DONE)
    return job


def test_an_adapter_comes_with_what_it_is_on_and_says_so_by_its_name(
    project: Project, machine: Machine, tmp_path: Path
) -> None:
    first = adapter_of(project, "granite")
    second = adapter_of(project, f"run:{first.pk}")
    job = evaluation(project, policy=f"run:{second.pk}")
    assert describe_missing_capability(fresh(job), CAN) == "it does not have the model granite", "beneath both"
    files = machine.next(**CAN, models=["granite"])["files"]
    bases = {one["job"]: one["base"] for one in files if "base" in one}
    assert bases == {str(second.pk): f"run:{first.pk}", str(first.pk): "granite"}
    assert {str(first.pk), str(second.pk)} <= {one["job"] for one in files}
    there, target = tmp_path / "there", tmp_path / "far" / "adapter_config.json"
    target.parent.mkdir()
    there.write_text(json.dumps({"r": 8, "base_model_name_or_path": "/site/somewhere"}))
    for name in ("card.json", "adapter_config.json"):
        file = tmp_path / "jobs" / str(first.pk) / "out" / "policy" / name
        file.parent.mkdir(parents=True, exist_ok=True)
        file.touch()
    ground(there, target, f"run:{first.pk}", tmp_path / "jobs")
    base = str(tmp_path / "jobs" / str(first.pk) / "out" / "policy")
    assert json.loads(target.read_text()) == {"r": 8, "base_model_name_or_path": base}


def stored_results(data: Path, *parts: str) -> Path:
    folder = data.joinpath("benchmarks", "projects", *parts)
    folder.mkdir(parents=True)
    for name in (IDENTITY, ITEMS):
        (folder / name).write_text("\n")
    return folder


def test_of_what_is_known_a_machine_sees_the_same_model_on_the_same_benchmark_in_its_project(
    project: Project, machine: Machine, data: Path
) -> None:
    mine = str(project.pk)
    stored_results(data, mine, "worlds", KNOWN)
    for other in ((mine, "worlds", "warm-2-0123456789ab"), (mine, "bfcl", KNOWN), ("999", "worlds", KNOWN)):
        stored_results(data, *other)
    graph_path(data / "graph").parent.mkdir()
    graph_path(data / "graph").write_text("{}")
    (data / "secret_key").write_text("hush")
    job = evaluation(project)
    found = machine.next(**CAN)["files"]
    names = [one["name"] for one in found]
    assert {one["job"] for one in found} == {""} and names[0].startswith("graph/graph-")
    assert names[1:] == [f"benchmarks/projects/{mine}/worlds/{KNOWN}/{name}" for name in (IDENTITY, ITEMS)]
    assert b"".join(machine.get(job, "", names[0]).streaming_content) == b"{}"
    elsewhere = (
        f"benchmarks/projects/{mine}/bfcl/{KNOWN}/{ITEMS}",
        "secret_key",
        "../secret_key",
        "graph/../secret_key",
    )
    for name in (*elsewhere, f"benchmarks/projects/999/worlds/{KNOWN}/{ITEMS}", "prove.sqlite3"):
        assert machine.get(job, "", name).status_code == 400


def test_a_benchmark_or_a_data_set_leads_nowhere_else(project: Project, charlie: User, data: Path) -> None:
    theirs = run(Project.objects.get(organisation__slug="other"))
    stored_results(data, "secrets", KNOWN)
    assert list(iter_required_files(evaluation(project, benchmark="../../secrets"))) == []
    assert list(iter_required_files(evaluation(project, options={"data": theirs.spec["dataset"]}))) == []
    ours = run(project).spec["dataset"]
    assert (ours, "out/train.jsonl") in set(iter_required_files(evaluation(project, options={"data": ours})))


def test_items_of_a_machine_are_recorded_with_a_folder_of_its_job(project: Project, machine: Machine) -> None:
    job = evaluation(project)
    machine.next(**CAN)
    assert tell(machine, job, items(job), items(job, item(), seq=2)) == 200
    row = EvaluationItem.objects.get(evaluation__job=job)
    assert (row.item, row.passed, fresh(job).result["folder"].split("/")[1]) == ("chain-0", True, str(job.pk))


STRANGE = (
    *({"folder": folder} for folder in ("benchmarks/projects/1/worlds/x", "jobs/x", "", None, 7, "/etc")),
    *({"identity": {}}, {"identity": None}, {"items": [{}]}, {"items": [7]}, {"items": None}),
    *(
        {"items": [item(value=2.0)]},
        {"items": [item(value="x")]},
        {"items": [item(steps=-1)]},
        {"items": [item(line=None)]},
    ),
    {"identity": {"benchmark": "bfcl", "version": "1", "settings": {}, "model": "warm"}},
)


def test_what_is_no_result_of_the_job_is_refused_and_changes_nothing(project: Project, machine: Machine) -> None:
    job, other = evaluation(project), evaluation(project)
    machine.next(**CAN)
    own = f"jobs/{job.pk}/out"
    leading = [f"jobs/{other.pk}/out/results/worlds/{KNOWN}", f"{own}/results/../../../secrets", f"{own}/policy", own]
    for odd in (*STRANGE, *({"folder": folder} for folder in leading)):
        assert tell(machine, job, items(job, **odd)) == 400, odd
    done = {"state": "done", "error": "", "result": {"report": {}, "folder": f"{own}/results/worlds/{KNOWN}"}}
    for result in ({}, done["result"], {"folder": "secret_key", "report": None}):
        assert tell(machine, job, event(1, "ended", **{**done, "result": result})) == 400
    assert (fresh(job).seq, job.result, EvaluationItem.objects.count()) == (0, {}, 0)


def test_a_run_has_no_items_and_no_machine_reports_on_the_evaluation_of_another(
    project: Project, alice: User, machine: Machine
) -> None:
    other, training, job = Machine(enrol(project.organisation, alice, "Other", 1)[1]), run(project), evaluation(project)
    assert [machine.next(**CAN)["job"], other.next(**CAN)["job"]] == [str(training.pk), str(job.pk)]
    assert tell(machine, training, items(training)) == 400
    assert tell(machine, job, items(job, item())) == 200 and fresh(job).seq == 0, "it is told to let go"
    results = f"out/results/worlds/{KNOWN}/{ITEMS}"
    assert machine.put(job, results, b"{}") == 400 and other.put(job, results, b"{}") == 200


def test_results_of_its_own_begin_with_what_is_shared_once(tmp_path: Path) -> None:
    shared, own = stored_results(tmp_path, "1", "worlds", KNOWN), tmp_path / "own" / KNOWN
    (shared / ITEMS).write_text("one\n")
    begin_with(shared, own)
    assert (own / ITEMS).read_text() == "one\n"
    (own / ITEMS).write_text("one\ntwo\n")
    begin_with(shared, own)
    assert ((own / ITEMS).read_text(), (shared / ITEMS).read_text()) == ("one\ntwo\n", "one\n")
    assert slugify_model_name("run 3/best") == "run-3-best"


def lines(folder: Path) -> list[dict[str, Any]]:
    """Return the results of an evaluation without their seconds, which depend on the machine."""
    [file] = folder.rglob(ITEMS)
    return [{**json.loads(line), "seconds": 0} for line in file.read_text().splitlines()]


def by_the_site(job: Job, data: Path) -> dict[str, Any]:
    """Run the same evaluation with a worker of the site and return its result."""
    folder = data / "jobs" / str(job.pk)
    folder.mkdir(parents=True)
    (folder / "spec.json").write_text(json.dumps({"kind": job.kind, "spec": job.spec}))
    command = [sys.executable, "-m", "training_worker.jobs", str(folder), "--attempt=1"]
    subprocess.run(command, cwd=ROOT, check=True, start_new_session=True)
    [*_, last] = SpoolReader(spool_path(folder, 1)).read()
    found: dict[str, Any] = last["data"]["result"]
    return found


@pytest.mark.long
def test_an_evaluation_whose_machine_died_is_continued_by_another_and_is_the_same_as_on_the_site(
    project: Project, token: str, data: Path, tmp_path: Path, graph_folder: Path, settings: LazySettings
) -> None:
    pytest.importorskip("torch", reason="torch is not installed")
    for folder in (data, tmp_path / "alone"):
        folder.mkdir(exist_ok=True)
        (folder / "graph").symlink_to(graph_folder)
    job = evaluation(project, {"count": "12"})
    with over_http() as url:
        with joining(url, token, tmp_path / "first") as first:
            spool = SpoolReader(spool_path(tmp_path / "first" / "jobs" / str(job.pk), 1))
            events = eventually(lambda: first.poll() is None and finished(spool) and spool.read(), "a finished item")
            os.kill(events[0]["data"]["pid"], signal.SIGSTOP)  # so that it stays half-way
            before = eventually(lambda: [*job.out.rglob(ITEMS)] and lines(job.out), "results at the site")
            os.killpg(first.pid, signal.SIGKILL)
            with suppress(ProcessLookupError):
                os.kill(events[0]["data"]["pid"], signal.SIGCONT)
            first.wait()
        settings.LOST_AFTER_SECONDS = 0
        reconcile()
        settings.LOST_AFTER_SECONDS = 60
        assert (fresh(job).state, job.attempt) == (State.QUEUED, 2)
        with joining(url, token, tmp_path / "second") as second:
            eventually(lambda: said_of(job, "attempt") > 2 or second.poll() is not None, "the end of the evaluation")
            second.send_signal(signal.SIGTERM)
            assert second.wait(60) == 0, (tmp_path / "second.log").read_text()
    assert (fresh(job).state, job.error) == (State.DONE, "")
    alone = by_the_site(job, tmp_path / "alone")
    assert 0 < len(before) < 12 and lines(job.out)[: len(before)] == before, "nothing is asked twice"
    assert lines(job.out) == lines(tmp_path / "alone" / alone["folder"]) and len(lines(job.out)) == 12
    assert {**job.result["report"], "seconds": 0} == {**alone["report"], "seconds": 0}
    found = Evaluation.objects.get(job=job)
    assert found.overall == alone["report"]["overall"] and found.model == "warm"
    assert [result_of(row).item for row in found.items.all()] == [one["item"] for one in lines(job.out)]
    assert not (data / "benchmarks").exists(), "no other evaluation goes on from what a machine found"


def finished(spool: SpoolReader) -> bool:
    return any(one["kind"] == "items" and one["data"]["items"] for one in spool.read())
