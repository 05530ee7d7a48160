"""Runs that are trained elsewhere: what their programs send, and what pages show of it."""

from __future__ import annotations

import random
from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
from django.test import Client
from django.urls import reverse
from django.utils import timezone

from prove_web.accounts.models import Organisation, Project, User
from prove_web.comparisons.params import list_chart_metrics
from prove_web.experiments.models import Run
from prove_web.live.deltas import deltas
from prove_web.live.models import Job, JobEvent, State
from prove_web.live.reconcile import reconcile
from training_worker.monitoring.metrics.names import is_valid_name, sanitize_name

from .api_operations import with_token

RUNS = "/api/v1/acme/demo/runs"
Event = dict[str, Any]


@pytest.fixture
def api(mary: User, organisation: Organisation, project: Project) -> Client:
    return with_token(mary, organisation)


def made(api: Client, **fields: Any) -> Run:
    answer = api.post(f"{RUNS}/outside", {"name": "Mine", **fields}, content_type="application/json")
    assert answer.status_code in (200, 201), answer.content
    return Run.objects.get(number=answer.json()["number"])


def tell(api: Client, run: Run, status: int = 200, **message: Any) -> Event:
    answer = api.post(f"{RUNS}/{run.number}/tell", message, content_type="application/json")
    assert answer.status_code == status, answer.content
    found: Event = answer.json()
    return found


def end(api: Client, run: Run, **message: Any) -> int:
    return api.post(f"{RUNS}/{run.number}/end", message, content_type="application/json").status_code


def point(step: int, /, **metrics: float | None) -> Event:
    return {"step": step, "metrics": metrics}


def curve(run: Run) -> dict[int, dict[str, Any]]:
    return dict(run.points.values_list("step", "metrics"))


def silent(run: Run, seconds: float) -> Job:
    """Let the program be silent for so long, reconcile, and return the job."""
    Job.objects.filter(pk=run.job_id).update(beat_at=timezone.now() - timedelta(seconds=seconds))
    reconcile()
    return Job.objects.get(pk=run.job_id)


def test_what_a_program_sends_is_on_every_page(api: Client, as_user: Callable[[User], Client], mary: User) -> None:
    run = made(api, config={"model": {"size": 7, "name": "<b>x</b>"}, "reward": 3}, tags=["elsewhere"], total_steps=9)
    assert run.dataset is None and run.job.state == State.RUNNING and run.tags == ["elsewhere"]
    points = [{"step": step, "metrics": {"loss": 2.0 / step, "train/my score": step}} for step in (1, 2, 3)]
    heard = tell(api, run, points=points, held_out=[point(3, reward=0.5, my_eval=0.25)])
    assert heard == {"state": "running", "stop": "", "stored": 4, "last_step": 3}
    client = as_user(mary)
    page = client.get(run.get_absolute_url()).content.decode()
    assert "train/my score" in page and "Held-out my_eval" in page and ">external<" in page
    assert "model.size" in page and "&lt;b&gt;x&lt;/b&gt;" in page and "<b>x</b>" not in page
    snapshot = client.get(reverse("run-points", args=["acme", "demo", run.number])).json()
    assert snapshot["points"]["series"]["train/my score"] == [1, 2, 3]
    assert snapshot["held_out"]["series"]["my_eval"] == [0.25]
    params = {"names": "train/my score", "from": 2}
    metric = client.get(reverse("run-metric", args=["acme", "demo", run.number]), params).json()
    assert metric["series"] == {"train/my score": [2, 3]}
    other = made(api, name="Other", config={"model": {"size": 8}})
    tell(api, other, points=points)
    assert {"train/my score", "held_out.my_eval"} <= {
        *list_chart_metrics([Run.objects.get(pk=one.pk) for one in (run, other)])
    }
    compared = reverse("run-compare", args=["acme", "demo"])
    query = f"run={run.number}&run={other.number}&metric=train/my score"
    assert "Model.size" in client.get(f"{compared}?{query}").content.decode()
    drawn = client.get(f"{compared}?{query}&part=curves").json()
    assert [line["y"] for line in drawn["charts"][0]["lines"]] == [[1, 2, 3], [1, 2, 3]]
    for name in ("runs", "run-new", "sweeps", "paper", "what-if"):
        assert client.get(reverse(name, args=["acme", "demo"])).status_code == 200, name
    assert client.get(reverse("job", args=["acme", "demo", run.job_id])).status_code == 200


