"""Launching a run: the form, and the atomic creation of the run and its job."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

from django.contrib import messages
from django.db import transaction
from django.http import HttpResponse
from django.shortcuts import redirect, render
from django.views.decorators.http import require_http_methods

from prove_web.accounts.locks import lock_active_project
from prove_web.accounts.models import Project, User
from prove_web.accounts.permissions import Action, ProjectRequest, in_project
from prove_web.core.parse_int import parse_digits
from prove_web.evaluations.after_run import evaluate_after
from prove_web.live.jobs import enqueue
from prove_web.live.models import Job, Kind
from prove_web.sharing import sequences
from prove_web.sharing.models import Deletion
from prove_web.trajectories.manual_dataset import VERSION as BY_HAND
from prove_web.trajectories.models import Dataset

from . import dry_run, evaluate_fields
from .api_snippet import by_api
from .defaults import START
from .form_fields import TIMES, format_config_value
from .forms import RunForm, belongs, copy_form_values, format_setting, list_copyable_runs, map_config_to_fields, usable
from .initial_policy import audit_of, title_of
from .models import Run, RunKind, Sweep
from .recipes import TITLES, build_preset_values
from .reward_config import describe_reward
from .run_estimate import figures

# Forecast of a run in one line: rollouts or conversations per step, and the maximum number of steps.

Value = Callable[[str], Any]


def forecast(form: Any) -> str:
    """Return the forecast for the current form values; "" if they are invalid."""

    def parse_int(name: str) -> int:
        return int(float(str(form[name].value())))

    try:
        text = forecast_sft_steps(form, parse_int) if form["kind"].value() == RunKind.SFT else rollouts(parse_int)
        every = parse_int("evaluate_every")
        looks = f" Held-out evaluation every {every} steps." if every and parse_int("held_out") else ""
        return text + looks
    except (TypeError, ValueError, OverflowError):
        return ""


def rollouts(number: Callable[[str], int]) -> str:
    prompts, group, steps = number("prompts"), number("group"), number("max_steps")
    a_step = prompts * group
    return (
        f"{prompts} prompts {TIMES} {group} rollouts = {a_step:,} rollouts per step; "
        f"max {steps:,} steps = {a_step * steps:,} rollouts."
    )


def forecast_sft_steps(form: Any, number: Callable[[str], int]) -> str:
    batch, epochs, most = number("batch"), number("epochs"), number("max_steps")
    dataset = form.fields["dataset"].queryset.filter(pk=key(form["dataset"].value())).first()
    if dataset is None or batch < 1:
        return ""
    count = dataset.trajectories.filter(split="train").count()
    steps = min(most, count // batch * epochs)
    return f"{count:,} training conversations, {batch} per step: {epochs} epochs = max {steps:,} steps."


def key(value: Any) -> Any:
    """Return a dataset's primary key from a typed or selected value; None if it is invalid."""
    value = getattr(value, "pk", value)
    return value if str(value).isdecimal() and len(str(value)) < 10 else None


# Differences between the settings of a new run and its baseline.

LONGEST = 80  # characters of a run name


@dataclass(frozen=True)
class Difference:
    label: str
    base: str
    here: str


def differences(base: Run, kind: str, spec: dict[str, Any]) -> list[Difference]:
    """Return the settings that differ, with defaults for missing ones; the reward is described in words."""
    found = (
        [Difference("Kind", base.get_kind_display(), dict(Run.kind.field.choices)[kind])] if base.kind != kind else []
    )
    if str(base.dataset.job_id) != spec["dataset"]:
        here = base.project.datasets.filter(job=spec["dataset"]).first()
        found.append(Difference("Dataset", str(base.dataset), str(here)))
    if base.config.get("policy", "warm") != spec["policy"]:
        names = [title_of(str(one), base.project) for one in (base.config.get("policy", "warm"), spec["policy"])]
        found.append(Difference("Initial policy", *names))
    if base.config.get("reward", {}) != spec.get("reward", {}):
        found.append(
            Difference("Reward", *(describe_reward(one.get("reward")) or "the paper's" for one in (base.config, spec)))
        )
    before, after = collect_settings(base.config, base.kind), collect_settings(spec, kind)
    for name in sorted(before.keys() | after.keys(), key=list(RunForm.base_fields).index):
        values = [format_setting(name, one[name]) if name in one else "" for one in (before, after)]
        if values[0] != values[1]:
            found.append(Difference(str(RunForm.base_fields[name].label), *values))
    return found


