"""Estimate of a run before launch: time, tokens, memory, disk, and zero-variance groups.

Each figure names its source: a dry run of these settings, a similar run, or arithmetic.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from statistics import fmean, median
from types import SimpleNamespace
from typing import Any

from django.conf import settings
from django.db.models import Avg

from prove_web.accounts.models import Organisation, Project
from prove_web.live.templatetags.kit import compact, duration
from prove_web.workers.worker_status import select_queue_workers, workers
from training_worker.config.memory_estimate import GB, PROCESS, Plan, footprint, on_disk, shapes
from training_worker.core.models import OF_RUN, SHIPPED, left_by, model_folders
from training_worker.evaluation.intervals import Score, wilson

from .defaults import LIMITS, START, apply_defaults
from .dry_run import PROMPTS, Trial
from .initial_policy import WARM
from .models import Point, Run, StepRollouts

LOOKED_AT = 30  # newest runs searched for a similar one
STEPS = 20  # steps of the similar run used for its pace
ALIKE = ("policy", "group", "limits", "reward", "device", "precision", "lora_rank", "backend", "longest", "batch")


@dataclass(frozen=True)
class Figure:
    """One estimate; `worry` marks one that exceeds a limit."""

    label: str
    value: str
    source: str
    worry: bool = False


@dataclass(frozen=True)
class RolloutCost:
    """Cost of one rollout (or conversation): seconds, generated tokens, stored bytes, and the source of these."""

    seconds: float
    tokens: float | None
    size: float | None
    source: str


def figures(project: Project, kind: str, spec: dict[str, Any], trial: Trial | None) -> list[Figure]:
    like = run_like(project, kind, spec)
    pace = of_trial(trial) or of_run(like)
    size = size_of(kind, spec)
    found = [*times(spec, size, pace)]
    if kind == "grpo":
        found += estimate_zero_variance(trial, like)
    return found + list(machine(project, kind, spec, size, pace))


def size_of(kind: str, spec: dict[str, Any]) -> int:
    """Return the rollouts or conversations per step."""
    return int(spec["batch"] if kind == "sft" else spec["prompts"] * spec["group"])


def run_like(project: Project, kind: str, spec: dict[str, Any]) -> Run | None:
    """Return the project's newest run with steps whose pace-relevant settings are the same."""
    return like_of(spec, runs_of(project, kind))


def runs_of(project: Project, kind: str) -> list[Run]:
    """Return the newest runs that have steps."""
    runs = Run.objects.filter(project=project, kind=kind, points__isnull=False).distinct().order_by("-number")
    return list(runs[:LOOKED_AT])


def like_of(spec: dict[str, Any], runs: Sequence[Run]) -> Run | None:
    """Return the first of these runs whose pace-relevant resolved settings are the same."""
    wanted = pace_settings(spec)
    return next((run for run in runs if pace_settings(run.config) == wanted), None)


def pace_settings(config: Mapping[str, Any]) -> dict[str, Any]:
    found = apply_defaults(config)
    return {name: found[name] for name in ALIKE}


def of_trial(trial: Trial | None) -> RolloutCost | None:
    if trial is None or not trial.result.get("rollouts"):
        return None
    found, source = trial.result, f"measured in the dry run of {PROMPTS} prompts"
    return RolloutCost(found["seconds"] / found["rollouts"], found["tokens"], found["bytes"], source)


def of_run(run: Run | None) -> RolloutCost | None:
    if run is None:
        return None
    metrics = list(Point.objects.filter(run=run).order_by("-step").values_list("metrics", flat=True)[:STEPS])
    took = [one["step_s"] for one in metrics if one.get("step_s")]
    size = size_of(run.kind, apply_defaults(run.config))
    if not took:
        return None
    tokens = [one["model_tokens"] for one in metrics if one.get("model_tokens") is not None]
    step_size = StepRollouts.objects.filter(run=run).aggregate(mean=Avg("bytes"))["mean"]
    source = f"last {len(took)} step{'s' * (len(took) > 1)} of run {run.number}"
    return RolloutCost(
        median(took) / size, fmean(tokens) if tokens else None, step_size / size if step_size else None, source
    )


def times(spec: dict[str, Any], size: int, pace: RolloutCost | None) -> Iterator[Figure]:
    if pace is None:
        yield Figure("Step time", "unknown", "no similar run yet; a dry run measures it")
        return
    step = pace.seconds * size
    total, most = step * spec["max_steps"], 60 * spec["minutes"]
    yield Figure("Step time", duration(step) if step >= 1 else f"{step:.1f} s", pace.source)
    if total <= most:
        yield Figure("Training time", duration(total), f"{spec['max_steps']:,} steps; evaluations not included")
    else:
        fits = int(most / step)
        yield Figure("Training time", duration(most), f"time limit reached after about {fits:,} steps", worry=fits < 1)
    if pace.tokens:
        steps = min(spec["max_steps"], int(most / step))
        a_step = pace.tokens * size
        tokens = f"{compact(a_step)} per step, {compact(a_step * steps)} total"
        yield Figure("Tokens", tokens, "generated by the policy")