def test_what_is_sent_again_in_other_pieces_and_orders_is_stored_once(api: Client) -> None:
    draw = random.Random(3)
    expected = {step: {"loss": draw.random(), "mine": draw.random()} for step in range(30)}
    parts = [point(step, **{name: value}) for step, metrics in expected.items() for name, value in metrics.items()]
    for _ in range(3):
        run, sent = made(api), parts + draw.choices(parts, k=20)
        draw.shuffle(sent)
        while sent:
            size = draw.randint(1, 12)
            batch, sent = sent[:size], sent[size:]
            tell(api, run, points=batch)
            if draw.random() < 0.5:
                before = JobEvent.objects.filter(job=run.job_id).count()
                assert tell(api, run, points=batch)["stored"] == 0
                assert JobEvent.objects.filter(job=run.job_id).count() == before
        assert curve(run) == expected


def test_a_metric_sent_again_replaces_its_value_and_sockets_get_the_complete_step(api: Client) -> None:
    run = made(api)
    tell(api, run, points=[point(1, loss=2.0, mine=None)])
    tell(api, run, points=[point(1, loss=1.0)])
    assert curve(run) == {1: {"loss": 1.0, "mine": None}}
    delta = deltas(str(run.job_id), 0)
    assert delta is not None
    assert [each["data"] for each in delta["events"] if each["kind"] == "step"] == [
        {"step": 1, "loss": 2.0, "mine": None},
        {"step": 1, "loss": 1.0, "mine": None},
    ]


def test_a_key_used_again_is_the_same_run_and_continues_it(api: Client) -> None:
    first = made(api, key="cluster-7/run-3")
    tell(api, first, points=[point(4, loss=1)])
    again = made(api, key="cluster-7/run-3", name="Another name")
    assert again == first and made(api, key="") != made(api, key="")
    assert tell(api, again)["last_step"] == 4


def test_a_silent_run_is_lost_and_continues_with_its_next_message(api: Client) -> None:
    run = made(api, silent_after_s=120)
    assert silent(run, 100).state == State.RUNNING
    job = silent(run, 121)
    assert (
        job.state == State.LOST and "No heartbeat from the training program for 121 s" in job.error and job.attempt == 1
    )
    assert tell(api, run)["state"] == "running"
    assert Job.objects.get(pk=run.job_id).error == ""


def test_an_end_whose_evaluation_pages_could_not_read_is_refused_and_names_the_field(api: Client) -> None:
    run = made(api)
    assert end(api, run, state="done", result={"sampled": {"difference": "much"}}) == 422
    assert end(api, run, state="done", result={"before": [], "note": "much"}) == 200


def test_a_run_gets_the_request_to_stop_and_is_stopped_once_it_is_silent(
    api: Client, as_user: Callable[[User], Client], mary: User
) -> None:
    run = made(api)
    as_user(mary).post(reverse("job-stop", args=["acme", "demo", run.job_id]), {"level": "after_step"})
    heard = tell(api, run, points=[point(1, loss=1)])
    assert (heard["state"], heard["stop"]) == ("stopping", "after_step")
    assert silent(run, 10_000).state == State.STOPPED


