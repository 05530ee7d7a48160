"""Evaluations at the browser: launched from a form, listed, recorded as their items end, queued with a run."""

from __future__ import annotations

import json
from collections.abc import Callable
from html import unescape
from pathlib import Path
from typing import Any

import pytest
from django.conf import LazySettings
from django.test import Client
from django.urls import reverse
from pytest_django import DjangoAssertNumQueries

from mcp_servers.catalogue import SERVERS
from prove_web.accounts.models import Project, User
from prove_web.evaluations.management.commands.evaluate import add_training_servers
from prove_web.evaluations.models import Evaluation, EvaluationItem
from prove_web.evaluations.policies import of_dataset
from prove_web.experiments.models import Run
from prove_web.experiments.run_estimate import SHIPPED
from prove_web.live import message_broker
from prove_web.live.hints import advice
from prove_web.live.ingest import record
from prove_web.live.jobs import finish, lose, request_stop
from prove_web.live.models import Job, JobEvent, Kind, State, StopLevel
from prove_web.live.reconcile import reconcile
from prove_web.trajectories.load_dataset import row
from training_worker.core.trajectory import Example
from training_worker.core.warm import SERVERS as WARM_SERVERS
from training_worker.evaluation.registry import KNOWN
from training_worker.evaluation.request import EvaluationRequest

from .examples import abstention, chain, dataset_of
from .story import Event, ended, event, step
from .trained import keep_checkpoint, run_of

pytestmark = [pytest.mark.django_db(transaction=True), pytest.mark.usefixtures("broker")]

IDENTITY = {"benchmark": "behaviour", "version": "2", "settings": {"seed": 40}, "model": "warm"}
FOLDER = "benchmarks/projects/1/behaviour/warm-abc"