def called_by(base: Run, found: Sequence[Difference]) -> str:
    """Return a run name that lists the differences, such as `Warm: learning rate 1e-6, seed 3`, cut to LONGEST."""
    changes = ", ".join(f"{one.label.lower()} {one.here}" for one in found if one.here)
    text = f"{base.name.partition(':')[0]}: {changes}" if changes else ""
    return text if len(text) <= LONGEST else f"{text[: LONGEST - 1]}…"


def collect_settings(config: dict[str, Any], kind: str) -> dict[str, Any]:
    """Return every setting of this kind of run by field name, except the reward."""
    given = {name: value for name, value in START.items() if in_config(name) and belongs(name, kind)}
    given |= {
        name: value
        for name, value in map_config_to_fields(config).items()
        if name in RunForm.base_fields and in_config(name)
    }
    return {name: format_config_value(value) for name, value in given.items()}


def in_config(name: str) -> bool:
    return not name.startswith(("reward_", "benchmark_")) and name != "policy"


KIND_OF_JOB = {RunKind.GRPO: Kind.RUN, RunKind.SFT: Kind.SFT}
LOOK = "look"  # redraws the form without launching


@in_project(Action.LAUNCH)
@require_http_methods(["GET", "HEAD", "POST"])
def run_new(request: ProjectRequest) -> HttpResponse:
    """Show the launch form or launch a run.

    `?clone=` copies the settings of another run and makes it the baseline, `?dataset=` selects a dataset, `?recipe=` a
    preset, `?reward=` a preset or saved reward by name, and `?policy=` an initial policy.

    A POST with `fill` launches nothing and redraws the form: `fill=recipe` applies the preset, `fill=try` starts a dry
    run, `fill=leave` stops it, and `fill=name` fills in a name that lists the differences.
    """
    if request.method == "POST" and "fill" in request.POST:
        form = RunForm(request.project, initial=read_submitted_values(request.POST))
        handle_dry_run(request, form)
        if request.POST["fill"] == "name" and (suggested := build_launch_preview(form).get("suggested")):
            form = RunForm(request.project, initial=read_submitted_values(request.POST) | {"name": suggested})
    elif request.method == "POST":
        with transaction.atomic():
            lock_active_project(request.project)  # so that validated objects still exist when the run is launched
            form, run = RunForm(request.project, request.POST), None
            if form.is_valid():
                run = launch(request.project, request.user, form)
                if "base" not in request.POST:
                    Run.objects.filter(pk=run.pk).update(base=find_cloned_run(request))
        if run:
            messages.success(request, f"Run {run.number} is queued. Its charts appear here as it trains.")
            return redirect(run)
    else:
        form = RunForm(request.project, initial=build_initial_values(request))
    preview, site = build_launch_preview(form), request.build_absolute_uri("/").rstrip("/")
    sent = by_api(preview["complete"], site) if preview.get("complete") else None
    context = {"form": form, "ready": usable(request.project).exists(), "by_api": sent, **preview}
    return render(request, "experiments/run_new.html", context, status=422 if form.errors else 200)


def build_launch_preview(form: RunForm) -> dict[str, Any]:
    """Return the page context for the current form values; estimates only once the values are valid."""
    policy = str(form["policy"].value() or "")
    preview = {"forecast": forecast(form), "audit": audit_of(policy), "model": policy, "prompts": dry_run.PROMPTS}
    if (complete := complete_form(form)) is None:
        return preview
    project, kind, base = form.project, complete.cleaned_data["kind"], complete.cleaned_data["base"]
    trial = dry_run.trial_of(project, complete.spec) if kind == RunKind.GRPO else None
    preview |= {"complete": complete, "figures": figures(project, kind, complete.spec, trial)}
    preview |= {"trial": trial, "can_try": kind == RunKind.GRPO}
    if base is None:
        return preview
    found = differences(base, kind, complete.spec)
    return preview | {"base": base, "differences": found, "suggested": called_by(base, found)}


