"""Metrics collected on request from database and broker: jobs, queues, heartbeats, events, runs and disk."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator
from typing import Any

from django.db import DatabaseError
from django.db.models import Count, Max
from prometheus_client.core import CounterMetricFamily, GaugeMetricFamily, Metric

from prove_web.core.counters import registry
from prove_web.experiments.models import Point, RolloutGroup
from prove_web.live import message_broker
from prove_web.live.health import HealthCheckError, free_bytes
from prove_web.live.models import AT_WORK, FILES, Job, JobEvent, Kind, State
from prove_web.workers.worker_status import workers as heard_of
from training_worker.worker import heartbeat

QUEUES = ("events", "web", FILES, "synthesis", "training")
ACTIVE = tuple(str(state) for state in (State.QUEUED, *AT_WORK))
WORKER_STATES = ("at work", "draining", "free", "silent", "turned away")
UNKNOWN = (DatabaseError, *message_broker.UNREACHABLE, HealthCheckError)


class SiteState:
    """A Prometheus collector that omits unavailable metrics and reports them in `prove_unknown`."""

    def collect(self) -> Iterator[Metric]:
        unknown = GaugeMetricFamily("prove_unknown", "1 for each part that could not be measured.", labels=["part"])
        for part in PARTS:
            try:
                yield from part()
                unknown.add_metric([part.__name__], 0)
            except UNKNOWN:
                unknown.add_metric([part.__name__], 1)
        yield unknown


class Everything:
    """This process's counters and the site's state, in place of a registry."""

    def collect(self) -> Iterator[Metric]:
        yield from registry().collect()
        yield from SiteState().collect()


def jobs() -> list[Metric]:
    """Return all combinations, so that series do not vanish at zero."""
    grouped = Job.objects.order_by().values("kind", "state").annotate(number=Count("id"))
    counted = {(one["kind"], one["state"]): one["number"] for one in grouped}
    found = GaugeMetricFamily("prove_jobs", "Jobs.", labels=["kind", "state"])
    for kind in Kind.values:
        for state in State.values:
            found.add_metric([kind, state], counted.get((kind, state), 0))
    return [found, jobs_by_queue()]


def jobs_by_queue() -> Metric:
    """Return the queued and running jobs by queue."""
    active = Job.objects.filter(state__in=ACTIVE).order_by().with_queue()
    grouped = active.values("line_of", "state").annotate(number=Count("id"))
    counted = {(one["line_of"], one["state"]): one["number"] for one in grouped}
    found = GaugeMetricFamily("prove_queue_jobs", "Jobs that are queued or running.", labels=["queue", "state"])
    for queue in QUEUES[1:]:
        for state in ACTIVE:
            found.add_metric([queue, state], counted.get((queue, state), 0))
    return found


def queues() -> list[Metric]:
    found = GaugeMetricFamily("prove_queue_length", "Messages not yet consumed.", labels=["queue"])
    for queue in QUEUES:
        found.add_metric([queue], message_broker.broker().llen(queue))
    return [found]


def heartbeats() -> list[Metric]:
    about = "Seconds since the last heartbeat of a program."
    found = GaugeMetricFamily("prove_heartbeat_age_seconds", about, labels=["program"])
    for name, age in heartbeat.ages(message_broker.broker()).items():
        found.add_metric([name], age)
    return [found]


def workers() -> list[Metric]:
    """Return workers by queue and state, and the utilisation of their GPUs."""
    counts = GaugeMetricFamily("prove_workers", "Workers with a heartbeat within a day.", labels=["queue", "state"])
    gpus = {
        "busy": GaugeMetricFamily("prove_gpu_busy_ratio", "GPU utilization, 0 to 1.", labels=GPU),
        "used": GaugeMetricFamily("prove_gpu_memory_used_ratio", "GPU memory in use, 0 to 1.", labels=GPU),
        "celsius": GaugeMetricFamily("prove_gpu_temperature_celsius", "GPU temperature.", labels=GPU),
    }
    if (found := heard_of()) is None:
        raise HealthCheckError("the broker does not answer")
    for queue in QUEUES[1:]:
        states = Counter(one.state.lower() for one in found if queue in one.queues)
        for state in WORKER_STATES:
            counts.add_metric([queue, state], states[state])
    for worker in (one for one in found if one.alive):
        for device in worker.devices:
            for name in gpus.keys() & device.keys():
                gpus[name].add_metric([worker.name, str(device["number"])], device[name])
    return [counts, *gpus.values()]


def events() -> list[Metric]:
    """Return the newest ids, which only grow; counting millions of rows per request would be expensive."""
    counted: dict[str, tuple[str, Any]] = {
        "prove_events_stored": ("Events stored since the site was created.", JobEvent),
        "prove_rollout_groups_stored": ("Rollout groups stored since the site was created.", RolloutGroup),
    }
    return [
        CounterMetricFamily(name, about, value=model.objects.aggregate(newest=Max("id"))["newest"] or 0)
        for name, (about, model) in counted.items()
    ]


def runs() -> list[Metric]:
    """Return the metrics of the newest step of each active run."""
    rates = {
        "rollouts": GaugeMetricFamily(
            "prove_run_rollouts_per_second", "Rollouts per second in the latest step.", labels=RUN
        ),
        "tokens": GaugeMetricFamily(
            "prove_run_tokens_per_second", "Policy tokens per second in the latest step.", labels=RUN
        ),
        "step": GaugeMetricFamily("prove_run_step", "Latest step.", labels=RUN),
    }
    newest = Point.objects.filter(run__job__state__in=AT_WORK).values("run").annotate(last=Max("step"))
    for each in newest:
        point = Point.objects.select_related("run__project__organisation").get(run=each["run"], step=each["last"])
        labels = ["/".join(point.run.project.path), str(point.run.number)]
        for name, value in speeds(point).items():
            rates[name].add_metric(labels, value)
    return list(rates.values())


def speeds(point: Point) -> dict[str, float]:
    """Return the rates of one step, as far as its metrics have them."""
    metrics, took = point.metrics, point.metrics.get("step_s") or 0
    found = {"step": float(point.step)}
    if took and metrics.get("rollouts") is not None:
        found["rollouts"] = metrics["rollouts"] / took
    if took and found.get("rollouts") and metrics.get("model_tokens") is not None:
        found["tokens"] = found["rollouts"] * metrics["model_tokens"]
    return found


def disk() -> list[Metric]:
    return [GaugeMetricFamily("prove_disk_free_bytes", "Free space on the data disk.", value=free_bytes())]


RUN, GPU = ["project", "run"], ["worker", "gpu"]
PARTS: tuple[Callable[[], list[Metric]], ...] = (jobs, queues, heartbeats, workers, events, runs, disk)
