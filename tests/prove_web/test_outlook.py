"""What a run will take before it is launched; trials of a few prompts; what differs from another run."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
from django.test import Client
from django.urls import reverse

from prove_web.accounts.models import Project, User
from prove_web.experiments.defaults import DEFAULTS, LIMITS, START, SWITCHES
from prove_web.experiments.dry_run import PROMPTS, Trial, begin, end, title_of, trial_of
from prove_web.experiments.form_fields import format_config_value
from prove_web.experiments.models import Point, Run
from prove_web.experiments.recipes import MODELS, TITLES, build_preset_values
from prove_web.experiments.run_estimate import figures
from prove_web.experiments.run_launch import differences
from prove_web.live import message_broker
from prove_web.live.models import Job, Kind, State
from prove_web.trajectories.models import Dataset
from training_worker.config.memory_estimate import Plan, footprint, on_disk
from training_worker.worker import heartbeat

from .examples import dataset_of
from .trained import run_of

pytestmark = [pytest.mark.django_db(transaction=True), pytest.mark.usefixtures("broker")]
As = Callable[[User], Client]
FOUND = {"groups": [[0.5, 0.0]] * 12 + [[0.4, 0.6]] * 4, "unscored": 0, "dead": 12, "reward": 0.475, "rollouts": 128}
FOUND |= {"tokens": 100.0, "bytes": 1000.0, "seconds": 64.0, "rollout_seconds": 32.0}


@pytest.fixture
def dataset(project: Project) -> Dataset:
    return dataset_of(project)


@pytest.fixture
def spec(dataset: Dataset) -> dict[str, Any]:
    return {**DEFAULTS, "dataset": str(dataset.job_id), "policy": "warm"}


def text(answer: Any) -> str:
    return " ".join(answer.content.decode().split())


def page(project: Project) -> str:
    return reverse("run-new", args=project.path)


def done(trial: Trial) -> Trial:
    Job.objects.filter(pk=trial.job.pk).update(state=State.DONE, result=FOUND)
    trial.job.refresh_from_db()
    return trial


def estimates(project: Project, spec: dict[str, Any], trial: Trial | None = None) -> dict[str, str]:
    return {each.label: each.value for each in figures(project, "grpo", spec, trial)}


def test_without_a_trial_or_a_like_run_time_and_signal_are_not_made_up(project: Project, spec: dict[str, Any]) -> None:
    found = estimates(project, spec)
    assert found["Step time"] == found["Zero-variance groups"] == "unknown"
    assert "Training time" not in found and found["Memory"].startswith("at least")


def test_a_trial_measures_what_a_step_takes_and_how_many_groups_are_dead(
    project: Project, alice: User, spec: dict[str, Any]
) -> None:
    found = estimates(project, spec, done(begin(project, alice, spec)))
    assert found["Step time"] == "32 s", "64 rollouts of 128 that took 64 s"
    assert found["Training time"] == "6 min 00 s" and found["Tokens"] == "6.4k per step, 70.4k total"
    assert found["Zero-variance groups"] == "75 %, 51 to 90 % (95 % interval)"


def test_a_similar_run_gives_its_pace_and_a_different_one_does_not(project: Project, spec: dict[str, Any]) -> None:
    run = run_of(project)
    metrics = {"step_s": 2.0, "model_tokens": 50.0, "zero_variance": 0.5}
    Point.objects.bulk_create(Point(run=run, step=step, metrics=metrics) for step in range(1, 6))
    for config, known in ((spec, True), ({**spec, "group": 4}, False), ({**spec, "policy": "other"}, False)):
        Run.objects.filter(pk=run.pk).update(config=config)
        found = estimates(project, spec)
        assert (found["Step time"] == "2 s") is known
        assert (found["Zero-variance groups"] != "unknown") is known


@pytest.mark.parametrize(
    "sparse",
    [
        {"minutes": 2.0},
        {"policy": "warm", "limits": {"turn": LIMITS["turn"]}},
        {"reward": {"form": "paper", "validity": 0.5}, "device": "auto", "lora_rank": 0},
    ],
)
def test_a_run_whose_stored_settings_leave_out_the_defaults_is_known_when_it_is_cloned(
    project: Project, mary: User, dataset: Dataset, as_user: As, sparse: dict[str, Any]
) -> None:
    run = run_of(project, dataset=dataset, config={"dataset": str(dataset.job_id), **sparse})
    metrics = {"step_s": 2.0, "model_tokens": 50.0, "zero_variance": 0.5}
    Point.objects.bulk_create(Point(run=run, step=step, metrics=metrics) for step in range(1, 6))
    rendered = text(as_user(mary).get(page(project), {"clone": run.number}))
    assert f"last 5 steps of run {run.number}" in rendered and "no similar run yet" not in rendered


def test_memory_that_is_not_there_is_a_worry(project: Project, spec: dict[str, Any]) -> None:
    said = {"queues": ["training"], "slots": 1, "memory_gb": 0.001}
    heartbeat.beat(message_broker.broker(), "training@small", said)
    [memory] = [each for each in figures(project, "grpo", spec, None) if each.label == "Memory"]
    assert memory.worry
    heartbeat.beat(message_broker.broker(), "training@small", {**said, "gpus": [{"name": "H200", "memory_gb": 150.0}]})
    [memory] = [each for each in figures(project, "grpo", spec, None) if each.label == "Memory"]
    assert not memory.worry and memory.value.endswith("of 150 GB")


def test_the_memory_of_the_small_policy_on_a_cpu_is_estimated_as_it_was_measured(
    project: Project, spec: dict[str, Any]
) -> None:
    [memory] = [each for each in figures(project, "grpo", {**spec, "device": "cpu"}, None) if each.label == "Memory"]
    assert "Python and its libraries" in memory.source
    assert memory.value.startswith("at least ")
    assert 0.8 < float(memory.value.split()[2]) < 1.2, "1.16 GB were measured, see docs/benchmarks.md"


def test_adapters_take_less_memory_and_disk_and_a_reference_model_more() -> None:
    weights, model = {"layer.weight": (1000, 1000)}, {"num_hidden_layers": 1, "hidden_size": 1000}
    full, adapters = Plan(tokens=10, rows=2), Plan(tokens=10, rows=2, lora_rank=8)
    assert footprint(weights, adapters, model, 1e9).total < footprint(weights, full, model, 1e9).total
    assert on_disk(weights, adapters) < on_disk(weights, full) == 3 * 12 * 1_000_000
    norm = Plan(tokens=10, rows=2, trainable="final_norm")
    assert on_disk({**weights, "norm.weight": (1000,)}, norm) == 3 * (4 * 1_001_000 + 8 * 1000)
    with_reference = footprint(weights, Plan(tokens=10, rows=2, beta=0.01), model, 1e9)
    assert with_reference.total - footprint(weights, full, model, 1e9).total == 4_000_000


def test_a_trial_is_begun_from_the_form_once_and_nothing_typed_is_lost(
    project: Project, dataset: Dataset, mary: User, as_user: As
) -> None:
    client, typed = as_user(mary), {"name": "My run", "dataset": dataset.pk, **DEFAULTS, "group": 6}
    for _ in range(2):
        answer = client.post(page(project), {**typed, "fill": "try"})
        assert answer.status_code == 200 and 'value="My run"' in text(answer)
    job = Job.objects.get(kind=Kind.TRIAL)
    assert job.queue == "training" and (job.spec["prompts"], job.spec["group"]) == (PROMPTS, 6)
    assert not Run.objects.exists()
    assert "Stop dry run" in text(client.post(page(project), {**typed, "fill": "look"}))
    Job.objects.filter(pk=job.pk).update(state=State.DONE, result=FOUND)
    rendered = text(client.post(page(project), {**typed, "fill": "look"}))
    assert "Dry run of 16 prompts" in rendered and "75 %, 51 to 90 % (95 % interval)" in rendered
    assert "Dry run of 16 prompts" in text(client.post(page(project), {**typed, "fill": "look", "minutes": 9}))
    assert "Dry run</button>" in text(client.post(page(project), {**typed, "fill": "look", "group": 8}))


def test_a_trial_is_stopped_from_the_form_and_can_be_begun_again(
    project: Project, dataset: Dataset, mary: User, as_user: As
) -> None:
    client, typed = as_user(mary), {"name": "My run", "dataset": dataset.pk, **DEFAULTS}
    client.post(page(project), {**typed, "fill": "try"})
    assert "The last dry run was stopped" in text(client.post(page(project), {**typed, "fill": "leave"}))
    assert Job.objects.get(kind=Kind.TRIAL).state == State.STOPPED
    client.post(page(project), {**typed, "fill": "try"})
    assert Job.objects.filter(kind=Kind.TRIAL).count() == 2


def test_settings_that_make_no_sense_are_not_tried(project: Project, dataset: Dataset, mary: User, as_user: As) -> None:
    answer = as_user(mary).post(page(project), {"name": "x", "dataset": dataset.pk, "group": 1, "fill": "try"})
    assert answer.status_code == 200 and "Dry run not started" in text(answer)
    assert not Job.objects.filter(kind=Kind.TRIAL).exists()


def test_a_trial_is_of_its_own_project_and_settings(
    project: Project, mary: User, charlie: User, spec: dict[str, Any]
) -> None:
    begin(project, mary, spec)
    assert trial_of(Project.objects.get(organisation__slug="other"), spec) is None
    assert title_of(spec) == title_of({**spec, "minutes": 1.0, "max_steps": 7, "learning_rate": 1e-6})
    assert len({title_of({**spec, **other}) for other in ({}, {"group": 4}, {"temperature": 0.5})}) == 3
    end(project, spec)
    assert trial_of(project, spec).job.state == State.STOPPED


def test_exactly_what_differs_from_the_base_is_listed_and_the_base_is_stored_with_the_run(
    project: Project, dataset: Dataset, spec: dict[str, Any], mary: User, as_user: As
) -> None:
    base = run_of(project, config=spec)
    base.dataset = dataset
    base.save()
    assert differences(base, "grpo", spec) == []
    assert differences(base, "grpo", {**spec, "decay": START["decay"]}) == [], "what is said is what is usual anyway"
    other = {**spec, "group": 16, "reward": {"efficiency": 0.0}, "limits": {"turn": 200, "completion": 1024}}
    assert [(one.label, one.base, one.here) for one in differences(base, "grpo", other)] == [
        ("Reward", "the paper's", "Without efficiency"),
        ("Group size", "8", "16"),
        ("Max tokens per turn", "160", "200"),
    ]
    typed = {"name": "Next", "dataset": dataset.pk, **DEFAULTS, "group": 16, "base": base.pk}
    client = as_user(mary)
    assert "Changes from" in text(client.post(page(project), {**typed, "fill": "look"}))
    named = client.post(page(project), {**typed, "temperature": "0.75", "fill": "name"}).context["form"]
    assert named["name"].value().startswith(f"{base.name}: ") and "group size 16" in named["name"].value()
    assert named["temperature"].value() == "0.75", "nothing that was typed is lost"
    client.post(page(project), typed)
    assert Run.objects.get(name="Next").base == base
    assert "Changes from" in text(client.get(page(project), {"clone": base.number}))


@pytest.mark.parametrize("setting", [name for name in SWITCHES if name not in ("longest", "patience", "vllm_mode")])
def test_every_setting_that_differs_is_listed(project: Project, setting: str) -> None:
    base = run_of(project)
    spec = {"dataset": str(base.dataset.job_id), "policy": "warm"}
    Run.objects.filter(pk=base.pk).update(config=spec)
    base.refresh_from_db()
    usual = SWITCHES[setting]
    other = (not usual) if isinstance(usual, bool) else f"{usual}x" if isinstance(usual, str) else usual + 1
    [found] = differences(base, "grpo", {**spec, setting: other})
    assert found.base != found.here and format_config_value(other) in (found.here, found.here.lower())


def test_a_run_of_another_project_is_no_base(
    project: Project, dataset: Dataset, charlie: User, mary: User, as_user: As
) -> None:
    theirs = run_of(Project.objects.get(organisation__slug="other"))
    typed = {"name": "Next", "dataset": dataset.pk, **DEFAULTS, "base": theirs.pk}
    assert as_user(mary).post(page(project), typed).status_code == 422
    assert not Run.objects.filter(project=project).exists()


def test_every_recipe_of_the_paper_has_the_rate_that_the_paper_tuned() -> None:
    rates = {"qwen3-4b": "1e-06", "qwen3-8b": "5e-08", "qwen2.5-7b": "3e-07", "granite-8b": "3e-07"}
    assert rates.keys() == MODELS.keys()
    assert {name: build_preset_values(f"paper:{name}", {})["learning_rate"] for name in rates} == rates
    for name in TITLES:
        assert {"prompts", "group", "max_steps", "minutes", "learning_rate"} <= build_preset_values(name, {}).keys()