@pytest.mark.parametrize("state", ["done", "failed", "stopped"])
def test_the_end_is_recorded_and_what_comes_late_is_stored(api: Client, state: str) -> None:
    run = made(api)
    tell(api, run, points=[point(1, loss=1)])
    assert end(api, run, state=state, error="out of memory", result={"score": 3}) == 200
    assert end(api, run, state=state, error="out of memory", result={"score": 3}) == 200
    job = Job.objects.get(pk=run.job_id)
    assert (job.state, job.error, job.result) == (state, "out of memory", {"score": 3})
    assert JobEvent.objects.filter(job=job, kind="ended").count() == 1
    assert tell(api, run)["state"] == state  # a message without points reopens nothing
    assert tell(api, run, points=[point(2, loss=1)])["state"] == ("done" if state == "done" else "running")
    assert {*curve(run)} == {1, 2}


def test_time_makes_an_axis(api: Client) -> None:
    start = datetime(2026, 1, 1, tzinfo=UTC)
    run = made(api, started_at=start.isoformat())
    at = (start + timedelta(seconds=90)).isoformat()
    tell(api, run, points=[{**point(1, loss=1), "time": at}])
    assert curve(run) == {1: {"loss": 1, "elapsed_s": 90.0}}
    assert tell(api, run, 422, points=[{**point(1, loss=1), "time": "2026-01-01T00:00:00"}])["where"] == "body.points"


@pytest.mark.parametrize("name", ["", "step", "tools", "a,b", "1st", "a" * 81, "é", "a  b", "a ", "<script>"])
def test_an_invalid_name_is_refused_and_nothing_of_the_batch_is_stored(api: Client, name: str) -> None:
    run = made(api)
    tell(api, run, 422, points=[point(1, loss=1), point(2, **{name: 1})])
    assert curve(run) == {}
    assert not is_valid_name(name) and (sanitize_name(name) == "" or is_valid_name(sanitize_name(name)))


@pytest.mark.parametrize("value", ["1", True, [1], {"a": 1}])
def test_a_value_that_is_no_number_is_refused(api: Client, value: Any) -> None:
    tell(api, made(api), 422, points=[{"step": 1, "metrics": {"loss": value}}])


def test_numbers_that_json_does_not_have_are_refused(api: Client) -> None:
    run = made(api)
    for value in ("NaN", "Infinity", "1e999"):
        body = f'{{"points": [{{"step": 1, "metrics": {{"loss": {value}}}}}]}}'
        answer = api.post(f"{RUNS}/{run.number}/tell", body, content_type="application/json")
        assert answer.status_code in (400, 422), value
    assert curve(run) == {}


def test_more_metrics_than_a_run_has_are_refused(api: Client) -> None:
    run = made(api)
    tell(api, run, points=[point(1, **{f"m{n}": 1 for n in range(500)})])
    assert "at most 500" in tell(api, run, 422, points=[point(1, another=1)])["error"]


def test_a_run_that_is_trained_here_accepts_no_external_metrics(api: Client, trained_here: Run) -> None:
    refusal = tell(api, trained_here, 409, points=[point(1, loss=1)])
    assert "trained here" in refusal["error"] and end(api, trained_here, state="failed") == 409
    assert curve(trained_here) == {} and Job.objects.get(pk=trained_here.job_id).state == State.QUEUED


def test_a_run_trained_elsewhere_is_neither_resumed_nor_cloned_here(api: Client) -> None:
    run = made(api)
    end(api, run, state="failed")
    answer = api.post(f"{RUNS}/{run.number}/resume")
    assert answer.status_code == 409 and "external run" in answer.json()["error"]
    cloned = api.post(RUNS, {"name": "Clone", "clone": run.number}, content_type="application/json")
    assert cloned.status_code == 422


@pytest.fixture
def trained_here(project: Project) -> Run:
    from prove_web.trajectories.models import Dataset

    made = Job.objects.create(project=project, kind="dataset", title="Data", state=State.DONE)
    dataset = Dataset.objects.create(project=project, number=1, name="Data", job=made)
    job = Job.objects.create(project=project, kind="run", title="Run")
    return Run.objects.create(project=project, number=77, name="Run", dataset=dataset, job=job)
