"""The page of a run's current conversation: what the trainer wrote, for viewing only."""

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest
from django.conf import LazySettings
from django.test import Client
from django.urls import reverse

from prove_web.accounts.models import Project, User
from prove_web.experiments.models import Run
from prove_web.live.models import State
from training_worker.core.trajectory import Message
from training_worker.environment import live_rollout
from training_worker.environment.live_rollout import LiveRollout

from .examples import chain, dataset_of
from .trained import good, keep_rollouts, run_of

pytestmark = pytest.mark.django_db
SignIn = Callable[[User], Client]
SCRIPT = "<script>alert(1)</script>"
HTMX = {"HX-Request": "true", "HX-Target": "div#watched"}


@pytest.fixture
def run(project: Project, settings: LazySettings, tmp_path: Path) -> Run:
    settings.PROVE_DATA = tmp_path
    made = run_of(project, [0.5], dataset=dataset_of(project, [chain()]), config={"group": 1}, state=State.RUNNING)
    made.job.out.mkdir(parents=True)
    return made


@pytest.fixture
def victors(victor: User, as_user: SignIn) -> Client:
    return as_user(victor)


def at(run: Run) -> str:
    return reverse("run-watch", args=[*run.project.path, run.number])


def set_state(run: Run, state: State) -> None:
    run.job.state = state
    run.job.save()


def test_a_conversation_under_way_is_displayed_turn_by_turn_and_polled(run: Run, victors: Client) -> None:
    assert "No conversation yet" in victors.get(at(run)).text
    rollout = good(chain())
    for turns in range(1, len(rollout.transcript) + 1):
        calls = sum(message.role == "tool" for message in rollout.transcript[:turns])
        part = replace(rollout, transcript=rollout.transcript[:turns], calls=rollout.calls[:calls], reward=None)
        live_rollout.write(run.job.out, LiveRollout(2, part))
        answer = victors.get(at(run))
        assert "in progress" in answer.text and 'hx-trigger="every 2s"' in answer.text
        assert answer.text.count('class="call"') == calls
        again = victors.get(at(run), {"seen": answer.context["seen"]}, headers=HTMX)
        assert (again.status_code, again.content) == (204, b"")
        later = victors.get(at(run), {"seen": "running.1.2.0.0.0"}, headers=HTMX)
        assert later.status_code == 200 and 'id="watched"' in later.text and "<html" not in later.text


def test_what_is_over_leads_to_the_stored_rollout_once_its_step_is_stored(run: Run, victors: Client) -> None:
    rollout = good(chain())
    live_rollout.write(run.job.out, LiveRollout(1, rollout, over=True, index=1))
    link = reverse("rollout", args=[*run.project.path, run.number, 1, 1])
    assert link not in victors.get(at(run)).text
    keep_rollouts(run, 1, [rollout])
    assert link in victors.get(at(run)).text
    assert victors.get(link).status_code == 200


def test_a_run_that_is_not_running_says_so(run: Run, victors: Client) -> None:
    live_rollout.write(run.job.out, LiveRollout(1, good(chain())))
    for state, words in ((State.DONE, "not running: done"), (State.QUEUED, "The run is currently queued")):
        set_state(run, state)
        assert words in victors.get(at(run)).text
    set_state(run, State.STOPPED)
    page = victors.get(at(run)).text
    assert "interrupted" in page and "every 2s" not in page
    (run.job.out / live_rollout.NAME).write_text("{")
    assert "this one left none" in victors.get(at(run)).text


def test_a_run_on_demonstrations_has_nothing_to_watch(run: Run, victors: Client) -> None:
    Run.objects.filter(pk=run.pk).update(kind="sft")
    page = victors.get(at(run)).text
    assert "No live rollout" in page and "every 2s" not in page
    assert at(run) not in victors.get(run.get_absolute_url()).text


def test_what_a_model_says_is_text_and_an_example_that_is_gone_leaves_the_transcript(run: Run, victors: Client) -> None:
    said = replace(good(chain()), transcript=(Message("user", "Hello"), Message("assistant", SCRIPT)), calls=())
    live_rollout.write(run.job.out, LiveRollout(1, said))
    for _ in range(2):
        page = victors.get(at(run)).text
        assert SCRIPT not in page and "&lt;script&gt;" in page
        run.dataset.trajectories.all().delete()
    assert "only the transcript is shown" in page


def test_the_run_leads_to_it_while_it_lasts(run: Run, victors: Client) -> None:
    assert at(run) in victors.get(run.get_absolute_url()).text
    set_state(run, State.DONE)
    assert at(run) not in victors.get(run.get_absolute_url()).text
