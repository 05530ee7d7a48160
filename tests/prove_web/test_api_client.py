"""The Python client against the site itself, over HTTP without a socket."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import httpx2
import pytest
from django.conf import LazySettings
from django.core.handlers.wsgi import WSGIHandler

from prove_web.accounts.models import Organisation, Project, User
from prove_web.accounts.roles import Action
from prove_web.api.api import document
from prove_web.api.tokens import issue
from training_worker.client import (
    Conflict,
    Invalid,
    NotAllowed,
    NotFound,
    NotKnown,
    ServerError,
    Studio,
    TooMany,
    Unreachable,
)
from training_worker.monitoring.alerts.presets import PRESETS

from .furnished import STEP, furnish

ALL = [action.value for action in Action]


class Site(httpx2.WSGITransport):
    """The site as a program sees it; `requests` are those that reached it."""

    def __init__(self) -> None:
        super().__init__(WSGIHandler())
        self.requests: list[httpx2.Request] = []

    def handle_request(self, request: httpx2.Request) -> httpx2.Response:
        self.requests.append(request)
        return super().handle_request(request)


class Flaky(Site):
    """A site that first returns these statuses or raises these errors, and then answers normally."""

    def __init__(self, *first: int | type[Exception], headers: dict[str, str] | None = None) -> None:
        super().__init__()
        self.first, self.headers = list(first), headers or {}

    def handle_request(self, request: httpx2.Request) -> httpx2.Response:
        if not self.first:
            return super().handle_request(request)
        self.requests.append(request)
        now = self.first.pop(0)
        if isinstance(now, int):
            return httpx2.Response(now, headers=self.headers, text="<h1>Bad gateway</h1>", request=request)
        raise now("broken off", request=request)


@pytest.fixture
def furnished(mary: User, project: Project, settings: LazySettings, tmp_path: Path) -> dict[str, Any]:
    settings.PROVE_DATA = tmp_path / "data"
    settings.ALLOWED_HOSTS = ["studio.example.org"]
    return furnish(project, mary)


@pytest.fixture
def connect(mary: User, organisation: Organisation, furnished: dict[str, Any]) -> Iterator[Callable[..., Studio]]:
    made: list[Studio] = []

    def to(site: httpx2.BaseTransport | None = None, scopes: list[str] = ALL, **rest: Any) -> Studio:
        token = issue(mary, organisation, "Mine", scopes)[1]
        made.append(Studio("https://studio.example.org/", token, transport=site or Site(), **rest))
        return made[-1]

    yield to
    for studio in made:
        studio.close()


def test_it_reads_what_the_site_has(connect: Callable[..., Studio], furnished: dict[str, Any]) -> None:
    studio = connect()
    demo = studio.project("acme", "demo")
    assert studio.get_current_user()["username"] == "mary" and [each["slug"] for each in studio.projects()] == ["demo"]
    assert [run["name"] for run in demo.runs()] == ["Run"]
    assert demo.run(1)["job"]["state"] == "done" and demo.dataset(1)["trajectories"] == 1
    assert demo.metrics(1, "reward")["series"] == {"reward": [0.5]}
    assert [point["step"] for point in demo.points(1)] == [STEP]
    assert demo.rollout(1, STEP, 1)["calls"] == [] and demo.groups(1, STEP)[0]["members"][0]["index"] == 1
    assert demo.evaluation(1)["benchmark"] and len(list(demo.datasets())) == 1
    example = next(iter(demo.trajectories()))["example"]
    assert demo.trajectory(1, example)["record"]["id"] == example
    assert demo.job(furnished["job"])["state"] == "queued" and demo.log(furnished["job"]) == ""


def test_a_session_is_opened_worked_in_forked_and_ended(connect: Callable[..., Studio]) -> None:
    demo = connect().project("acme", "demo")
    opened = demo.open_session(["banking"], seed=7)["id"]
    accounts = json.loads(demo.call(opened, "list_accounts")["text"])
    assert accounts and not demo.call(opened, "get_account", {"account_id": "nothing"})["ok"]
    twin = demo.fork(opened, at=1)
    assert twin["parent"] == opened and [call["position"] for call in demo.calls(twin["id"])] == [1]
    assert demo.diff(opened, beside=twin["id"])["rows"] == 0
    demo.end_session(opened)
    with pytest.raises(NotFound):
        list(demo.calls(opened))


def test_a_project_is_made_by_who_may(connect: Callable[..., Studio], alice: User, organisation: Organisation) -> None:
    with pytest.raises(NotAllowed):
        connect().make_project("acme", "Second try")
    owner = Studio("https://studio.example.org", issue(alice, organisation, "Hers", ALL)[1], transport=Site())
    assert owner.make_project("acme", "Second try")["slug"] == "second-try"
    assert [each["username"] for each in owner.members("acme")] == ["alice", "mary"]
    owner.close()


def test_what_is_listed_comes_in_pieces(connect: Callable[..., Studio]) -> None:
    site = Site()
    demo = connect(site).project("acme", "demo")
    for seed in range(3):
        demo.open_session(["banking"], seed=seed)
    before = len(site.requests)
    assert [session["seed"] for session in demo.sessions(limit=2, sort="seed")] == [0, 1, 1, 2]
    assert len(site.requests) - before == 2


def test_an_export_is_written_completely_or_not_at_all(connect: Callable[..., Studio], tmp_path: Path) -> None:
    demo = connect().project("acme", "demo")
    file = tmp_path / "rollouts.jsonl"
    assert demo.export_rollouts(1, file) == file.stat().st_size
    assert [json.loads(line)["step"] for line in file.read_text().splitlines()] == [STEP]
    with pytest.raises(NotFound):
        demo.download_checkpoint(1, 99, tmp_path / "none.zip")
    assert {path.name for path in tmp_path.iterdir()} == {"data", "rollouts.jsonl"}


def test_notes_and_marks_of_a_run_are_stored(connect: Callable[..., Studio]) -> None:
    demo = connect().project("acme", "demo")
    demo.mark_run(1, tags=["Paper", "seed 0"], pinned=True)
    demo.write_notes(1, "It rose.")
    demo.keep_run(1, name="The first", archived=True)
    found = demo.run(1)
    assert found["tags"] == ["paper", "seed 0"] and found["pinned"] and found["archived"]
    assert (found["notes"], found["name"]) == ("It rose.", "The first")
    with pytest.raises(Conflict):
        demo.put("/runs/1/notes", {"text": "It fell.", "revision": "0"})


def test_what_is_refused_says_what_where_and_what_to_do(connect: Callable[..., Studio]) -> None:
    demo = connect().project("acme", "demo")
    with pytest.raises(Invalid) as wrong:
        demo.launch_run("One", dataset=1, learning_rate=7)
    assert "body.learning_rate" in wrong.value.faults and wrong.value.status == 422 and wrong.value.do
    with pytest.raises(NotFound):
        demo.run(99)
    with pytest.raises(NotAllowed, match="launch"):
        connect(scopes=["view"]).project("acme", "demo").stop_run(1)
    with pytest.raises(NotKnown):
        Studio("https://studio.example.org", "prove_nothing", transport=Site()).get_current_user()


def test_without_a_token_it_says_how_to_get_one(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("PROVE_TOKEN", raising=False)
    with pytest.raises(NotKnown, match="API tokens"):
        Studio("https://studio.example.org")


def test_a_read_is_tried_again_and_a_launch_is_not(connect: Callable[..., Studio]) -> None:
    waits: list[float] = []
    studio = connect(Flaky(502, httpx2.ConnectError, 503), pause=waits.append)
    assert studio.get_current_user()["username"] == "mary" and waits == [0.5, 1.0, 2.0]
    with pytest.raises(Unreachable):
        connect(Flaky(httpx2.ReadTimeout), pause=waits.append).project("acme", "demo").resume_run(1)
    with pytest.raises(ServerError, match="Bad gateway"):
        connect(Flaky(502), pause=waits.append).project("acme", "demo").resume_run(1)
    with pytest.raises(Unreachable):
        connect(Flaky(*[httpx2.ConnectError] * 2), pause=waits.append, tries=2).get_current_user()


def test_too_many_requests_wait_as_long_as_the_site_says(
    connect: Callable[..., Studio], furnished: dict[str, Any]
) -> None:
    waits: list[float] = []
    site = Flaky(429, headers={"Retry-After": "7"})
    connect(site, pause=waits.append).project("acme", "demo").call(furnished["session"], "list_accounts")
    assert waits == [7.0]
    with pytest.raises(TooMany):
        connect(Flaky(429, 429), pause=waits.append, tries=2).get_current_user()


def test_events_are_followed_until_the_job_has_ended(connect: Callable[..., Studio], furnished: dict[str, Any]) -> None:
    from prove_web.live.ingest import record
    from prove_web.live.models import Job, State

    pauses: list[float] = []
    template = {"kind": "progress", "at": "2026-01-01T00:00:00+00:00"}
    data = {"done": 1, "total": 2, "line": "half", "seconds_left": 1.0}

    def later(seconds: float) -> None:
        pauses.append(seconds)
        record(str(furnished["job"]), 1, [{**template, "seq": len(pauses), "data": data}])
        if len(pauses) == 2:
            Job.objects.filter(pk=furnished["job"]).update(state=State.DONE)

    demo = connect(pause=later).project("acme", "demo")
    assert [event["seq"] for event in demo.events(str(furnished["job"]), follow=True)] == [1, 2]


def test_every_operation_of_the_site_is_reached_by_a_method_or_by_its_address() -> None:
    client = Path(sys.modules["training_worker.client"].__file__).parent
    source = "".join(file.read_text("utf-8") for file in client.glob("*.py"))
    resources = {path.split("/")[5].split("{")[0] for path in document()["paths"] if path.count("/") > 4}
    assert {resource for resource in resources if f"/{resource}" not in source} == set()


def test_it_needs_neither_django_nor_torch() -> None:
    code = "import sys, training_worker.client; print(sorted({'django', 'torch', 'celery', 'numpy'} & {*sys.modules}))"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"


def test_a_project_is_set_up_from_a_script(connect: Callable[..., Studio], furnished: dict[str, Any]) -> None:
    demo = connect().project("acme", "demo")
    rule = demo.make_alert_rule("Low", "points.reward", "below", 0.2, aggregate="mean", over=5)
    assert demo.change_alert_rule(rule["id"], threshold=0.1)["threshold"] == 0.1
    assert not demo.switch_alert_rule(rule["id"], False)["enabled"]
    assert demo.remove_alert_rule(rule["id"]) == {"removed": rule["id"]}
    assert [one["preset"] for one in demo.add_ready_made_rules(*[*PRESETS][:2])] == [*PRESETS][:2]
    reward = demo.save_reward("Names matter", {"name": 0.4})
    assert reward["key"] in {one["key"] for one in demo.rewards()}
    assert demo.remove_reward(reward["id"]) == {"removed": reward["id"]}
    assert demo.set_environment(seed=7)["seed"] == 7 == demo.environment()["seed"]
    assert demo.prove_graph()["kind"] == "graph" and demo.graph()["edges"] == []
    assert demo.mark_runs("tag", q="", tag="night")["changed"] == [1]
    assert demo.act_on_runs("archive", [1])["undo"] == "unarchive"
    assert demo.open_rollout(1, STEP, 1)["session"]["servers"]
    assert demo.move_job(furnished["job"], "first")["state"] == "queued"
    with pytest.raises(NotAllowed):
        demo.make_webhook("Chat", "https://example.com/hook")


def test_an_owner_deletes_a_project_and_restores_it(
    connect: Callable[..., Studio], alice: User, organisation: Organisation
) -> None:
    studio = Studio("https://studio.example.org", issue(alice, organisation, "Hers", ALL)[1], transport=Site())
    spare = studio.make_project("acme", "Second try")
    hook = studio.project("acme", spare["slug"]).make_webhook("Chat", "https://example.com/hook")
    assert hook["secret"] and studio.project("acme", spare["slug"]).test_webhook(hook["webhook"]["id"])["alert"] is None
    gone = studio.project("acme", spare["slug"]).delete_project("Second try")
    assert gone["id"] in {one["id"] for one in studio.deleted_projects("acme")}
    assert studio.restore_project("acme", gone["id"])["kind"] == "project"
