"""What a rollout or a demonstration did, opened as a live session: the same world, after the same calls."""

from collections.abc import Callable
from pathlib import Path

import pytest
from django.conf import LazySettings
from django.test import Client
from django.urls import reverse

from mcp_servers.world import replay
from prove_web.accounts.models import Project, User
from prove_web.experiments.models import Run
from prove_web.servers.models import LiveSession, Source
from prove_web.servers.world_cache import moments
from training_worker.core.trajectory import ToolCall

from .examples import abstention, chain, dataset_of
from .trained import calling, good, keep_rollouts, run_of

pytestmark = pytest.mark.django_db
SignIn = Callable[[User], Client]
NONSENSE = ToolCall("no_such_tool", {"a": 1})


@pytest.fixture
def run(project: Project, settings: LazySettings, tmp_path: Path) -> Run:
    settings.PROVE_DATA = tmp_path
    made = run_of(project, [0.5], dataset=dataset_of(project, [chain(), abstention()]), config={"group": 2})
    first = next(call for step in chain().steps for call in step.calls)
    keep_rollouts(made, 1, [good(chain()), calling(chain(), NONSENSE, first)])
    return made


def at(run: Run, index: int, name: str = "rollout-session") -> str:
    return reverse(name, args=[*run.project.path, run.number, 1, index])


def test_every_call_of_a_rollout_opens_the_world_as_it_was_after_it(run: Run, bob: User, as_user: SignIn) -> None:
    client, rollout, where = as_user(bob), good(chain()), chain().world
    assert client.get(at(run, 1, "rollout")).text.count(at(run, 1)) == len(rollout.calls)
    for most in range(len(rollout.calls) + 1):
        answer = client.post(at(run, 1), {"calls": most})
        session = LiveSession.objects.latest("pk")
        assert answer.url == session.get_absolute_url() and session.source == Source.ROLLOUT
        made = [(one.call.name, one.call.arguments) for one in rollout.calls[:most]]
        assert list(session.calls.values_list("tool", "arguments")) == made
        replies, digest = replay(where.seed, where.servers, where.size, made)
        assert moments(session)[-1].world.digest() == digest
        assert [call.text for call in session.calls.all()] == [reply.text for reply in replies]
        assert all(moment.as_recorded for moment in moments(session))


def test_a_call_that_never_reached_the_world_is_left_out_with_a_note(run: Run, bob: User, as_user: SignIn) -> None:
    answer = as_user(bob).post(at(run, 2), {"calls": 2}, follow=True)
    assert "1 of these calls never reached the server" in answer.text
    assert NONSENSE.name not in LiveSession.objects.get().calls.values_list("tool", flat=True)


def test_a_demonstration_opens_after_any_of_its_calls(project: Project, bob: User, as_user: SignIn) -> None:
    dataset, client = dataset_of(project, [chain()]), as_user(bob)
    page = reverse("trajectory-session", args=[*project.path, dataset.number, chain().id])
    client.post(page, {"calls": 1})
    session = LiveSession.objects.get()
    assert session.source == Source.SYNTHESIS and session.calls.count() == 1
    assert all(moment.as_recorded for moment in moments(session))
    client.post(page, {"calls": "9" * 40})  # a number out of range means all of them
    assert LiveSession.objects.latest("pk").calls.count() == sum(len(step.calls) for step in chain().steps)


def test_where_the_example_is_gone_there_is_no_world_and_a_viewer_may_not_open_one(
    run: Run, bob: User, victor: User, as_user: SignIn
) -> None:
    assert at(run, 1) not in as_user(victor).get(at(run, 1, "rollout")).text
    assert as_user(victor).post(at(run, 1)).status_code == 403
    assert as_user(bob).post(at(run, 99)).status_code == 404
    run.dataset.trajectories.all().delete()
    answer = as_user(bob).post(at(run, 1), {"calls": 1}, follow=True)
    assert "no longer in the dataset" in answer.text and not LiveSession.objects.exists()
