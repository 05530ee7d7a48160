"""The page of a run: state, metrics, live charts, evaluation, checkpoints and configuration."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from django.db.models import Max, Q
from django.http import Http404, HttpResponse, JsonResponse, StreamingHttpResponse
from django.shortcuts import get_object_or_404, redirect, render
from django.urls import reverse
from django.utils.http import urlencode
from django.views.decorators.http import require_safe

from prove_web.accounts import audit
from prove_web.accounts.models import Project
from prove_web.accounts.permissions import Action, ProjectRequest, in_project
from prove_web.core.parse_int import parse_digits
from prove_web.evaluations.annotations import annotate_evaluations
from prove_web.live.hints import advice
from prove_web.live.models import Job, Kind, State
from training_worker.monitoring.event_data import readable

from . import config_display, evaluation
from .baseline import choices, choose_baseline
from .chart_markers import KINDS
from .charts import charts_of, group_charts
from .checkpoints import Checkpoint, checkpoints, stream_zip
from .eval_slices import cuts
from .exports import Export, is_adapter
from .initial_policy import WARM, title_of
from .lineage import begin_here, lineage
from .metric_series import number, snapshot
from .models import Run
from .outside import TRACKERS
from .reward_scale import SCORED, build_rescore_query, in_words, same_reward
from .rollouts import list_notable_steps
from .saved_rewards import describe_named_reward
from .summary_tiles import WINDOW, figures

# Title and queue position of a run.


def title(run: Run) -> str:
    """Return the browser tab title, such as `42 % · Run 7`, so that progress shows without opening the tab."""
    job = run.job
    if job.ended or job.state == State.QUEUED:
        return f"{job.get_state_display()} · Run {run.number}"
    return f"{round(100 * job.share)} % · Run {run.number}" if job.total else f"Run {run.number}"


def waiting_before(job: Job) -> int | None:
    """Return the number of queued jobs of all teams ahead of this one; None if it is not queued for a worker."""
    if job.state != State.QUEUED or (job.after and job.after.state != State.DONE):
        return None
    earlier = Q(place__lt=job.place)
    ready = Q(after=None) | Q(after__state=State.DONE)
    trains = Q(kind__in=(Kind.RUN, Kind.SFT, Kind.TRIAL)) | Q(kind=Kind.EVALUATE, spec__source="folder")
    return Job.objects.filter(earlier, ready, trains, state=State.QUEUED).count()


# Checkpoint table of a run: scores, roles and actions.


@dataclass(frozen=True)
class CheckpointRow:
    """A checkpoint row; `reward` is its held-out mean, None where not measured; `exports` are the available formats."""

    checkpoint: Checkpoint
    reward: float | None
    best: bool
    newest: bool
    evaluate_url: str
    begin_url: str
    exports: tuple[tuple[str, Export], ...]


def shelf(run: Run, found: list[Checkpoint] | None = None) -> list[CheckpointRow]:
    """Return the rows, newest first. The best is the highest held-out reward among the checkpoints on disk."""
    stored = checkpoints(run.job) if found is None else found
    measured = run.held_out.filter(step__in=[one.step for one in stored]).values_list("step", "metrics__reward")
    rewards = {step: reward for step, reward in measured if number(reward)}
    best = max(rewards, key=lambda step: (rewards[step], -step), default=None)
    return [
        CheckpointRow(
            checkpoint=one,
            reward=rewards.get(one.step),
            best=one.step == best,
            newest=one is stored[0],
            evaluate_url=evaluate_url(run, one),
            begin_url=begin_here(run, one),
            exports=forms(run, one),
        )
        for one in stored
    ]


def evaluate_url(run: Run, checkpoint: Checkpoint) -> str:
    query = urlencode({"run": run.number, "checkpoint": checkpoint.step})
    return f"{reverse('evaluation-new', args=run.project.path)}?{query}"


def forms(run: Run, checkpoint: Checkpoint) -> tuple[tuple[str, Export], ...]:
    """Return the export formats: a full model has one; an adapter can also be merged into its base model."""
    plain = Export(run.job, checkpoint.step)
    if not is_adapter(checkpoint):
        return (("Model", plain),)
    return (("Adapter", plain), ("Merged model", Export(run.job, checkpoint.step, merged=True)))


def run_of(project: Project, number: int) -> Run:
    found: Run = get_object_or_404(
        Run.objects.select_related("job__project__organisation", "job__created_by", "job__after", "dataset", "sweep"),
        project=project,
        number=number,
    )
    found.project = project
    return found


@in_project(Action.VIEW)
@require_safe
def run_page(request: ProjectRequest, run: int) -> HttpResponse:
    """Show the run page, or for htmx only its changing part.

    `?step=` redirects to the rollouts of that step; `?base=` is the number of the baseline run, or `none`.
    """
    found = run_of(request.project, run)
    if step := parse_digits(request.GET.get("step", "")):
        return redirect("rollouts", *request.project.path, run, step)
    context = build_live_context(found, request.GET)
    if request.htmx:
        return render(request, "experiments/run_moving.html", context)
    return render(request, "experiments/run.html", context | build_static_context(found, context))


def build_static_context(run: Run, moves: Mapping[str, Any]) -> dict[str, Any]:
    """Return the context of the part that does not change while the run is running."""
    path, base = run.project.path, moves["base"]
    started = run.job.events.filter(kind="started").order_by("id").values_list("data", flat=True)
    return {
        "settings": config_display.settings(run, moves["scored_by"]),
        "departure": config_display.departure(run),
        "start": title_of(run.config.get("policy", WARM), run.project),
        "texts": config_display.list_config_exports(run),
        "environment": environment(started.last() or {}),
        "charts": [chart.spec for chart in charts_of(run)],
        "groups": group_charts(run),
        "trackers": TRACKERS,
        "mark_kinds": KINDS,
        "points_url": reverse("run-points", args=[*path, run.number]),
        "metric_url": reverse("run-metric", args=[*path, run.number]),
        "base_points_url": reverse("run-points", args=[*path, base.number]) if base else "",
        "base_metric_url": reverse("run-metric", args=[*path, base.number]) if base else "",
        "base_choices": choices(run),
        "base_without": " ".join(sorted(SCORED)) if moves["other_reward"] else "",
        "cursor": run.job.events.aggregate(last=Max("id"))["last"] or 0,
    }


def environment(data: Any) -> list[tuple[str, Any]]:
    """Return the environment of the newest attempt as (label, value), as its start event recorded it."""
    if not isinstance(data, Mapping):
        return []  # events of older workers were not validated
    known = data.get("environment")
    known = known if isinstance(known, Mapping) else {}
    labels = {"python": "Python", "system": "OS", "cores": "CPU cores", "code": "Code digest"}
    found = [("Machine", data.get("host")), ("Device", data.get("device"))]
    found += [(labels.get(name, name), known[name]) for name in known]
    return [(label, value) for label, value in found if value]


def build_live_context(run: Run, query: Mapping[str, str]) -> dict[str, Any]:
    result, stored = readable(run.job.result), checkpoints(run.job)
    base = choose_baseline(run, query.get("base", ""))
    tiles, against = figures(run, base)
    return {
        "run": run,
        "job": run.job,
        "title": title(run),
        "waiting": waiting_before(run.job),
        "tiles": tiles,
        "base": base,
        "against": against,
        "other_reward": other_reward(run, base),
        "window": WINDOW,
        "advice": advice(run.job),
        "gains": (compared := evaluation.gains(result)),
        "headline": evaluation.headline(compared),
        "evaluated": evaluation.build_chain_length_rows(result),
        "parts": evaluation.PARTS,
        "outcomes": evaluation.outcomes(result),
        "cuts": cuts(run),
        "checkpoints": stored,
        "shelf": shelf(run, stored),
        "lineage": lineage(run, stored),
        "evaluations": annotate_evaluations(run.evaluations.all()).order_by("number"),
        "notable": list_notable_steps(run),
        "scored_by": describe_named_reward(run.project, run.config.get("reward")),
        "storage": run.job.events.filter(kind="storage").values_list("data", flat=True).last() or {},
        "last_step": run.points.order_by("-step").values_list("step", flat=True).first(),
    }


def other_reward(run: Run, base: Run | None) -> dict[str, str]:
    """Return the notice for a baseline scored by another reward definition; empty for the same one."""
    if base is None or same_reward(run, base):
        return {}
    return {"mine": in_words(run), "theirs": in_words(base), "rescored": build_rescore_query(run, base)}


@in_project(Action.VIEW)
@require_safe
def run_points(request: ProjectRequest, run: int) -> HttpResponse:
    return JsonResponse(snapshot(run_of(request.project, run)))


@in_project(Action.VIEW)
@require_safe
def checkpoint(request: ProjectRequest, run: int, step: int) -> HttpResponse | StreamingHttpResponse:
    """Download one checkpoint as a zip."""
    return sent_checkpoint(run_of(request.project, run), step)


def sent_checkpoint(run: Run, step: int) -> StreamingHttpResponse:
    """Stream the zip of a run's checkpoint. Raises Http404."""
    found = checkpoint_of(run, step)
    audit.note(None, "exported", run, run.project.organisation, checkpoint=f"step {step}")
    return build_zip_response(found, f"run-{run.number}-step-{step}.zip")


def checkpoint_of(run: Run, step: int) -> Checkpoint:
    """Return the run's checkpoint of this step. Raises Http404."""
    found = next((one for one in checkpoints(run.job) if one.step == step), None)
    if found is None:
        raise Http404(
            f"Run {run.number} has no checkpoint of step {step}: only its last two and its best checkpoint are kept."
        )
    return found


def build_zip_response(folder: Checkpoint, name: str) -> StreamingHttpResponse:
    return StreamingHttpResponse(
        stream_zip(folder),
        content_type="application/zip",
        headers={"Content-Disposition": f'attachment; filename="{name}"'},
    )
