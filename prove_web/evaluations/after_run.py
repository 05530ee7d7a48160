"""Evaluations queued together with a run, each waiting for the run's job to succeed.

Because they are created with the run, none is duplicated or lost if a process is killed.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from prove_web.accounts.models import User
from prove_web.experiments.machine_fields import SPREAD
from prove_web.experiments.models import Run
from training_worker.core.models import BEST
from training_worker.evaluation.registry import KNOWN

from .evaluation_launch import launch
from .forms import title_of
from .models import Evaluation
from .policies import LAST, Origin, of_dataset, resolve_model_name


def evaluate_after(run: Run, user: User | None, benchmarks: Sequence[str], limit: int | None) -> list[Evaluation]:
    """Queue evaluations of the run's best and last checkpoint; only the last if it has no held-out evaluation."""
    sources = [Origin(run, checkpoint) for checkpoint in ((BEST, LAST) if measures(run) else (LAST,))]
    return [
        launch(run.project, user, title_of(str(source), KNOWN[name], {}), spec_of(source, name, limit), source, run.job)
        for name in benchmarks
        for source in sources
    ]


def measures(run: Run) -> bool:
    """Return whether the run has held-out evaluations during training."""
    requested = run.config.get("evaluate_every") and run.config.get("held_out")
    shared = run.config.get("sharding") in SPREAD  # no process has the whole model, so none evaluates
    return bool(requested) and not shared and run.dataset.trajectories.filter(split="held_out").exists()


def spec_of(source: Origin, benchmark: str, limit: int | None) -> dict[str, Any]:
    assert source.run
    policy = f"run:{source.run.job_id}" + (f"/{BEST}" if source.checkpoint == BEST else "")
    spec = {"project": source.run.project_id, "benchmark": benchmark, "source": "folder", "policy": policy}
    takes_servers = any(option.name == "servers" for option in KNOWN[benchmark].options)
    servers = of_dataset(source.run) if takes_servers else ""
    spec |= {"options": {"servers": servers}} if servers else {}
    return spec | {"model": resolve_model_name(policy, "", source)} | ({"limit": limit} if limit else {})
