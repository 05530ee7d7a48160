"""An odd event from another machine is refused with a reason or stored, and every page still opens."""

from __future__ import annotations

import copy
import math
from collections.abc import Callable, Iterator
from typing import Any

import pytest
from django.test import Client
from django.urls import reverse
from django.utils import timezone

from prove_web.accounts.models import Project, User
from prove_web.experiments.detail import build_live_context
from prove_web.experiments.models import HeldOut, Point, Run
from prove_web.live.ingest import record
from prove_web.live.models import Job, JobEvent, Kind
from prove_web.workers.event_ingest import check_end, events
from training_worker.core.events import KINDS, get_timestamp
from training_worker.monitoring.event_data import InvalidEvent

from .story import run_job

pytestmark = pytest.mark.django_db

DIGEST = "0" * 64
MEANS = dict.fromkeys(("reward", "validity", "coverage", "efficiency", "name", "arguments"), 0.5)
LINE = {"steps": "1", "examples": 3, "means": MEANS, "calls": 1.0}
PAIRED = {"before": 0.1, "after": 0.2, "difference": 0.1, "low": 0.0, "high": 0.2, "examples": 3, "state": [0.1, 0.2]}
PAIRED |= {"acts": [[[1, 0, 0], [0, 2, 0], [0, 0, 3]]] * 2}
COMPARED = {"before": [0.1] * 7, "after": [0.2] * 7, "reward": [0.1, 0.0, 0.2], "success": [0.1, None, None]}
COMPARED |= {"goal_success": [0.1, 0.2], "act_accuracy": [0.5, None]}
SLICES = [
    {"by": by, "name": name, "examples": 3, "sampled": COMPARED | {"pass_4": [0.1, 0.2]}, "greedy": COMPARED}
    for by, name in (("all", "all"), ("server", "email"), ("kind", "chain"))
]
RESULT = {"before": [LINE], "after": [LINE], "sampled": PAIRED, "greedy": PAIRED, "slices": SLICES, "steps": 3}
GROUP = {"number": 1, "first": 1, "example": "e-1", "reward": [0.5, None], "advantage": [0.1, None]}
GROUP |= {"end": ["done", "failed"], "failed_calls": [0, 1], "model_tokens": [5, 6], "tools": [["send_email"], []]}
GROUP |= {"outcomes": [["succeeded"], []]}
SOUND: dict[str, dict[str, Any]] = {
    "started": {"host": "box", "pid": 7, "device": "cpu", "environment": {"python": "3.11", "cores": 2}},
    "progress": {"done": 1, "total": 9, "line": "step 1", "seconds_left": 3.5},
    "step": {"step": 3, "reward": 0.5, "loss": math.nan, "tools": {"send_email": [2, 1]}},
    "rollouts": {
        "step": 3,
        "file": "step-000003.parquet",
        "digest": DIGEST,
        "bytes": 9,
        "tokens": "tokens-000003.parquet",
    }
    | {"tokens_digest": DIGEST, "groups": [GROUP]},
    "rewound": {"step": 2},
    "held_out": {"step": 3, "reward": 0.5, "success": 0.1, "slices": [["server", "email", 3, 0.5, 0.1, 0.2]]},
    "checkpoint": {"step": 3, "bytes": 100},
    "storage": {"waiting": 0, "error": ""},
    "items": {"folder": "", "identity": {}, "items": []},
    "ended": {"state": "done", "error": "", "result": RESULT},
}
ODD: tuple[Any, ...] = (
    *(None, True, -1, 1.5, 10**400, 1 << 70, math.nan, math.inf, "", "\0", "\ud800", "x" * 200_000, [], [None]),
    *([[[1]]], {}, {"\0": 1}, {"x": {"y": [math.inf]}}, [{}], "NaN", -(10**30)),
)
DEEP = (None, "x", [[1]], 10**400, math.nan)  # fewer values for nested properties, to keep the test fast


