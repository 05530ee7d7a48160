"""Links by which others read one thing: who may open it, what it reaches, until when, and what it hides."""

from __future__ import annotations

import re
from collections.abc import Callable
from datetime import timedelta
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import pytest
from django.conf import LazySettings
from django.http import QueryDict
from django.test import Client
from django.urls import reverse
from django.utils import timezone

from prove_web.accounts.models import Organisation, Project, User
from prove_web.experiments.models import Point, Run
from prove_web.live.models import Job, State
from prove_web.review.create_queue import make_queue
from prove_web.review.models import Review
from prove_web.review.schema import PLAIN
from prove_web.sharing.links import issue, withdraw
from prove_web.sharing.models import Share
from prove_web.sharing.share_scope import Reach, resolve_page
from prove_web.sharing.soft_delete import delete
from prove_web.trajectories.models import Trajectory

from .examples import chain, dataset_of
from .furnished import STEP, furnish

AsUser = Callable[[User], Client]


@pytest.fixture
def names(project: Project, mary: User, settings: LazySettings, tmp_path: Path) -> dict[str, Any]:
    settings.PROVE_DATA = tmp_path
    return furnish(project, mary)


PAGES = {
    "run": lambda names: f"runs/{names['run']}/",
    "rollout": lambda names: f"runs/{names['run']}/rollouts/{STEP}/1/",
    "trajectory": lambda names: f"datasets/{names['dataset']}/{names['example']}/",
}
PARTS = {
    "run": ["points/", "metric/?names=reward", "tools/"],
    "rollout": ["tokens/"],
    "trajectory": ["tokens/"],
}
KINDS = list(PAGES)


def link(project: Project, maker: User, path: str, query: str = "") -> str:
    """Return the address of a new link."""
    page = resolve_page(project, path, query)
    assert page, path
    return reverse("shared", args=[issue(project, maker, page)[1]])


def shared(kind: str, project: Project, maker: User, names: dict[str, Any]) -> tuple[str, str]:
    """Return a link to the thing of a kind, and the address of that thing beneath the project."""
    path = PAGES[kind](names)
    return link(project, maker, path), path


@pytest.mark.parametrize("kind", KINDS)
def test_who_has_a_link_reads_the_page_and_its_parts_without_signing_in(
    kind: str, project: Project, mary: User, names: dict[str, Any]
) -> None:
    url, path = shared(kind, project, mary, names)
    answer = Client().get(url)
    assert answer.status_code == 200
    assert not answer.cookies
    assert answer.headers["Referrer-Policy"] == "no-referrer"
    assert answer.headers["Cache-Control"] == "private, no-store"
    assert "noindex" in answer.headers["X-Robots-Tag"] and "noindex" in answer.content.decode()
    for part in PARTS[kind]:
        assert Client().get(f"{url}{path}{part}").status_code == 200, part


@pytest.mark.parametrize("kind", KINDS)
def test_a_shared_page_does_nothing_and_leads_nowhere_else(
    kind: str, project: Project, mary: User, names: dict[str, Any]
) -> None:
    url, _ = shared(kind, project, mary, names)
    html = Client().get(url).content.decode()
    assert 'method="post"' not in html and not re.search(r"hx-(post|put|patch|delete)", html)
    addresses = re.findall(r'[\w:-]+="(/[^"]*)"', html)
    assert {each for each in addresses if not each.startswith(("/static/", url))} == set()
    for each in {each for each in addresses if each.startswith(url)}:
        assert Client().get(each.replace("&amp;", "&")).status_code == 200, each
    assert "/acme/" not in html and "Acme" not in html


def test_the_page_is_the_one_the_team_sees(
    project: Project, mary: User, names: dict[str, Any], as_user: AsUser
) -> None:
    url, path = shared("run", project, mary, names)
    ours = as_user(mary).get(f"/acme/demo/{path}").content.decode()
    theirs = Client().get(url).content.decode()
    figure = re.compile(r'class="figure-now">([^<]*)<')
    assert figure.findall(theirs) == figure.findall(ours) != []
    assert Client().get(f"{url}{path}points/").json() == as_user(mary).get(f"/acme/demo/{path}points/").json()