def complete_form(form: RunForm) -> RunForm | None:
    """Return the validated form; None while it could not be launched."""
    values = {name: form[name].value() for name in RunForm.base_fields}
    given = {name: getattr(value, "pk", value) for name, value in values.items() if value is not None}
    complete = RunForm(form.project, {**given, "name": given.get("name") or "x"}, offer=form.offer)
    return complete if complete.is_valid() else None


def handle_dry_run(request: ProjectRequest, form: RunForm) -> None:
    """Start or stop a dry run if the request asks for it."""
    action = request.POST.get("fill")
    if action not in ("try", "leave"):
        return
    complete = complete_form(form)
    if complete is None or complete.cleaned_data["kind"] != RunKind.GRPO:
        messages.error(request, "Dry run not started: some settings are invalid. “Launch” shows the errors.")
    elif action == "try":
        dry_run.begin(request.project, request.user, complete.spec)
    else:
        dry_run.end(request.project, complete.spec)


def read_submitted_values(data: Any) -> dict[str, Any]:
    """Return the submitted values, with a requested preset applied."""
    known = {name: value for name, value in data.items() if name in RunForm.base_fields}
    recipe = known.get("recipe", "")
    return known | (build_preset_values(recipe, known) if data["fill"] == "recipe" and recipe in TITLES else {})


def build_initial_values(request: ProjectRequest) -> dict[str, Any]:
    project, number = request.project, parse_digits(request.GET.get("dataset", ""))
    policy = {"policy": request.GET["policy"]} if request.GET.get("policy") else {}
    if source := find_cloned_run(request):
        return copy_form_values(source) | policy
    chosen = usable(project).filter(number=number).first() if number is not None else find_default_dataset(project)
    kind = request.GET.get("kind", "")
    start = {"name": f"Run {next_number(project)}", "dataset": chosen, "recipe": request.GET.get("recipe", "")}
    start |= policy
    start |= {"kind": kind} if kind in KIND_OF_JOB else {}
    start |= {"reward_preset": reward} if (reward := request.GET.get("reward")) else {}
    return start | (build_preset_values(start["recipe"], start) if start["recipe"] in TITLES else {})


def find_cloned_run(request: ProjectRequest) -> Run | None:
    """Return the run that `?clone=` names by number."""
    found: Run | None = (
        list_copyable_runs(request.project).filter(number=parse_digits(request.GET.get("clone", ""))).first()
    )
    return found


def find_default_dataset(project: Project) -> Dataset | None:
    """Return the newest dataset; a manual one, which may hold a single conversation, only if there is no other."""
    found: Dataset | None = usable(project).exclude(job__spec__has_key=BY_HAND).first() or usable(project).first()
    return found


def next_number(project: Project) -> int:
    return sequences.next_number(project, Run, Deletion.Kind.RUN)


def launch(project: Project, user: User, form: RunForm, sweep: Sweep | None = None, **varied: str) -> Run:
    """Create the run with the project's next number; its job is queued on commit.

    Must be called in a transaction. `varied` are the settings of a sweep member.
    """
    lock_active_project(project)  # so that concurrent launches get different numbers
    name, dataset, kind = (form.cleaned_data[field] for field in ("name", "dataset", "kind"))
    spec = form.spec
    job = Job.objects.create(project=project, kind=KIND_OF_JOB[kind], title=name, spec=spec, created_by=user)
    run = Run.objects.create(
        project=project,
        number=next_number(project),
        name=name,
        kind=kind,
        dataset=dataset,
        sweep=sweep,
        varied=varied,
        base=form.cleaned_data["base"],
        config=spec,
        job=job,
    )
    enqueue(job)
    evaluate_after(
        run, user, evaluate_fields.list_selected_benchmarks(form.cleaned_data), form.cleaned_data["benchmark_limit"]
    )
    return run
