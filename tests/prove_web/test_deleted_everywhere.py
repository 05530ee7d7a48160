"""A deleted object appears on no page and in no API response, whatever refers to it; only its bin lists it."""

from __future__ import annotations

import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from django.conf import LazySettings
from django.test import Client
from django.urls import get_resolver, reverse

from prove_web.accounts.models import Preference, Project, User
from prove_web.alerts.models import Alert, Rule
from prove_web.experiments.metric_summary import rebuild
from prove_web.experiments.models import Point, Run
from prove_web.live.models import Job, Kind, State
from prove_web.review.comments import post_comment
from prove_web.review.models import Queue
from prove_web.review.notifications import notify
from prove_web.sharing.soft_delete import Thing, delete
from prove_web.trajectories.load_dataset import row
from prove_web.trajectories.models import Dataset, Trajectory

from .api_operations import OPERATIONS, named
from .evaluated import Look, evaluation_of
from .examples import abstention
from .furnished import STEP, furnish, leave_results
from .test_permissions import address, pages

AsUser = Callable[[User], Client]
NAME = "Zanzibar"
NUMBER = 31
BINS = {
    "bin",
    "list_deleted",
    "list_deleted_projects",
    "deleted-projects",
    "audit",
    "audit-export",
}  # they list what is deleted
# Pages with a query, which the bare addresses do not cover.
QUERIES = (
    *("runs/?group=dataset", "runs/?group=base", "runs/?columns=base,dataset,tags", "runs/?archived=all"),
    *(f"runs/?q={NAME}", f"runs/completion/?q={NAME}", "runs/export/?format=json", "runs/new/?clone=1"),
    *(f"runs/new/?clone={NUMBER}", f"runs/compare/?run=1&run={NUMBER}", f"runs/compare/?run=1&part=picker&q={NAME}"),
    *(f"runs/compare/?run=1&base={NUMBER}&part=curves", f"runs/1/?base={NUMBER}", "runs/behaviour/?a=run-1"),
    *(f"runs/behaviour/?a=run-1&b=run-{NUMBER}", f"what-if/?of=run-{NUMBER}", f"what-if/?of=dataset-{NUMBER}"),
    *(f"find/?q={NAME}", f"find/?q={NUMBER}", f"trajectories/?q={NAME}", f"trajectories/?q=dataset:{NUMBER}"),
    *(f"paper/?run={NUMBER}", f"paper/?dataset={NUMBER}", f"evaluations/?q={NAME}", f"jobs/?q={NAME}"),
    *(f"review/new/?dataset={NUMBER}", f"evaluations/new/?run={NUMBER}", f"datasets/mix/?dataset={NUMBER}"),
)


@pytest.fixture
def names(project: Project, mary: User, settings: LazySettings, tmp_path: Path) -> dict[str, Any]:
    settings.PROVE_DATA, settings.API_RATE = tmp_path, 10**6
    return furnish(project, mary)


def done(project: Project, kind: Kind, title: str, maker: User) -> Job:
    return Job.objects.create(project=project, kind=kind, title=title, state=State.DONE, created_by=maker)


def dataset_of(project: Project, maker: User) -> Dataset:
    """Create a data set that others derive from, with a comment on a trajectory and a run that trains on it."""
    first = Dataset.objects.get(project=project, number=1)
    job = done(project, Kind.DATASET, f"{NAME} data", maker)
    made = Dataset.objects.create(project=project, number=NUMBER, name=f"{NAME} data", job=job, parent=first)
    mine = row(made, abstention())
    mine.example, mine.parent = "zanzibar-0", Trajectory.objects.get(dataset=first)
    mine.save()
    post_comment(mine, maker, f"Look at {NAME}, @alice")
    later = done(project, Kind.DATASET, "Later", maker)
    origin = {"dataset": NUMBER, "mix": [[NUMBER, 1.0]]}
    child = {"name": "Later", "parent": made, "origin": origin, "job": later}
    edited = row(Dataset.objects.create(project=project, number=NUMBER + 1, **child), abstention())
    edited.example, edited.parent = "later-0", mine
    edited.save()
    Run.objects.filter(project=project, number=1).update(dataset=made)
    Job.objects.filter(run__number=1, project=project).update(spec={"dataset": NUMBER})
    queue = Queue.objects.get(project=project)
    queue.items.create(trajectory=mine, position=2)
    Queue.objects.filter(pk=queue.pk).update(source={"dataset": NUMBER})
    return made


