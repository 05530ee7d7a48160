"""The live socket sends what is new, once and in order, to those who may see it."""

import asyncio
import json
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from typing import Any

import pytest
from asgiref.sync import async_to_sync, sync_to_async
from asgiref.testing import ApplicationCommunicator
from django.contrib.auth.models import AnonymousUser
from django.test import Client
from django.urls import reverse

from mcp_servers.faults import Faults
from prove_web.accounts.models import Membership, Project, User
from prove_web.asgi import application
from prove_web.live.consumers import LONGEST, MOST_TOPICS, NOT_SIGNED_IN, TOO_SLOW, LiveConsumer
from prove_web.live.hub import hub, hubs
from prove_web.live.ingest import record
from prove_web.live.models import Job, State
from prove_web.live.socket_permissions import get_permitted_users
from prove_web.review.comments import post_comment
from prove_web.servers import session_services
from prove_web.servers.models import LiveSession
from tests.waiting import PATIENCE

from .examples import abstention, dataset_of
from .story import run_job, step, story

pytestmark = [pytest.mark.django_db(transaction=True), pytest.mark.usefixtures("broker")]


class Socket(ApplicationCommunicator):
    """A browser's end of the socket."""

    def __init__(self, app: Any, user: Any = None, **scope: Any):
        super().__init__(app, {"type": "websocket", "path": "/ws/live/", "headers": [], "user": user, **scope})

    async def connect(self) -> str:
        await self.send_input({"type": "websocket.connect"})
        return str((await self.receive_output(PATIENCE))["type"])

    async def send(self, text: str) -> None:
        await self.send_input({"type": "websocket.receive", "text": text})

    async def subscribe(self, **wanted: Any) -> None:
        await self.send(json.dumps({"subscribe": wanted}))

    async def hear(self) -> dict[str, Any]:
        found: dict[str, Any] = json.loads((await self.receive_output(PATIENCE))["text"])
        return found


class Asleep(Socket):
    """A socket that takes no messages, as when its machine is asleep."""

    def __init__(self, app: Any, user: Any):
        async def clogged(scope: Any, receive: Any, send: Any) -> None:
            async def taken(message: dict[str, Any]) -> None:
                await (asyncio.Event().wait() if message["type"] == "websocket.send" else send(message))

            await app(scope, receive, taken)

        super().__init__(clogged, user)


class Unreachable:
    """A broker that the hub cannot reach."""

    async def new_channel(self, prefix: str) -> str:
        raise ConnectionError("There is no broker here.")


@asynccontextmanager
async def socket(user: Any) -> AsyncIterator[Socket]:
    one = Socket(LiveConsumer.as_asgi(), user)
    assert await one.connect() == "websocket.accept"
    try:
        yield one
    finally:
        await one.send_input({"type": "websocket.disconnect", "code": 1000})
        await one.wait(PATIENCE)


def play(scene: Callable[[], Any]) -> None:
    """Run a scene in an event loop of its own, and end its hub with it."""

    async def main() -> None:
        try:
            await scene()
        finally:
            if here := hubs.get(asyncio.get_running_loop()):
                await here.close()

    async_to_sync(main)()


async def steps_until(one: Socket, last: int) -> list[int]:
    found: list[int] = []
    while not found or found[-1] < last:
        message = await one.hear()
        found += [event["data"]["step"] for event in message["events"] if event["kind"] == "step"]
    return found


def steps_of(messages: list[dict[str, Any]], job: Job) -> list[int]:
    mine = [message for message in messages if message["job"] == str(job.id)]
    return [event["data"]["step"] for message in mine for event in message["events"] if event["kind"] == "step"]


tell = sync_to_async(record)


def test_a_socket_receives_past_events_and_then_new_ones(project: Project, victor: User) -> None:
    job = run_job(project)
    record(str(job.id), 1, story(0, 2))

    async def scene() -> None:
        async with socket(victor) as one:
            await one.subscribe(job=str(job.id), after=0)
            assert await steps_until(one, 2) == [1, 2]
            await tell(str(job.id), 1, [step(5, 3), step(6, 4)])
            assert await steps_until(one, 4) == [3, 4]

    play(scene)


