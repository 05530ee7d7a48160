"""Counters of a web process: requests, their duration, and sockets.

Each process counts from zero at its start, as Prometheus expects. If PROMETHEUS_MULTIPROC_DIR names a folder, the
processes of one machine share files there, and any of them reports the total.
"""

from __future__ import annotations

import os

from prometheus_client import REGISTRY, CollectorRegistry, Counter, Gauge, Histogram
from prometheus_client.multiprocess import MultiProcessCollector

SECONDS = (0.01, 0.025, 0.05, 0.1, 0.2, 0.3, 0.5, 1.0, 2.5, 5.0, 10.0)
ELSEWHERE = "none"  # label of unknown URLs, because strangers must not create labels
METHODS = frozenset({"GET", "HEAD", "POST", "PUT", "PATCH", "DELETE", "OPTIONS"})

requests = Counter("prove_http_requests", "Requests answered.", ["view", "method", "status"])
seconds = Histogram(
    "prove_http_request_seconds", "Seconds until the response started.", ["view", "method"], buckets=SECONDS
)
sockets = Gauge("prove_sockets", "Sockets open.", multiprocess_mode="livesum")


def count_request(view: str, method: str, status: int, took: float) -> None:
    """Count one request; `took` in seconds."""
    method = method if method in METHODS else "other"
    requests.labels(view, method, str(status)).inc()
    seconds.labels(view, method).observe(took)


def registry() -> CollectorRegistry:
    """Return the registry of this process, or of all processes on this machine."""
    if not os.environ.get("PROMETHEUS_MULTIPROC_DIR"):
        return REGISTRY
    everyone = CollectorRegistry()
    MultiProcessCollector(everyone)
    return everyone
