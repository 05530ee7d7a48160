"""Launching a run: sensible defaults, plain words for nonsense, and nothing stored that is not launched."""

from collections.abc import Callable
from dataclasses import fields
from html import unescape
from typing import Any

import pytest
from django.test import Client
from django.urls import reverse

from prove_web.accounts.models import Project, User
from prove_web.experiments.forms import CORES, DEFAULTS, RunForm
from prove_web.experiments.models import Run
from prove_web.live import messages
from prove_web.live.models import Job, Kind, State
from prove_web.trajectories.models import Dataset

from .examples import dataset_of
from .trained import run_of

pytestmark = [pytest.mark.django_db(transaction=True), pytest.mark.usefixtures("broker")]

SignIn = Callable[[User], Client]


@pytest.fixture
def dataset(project: Project) -> Dataset:
    return dataset_of(project)


@pytest.fixture
def alices(alice: User, as_user: SignIn) -> Client:
    return as_user(alice)


def page(project: Project) -> str:
    return reverse("run-new", args=project.path)


def filled(dataset: Dataset, **other: Any) -> dict[str, Any]:
    return {"name": "A run", "dataset": dataset.pk, **DEFAULTS} | other


def test_a_launched_run_is_in_the_queue_with_the_next_number(
    project: Project, dataset: Dataset, alice: User, alices: Client
) -> None:
    run_of(project)
    answer = alices.post(page(project), filled(dataset, group=16, learning_rate="1e-4"))
    run = Run.objects.get(project=project, number=2)
    assert answer.status_code == 302
    assert answer.url == reverse("run", args=[*project.path, 2])
    assert run.job.spec == run.config
    assert run.config == {
        **DEFAULTS,
        "dataset": str(dataset.job_id),
        "policy": "warm",
        "group": 16,
        "learning_rate": 1e-4,
    }
    assert (run.name, run.dataset, run.job.kind, run.job.title) == ("A run", dataset, Kind.RUN, "A run")
    assert (run.job.state, run.job.created_by) == (State.QUEUED, alice)
    assert messages.broker().llen("training") == 1


def test_the_worker_is_asked_only_what_it_knows(project: Project, dataset: Dataset, alices: Client) -> None:
    from training_worker.jobs.run import GIVEN, OWN

    grpo = pytest.importorskip("training_worker.trainer.grpo_run", reason="torch is not installed")
    alices.post(page(project), filled(dataset))
    known = OWN | {one.name for one in fields(grpo.GRPORun)} - GIVEN
    assert set(Job.objects.get(kind=Kind.RUN).spec) <= known


def test_the_defaults_are_the_trainers() -> None:
    grpo = pytest.importorskip("training_worker.trainer.grpo_run", reason="torch is not installed")
    theirs = {one.name: one.default for one in fields(grpo.GRPORun)}
    ours = {name: value for name, value in DEFAULTS.items() if name in theirs and name not in ("minutes", "threads")}
    assert ours == {name: theirs[name] for name in ours}
    assert DEFAULTS["threads"] == min(theirs["threads"], CORES)


def test_every_setting_has_a_line_of_help() -> None:
    assert {name for name, field in RunForm.base_fields.items() if not field.help_text} == set()
    assert [name for _, names in RunForm.parts for name in names] and set(DEFAULTS) == {
        name for _, names in RunForm.parts for name in names
    } - {"name", "dataset"}


@pytest.mark.parametrize(
    ("name", "nonsense", "said"),
    [
        ("name", "  ", "This field is required."),
        ("name", "x" * 81, "at most 80 characters"),
        ("name", "a\x00b", "Null characters are not allowed."),
        ("minutes", "0", "greater than or equal to 0.1"),
        ("minutes", "601", "less than or equal to 600"),
        ("minutes", "soon", "Enter a number."),
        ("minutes", "nan", "Enter a number."),
        ("minutes", "inf", "Enter a number."),
        ("max_steps", "0", "greater than or equal to 1"),
        ("max_steps", "1.5", "Enter a whole number."),
        ("max_steps", "9" * 50, "less than or equal to 100000"),
        ("learning_rate", "0.1", "less than or equal to 0.01"),
        ("learning_rate", "-1", "greater than or equal to 1e-07"),
        ("prompts", "65", "less than or equal to 64"),
        ("group", "1", "greater than or equal to 2"),
        ("temperature", "0", "greater than or equal to 0.1"),
        ("beta", "2", "less than or equal to 1"),
        ("seed", "20", "less than or equal to 19"),
        ("threads", str(CORES + 1), f"less than or equal to {CORES}"),
        ("evaluate_every", "", "This field is required."),
        ("dataset", "999999", "Select a valid choice"),
        ("dataset", "<script>", "Select a valid choice"),
    ],
)
def test_nonsense_is_named_and_what_was_typed_is_kept(
    name: str, nonsense: str, said: str, project: Project, dataset: Dataset, alices: Client
) -> None:
    answer = alices.post(page(project), filled(dataset) | {"temperature": "0.75", name: nonsense})
    text = unescape(answer.content.decode())
    assert answer.status_code == 422
    assert said in text
    assert 'value="0.75"' in text or name == "temperature"
    assert f'id="id_{name}_error"' in text
    assert not Run.objects.exists() and not Job.objects.filter(kind=Kind.RUN).exists()


def test_only_finished_data_sets_of_the_project_can_be_chosen(
    project: Project, dataset: Dataset, charlie: User, alices: Client
) -> None:
    theirs = dataset_of(Project.objects.get(organisation__slug="other"), name="Theirs")
    unfinished = dataset_of(project, state=State.RUNNING, name="Unfinished")
    text = alices.get(page(project)).content.decode()
    assert dataset.name in text and "Theirs" not in text and "Unfinished" not in text
    for wrong in (theirs, unfinished):
        assert alices.post(page(project), filled(wrong)).status_code == 422


def test_without_a_finished_data_set_the_page_says_so(project: Project, alices: Client) -> None:
    text = alices.get(page(project)).content.decode()
    assert "There is no finished data set yet" in text and "<form class=" not in text


def test_a_clone_begins_with_the_settings_of_the_other_run(project: Project, dataset: Dataset, alices: Client) -> None:
    run_of(project, name="Careful", config={**DEFAULTS, "beta": 0.01, "group": 4, "policy": "warm"})
    text = alices.get(f"{page(project)}?clone=1").content.decode()
    assert 'value="Careful (copy)"' in text and 'value="0.01"' in text and 'value="4"' in text


@pytest.mark.parametrize("asked", ["clone=99", "clone=x", "clone=" + "9" * 40, "dataset=²", "dataset=99"])
def test_an_address_that_names_nothing_begins_with_the_defaults(
    asked: str, project: Project, dataset: Dataset, alices: Client
) -> None:
    answer = alices.get(f"{page(project)}?{asked}")
    assert answer.status_code == 200 and 'value="Run 1"' in answer.content.decode()


def test_who_may_not_launch_sees_neither_form_nor_button(
    project: Project, dataset: Dataset, bob: User, as_user: SignIn
) -> None:
    bobs = as_user(bob)
    assert bobs.get(page(project)).status_code == 403
    assert bobs.post(page(project), filled(dataset)).status_code == 403
    assert "Launch a run" not in bobs.get(reverse("runs", args=project.path)).content.decode()
    assert not Run.objects.exists()