def test_a_socket_that_reconnects_receives_only_what_it_missed(project: Project, victor: User) -> None:
    job = run_job(project)
    record(str(job.id), 1, story(0, 2))

    async def scene() -> None:
        async with socket(victor) as one:
            await one.subscribe(job=str(job.id), after=0)
            seen = await one.hear()
        await tell(str(job.id), 1, [step(5, 3)])
        async with socket(victor) as two:
            await two.subscribe(job=str(job.id), after=seen["cursor"])
            message = await two.hear()
            assert [event["data"]["step"] for event in message["events"]] == [3]
            assert message["summary"]["title"] == job.title

    play(scene)


def test_a_long_history_comes_complete_and_in_order_to_two_sockets(project: Project, victor: User, bob: User) -> None:
    job = run_job(project)
    record(str(job.id), 1, story(0, 1200))

    async def scene() -> None:
        async with socket(victor) as one, socket(bob) as two:
            await one.subscribe(job=str(job.id), after=0)
            await two.subscribe(job=str(job.id), after=0)
            assert await steps_until(one, 1200) == list(range(1, 1201))
            assert await steps_until(two, 1200) == list(range(1, 1201))

    play(scene)


def test_a_project_sends_which_jobs_changed(project: Project, victor: User) -> None:
    job, other = run_job(project), run_job(project)

    async def scene() -> None:
        async with socket(victor) as one:
            await one.subscribe(project=project.pk)
            assert {str(job.id), str(other.id)} <= {entry["id"] for entry in (await one.hear())["jobs"]}
            await tell(str(job.id), 1, story(0, 0))
            [changed] = (await one.hear())["jobs"]
            assert (changed["id"], changed["state"]) == (str(job.id), State.STARTING)

    play(scene)


def test_a_trajectory_sends_that_somebody_commented_and_not_what(project: Project, victor: User, bob: User) -> None:
    trajectory = dataset_of(project, [abstention()]).trajectories.select_related("dataset__project").get()

    async def scene() -> None:
        async with socket(victor) as one:
            await one.subscribe(trajectory=trajectory.pk)
            before = await one.hear()
            await sync_to_async(post_comment)(trajectory, bob, "What a day")
            after = await one.hear()
            assert before["trajectory"] == after["trajectory"] == str(trajectory.pk)
            assert {*after} == {"trajectory", "stamp"} and before["stamp"] != after["stamp"]

    play(scene)


def test_a_session_sends_how_many_calls_it_has_and_what_the_next_ones_meet(
    project: Project, victor: User, bob: User
) -> None:
    session = session_in(project)

    async def scene() -> None:
        async with socket(victor) as one:
            await one.subscribe(session=session.pk)
            assert await one.hear() == {"session": str(session.pk), "calls": 0, "faults": "", "again": None}
            await sync_to_async(session_services.make)(session, bob, "list_accounts", {})
            assert (await one.hear())["calls"] == 1
            await sync_to_async(session_services.set_faults)(session, Faults(slow=5))
            assert "slow=5" in (await one.hear())["faults"]

    play(scene)


def test_a_viewer_of_a_session_hears_of_its_reset_and_of_its_removal(project: Project, victor: User, bob: User) -> None:
    session = session_in(project)

    async def scene() -> None:
        async with socket(victor) as one:
            await one.subscribe(session=session.pk)
            assert (await one.hear())["again"] is None
            fresh = await sync_to_async(session_services.reset)(session, bob)
            assert (await one.hear())["again"] == fresh.pk
            number = session.pk
            await sync_to_async(session_services.remove)(session)
            assert await one.hear() == {"session": str(number), "gone": True}

    play(scene)


def session_in(project: Project) -> LiveSession:
    return LiveSession.objects.create(project=project, servers=["banking"], seed=7, size="small", fingerprint="")