@pytest.mark.parametrize("kind", KINDS)
def test_a_link_reaches_no_other_thing(kind: str, project: Project, mary: User, names: dict[str, Any]) -> None:
    """It reaches neither pages about the thing, nor others of its kind, nor things that another link reaches."""
    url, path = shared(kind, project, mary, names)
    others = [PAGES[other](names) for other in KINDS if other != kind]
    others += [f"{PAGES[other](names)}{part}" for other in KINDS if other != kind for part in PARTS[other]]
    others += ["", "runs/", "datasets/", "runs/2/", f"runs/2/{PARTS['run'][0]}", "shares/", "../", "//", "%2e%2e/"]
    others += [f"jobs/{names['job']}/", f"{path}checkpoints/{STEP}/", f"{path}watch/", f"{path}session/"]
    for other in others:
        answer = Client().get(f"{url}{other}") if other else Client().get(f"{url}runs/")
        assert answer.status_code == 404, other


def test_a_link_of_one_project_reads_nothing_of_another(
    project: Project, mary: User, names: dict[str, Any], charlie: User
) -> None:
    theirs = Project.objects.get(organisation__slug="other")
    furnish(theirs, charlie_in(theirs, charlie), number=7)
    url, _ = shared("run", project, mary, names)
    for path in ("runs/7/", "runs/7/points/", "runs/7/metric/"):
        assert Client().get(f"{url}{path}").status_code == 404
    run = Run.objects.get(project=theirs, number=7)
    assert Client().get(f"{url}live/", {"job": str(run.job_id)}).status_code == 404


def charlie_in(project: Project, charlie: User) -> User:
    assert project.organisation.members.filter(pk=charlie.pk).exists()
    return charlie


def expire(share: Share) -> None:
    Share.objects.filter(pk=share.pk).update(expires_at=timezone.now() - timedelta(seconds=1))


def remove_run(share: Share) -> None:
    delete(Run.objects.get(project=share.project), share.made_by)


def remove_project(share: Share) -> None:
    Job.objects.filter(project=share.project).update(state=State.DONE)
    delete(share.project, share.made_by)


@pytest.mark.parametrize("end", [withdraw, expire, remove_run, remove_project])
def test_a_link_ends_when_it_is_withdrawn_or_over_or_what_it_shows_is_deleted(
    end: Callable[[Share], None], project: Project, mary: User, names: dict[str, Any]
) -> None:
    url, path = shared("run", project, mary, names)
    job = Run.objects.get(project=project).job_id
    pages = [url, *(f"{url}{path}{part}" for part in PARTS["run"]), f"{url}live/?job={job}"]
    assert [Client().get(each).status_code for each in pages] == [200] * len(pages)
    end(Share.objects.order_by("-pk")[0])
    nowhere = Client().get("/shared/nothing/")
    for each in pages:
        answer = Client().get(each)
        assert answer.status_code == 404
        assert answer.content == nowhere.content  # the response does not say which of them it was


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("method", ["post", "put", "patch", "delete"])
def test_nothing_can_be_sent_to_a_link(
    method: str, kind: str, project: Project, mary: User, names: dict[str, Any]
) -> None:
    url, path = shared(kind, project, mary, names)
    for each in (url, f"{url}{path}{PARTS[kind][0]}", f"{url}live/"):
        assert getattr(Client(), method)(each).status_code == 405


def test_a_member_who_opens_a_link_sees_what_anybody_sees(
    project: Project, mary: User, names: dict[str, Any], alice: User, as_user: AsUser
) -> None:
    url, _ = shared("run", project, mary, names)
    assert as_user(alice).get(url).content == Client().get(url).content


