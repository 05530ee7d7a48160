"""What an enrolled machine tells of the job that it is at, taken only where it has the form that it should have."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, get_args

from django.utils import timezone

from prove_web.evaluations.reports import report_in
from prove_web.live.models import Job, Kind, State
from prove_web.live.record import moment
from training_worker.prove.benchmarks.results import RESULTS
from training_worker.prove.events import KINDS, Ended
from training_worker.prove.store.cache import is_digest
from training_worker.prove.trajectory import Json, adapter

from .carrying import OUT, plain

MOST_EVENTS = 1000
ENDS = get_args(Ended)
OF_FILE = ("digest", "tokens_digest")  # of an event that tells of a step's rollouts


@dataclass(frozen=True)
class ToldItem:
    """An item of an evaluation in short (see jobs/evaluate.py)."""

    item: str
    category: str
    passed: bool
    value: float
    failure: str
    steps: int
    tokens: int
    seconds: float
    calls: int
    line: int


@dataclass(frozen=True)
class ToldIdentity:
    """What an evaluation is known by."""

    benchmark: str
    version: str
    settings: dict[str, Json]
    model: str


def events(told: Any, job: Job, worker: str) -> Iterator[dict[str, Any]]:
    """The events of a machine of this name. Raises ValueError, KeyError and TypeError for what are none."""
    if not isinstance(told, list) or len(told) > MOST_EVENTS:
        raise ValueError("events must be a list")
    for one in told:
        data = dict(one["data"])
        check(one["kind"], data, job)
        data |= {"worker": worker} if one["kind"] == "started" else {}
        yield {"seq": int(one["seq"]), "at": not_later(str(one["at"])), "kind": one["kind"], "data": data}


def not_later(at: str) -> str:
    """A time of a machine whose clock goes ahead of the site's is the site's."""
    now = timezone.now()
    return at if moment(at) <= now else now.isoformat()


def check(kind: str, data: dict[str, Any], job: Job) -> None:
    evaluates = job.kind == Kind.EVALUATE
    if kind not in KINDS or (kind == "items" and not evaluates):
        raise ValueError(f"{kind!r} is no kind of event of this job")
    if kind == "ended" and data["state"] not in ENDS:
        raise ValueError(f"{data['state']!r} is no end")
    if kind == "rollouts" and not all(is_digest(data[name]) for name in OF_FILE if data[name]):
        raise ValueError("the digest of a file is its SHA-256")
    if kind == "items":
        check_items(data, job)
    if kind == "ended" and evaluates and data["state"] == State.DONE:
        check_folder(data["result"]["folder"], job)
        if report_in(data["result"]) is None:
            raise ValueError("the report of an evaluation cannot be read")


def check_items(data: dict[str, Any], job: Job) -> None:
    check_folder(data["folder"], job)
    identity = adapter(ToldIdentity).validate_python(data["identity"])
    if identity.benchmark != job.spec.get("benchmark"):
        raise ValueError(f"the job is not about {identity.benchmark!r}")
    for item in adapter(list[ToldItem]).validate_python(data["items"]):
        if not 0 <= item.value <= 1:
            raise ValueError("an item counts from 0 to 1")


def check_folder(folder: Any, job: Job) -> None:
    """Results that a machine has made are the job's own, and nobody else goes on from them."""
    own = f"jobs/{job.pk}/"
    inside = str(folder).removeprefix(own)
    if not str(folder).startswith(own) or not inside.startswith(f"{OUT}/{RESULTS}/") or not plain(inside):
        raise ValueError("the results of a job lie in its own folder")