def estimate_zero_variance(trial: Trial | None, like: Run | None) -> Iterator[Figure]:
    """Yield the estimated share of zero-variance groups."""
    label = "Zero-variance groups"
    if trial and (score := trial.dead):
        groups = len(trial.result["groups"])
        yield Figure(
            label, percents(score), f"{trial.result['dead']} of {groups} groups in the dry run", score.low > 0.5
        )
        return
    first = Point.objects.filter(run=like).order_by("step").values_list("metrics", flat=True)[:STEPS] if like else []
    shares = [one["zero_variance"] for one in first if one.get("zero_variance") is not None]
    if like and shares and (score := wilson(fmean(shares), len(shares) * apply_defaults(like.config)["prompts"])):
        yield Figure(label, percents(score), f"first {len(shares)} steps of run {like.number}", score.low > 0.5)
    else:
        yield Figure(label, "unknown", "a dry run measures it")


def percents(score: Score) -> str:
    return f"{100 * score.accuracy:.0f} %, {100 * score.low:.0f} to {100 * score.high:.0f} % (95 % interval)"


def machine(project: Project, kind: str, spec: dict[str, Any], size: int, pace: RolloutCost | None) -> Iterator[Figure]:
    """Yield memory and disk estimates from the sizes of the model's weights."""
    there, on_gpu = memory_there(str(spec.get("device", "auto")), project.organisation)
    found = estimate_memory_and_disk(folder_of(project, str(spec["policy"])), kind, spec, there)
    if found is None:
        yield Figure("Memory", "unknown", "the weights of this policy cannot be read")
        return
    need, disk = found
    of = f" of {there:.0f} GB" if there else ""
    process = 0.0 if on_gpu else PROCESS
    total = need.total + process
    too_much = bool(there) and total > (there or 0) * GB
    yield Figure("Memory", f"at least {format_bytes(total)}{of}", parts_of(need, process), too_much)
    rollouts = pace.size * size * spec["max_steps"] if pace and pace.size else 0.0
    source = f"checkpoints {format_bytes(disk)}" + (f", rollouts {format_bytes(rollouts)}" if rollouts else "")
    yield Figure("Disk", f"about {format_bytes(disk + rollouts)}", source)


def estimate_memory_and_disk(
    folder: Path | None, kind: str, spec: dict[str, Any], there: float | None
) -> tuple[Any, float] | None:
    """Return the memory footprint of training the policy in this folder, and the bytes of its checkpoints.

    None where its weights cannot be read. `there` is in GB.
    """
    try:
        if folder is None:
            return None
        weights, model = shapes(folder), json.loads((folder / "config.json").read_text("utf-8"))
    except (OSError, ValueError, KeyError, TypeError):
        return None
    plan = plan_of(kind, spec, size_of(kind, spec))
    return footprint(weights, plan, model, (there or 16.0) * GB), on_disk(weights, plan)


def parts_of(need: Any, process: float) -> str:
    parts = {"Python and its libraries": process, **vars(need)}
    text = ", ".join(f"{name} {format_bytes(value)}" for name, value in parts.items() if value)
    return f"{text}; activations not included"


def format_bytes(size: float) -> str:
    return f"{size / GB:.1f} GB" if size >= GB / 10 else f"{size / 1e6:.0f} MB"


def folder_of(project: Project, policy: str) -> Path | None:
    """Return the folder of a policy's weights; None for an unknown policy or one of another project."""
    if policy == WARM:
        return SHIPPED
    if (found := OF_RUN.fullmatch(policy)) is None:
        return model_folders(Path(settings.PROVE_DATA)).get(policy)
    run = Run.objects.filter(project=project, job_id=found[1]).select_related("job").first()
    return left_by(run.job.folder, found[2]) if run else None


def plan_of(kind: str, spec: dict[str, Any], size: int) -> Plan:
    given = SimpleNamespace(**{**START, **spec})
    common = {"precision": given.precision, "lora_rank": given.lora_rank}
    completion = {**LIMITS, **spec.get("limits", {})}["completion"]
    if kind == "sft":
        return Plan(**common, tokens=given.longest + LIMITS["completion"])
    return Plan(
        **common,
        trainable=given.trainable,
        beta=given.beta,
        sharding=given.sharding,
        processes=given.processes,
        tokens=given.longest_prompt + completion,
        rows=max(1, size // given.processes),
    )


def memory_there(device: str, organisation: Organisation) -> tuple[float | None, bool]:
    """Return the largest memory in GB among the training workers, and whether it is a GPU's.

    The memory is None without workers; a machine's memory counts only if there is no GPU.
    """
    facts = [one.info for one in select_queue_workers(workers(organisation) or [], "training")]
    gpus = [gpu.get("memory_gb", 0) for one in facts for gpu in one.get("gpus") or []] if device != "cpu" else []
    machines = [one.get("memory_gb", 0) for one in facts]
    return max(gpus or machines, default=None) or None, bool(gpus)