def test_a_link_hides_the_reward_from_a_reviewer_with_a_pending_blind_review(
    project: Project, mary: User, bob: User, victor: User, names: dict[str, Any], as_user: AsUser
) -> None:
    url, path = shared("trajectory", project, mary, names)
    waiting = Trajectory.objects.get(dataset__number=names["dataset"], example=names["example"])
    queue = make_queue(project, mary, [waiting.pk], name="Q", schema=PLAIN.model_dump(mode="json"))
    marker = 'id="reward"'
    bobs = as_user(bob)
    page = bobs.get(url, follow=True)
    assert page.redirect_chain == [(f"/acme/demo/{path}", 302)]
    assert "awaits your blind review" in page.text and marker not in page.text
    assert bobs.get(f"{url}{path}tokens/").status_code == 404
    assert Share.objects.order_by("-pk")[0].opened == 0
    for other in (Client(), as_user(victor)):
        assert marker in other.get(url).text
    Review.objects.create(item=queue.items.get(), reviewer=bob, state=Review.State.DONE, answers={"verdict": "accept"})
    assert marker in bobs.get(url).text


def test_a_link_to_an_edit_hides_an_original_with_a_pending_blind_review(
    project: Project, mary: User, bob: User, names: dict[str, Any], as_user: AsUser
) -> None:
    url, path = shared("trajectory", project, mary, names)
    edit = Trajectory.objects.get(dataset__number=names["dataset"], example=names["example"])
    (source,) = dataset_of(project, [chain()]).trajectories.all()
    Trajectory.objects.filter(pk=edit.pk).update(parent=source)
    make_queue(project, mary, [source.pk], name="Q", schema=PLAIN.model_dump(mode="json"))
    page = as_user(bob).get(url, follow=True)
    assert page.redirect_chain == [(f"/acme/demo/{path}", 302)] and source.example not in page.text


@pytest.mark.parametrize("kind", KINDS)
def test_people_and_places_of_the_team_are_hidden(
    kind: str, project: Project, mary: User, names: dict[str, Any], settings: LazySettings, tmp_path: Path
) -> None:
    settings.PROVE_STORAGE = f"file://{tmp_path}/far"
    run = Run.objects.get(project=project)
    secret = f"mary@example.com wrote it to {tmp_path}/jobs on gpu-7, see s3://bucket/x"
    Job.objects.filter(pk=run.job_id).update(
        state=State.FAILED, error=f"Traceback: {secret}", created_by=mary, worker="celery@gpu-7"
    )
    Run.objects.filter(pk=run.pk).update(name="Run of mary, mary@example.com, on gpu-7", notes=secret)
    url, _ = shared(kind, project, mary, names)
    html = Client().get(url).content.decode()
    assert "mary@example.com" not in html and str(tmp_path) not in html and "Traceback" not in html
    if kind == "run":
        assert not re.search(r"\bmary\b|gpu-7|s3://", html)


def test_a_run_is_followed_while_it_trains_and_only_its_curves_are_sent(
    project: Project, mary: User, names: dict[str, Any]
) -> None:
    url, _ = shared("run", project, mary, names)
    job = Run.objects.get(project=project).job
    now = timezone.now()
    job.events.create(attempt=1, seq=1, kind="step", at=now, data={"step": 4, "reward": 0.7, "host": "gpu-7"})
    job.events.create(attempt=1, seq=2, kind="storage", at=now, data={"error": "s3://bucket"})
    update = Client().get(f"{url}live/", {"job": str(job.pk), "after": "0"}).json()
    assert [each["data"] for each in update["events"]] == [{"step": 4, "reward": 0.7}]
    assert update["summary"].keys() == {"state", "state_name", "done", "total", "seconds_left", "at_work"}
    again = Client().get(f"{url}live/", {"job": str(job.pk), "after": update["cursor"]}).json()
    assert again["events"] == []


def test_a_visitor_asks_for_views_of_the_page_but_for_no_other(
    project: Project, mary: User, names: dict[str, Any]
) -> None:
    url, path = shared("run", project, mary, names)
    assert Client().get(url, {"step": STEP}).status_code == 200  # which leads the team to the step's rollouts
    assert Client().get(url, {"part": "picker"}).status_code == 404
    sorted_by = Client().get(f"{url}{path}tools/", {"sort": "tool"}, headers={"HX-Request": "true"})
    assert sorted_by.status_code == 200


