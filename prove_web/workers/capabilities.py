"""Jobs that an enrolled machine can run according to its reported capabilities."""

from __future__ import annotations

from typing import Any

from prove_web.experiments.initial_policy import WARM
from prove_web.live.models import Job, Kind
from training_worker.core.models import OF_RUN
from training_worker.evaluation.registry import KNOWN
from training_worker.join.capabilities import ASKS_AN_ENDPOINT

from .file_transfer import ground_of

DOES = (Kind.RUN, Kind.SFT, Kind.TRIAL, Kind.EVALUATE)
ENDPOINT = "endpoint"  # of an evaluation whose policy is an endpoint
MODEL = "folder"  # of an evaluation whose policy is a local model


def asks_an_endpoint(job: Job) -> bool:
    """Return whether an evaluation calls an endpoint, as its policy or as the simulated user."""
    spec = job.spec
    return job.kind == Kind.EVALUATE and (spec.get("source") == ENDPOINT or spec.get("benchmark") in ASKS_AN_ENDPOINT)


def describe_missing_capability(job: Job, info: dict[str, Any]) -> str:
    """Return what the machine lacks for a job; "" if it can run it. `info` is the data of worker/worker_info.py."""
    if asks_an_endpoint(job):
        return "it calls an endpoint, whose key never leaves the site: only the site's own workers run it"
    if job.kind not in DOES or (job.kind == Kind.EVALUATE and job.spec.get("source") != MODEL):
        return "only the site's own workers run this kind of job"
    if job.kind == Kind.EVALUATE and (benchmark := job.spec.get("benchmark")) not in info.get("benchmarks", ()):
        return f"it does not have {KNOWN[benchmark].title if benchmark in KNOWN else benchmark}"
    if (name := ground_of(job)) != WARM and not OF_RUN.fullmatch(name) and name not in info.get("models", ()):
        return f"it does not have the model {name}"
    if job.spec.get("device") == "cuda" and not info.get("gpus"):
        return "it has no GPU"
    if job.spec.get("backend") == "vllm" and not info.get("vllm"):
        return "it does not have vLLM"
    return ""