def test_a_stranger_learns_not_even_that_a_job_exists(project: Project, charlie: User) -> None:
    job, session = run_job(project), session_in(project)

    async def scene() -> None:
        async with socket(charlie) as one:
            answers = []
            for key in (str(job.id), "7a3c8a9c-8e4b-4f0e-9a51-0f7d4f2f6a10"):
                await one.subscribe(job=key)
                answers.append(await one.hear())
            for number in (project.pk, 10**6):
                await one.subscribe(project=number)
                answers.append(await one.hear())
            for number in (session.pk, 10**6):
                await one.subscribe(session=number)
                answers.append(await one.hear())
            assert answers == [answers[0]] * 6 and "error" in answers[0]

    play(scene)


def test_a_removed_member_receives_nothing_more(project: Project, bob: User, monkeypatch: pytest.MonkeyPatch) -> None:
    job = run_job(project)
    monkeypatch.setattr("prove_web.live.hub.CHECK_AGAIN", 0.0)

    async def scene() -> None:
        async with socket(bob) as one:
            await one.subscribe(job=str(job.id))
            assert (await one.hear())["events"] == []
            await Membership.objects.filter(user=bob).adelete()
            await tell(str(job.id), 1, story(0, 1))
            assert "error" in await one.hear()

    play(scene)


def test_someone_who_is_not_signed_in_is_turned_away() -> None:
    async def scene() -> None:
        one = Socket(LiveConsumer.as_asgi(), AnonymousUser())
        await one.connect()
        assert (await one.receive_output(PATIENCE))["code"] == NOT_SIGNED_IN

    play(scene)


