"""Workers according to their heartbeats, and their running jobs according to the database."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterable
from dataclasses import dataclass, field
from statistics import fmean
from typing import Any

from prove_web.accounts.models import Organisation
from prove_web.experiments.sparkline import Sparkline
from prove_web.live import message_broker
from prove_web.live.models import AT_WORK, FILES, Job
from training_worker.evaluation.registry import KNOWN
from training_worker.synthesis.shards import own_code
from training_worker.worker import heartbeat

from .models import Enrolment
from .worker_drain import list_draining_workers

QUEUES = {
    "training": "Runs, and evaluations that load a model",
    "synthesis": "Graphs, datasets, and evaluations without a model",
    FILES: "Datasets derived from others, and exports",
}
MOST_SILENT = 30.0  # seconds; three heartbeats


@dataclass(frozen=True)
class Worker:
    """A worker process; `age` is in seconds since its last heartbeat, `info` is the data of worker/worker_info.py."""

    name: str
    label: str  # name shown to people who must not know its host
    queues: tuple[str, ...]
    slots: int
    age: float
    info: dict[str, Any] = field(default_factory=dict)
    jobs: tuple[Job, ...] = ()
    enrolment: Enrolment | None = None  # for a team's own machine
    draining: bool = False  # it finishes its jobs and takes no new ones
    hour: tuple[tuple[float, float], ...] = ()  # utilisation samples: seconds ago, and a share of 0 to 1

    @property
    def alive(self) -> bool:
        return self.age <= MOST_SILENT

    @property
    def other_code(self) -> bool:
        """Return whether it runs other code than the site, such as a worker not restarted after an update."""
        return bool(self.info.get("code")) and self.info["code"] != own_code()

    @property
    def takes(self) -> bool:
        """Return whether it accepts jobs."""
        return self.alive and not self.draining and not self.info.get("refused")

    @property
    def state(self) -> str:
        """Return the state in words."""
        if not self.alive:
            return "Silent"
        if self.info.get("refused"):
            return "Turned away"
        if self.draining:
            return "Draining"
        return "At work" if self.jobs else "Free"

    @property
    def curve(self) -> Sparkline | None:
        """Return the utilisation of the last hour; None with fewer than two samples."""
        return build_utilisation_sparkline(self.hour)

    @property
    def hour_title(self) -> str:
        """Return a description of the curve."""
        return f"{'GPUs' if self.devices else 'CPU'} over the last hour, {self.mean:.0%} busy on average"

    @property
    def mean(self) -> float:
        return fmean(share for _, share in self.hour)

    @property
    def devices(self) -> list[dict[str, Any]]:
        """Return its GPUs: name, memory_gb, and where reported `used` and `busy` (shares), `used_gb` and `celsius`."""
        names = {"busy": "gpu", "used": "gpu_memory", "celsius": "gpu_celsius"}
        beside = {one: self.info.get(name) or [] for one, name in names.items()}
        found = [
            {**gpu, "number": at, **{one: values[at] for one, values in beside.items() if at < len(values)}}
            for at, gpu in enumerate(self.info.get("gpus") or [])
        ]
        return [{**gpu, "used_gb": round(gpu["used"] * gpu["memory_gb"], 1)} if "used" in gpu else gpu for gpu in found]

    @property
    def evaluates(self) -> list[str]:
        """Return the titles of its installed benchmarks."""
        return [KNOWN[name].title for name in self.info.get("benchmarks") or () if name in KNOWN]

    @property
    def loads(self) -> list[tuple[str, float]]:
        """Return CPU and memory load as shares of 0 to 1."""
        found = [("CPU", self.info.get("cpu")), ("Memory", self.info.get("memory"))]
        return [(name, float(share)) for name, share in found if isinstance(share, int | float)]


def build_utilisation_sparkline(hour: Collection[tuple[float, float]]) -> Sparkline | None:
    """Return a sparkline with a fixed scale from idle to busy."""
    return Sparkline.from_values([share for _, share in hour], (0.0, 1.0)) if len(hour) > 1 else None


def workers(organisation: Organisation | None = None) -> list[Worker] | None:
    """Return job workers with a heartbeat within a day; None if the broker does not respond.

    Machines enrolled by teams are limited to this organisation; by default all are returned.
    """
    try:
        broker = message_broker.broker()
        ages, reported = heartbeat.ages(broker), heartbeat.read_worker_info(broker)
        hours = {name: tuple(heartbeat.loads(broker, name)) for name in reported}
    except message_broker.UNREACHABLE:
        return None
    at_work, enrolled, drained = jobs_by_worker(), machines(ages), list_draining_workers()
    counted = Counter[str]()
    found = []
    for name, age in ages.items():
        said, enrolment = reported.get(name, {}), enrolled.get(name)
        queues = queues_of(name, said)
        theirs = organisation and enrolment and enrolment.organisation_id != organisation.pk
        if queues and not theirs:
            kind = name.partition("@")[0]
            counted[kind] += 1
            label = kind if counted[kind] == 1 else f"{kind} {counted[kind]}"
            beside = {"enrolment": enrolment, "draining": name in drained, "hour": hours.get(name, ())}
            jobs = tuple(at_work.get(name, ()))
            found.append(Worker(name, label, queues, slots_of(said), age, said, jobs, **beside))
    return sorted(found, key=lambda one: (not one.alive, list(QUEUES).index(one.queues[0]), one.name))


def machines(names: Iterable[str]) -> dict[str, Enrolment]:
    """Return the enrolments of the workers that are enrolled machines, by name."""
    numbers = [end for name in names if (end := name.rpartition("-")[2]).isdecimal() and len(end) < 10]
    return {one.worker: one for one in Enrolment.objects.filter(pk__in=map(int, numbers))}


def queues_of(name: str, info: dict[str, Any]) -> tuple[str, ...]:
    """Return the job queues it serves as reported, or according to its name if it reports none."""
    named = [name.partition("@")[0]] if "@" in name else []
    given = info.get("queues")
    return tuple(one for one in QUEUES if one in (given if isinstance(given, list) else named))


def slots_of(info: dict[str, Any]) -> int:
    slots = info.get("slots")
    return slots if isinstance(slots, int) and 0 < slots < 10_000 else 1


def jobs_by_worker() -> dict[str, list[Job]]:
    found: dict[str, list[Job]] = {}
    jobs = Job.objects.filter(state__in=AT_WORK).exclude(worker="").select_related("project__organisation")
    for job in jobs.defer("spec", "result").order_by("started_at"):
        found.setdefault(job.worker, []).append(job)
    return found


def select_queue_workers(found: Iterable[Worker], queue: str) -> list[Worker]:
    """Return the workers that accept jobs of a queue."""
    return [one for one in found if one.takes and queue in one.queues]