def places(value: Any, at: tuple[Any, ...] = ()) -> Iterator[tuple[Any, ...]]:
    """Yield the path to each property and entry inside a value; of a list only the first."""
    inner = value.items() if isinstance(value, dict) else enumerate(value[:1]) if isinstance(value, list) else ()
    for name, each in inner:
        yield (*at, name)
        yield from places(each, (*at, name))


def changed(data: dict[str, Any], at: tuple[Any, ...], odd: Any, gone: bool = False) -> dict[str, Any]:
    found = copy.deepcopy(data)
    inner: Any = found
    for name in at[:-1]:
        inner = inner[name]
    if gone:
        del inner[at[-1]]
    else:
        inner[at[-1]] = odd
    return found


def strange(kind: str) -> Iterator[dict[str, Any]]:
    """Yield data of this kind with one odd, missing or extra property."""
    sound = SOUND[kind]
    for at in places(sound):
        yield changed(sound, at, None, gone=True)
        yield from (changed(sound, at, odd) for odd in (ODD if len(at) < 3 else DEEP))
    yield from ({**sound, "extra": odd} for odd in ODD)


@pytest.fixture
def job(project: Project) -> Job:
    return run_job(project, state="running", worker="box")


def send(job: Job, kind: Any, data: Any, **rest: Any) -> str:
    """Send an event as an enrolled machine does; return the reason of a refusal, or an empty text."""
    event = {"seq": job.seq + 1, "at": get_timestamp(), "kind": kind, "data": data} | rest
    try:
        stored = record(str(job.pk), 1, list(events([event], job, "box")))
    except InvalidEvent as why:
        return str(why)
    assert stored is not None and stored.seq == event["seq"], "what is accepted is stored"
    job.refresh_from_db()
    return ""


def pages(project: Project, job: Job) -> list[str]:
    run = [*project.path, job.run.number]
    names = ("run", "run-points", "run-tools", "run-outcomes", "run-rollouts", "run-watch")
    found = [reverse(name, args=run) for name in names]
    found += [reverse("run-metric", args=run) + "?name=reward", reverse("rollouts", args=[*run, 3])]
    found += [reverse("rollout-group", args=[*run, 3, 1]), reverse("job", args=[*project.path, job.pk])]
    found += [reverse("runs", args=project.path), reverse("run-compare", args=project.path) + f"?run={run[-1]}"]
    found += [reverse("home", args=project.path), reverse("paper", args=project.path)]
    api = f"/api/v1/{project.organisation.slug}/{project.slug}/runs/{run[-1]}"
    return [*found, api, f"{api}/evaluation"]


def assert_all_open(client: Client, project: Project, job: Job, about: Any = "") -> None:
    for url in pages(project, job):
        status = client.get(url).status_code
        missing = "/rollouts/3/" in url  # these pages say that the file is missing
        assert status in ((200, 404) if missing else (200,)), (url, status, str(about)[:500])


@pytest.mark.parametrize("kind", [kind for kind in KINDS if kind not in ("items", "ended")])
def test_an_odd_event_is_refused_with_a_reason_or_stored_and_every_page_of_the_run_opens(
    kind: str, project: Project, job: Job, bob: User, as_user: Callable[[User], Client]
) -> None:
    assert not send(job, kind, SOUND[kind])
    refused = [why for data in strange(kind) if (why := send(job, kind, data))]
    assert len(refused) > 20 and all(f"({kind})" in why for why in refused)
    assert_all_open(as_user(bob), project, job)


def test_an_odd_end_is_refused_with_a_reason_or_stored_and_every_page_of_the_run_opens(
    project: Project, bob: User, as_user: Callable[[User], Client]
) -> None:
    client, refused = as_user(bob), []
    job = run_job(project, state="running", worker="box")
    for data in strange("ended"):
        why = send(job, "ended", data)
        refused.append(why)
        if not why:
            last, job = job, run_job(project, state="running", worker="box")
            build_live_context(Run.objects.get(job=last), {})  # what the page of the run renders
    assert sum(map(bool, refused)) > 100 and all("(ended)" in why for why in refused if why)
    assert not send(job, "ended", SOUND["ended"])
    assert_all_open(client, project, job)


