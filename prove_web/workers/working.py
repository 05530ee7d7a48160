"""The workers as their heartbeats tell of them, and what each is at according to the database."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Any

from prove_web.live import messages
from prove_web.live.models import AT_WORK, FILES, Job
from training_worker import hearts
from training_worker.prove.synthesis.shards import own_code

QUEUES = {
    "training": "Runs, and evaluations that load a model",
    "synthesis": "Graphs, data sets, and evaluations without a model",
    FILES: "Data sets made of others, and exports",
}
MOST_SILENT = 30.0  # seconds; three heartbeats


@dataclass(frozen=True)
class Worker:
    """One program that does jobs; `age` is in seconds since it was last heard of, `told` as facts.py has it."""

    name: str
    label: str  # what people who are not to know its host call it
    queues: tuple[str, ...]
    slots: int
    age: float
    told: dict[str, Any] = field(default_factory=dict)
    jobs: tuple[Job, ...] = ()

    @property
    def alive(self) -> bool:
        return self.age <= MOST_SILENT

    @property
    def other_code(self) -> bool:
        """Whether it runs other code than this site, as a worker does that was not started anew after an update."""
        return bool(self.told.get("code")) and self.told["code"] != own_code()

    @property
    def loads(self) -> list[tuple[str, float]]:
        """What is busy, as shares of 0 to 1."""
        found = [("CPU", self.told.get("cpu")), ("Memory", self.told.get("memory"))]
        for number, busy in enumerate(self.told.get("gpu") or [], 1):
            found.append((f"GPU {number}", busy))
        for number, used in enumerate(self.told.get("gpu_memory") or [], 1):
            found.append((f"GPU {number} memory", used))
        return [(name, float(share)) for name, share in found if isinstance(share, int | float)]


def workers() -> list[Worker] | None:
    """Those heard of within a day, who serve a queue of jobs; None when the broker cannot be asked."""
    try:
        ages, told = hearts.ages(messages.broker()), hearts.told(messages.broker())
    except messages.UNREACHABLE:
        return None
    at_work = jobs_by_worker()
    counted = Counter[str]()
    found = []
    for name, age in ages.items():
        said = told.get(name, {})
        queues = queues_of(name, said)
        if queues:
            kind = name.partition("@")[0]
            counted[kind] += 1
            label = kind if counted[kind] == 1 else f"{kind} {counted[kind]}"
            jobs = tuple(at_work.get(name, ()))
            found.append(Worker(name, label, queues, slots_of(said), age, said, jobs))
    return sorted(found, key=lambda one: (not one.alive, list(QUEUES).index(one.queues[0]), one.name))


def queues_of(name: str, told: dict[str, Any]) -> tuple[str, ...]:
    """The queues of jobs it serves: as it tells, or as its name says where it tells nothing."""
    named = [name.partition("@")[0]] if "@" in name else []
    given = told.get("queues")
    return tuple(one for one in QUEUES if one in (given if isinstance(given, list) else named))


def slots_of(told: dict[str, Any]) -> int:
    slots = told.get("slots")
    return slots if isinstance(slots, int) and 0 < slots < 10_000 else 1


def jobs_by_worker() -> dict[str, list[Job]]:
    found: dict[str, list[Job]] = {}
    jobs = Job.objects.filter(state__in=AT_WORK).exclude(worker="").select_related("project__organisation")
    for job in jobs.defer("spec", "result").order_by("started_at"):
        found.setdefault(job.worker, []).append(job)
    return found


def serving(found: Iterable[Worker], queue: str) -> list[Worker]:
    """Those alive that serve a queue."""
    return [one for one in found if one.alive and queue in one.queues]