def test_a_link_is_made_on_the_page_and_displayed_once(
    project: Project, mary: User, names: dict[str, Any], as_user: AsUser
) -> None:
    client, of = as_user(mary), f"/acme/demo/runs/{names['run']}/"
    button = re.search(r'href="(/acme/demo/shares/new/[^"]*)"', client.get(of).content.decode())
    assert button and client.get(button[1]).status_code == 200
    html = client.post("/acme/demo/shares/new/", {"of": of, "days": "7"}).content.decode()
    address = re.search(r'id="address">([^<]*)<', html)
    assert address
    secret = address[1].rstrip("/").rsplit("/", 1)[1]
    assert len(secret) >= 43  # 256 bits
    made = Share.objects.order_by("-pk")[0]
    assert secret not in str(Share.objects.filter(pk=made.pk).values()[0])
    assert timedelta(days=6.9) < made.expires_at - timezone.now() <= timedelta(days=7)
    assert secret not in client.get("/acme/demo/shares/").content.decode()
    assert Client().get(urlsplit(address[1]).path).status_code == 200
    made.refresh_from_db()
    assert made.opened == 1 and made.opened_at is not None


@pytest.mark.parametrize(
    "of",
    [
        *("/acme/demo/", "/acme/demo/runs/", "/acme/demo/runs/99/", "/acme/demo/shares/", "/acme/"),
        *("/other/demo/runs/1/", "https://example.com/acme/demo/runs/1/", "//example.com/acme/demo/runs/1/", "x"),
        *("/acme/demo/../../other/demo/runs/1/", "/acme/demo/runs/1/points/", "/acme/demo/runs/1/delete/", "//["),
    ],
)
def test_only_pages_of_the_project_that_are_there_can_be_shared(
    of: str, mary: User, names: dict[str, Any], charlie: User, as_user: AsUser
) -> None:
    before = Share.objects.count()
    answer = as_user(mary).post("/acme/demo/shares/new/", {"of": of, "days": "7"})
    assert answer.status_code == 422 and Share.objects.count() == before


@pytest.mark.parametrize("days", ["", "0", "-1", "2", "9999999", "x", "٣"])
def test_a_link_lasts_as_long_as_was_offered(days: str, mary: User, names: dict[str, Any], as_user: AsUser) -> None:
    before = Share.objects.count()
    answer = as_user(mary).post("/acme/demo/shares/new/", {"of": "/acme/demo/runs/1/", "days": days})
    assert answer.status_code == 422 and Share.objects.count() == before


def test_owners_see_and_withdraw_every_link_and_maintainers_their_own(
    project: Project, mary: User, alice: User, names: dict[str, Any], as_user: AsUser
) -> None:
    url = link(project, alice, "runs/1/")
    hers = Share.objects.order_by("-pk")[0]
    withdrawing = reverse("share-withdraw", args=[*project.path, hers.pk])
    assert as_user(mary).post(withdrawing).status_code == 404
    assert withdrawing not in as_user(mary).get("/acme/demo/shares/").content.decode()
    assert Client().get(url).status_code == 200
    assert withdrawing in as_user(alice).get("/acme/demo/shares/").content.decode()
    as_user(alice).post(withdrawing)
    assert Client().get(url).status_code == 404


def test_opening_a_link_reads_no_more_rows_the_more_links_there_are(
    project: Project, mary: User, names: dict[str, Any], as_user: AsUser, django_assert_max_num_queries: Any
) -> None:
    Point.objects.bulk_create(
        Point(run=Run.objects.get(project=project), step=step, metrics={"reward": 0.1}) for step in range(10, 40)
    )
    for _ in range(20):
        link(project, mary, "runs/1/")
    client = as_user(mary)
    with django_assert_max_num_queries(16):
        client.get("/acme/demo/shares/")


