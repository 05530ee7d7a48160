"""Policies to evaluate: initial policies of runs, endpoint models, and two baselines."""

from __future__ import annotations

import os
from dataclasses import dataclass

from mcp_servers.catalogue import SERVERS
from prove_web.accounts.models import Project
from prove_web.experiments.initial_policy import WARM, flatten_choices, left_choices, policy_choices
from prove_web.experiments.models import Run
from training_worker.core.models import BEST, OF_RUN, best_of
from training_worker.core.warm import SERVERS as WARM_SERVERS
from training_worker.evaluation.allowlist import endpoints

LAST = "last"
SOURCE = "source:"  # prefix of sources that are not folders; model names have no colon
ENDPOINT = f"{SOURCE}endpoint"
BASELINES = [
    (f"{SOURCE}oracle", "Ground truth (upper bound)"),
    (f"{SOURCE}silent", "Silent baseline (no output)"),
]


@dataclass(frozen=True)
class Origin:
    """Origin of a policy: a run and one of its checkpoints, or neither."""

    run: Run | None = None
    checkpoint: str = ""

    def __str__(self) -> str:
        if self.run is None:
            return ""
        return f"Run {self.run.number}, " + (
            f"{self.checkpoint} checkpoint" if not self.checkpoint.isdecimal() else f"step {self.checkpoint}"
        )


def choices(project: Project, wanted: str = "") -> list[tuple[str, object]]:
    """Return the choices in groups; `wanted` is included even if it comes from an old run."""
    found: list[tuple[str, object]] = [*policy_choices(project), (ENDPOINT, "Model at an endpoint")]
    run = origin(project, wanted).run
    if run and not any(wanted == name for name, _ in flatten_choices(found)):
        found.append((f"Run {run.number}", left_choices(run)))
    return [*found, ("Baselines", BASELINES)]


def of_run(project: Project, number: str, checkpoint: str) -> str:
    """Return the name of a run's best checkpoint, last policy or step; "" for an unknown run."""
    if not (number.isdecimal() and len(number) < 10):
        return ""
    run = Run.objects.filter(project=project, number=int(number)).select_related("job").first()
    if run is None:
        return ""
    best = best_of(run.job.folder) if checkpoint == BEST else None
    name = f"run:{run.job_id}"
    if best:
        return f"{name}/{best.name}"
    return f"{name}/checkpoint-{checkpoint}" if checkpoint.isdecimal() else name


def origin(project: Project, policy: str) -> Origin:
    """Return the run and checkpoint that a policy comes from."""
    found = OF_RUN.fullmatch(policy)
    run = Run.objects.filter(project=project, job_id=found[1]).select_related("job").first() if found else None
    if found is None or run is None:
        return Origin()
    if found[2] is None:
        return Origin(run, LAST)
    best = best_of(run.job.folder)
    if found[2] == BEST or (best and best.name == found[2]):
        return Origin(run, BEST)
    return Origin(run, found[2].removeprefix("checkpoint-"))


def trained_on(project: Project, policy: str) -> str:
    """Return the servers that a policy was trained on, comma-separated; "" for all or unknown."""
    if policy == WARM:
        return ",".join(WARM_SERVERS)
    run = origin(project, policy).run
    return of_dataset(run) if run else ""


def of_dataset(run: Run) -> str:
    """Return the servers of a run's training split in catalogue order; "" for all, or without a dataset."""
    if run.dataset is None:
        return ""
    listed = run.dataset.trajectories.filter(split="train").values_list("servers", flat=True).distinct()
    found = {name for names in listed for name in names.split(",")}
    return "" if found >= {*SERVERS} else ",".join(name for name in SERVERS if name in found)


def endpoint_choices() -> list[tuple[str, str]]:
    """Return the allowed endpoints; the site's default comes first, if it has one."""
    return [(url, url) for url in endpoints()]


def resolve_model_name(policy: str, typed: str, origin: Origin) -> str:
    """Return the model's name in results, the same for all policies of a run so that equal weights share results."""
    if policy == ENDPOINT:
        return typed or os.environ.get("PROVE_LLM_MODEL", "")
    if policy.startswith(SOURCE):
        return policy.removeprefix(SOURCE)
    return f"run {origin.run.number}" if origin.run else policy or WARM