@pytest.fixture(autouse=True)
def data(settings: LazySettings, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    for name in ("PROVE_LLM_URL", "PROVE_LLM_MODEL", "PROVE_EVALUATE_ENDPOINTS"):
        monkeypatch.delenv(name, raising=False)
    settings.PROVE_DATA = tmp_path
    return tmp_path


@pytest.fixture
def alices(alice: User, as_user: Callable[[User], Client]) -> Client:
    return as_user(alice)


def new(project: Project) -> str:
    return reverse("evaluation-new", args=project.path)


def filled(**other: Any) -> dict[str, Any]:
    return {"benchmark": "behaviour", "policy": "warm", "style": "tools", "trials": "1"} | other


def queued(queue: str) -> int:
    return int(message_broker.broker().llen(queue))


def left_by(run: Run, *steps: int, **rewards: float) -> None:
    """Write checkpoints, the final policy and the rewards on held-out worlds, such as step_4=0.5."""
    for each in steps:
        keep_checkpoint(run, each)
    for folder in [run.job.out / "policy", *(run.job.out / "checkpoints").glob("*")]:
        folder.mkdir(parents=True, exist_ok=True)
        for name in ("card.json", "config.json"):
            (folder / name).touch()
    lines = [{"step": int(name.removeprefix("step_")), "reward": reward} for name, reward in rewards.items()]
    (run.job.out / "held-out.jsonl").write_text("".join(json.dumps(line) + "\n" for line in lines))


def item(number: int, passed: bool = True, **more: Any) -> Event:
    return {
        **{"item": f"item-{number}", "category": "even", "passed": passed, "value": float(passed)},
        **{"failure": "" if passed else "wrong", "steps": 2, "calls": 3, "tokens": 10, "seconds": 0.5, "line": number},
        **more,
    }


def items(seq: int, *entries: Event) -> Event:
    return event(seq, "items", identity=IDENTITY, folder=FOLDER, items=list(entries))


def evaluating(project: Project, **rest: Any) -> Evaluation:
    number = Evaluation.objects.count() + 1
    spec = {"project": project.pk, "benchmark": "behaviour", "source": "folder", "policy": "warm"}
    job = Job.objects.create(project=project, kind=Kind.EVALUATE, title="On behaviour", spec=spec)
    names = {"number": number, "name": f"Evaluation {number}", "benchmark": "behaviour"} | rest
    return Evaluation.objects.create(project=project, job=job, **names)


def tell(evaluation: Evaluation, *events: Event, attempt: int = 1) -> Job:
    record(str(evaluation.job_id), attempt, events)
    evaluation.refresh_from_db()
    return Job.objects.get(pk=evaluation.job_id)


def test_a_launched_evaluation_is_in_the_queue_with_the_next_number(
    project: Project, alice: User, alices: Client
) -> None:
    evaluating(project)
    options = {"option_seed": "40", "option_count": "3", "option_servers": "banking", "option_candidates": "24"}
    answer = alices.post(new(project), filled(limit="5", categories=[KNOWN["behaviour"].categories[0]], **options))
    evaluation = Evaluation.objects.get(project=project, number=2)
    assert answer.status_code == 302 and answer.url == reverse("evaluation", args=[*project.path, 2])
    assert evaluation.job.spec == {
        **{"project": project.pk, "benchmark": "behaviour", "style": "tools", "source": "folder", "policy": "warm"},
        **{"model": "warm", "limit": 5, "categories": [KNOWN["behaviour"].categories[0]]},
        "options": {"count": "3", "servers": "banking"},
    }
    assert (evaluation.name, evaluation.model, evaluation.run) == ("warm on Behaviour suite", "warm", None)
    assert (evaluation.job.state, evaluation.job.created_by) == (State.QUEUED, alice)
    assert queued("training") == 1


def test_a_policy_is_evaluated_on_the_servers_that_it_was_trained_on(project: Project, alices: Client) -> None:
    run = run_of(project, dataset=dataset_of(project, [chain()]))
    left_by(run, 4)
    servers = ",".join(name for name in SERVERS if name in servers_of(chain()))
    checkpoint = f"run:{run.job_id}/checkpoint-4"
    for policy, typed, expected in (
        (checkpoint, "", servers),
        (checkpoint, "all", None),
        (checkpoint, "maps", "maps"),
        ("warm", "", ",".join(WARM_SERVERS)),
        ("source:silent", "", None),
    ):
        answer = alices.post(new(project), filled(policy=policy, option_servers=typed))
        assert answer.status_code == 302, answer.context["form"].errors
        made = Evaluation.objects.order_by("-number")[0]
        assert made.job.spec.get("options", {}).get("servers") == expected
    page = alices.get(new(project), {"run": run.number, "checkpoint": "4", "benchmark": "behaviour"}).content.decode()
    assert f'placeholder="{servers}"' in page and "those that the policy was trained on" in page


def test_the_command_evaluates_on_the_servers_of_the_run_that_left_the_folder(project: Project, data: Path) -> None:
    run = run_of(project, dataset=dataset_of(project, [chain()]))
    servers = ",".join(name for name in SERVERS if name in servers_of(chain()))
    folder = run.job.folder / "out" / "policy"
    for path, given, expected in (
        (folder, {}, servers),
        (folder, {"servers": "all"}, "all"),
        (SHIPPED, {}, ",".join(WARM_SERVERS)),
        (data / "elsewhere", {}, None),
        (data / "jobs" / "no-job" / "x", {}, None),
    ):
        request = EvaluationRequest(benchmark="worlds", source="folder", folder=str(path), options=given)
        assert add_training_servers(request, data).options.get("servers") == expected
    assert (
        add_training_servers(EvaluationRequest(benchmark="bfcl", source="folder", folder=str(folder)), data).options
        == {}
    )


def servers_of(example: Example) -> tuple[str, ...]:
    return example.world.servers


def test_what_needs_no_gpu_does_not_wait_for_training(
    project: Project, alices: Client, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PROVE_LLM_URL", "http://ours/v1")
    for policy in ("source:endpoint", "source:oracle", "source:silent"):
        alices.post(new(project), filled(policy=policy, endpoint="http://ours/v1", model="qwen"))
    assert (queued("synthesis"), queued("training")) == (3, 0)
    first = Evaluation.objects.get(number=1)
    expected = {"source": "endpoint", "url": "http://ours/v1", "model": "qwen"}
    assert expected.items() <= first.job.spec.items() and first.name == "qwen on Behaviour suite"


def test_the_worker_gets_only_settings_that_it_knows(project: Project, alices: Client, data: Path) -> None:
    from training_worker.jobs.evaluate import settings

    pytest.importorskip("torch", reason="torch is not installed")
    alices.post(new(project), filled(limit="5", trials="2", temperature="0.5", option_count="3"))
    job = Job.objects.get(kind=Kind.EVALUATE)
    request = settings(job.spec, data / "jobs" / str(job.pk))
    assert (request.benchmark, request.model, request.limit, request.trials, request.temperature) == (
        *("behaviour", "warm", 5, 2, 0.5),
    )


@pytest.mark.parametrize(
    ("name", "nonsense", "said"),
    [
        ("benchmark", "bfcl", "bfcl is not installed in "),
        ("policy", "/etc/passwd", "There is no policy"),
        ("policy", "run:00000000-0000-4000-8000-000000000000", "There is no policy"),
        ("policy", "source:endpoint", "No endpoint is configured: the operator sets PROVE_LLM_URL"),
        ("name", "x" * 81, "at most 80 characters"),
        ("limit", "0", "greater than or equal to 1"),
        ("trials", "", "This field is required."),
        ("temperature", "3", "less than or equal to 2"),
        ("style", "shouting", "Select a valid choice"),
        ("categories", "large", "Select a valid choice"),
        ("option_servers", "http://169.254.169.254/", "http://169.254.169.254/ is not allowed"),
        ("option_servers", "../../secrets", "Enter a folder inside the benchmarks folder"),
        ("option_servers", "/etc", "Enter a folder inside the benchmarks folder"),
    ],
)
def test_nonsense_launches_nothing_and_is_reported_beside_its_field(
    name: str, nonsense: str, said: str, project: Project, alices: Client
) -> None:
    answer = alices.post(new(project), filled(**{name: nonsense}))
    text = unescape(answer.content.decode())
    assert answer.status_code == 422 and not Job.objects.exists()
    assert said in text[text.index(f'id="id_{name}_error"') :][:600]


@pytest.mark.parametrize(("field", "given"), [("endpoint", ""), ("endpoint", "http://inside/v1"), ("model", "")])
def test_only_listed_endpoints_are_accepted_and_a_model_is_required(
    field: str, given: str, project: Project, alices: Client, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PROVE_EVALUATE_ENDPOINTS", "http://a/v1 http://b/v1")
    form = filled(policy="source:endpoint", endpoint="http://b/v1", model="qwen")
    answer = alices.post(new(project), form | {field: given})
    assert answer.status_code == 422 and f'id="id_{field}_error"' in answer.content.decode()
    assert alices.post(new(project), form).status_code == 302


def test_a_data_set_is_chosen_and_never_named_by_its_folder(project: Project, alices: Client) -> None:
    mine = dataset_of(project)
    form = filled(benchmark="worlds", option_seed="40", option_count="20", option_candidates="24")
    assert alices.post(new(project), form | {"option_data": "/srv/data"}).status_code == 422
    assert alices.post(new(project), form | {"option_data": str(mine.job_id)}).status_code == 302
    assert Evaluation.objects.get().job.spec["options"]["data"] == str(mine.job_id)


def test_a_run_is_filled_in_with_the_best_of_its_stored_checkpoints(project: Project, alices: Client) -> None:
    run = run_of(project)
    left_by(run, 4, 8, step_0=0.9, step_4=0.6, step_8=0.5, step_6=0.8)
    for checkpoint, value in (("best", "/checkpoint-4"), ("last", ""), ("8", "/checkpoint-8")):
        page = alices.get(new(project) + f"?run={run.number}&checkpoint={checkpoint}").content.decode()
        assert f'<option value="run:{run.job_id}{value}" selected>' in page
    alices.post(new(project), filled(policy=f"run:{run.job_id}/checkpoint-4"))
    alices.post(new(project), filled(policy=f"run:{run.job_id}"))
    found = Evaluation.objects.order_by("number").values_list("name", "model", "run__number", "checkpoint")
    assert [*found] == [
        ("Run 1, best checkpoint on Behaviour suite", "run 1", 1, "best"),
        ("Run 1, last checkpoint on Behaviour suite", "run 1", 1, "last"),
    ], "one model to the results, which its weights tell apart"


def test_choosing_a_benchmark_launches_nothing_and_keeps_what_was_typed(project: Project, alices: Client) -> None:
    answer = alices.post(new(project), filled(benchmark="generalisation", name="Mine", fill="look"))
    text = answer.content.decode()
    assert answer.status_code == 200 and not Job.objects.exists()
    assert 'value="Mine"' in text and 'name="option_kept_out"' in text and KNOWN["generalisation"].title in text


def test_an_evaluation_is_cloned_with_its_settings(project: Project, alices: Client) -> None:
    alices.post(new(project), filled(limit="7", option_count="9"))
    text = alices.get(new(project) + "?clone=1").content.decode()
    assert 'name="limit" value="7"' in text and 'name="option_count" value="9"' in text


def test_items_are_recorded_once_and_an_item_sent_again_replaces_itself(project: Project) -> None:
    evaluation = evaluating(project)
    tell(evaluation, items(1), items(2, item(0), item(1, passed=False)))
    assert (evaluation.version, evaluation.settings, evaluation.model) == ("2", {"seed": 40}, "warm")
    job = tell(evaluation, items(2, item(0)), items(3, item(2)))
    assert job.result == {"folder": FOLDER} and job.seq == 3
    lose(job, "Gone.")
    job.save()
    tell(evaluation, items(1, item(0), item(1, passed=True), item(2)), items(2, item(3)), attempt=2)
    found = EvaluationItem.objects.filter(evaluation=evaluation).order_by("line")
    assert [(one.item, one.passed, one.line, one.calls) for one in found] == [
        (f"item-{number}", True, number, 3) for number in range(4)
    ]
    assert {*JobEvent.objects.filter(kind="items").values_list("data__items", flat=True)} == {None}, "not kept twice"


@pytest.mark.parametrize("overall", [None, {"accuracy": 0.25, "low": 0.125, "high": 0.5}])
def test_the_end_reports_the_overall_score(overall: dict[str, float] | None, project: Project) -> None:
    evaluation = evaluating(project)
    tell(evaluation, items(1, item(0)), ended(2, report={"overall": overall}, folder=FOLDER))
    assert evaluation.overall == (overall and 0.25)
    assert evaluation.job.state == State.DONE and evaluation.job.result["folder"] == FOLDER


def test_an_evaluation_that_makes_progress_is_not_given_up(project: Project) -> None:
    evaluation = evaluating(project)
    for attempt in range(1, 6):
        job = tell(evaluation, items(1, item(attempt)), ended(2, "lost"), attempt=attempt)
        assert job.state == State.QUEUED
    for attempt in range(6, 9):
        job = tell(evaluation, items(1, item(1)), ended(2, "lost"), attempt=attempt)
    assert job.state == State.LOST, "what was there before is no progress"


def test_every_state_of_an_evaluation_has_its_advice(project: Project) -> None:
    job = evaluating(project).job
    for state in State.values:
        job.state = state
        assert advice(job) is None or advice(job).text


def test_a_lost_message_is_sent_again_to_the_queue_of_its_policy(project: Project) -> None:
    evaluation = evaluating(project)
    Job.objects.filter(pk=evaluation.job_id).update(spec={**evaluation.job.spec, "source": "oracle"})
    Job.objects.create(project=project, kind=Kind.RUN, title="Training", state=State.RUNNING)
    reconcile()
    assert (queued("synthesis"), queued("training")) == (1, 0)


def test_the_list_shows_how_each_stands(
    project: Project, alice: User, alices: Client, django_assert_max_num_queries: DjangoAssertNumQueries
) -> None:
    run = run_of(project, name="Tuned")
    for number in range(4):
        one = evaluating(project, run=run if number % 2 else None, checkpoint="best" if number % 2 else "")
        tell(one, items(1, item(0), item(1, passed=False)))
    overall = {"accuracy": 0.25, "low": 0.125, "high": 0.5}
    tell(one, ended(2, report={"overall": overall}, folder=FOLDER))
    with django_assert_max_num_queries(18):
        text = alices.get(reverse("evaluations", args=project.path)).content.decode()
    assert "25.0 %" in text and "12.5 % to 50.0 %" in text and "1 passed" in text and "Behaviour suite" in text
    assert 'data-live-project="' in text and "best checkpoint" in text


def test_the_list_is_searched_filtered_and_sorted(project: Project, alices: Client) -> None:
    run = run_of(project)
    evaluating(project, model="qwen", overall=0.5, run=run)
    evaluating(project, model="warm", overall=None, benchmark="worlds")
    evaluating(project, model="warm", overall=0.75)

    def numbers(**query: Any) -> list[int]:
        answer = alices.get(reverse("evaluations", args=project.path), query)
        return [one.number for one, *_ in answer.context["rows"]]

    assert numbers() == [3, 2, 1]
    assert numbers(sort="-overall") == [3, 1, 2] and numbers(sort="overall") == [1, 3, 2], "without a score: last"
    assert numbers(model="warm") == [3, 2] and numbers(benchmark="worlds") == [2] and numbers(run="1") == [1]
    assert numbers(q="#2") == [2] and numbers(q="QWEN") == [1] and numbers(state="done") == []
    assert "No evaluations found" in alices.get(reverse("evaluations", args=project.path) + "?q=x").content.decode()


def test_without_evaluations_the_list_says_what_to_do(
    project: Project, victor: User, alices: Client, as_user: Callable[[User], Client]
) -> None:
    page = reverse("evaluations", args=project.path)
    assert new(project) in alices.get(page).content.decode()
    assert new(project) not in as_user(victor).get(page).content.decode(), "who may only look is led nowhere"


def launched(project: Project, client: Client, **other: Any) -> Run:
    dataset = dataset_of(project, [chain()])
    held = row(dataset, abstention())
    held.split = "held_out"
    held.save()
    answer = client.post(reverse("run-new", args=project.path), {"name": "R", "dataset": dataset.pk} | other)
    assert answer.status_code == 302, answer.context["form"].errors
    return Run.objects.get()


def test_a_run_is_followed_by_evaluations_of_its_best_and_last_checkpoint(project: Project, alices: Client) -> None:
    run = launched(project, alices, benchmark_behaviour="yes", benchmark_limit="3")
    found = [*run.evaluations.order_by("number")]
    assert [(one.checkpoint, one.job.after_id, one.job.spec["limit"]) for one in found] == [
        ("best", run.job_id, 3),
        ("last", run.job_id, 3),
    ]
    assert [one.job.spec["policy"] for one in found] == [f"run:{run.job_id}/best", f"run:{run.job_id}"]
    assert {one.job.spec["options"]["servers"] for one in found} == {of_dataset(run)} != {""}
    assert run.job.spec == run.config and "benchmark_behaviour" not in run.config
    assert queued("training") == 1, "they wait for the run"
    text = alices.get(run.get_absolute_url()).content.decode()
    assert text.count("Starts when the run is done") == 2 and found[0].get_absolute_url() in text


def test_they_begin_once_when_the_run_ends_well_though_its_message_is_lost(project: Project, alices: Client) -> None:
    run = launched(project, alices, benchmark_behaviour="yes")
    message_broker.broker().delete("training")
    finish(run.job, State.DONE)
    run.job.save()  # as if the writer had been killed before it could start those that wait
    reconcile()
    reconcile()
    assert queued("training") == 2 and Evaluation.objects.count() == 2


def test_they_do_not_begin_when_the_run_fails(project: Project, alices: Client) -> None:
    run = launched(project, alices, benchmark_behaviour="yes")
    message_broker.broker().delete("training")
    record(str(run.job_id), 1, [step(1, 1), ended(2, "failed")])
    reconcile()
    assert queued("training") == 0
    text = alices.get(run.get_absolute_url()).content.decode()
    assert "Waiting for the run (failed)" in text


@pytest.mark.parametrize("more", [{"evaluate_every": "0"}, {"held_out": "0"}])
def test_where_nothing_is_measured_there_is_no_best_checkpoint(
    more: dict[str, str], project: Project, alices: Client
) -> None:
    run = launched(project, alices, benchmark_behaviour="yes", **more)
    assert [one.checkpoint for one in run.evaluations.all()] == ["last"]


def test_a_run_is_not_followed_by_a_benchmark_that_is_not_there(project: Project, alices: Client) -> None:
    form = {"name": "R", "dataset": dataset_of(project).pk, "benchmark_bfcl": "yes"}
    answer = alices.post(reverse("run-new", args=project.path), form)
    assert answer.status_code == 422 and not Run.objects.exists()
    assert "--install" in unescape(answer.content.decode())


def test_a_clone_is_followed_by_the_same(project: Project, alices: Client) -> None:
    launched(project, alices, benchmark_behaviour="yes", benchmark_limit="3")
    form = alices.get(reverse("run-new", args=project.path) + "?clone=1").context["form"]
    given = [form[name].value() for name in ("benchmark_behaviour", "benchmark_worlds", "benchmark_limit")]
    assert given == ["yes", "no", 3]


def test_an_evaluation_is_stopped_at_either_level(project: Project, alices: Client) -> None:
    evaluation = evaluating(project)
    tell(evaluation, event(1, "started", host="here", pid=1), items(2, item(0)))
    text = alices.get(reverse("job", args=[*project.path, evaluation.job_id])).content.decode()
    assert "Stop after these items" in text and "finished items are kept" in text
    request_stop(evaluation.job, StopLevel.AFTER_STEP)
    assert tell(evaluation, ended(3, "stopped")).state == State.STOPPED
    assert evaluation.items.count() == 1