def test_a_visitor_of_a_comparison_looks_at_its_runs_and_at_no_other() -> None:
    share = Share(kind=Share.Kind.COMPARISON, path="runs/compare/", query="run=1&run=2&metric=reward")
    share.project = Project(slug="demo", organisation=Organisation(slug="acme"))
    reach = Reach(share, "secret")
    query = reach.query(QueryDict("run=3&metric=kl&axis=time&part=curves&q=all"))
    assert query == QueryDict("run=1&run=2&metric=kl&axis=time&part=curves")
    assert [reach.address(f"/acme/demo/runs/{run}/points/") is not None for run in (1, 2, 3)] == [True, True, False]
    assert reach.address("/acme/demo/runs/1/") is None
    assert reach.address("?run=1&part=picker") is None and reach.address("?run=1&part=curves")


def test_the_baseline_of_a_shared_run_is_hidden(project: Project, mary: User, names: dict[str, Any]) -> None:
    share = Share(project=project, kind=Share.Kind.RUN, path="runs/1/", query="base=2&from=3")
    assert Reach(share, "secret").query(QueryDict("base=4&step=9")) == QueryDict("from=3&base=none")


def test_a_shared_run_names_no_other_run_and_no_log(
    project: Project, mary: User, names: dict[str, Any], as_user: AsUser
) -> None:
    """It names neither the baseline, nor possible baselines, nor the run's parent, nor its children."""
    run = Run.objects.get(project=project)
    kin = [other_run(project, run, number, f"Kin {number}") for number in (2, 3)]
    Run.objects.filter(pk=run.pk).update(base=kin[0], config={"policy": f"run:{kin[0].job_id}"})
    Run.objects.filter(pk=kin[1].pk).update(base=run, pinned=True)
    log = run.job.folder / "log.txt"
    log.parent.mkdir(parents=True, exist_ok=True)
    log.write_text("a line of the log\n", encoding="utf-8")
    ours = as_user(mary).get("/acme/demo/runs/1/").content.decode()
    assert "Kin 2" in ours and "Kin 3" in ours and 'id="log"' in ours
    url, _ = shared("run", project, mary, names)
    for headers in ({}, {"HX-Request": "true"}):
        html = Client().get(url, headers=headers).content.decode()
        assert "Kin" not in html and "a line of the log" not in html and 'id="log"' not in html
        assert "acme" not in html and "run 3" not in html.lower()


def other_run(project: Project, like: Run, number: int, name: str) -> Run:
    job = Job.objects.create(project=project, kind="run", title=name, state=State.DONE)
    return Run.objects.create(project=project, number=number, name=name, dataset=like.dataset, job=job)


def test_a_shared_comparison_answers_for_all_of_its_parts(project: Project, mary: User, names: dict[str, Any]) -> None:
    run = Run.objects.get(project=project)
    other = other_run(project, run, 2, "Second")
    other_run(project, run, 3, "Third")
    Point.objects.create(run=other, step=STEP, metrics={"reward": 0.3})
    started = {"host": "gpu-7", "environment": {"python": "3.11", "system": "Linux gpu-7"}}
    other.job.events.create(attempt=1, seq=1, kind="started", at=timezone.now(), data=started)
    Run.objects.update(notes=f"mary@example.com on gpu-7, s3://bucket/x, {run.job.folder}")
    url = link(project, mary, "runs/compare/", "run=1&run=2")
    for part in ("", "curves", "finals", "tools"):
        answer = Client().get(url, {"part": part, "run": "3", "base": "2", "axis": "time", "by": "calls"})
        text = answer.content.decode()
        assert answer.status_code == 200, part
        found = re.search(rf"Third|gpu-7|\bmary\b|s3://|/acme/|{re.escape(str(run.job.folder))}", text)
        assert found is None, (part, found)
    assert all(Client().get(url, {"part": part}).status_code == 404 for part in ("picker", "log", "settings", "x"))