def run_of(project: Project, maker: User) -> Run:
    """Create an evaluated run of a sweep: another run has it as base and starting policy, and data derive from it."""
    first = Run.objects.get(project=project, number=1)
    job = done(project, Kind.RUN, f"{NAME} run", maker)
    extra = {"name": f"{NAME} run", "tags": [NAME.lower()], "pinned": True, "notes": f"All of {NAME}", "config": {}}
    made = Run.objects.create(
        project=project, number=NUMBER, dataset=first.dataset, job=job, sweep=first.sweep, varied={"seed": "1"}, **extra
    )
    Point.objects.create(run=made, step=STEP, metrics={"reward": 0.75})
    rebuild(made)
    leave_results(made)
    small = Look(items=1, categories=["even"])
    evaluation_of(project, benchmark=small, run=made, checkpoint="last", number=NUMBER)
    rule = Rule.objects.get(project=project)
    alert = Alert.objects.create(project=project, rule=rule, run=made, key="step-3", step=STEP, value=0.5)
    notify(User.objects.all(), project, f"Mine: run “{made}”", alert.get_absolute_url())
    Run.objects.filter(pk=first.pk).update(base=made, config={"policy": f"run:{job.pk}"})
    Job.objects.filter(pk=first.job_id).update(spec={"policy": f"run:{job.pk}"})
    Trajectory.objects.filter(dataset__project=project).update(origin={"run": NUMBER, "step": STEP, "rollout": 1})
    Dataset.objects.filter(project=project, number=1).update(origin={"run": NUMBER})
    return made


def project_of(project: Project, maker: User) -> Project:
    """Create another project of the team whose objects need attention."""
    made = Project.objects.create(organisation=project.organisation, slug="zanzibar", name=f"{NAME} project")
    furnish(made, maker, NUMBER)
    Preference.objects.create(user=maker, project=made, page="runs", value={})
    return made


@pytest.mark.long
@pytest.mark.parametrize("make", [project_of, dataset_of, run_of])
def test_nothing_mentions_what_is_deleted(
    make: Callable[[Project, User], Thing],
    project: Project,
    mary: User,
    alice: User,
    names: dict[str, Any],
    as_user: AsUser,
) -> None:
    thing, client = make(project, mary), as_user(alice)
    pattern = re.compile(f"{NAME}|{re.escape(thing.get_absolute_url())}", re.IGNORECASE)
    urls = addresses(names)
    assert pattern.search(body(client, reverse("notifications"))) or isinstance(thing, Project)
    # Without some mentions there is nothing to hide.
    assert sum(bool(pattern.search(body(client, f"/acme/demo/{url}"))) for url in QUERIES) > 4
    Queue.objects.all().update(closed_at=thing.project.created_at if not isinstance(thing, Project) else None)
    Job.objects.exclude(state=State.DONE).update(state=State.DONE)
    delete(thing, alice)
    left = {url: found for url in urls if (found := mentions(pattern, body(client, url)))}
    assert left == {}


def addresses(names: dict[str, Any]) -> list[str]:
    """Return the URLs of every page of the project and its team, of every GET operation of the API, and QUERIES."""
    filled = named(names)
    found = [address(page, names) for page in pages(get_resolver()) if page.name not in BINS and can_be(page, names)]
    found += [each.address(filled) for each in OPERATIONS if each.method == "get" and each.name not in BINS]
    return [*found, reverse("notifications"), *(f"/acme/demo/{each}" for each in QUERIES)]


def can_be(page: Any, names: dict[str, Any]) -> bool:
    return ": " in page.rule and {*page.parts} <= {*names}


def body(client: Client, url: str) -> str:
    """Return the text of a response of status 200, and an empty text for any other."""
    answer = client.get(url)
    assert answer.status_code < 500, url
    if answer.status_code != 200:
        return ""
    content = answer.getvalue()
    answer.close()
    return content.decode(errors="replace")


def mentions(pattern: re.Pattern[str], text: str) -> list[str]:
    """Return the text around each match, except where it says "deleted" and where it repeats the query."""
    text = re.sub(r"\?[^\"<>\s]*", "", text)
    plain = re.sub(r"<[^>]*?(?:value|action|hx-get|hx-push-url|data-address|content)=\"[^\"]*\"[^>]*>", "", text)
    found = []
    for match in pattern.finditer(plain):
        around = plain[max(0, match.start() - 80) : match.end() + 80]
        if "deleted" not in around:
            found.append(around)
    return found