@pytest.mark.parametrize("rest", [{"seq": odd} for odd in ODD] + [{"kind": odd} for odd in ODD])
def test_an_event_with_an_odd_number_or_kind_is_refused_with_a_reason(job: Job, rest: dict[str, Any]) -> None:
    kind = rest.pop("kind", "storage")
    why = send(job, kind, SOUND["storage"], **rest)
    assert "Event 1: " in why or "field seq" in why


@pytest.mark.parametrize("odd", ODD)
def test_an_event_with_an_odd_time_or_data_is_refused_with_a_reason(job: Job, odd: Any) -> None:
    assert "field at" in send(job, "storage", SOUND["storage"], at=odd)
    assert "Event 1 (storage)" in send(job, "storage", odd)
    assert not JobEvent.objects.exists()


def test_what_was_stored_before_it_was_checked_breaks_no_page(
    project: Project, job: Job, bob: User, as_user: Callable[[User], Client]
) -> None:
    client, run = as_user(bob), Run.objects.get(job=job)
    for place, (kind, sound) in enumerate(SOUND.items()):
        for at, odd in enumerate((None, "x", [1], {"a": [None]}, [[]])):
            data = [] if odd is None else dict.fromkeys(sound, odd)
            JobEvent.objects.create(
                job=job, attempt=1, seq=1 + 10 * place + at, kind=kind, at=job.created_at, data=data
            )
    for step, odd in enumerate(("x", [1], {"a": None}, True, [["server", "email"]]), 1):
        metrics = dict.fromkeys(("reward", "success", "slices", "tools", "reward_std", "tokens", "elapsed_s"), odd)
        Point.objects.create(run=run, step=step, metrics=metrics)
        HeldOut.objects.create(run=run, step=step, metrics=metrics)
    assert_all_open(client, project, job)
    for odd in ([], "x", {"slices": [7]}, {"before": [{}], "after": 3}, {"sampled": {}, "slices": SLICES}, RESULT):
        for result in (odd, {**RESULT, **dict.fromkeys(("before", "sampled", "slices"), odd)}):
            Job.objects.filter(pk=job.pk).update(state="done", result=result)
            for url in pages(project, job):
                if url.endswith(("/runs/1/", "/evaluation", "?run=1", "paper/")):
                    assert client.get(url).status_code == 200, (url, result)


def test_a_trial_of_another_form_is_refused(project: Project) -> None:
    job = Job(project=project, kind=Kind.TRIAL)
    sound = {"groups": [[0.5, 0.1]], "dead": 0, "rollouts": 8, "tokens": 3.5, "bytes": 10.0, "seconds": 2.0}
    for name in sound:
        for odd in (None, "x", [[[1]]], {}, math.nan, -1):
            with pytest.raises(InvalidEvent, match=rf"Event 1 \(ended\), field result.{name}"):
                check_end("Event 1 (ended)", {"state": "done", "error": "", "result": {**sound, name: odd}}, job)
    check_end("Event 1 (ended)", {"state": "done", "error": "", "result": sound}, job)


def test_a_time_before_the_job_or_after_now_is_moved_to_the_nearest_of_its_life(job: Job) -> None:
    for at in ("0001-01-01T00:00:00+23:59", "9999-12-31T23:59:59-23:59"):
        assert not send(job, "storage", SOUND["storage"], at=at)
    early, late = JobEvent.objects.order_by("seq").values_list("at", flat=True)
    assert (job.created_at - early).total_seconds() == 300 and job.created_at <= late <= timezone.now()


def test_a_refusal_names_the_event_and_the_field(job: Job) -> None:
    assert send(job, "progress", {**SOUND["progress"], "done": "x"}).startswith(
        "Event 1 (progress), field done: Input should be a valid number"
    )
    assert "field groups.0.reward.0" in send(
        job, "rollouts", changed(SOUND["rollouts"], ("groups", 0, "reward", 0), "high")
    )
