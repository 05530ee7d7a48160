"""A worker's side of a job, written by hand: what it sends, in which order it arrives, what is lost on the way."""

from __future__ import annotations

from typing import Any

from prove_web.accounts.models import Project
from prove_web.experiments.models import Run
from prove_web.live.models import Job, Kind
from prove_web.trajectories.models import Dataset

Event = dict[str, Any]


def event(seq: int, kind: str, **data: Any) -> Event:
    return {"seq": seq, "at": "2026-01-02T03:04:05.678+00:00", "kind": kind, "data": data}


def step(seq: int, number: int, reward: float = 0.5) -> Event:
    return event(seq, "step", step=number, reward=reward)


def ended(seq: int, state: str = "done", **result: Any) -> Event:
    return event(seq, "ended", state=state, error="", result=result)


def story(first: int, last: int) -> list[Event]:
    """Return the events of an attempt that resumes after step `first` and reaches step `last`, from its beginning."""
    events = [event(1, "started", host="here", pid=1), event(2, "rewound", step=first)]
    events += [step(len(events) + 1 + i, i + 1, 0.1 * (i + 1)) for i in range(last)]
    return events


def run_job(project: Project, **rest: Any) -> Job:
    """Create a queued run with the data set it trains on."""
    number = Run.objects.filter(project=project).count() + 1
    source = Job.objects.create(project=project, kind=Kind.DATASET, title="Data", state="done")
    dataset = Dataset.objects.create(project=project, number=number, name="Data", job=source)
    job = Job.objects.create(project=project, kind=Kind.RUN, title=f"Run {number}", **rest)
    Run.objects.create(project=project, number=number, name=job.title, dataset=dataset, job=job, config={})
    return job