def test_who_signs_out_in_another_tab_receives_nothing_more(
    project: Project, bob: User, as_user: Callable[[User], Client], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("prove_web.live.hub.LOOK", 0.05)
    job, tabs = run_job(project), as_user(bob)
    sessions = tabs.session, as_user(bob).session

    async def scene() -> None:
        here, elsewhere = (Socket(LiveConsumer.as_asgi(), bob, session=each) for each in sessions)
        for one in (here, elsewhere):
            await one.connect()
            await one.subscribe(job=str(job.id))
            assert (await one.hear())["events"] == []
        await sync_to_async(tabs.post)(reverse("sign-out"))
        assert (await here.receive_output(PATIENCE))["code"] == NOT_SIGNED_IN
        await tell(str(job.id), 1, story(0, 1))
        assert await steps_until(elsewhere, 1) == [1]

    play(scene)


def test_another_sites_page_cannot_open_the_socket() -> None:
    async def scene() -> None:
        headers = [(b"origin", b"https://evil.example"), (b"host", b"localhost")]
        one = Socket(application, headers=headers)
        assert await one.connect() == "websocket.close"

    play(scene)


@pytest.mark.parametrize(
    "text",
    [
        '{"subscribe": {"session": "x"}}', '{"subscribe": {"session": -1}}', '{"subscribe": {"session": [1]}}',
        "", "nonsense", "[]", "null", "1", '{"subscribe": 3}', '{"subscribe": {"job": "x"}}', '{"subscribe": {}}',
        '{"subscribe": {"project": "x"}}', '{"subscribe": {"project": 1e400}}', "[" * 5_000, "x" * (LONGEST + 1),
        '{"subscribe": {"job": "7a3c8a9c-8e4b-4f0e-9a51-0f7d4f2f6a10", "after": -1}}',
    ],
)  # fmt: skip
def test_what_makes_no_sense_is_answered_and_the_socket_lives(text: str, victor: User, project: Project) -> None:
    async def scene() -> None:
        async with socket(victor) as one:
            await one.send(text)
            assert "error" in await one.hear()
            await one.subscribe(project=project.pk)
            await one.send("{}")
            assert "error" in await one.hear()

    play(scene)


def test_a_browser_that_takes_nothing_is_dropped_and_the_others_receive_events(
    project: Project, victor: User, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("prove_web.live.consumers.PATIENCE", 0.05)
    job = run_job(project)

    async def scene() -> None:
        asleep = Asleep(LiveConsumer.as_asgi(), victor)
        await asleep.connect()
        await asleep.subscribe(job=str(job.id))
        async with socket(victor) as one:
            assert (await asleep.receive_output(PATIENCE))["code"] == TOO_SLOW
            await one.subscribe(job=str(job.id))
            await tell(str(job.id), 1, story(0, 1))
            assert await steps_until(one, 1) == [1]

    play(scene)


def test_nothing_is_said_when_nothing_is_new(
    project: Project, victor: User, bob: User, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("prove_web.live.hub.LOOK", 0.05)
    job, other = run_job(project), run_job(project)

    async def scene() -> None:
        async with socket(victor) as one, socket(bob) as two:
            await one.subscribe(job=str(job.id))
            await one.hear()
            await two.subscribe(job=str(other.id))
            for number in range(3):  # each message to one socket means that the hub looked for the other, too
                await two.hear()
                await tell(str(other.id), 1, story(0, number))
            assert await one.receive_nothing()

    play(scene)


def test_without_a_broker_a_socket_still_receives_events(
    project: Project, victor: User, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("prove_web.live.hub.LOOK", 0.05)
    monkeypatch.setattr("prove_web.live.hub.get_channel_layer", Unreachable)
    job = run_job(project)

    async def scene() -> None:
        async with socket(victor) as one:
            await one.subscribe(job=str(job.id))
            await one.hear()
            await tell(str(job.id), 1, story(0, 2))
            assert await steps_until(one, 2) == [1, 2]

    play(scene)


def test_a_socket_follows_so_many_jobs_and_no_more(project: Project, victor: User) -> None:
    jobs = [Job(project=project, kind="graph", title=str(i)) for i in range(MOST_TOPICS + 1)]
    Job.objects.bulk_create(jobs)

    async def scene() -> None:
        async with socket(victor) as one:
            for job in jobs:
                await one.subscribe(job=str(job.id))
            messages = [await one.hear() for _ in jobs]
            assert sum("error" in message for message in messages) == 1

    play(scene)


def test_the_permissions_of_all_followers_are_read_at_once(
    project: Project, victor: User, bob: User, charlie: User, django_assert_num_queries: Any
) -> None:
    strangers = [charlie.pk, *range(10**6, 10**6 + 200)]
    with django_assert_num_queries(2):
        assert get_permitted_users(("project", str(project.pk)), [victor.pk, bob.pk, *strangers]) == {victor.pk, bob.pk}
    assert get_permitted_users(("project", str(10**9)), [victor.pk]) is None


def test_who_is_slow_keeps_nobody_waiting_and_misses_nothing(project: Project, victor: User, bob: User) -> None:
    jobs = [run_job(project), run_job(project)]

    class Slow:
        """A browser that takes a message only when the test lets it."""

        def __init__(self, person: int):
            self.person, self.session = person, ""
            self.let, self.messages = asyncio.Event(), list[dict[str, Any]]()

        async def deliver(self, text: str) -> None:
            await self.let.wait()
            self.messages.append(json.loads(text))

        async def shut_out(self, topic: Any) -> None:
            raise AssertionError("nobody was shut out")

        async def signed_out(self) -> None:
            raise AssertionError("nobody signed out")

    async def scene() -> None:
        slow = Slow(bob.pk)
        async with socket(victor) as one:
            for job in jobs:
                hub().follow(("job", str(job.id)), slow, 0)
            await one.subscribe(job=str(jobs[0].id))
            await tell(str(jobs[0].id), 1, story(0, 3))
            await tell(str(jobs[1].id), 1, story(0, 2))
            assert await steps_until(one, 3) == [1, 2, 3]
            assert slow.messages == []
            slow.let.set()
            async with asyncio.timeout(PATIENCE):
                while [len(steps_of(slow.messages, job)) for job in jobs] != [3, 2]:
                    await asyncio.sleep(0.01)
        assert [steps_of(slow.messages, job) for job in jobs] == [[1, 2, 3], [1, 2]]

    play(scene)
