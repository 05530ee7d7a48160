"""Evaluation job: a policy on a benchmark, scored by the benchmark's own code. Finished items are stored and not rerun.

Results belong to a project, so that evaluations of the same policy with the same settings share them. A job with its
own folder RESULTS, as on an enrolled machine, stores them there: it starts from the shared results, but no other job
continues from its own.
"""

from __future__ import annotations

import json
import shutil
import time
from collections import Counter
from collections.abc import Mapping
from dataclasses import fields, replace
from pathlib import Path
from typing import Any

from ..core.trajectory import dumps, loads
from ..evaluation import registry as catalogue
from ..evaluation.allowlist import ENDPOINTS, URL, endpoints, leads_out
from ..evaluation.protocol import Benchmark, Policy, identity_of
from ..evaluation.protocol import Result as Finished
from ..evaluation.report import Report
from ..evaluation.request import REPORTED, EvaluationRequest, have_done
from ..evaluation.results import IDENTITY, RESULTS, folder_of
from ..evaluation.results import ITEMS as FINISHED
from .job_context import OFTEN, EventLog, JobRefusedError, JobStopped, Result, parse_int, require_known_settings
from .policies import policy_folder
from .settings import job_id

OWN = {"project", "policy"}  # the rest of a specification are fields of EvaluationRequest
GIVEN = {"folder"}  # fields of EvaluationRequest that a specification does not set
LEAST = {"limit": 1, "trials": 1, "parallel": 1}
MOST = 100  # items in one event


def work(spec: Mapping[str, Any], folder: Path, tell: EventLog) -> Result:
    """Start or resume an evaluation; when asked to stop, finish the items in progress."""
    tell.progress(0, 0, "opening the benchmark and the policy")
    try:
        request, data = settings(spec, folder), folder.absolute().parents[1]
        shared, own = data / "benchmarks" / "projects" / str(parse_int(spec, "project", 1)), folder / "out" / RESULTS
        results = own.absolute() if own.is_dir() else shared
        items = Items(tell, data, results, shared)
        counted = tell.make_progress_counter(f"items of {catalogue.get_benchmark_spec(request.benchmark).title}")

        def progress(done: int, total: int) -> None:
            if not tell.stop.requested:
                counted(done, total)

        try:
            done = have_done(
                request, data, None, progress, items.begin, results, items.add_result, lambda: tell.stop.requested
            )
        finally:
            items.tell_waiting()
    except REPORTED as reason:
        raise JobRefusedError(str(reason)) from None
    if tell.stop.requested and not done.report.complete:
        raise JobStopped
    if is_aborted(done.report):
        raise JobRefusedError(explain_abort(done.report))
    return {"report": json.loads(dumps(done.report)), "folder": items.about["folder"]}


def settings(spec: Mapping[str, Any], folder: Path) -> EvaluationRequest:
    """Return the evaluation that the specification asks for. Raises JobRefusedError."""
    names = {one.name for one in fields(EvaluationRequest)} - GIVEN
    require_known_settings(spec, OWN | names)
    given = {name: value for name, value in spec.items() if name in names}
    for name in LEAST.keys() & {name for name, value in given.items() if value is not None}:
        parse_int(given, name, LEAST[name])
    if spec.get("source") == "folder":
        policy = spec.get("policy", "warm")
        given["folder"] = str(policy_folder(policy, folder.parent))
        given.setdefault("model", policy)
    try:
        request = loads(EvaluationRequest, json.dumps(given))
    except ValueError as error:
        raise JobRefusedError(f"Invalid settings: {'; '.join(str(error).splitlines()[1:3])}") from None
    require_permitted(request.url)
    kinds = {option.name: option.kind for option in catalogue.get_benchmark_spec(request.benchmark).options}
    options = {
        name: data_set(value, folder.parent) if kinds.get(name) == "dataset" else check_option_value(name, value)
        for name, value in request.options.items()
    }
    return replace(request, options=options)


def require_permitted(url: str) -> None:
    """Raise JobRefusedError for an endpoint that the operator has not allowed."""
    if url and url not in endpoints():
        raise JobRefusedError(
            f"{url} is not an allowed endpoint. The operator of the site can add it to {ENDPOINTS}, for the worker too."
        )


def data_set(job: str, jobs: Path) -> str:
    """Return the folder of the dataset that a job made; "" for none. Raises JobRefusedError."""
    return str(jobs / job_id(job) / "out") if job else ""


def check_option_value(name: str, value: str) -> str:
    """Return an option's value.

    Raises JobRefusedError for a URL that is not allowed and a path outside the benchmarks.
    """
    if URL.match(value):
        require_permitted(value.strip())
    elif leads_out(value):
        raise JobRefusedError(f"{name} must not point outside the folder of the benchmarks, as {value!r} does.")
    return value


def is_aborted(report: Report) -> bool:
    """Return whether items were left untried, or none could be run; a few items that could not are acceptable."""
    requested, run = sum(one.asked for one in report.categories), sum(one.run for one in report.categories)
    return requested - run > len(report.not_run) or (requested > 0 and run == 0)


def explain_abort(report: Report) -> str:
    [(why, _)] = Counter(report.not_run.values()).most_common(1)
    return (
        f"{len(report.not_run):,} items could not be run: {why.rstrip('.')}. This is not a failure of the model. "
        "Fix the cause, then resume: finished items are kept."
    )


class Items:
    """Reporter of finished items in batches, with the identity of the evaluation."""

    def __init__(self, tell: EventLog, data: Path, results: Path, shared: Path):
        self.tell, self.data, self.results, self.shared = tell, data, results, shared
        self.about: dict[str, Any] = {}
        self.waiting: list[dict[str, Any]] = []
        self.reported_at = -OFTEN

    def begin(self, benchmark: Benchmark, policy: Policy) -> None:
        identity = identity_of(benchmark, policy)
        fields = {name: getattr(identity, name) for name in ("benchmark", "version", "settings", "model")}
        folder = folder_of(self.results, identity).relative_to(self.data)
        begin_with(folder_of(self.shared, identity), self.data / folder)
        self.about = {"identity": fields, "folder": str(folder)}
        self.tell("items", **self.about, items=[])

    def add_result(self, result: Finished, line: int) -> None:
        self.waiting.append(describe_item(result, line))
        at = time.monotonic()
        if len(self.waiting) >= MOST or at - self.reported_at >= OFTEN:
            self.reported_at = at
            self.tell_waiting()

    def tell_waiting(self) -> None:
        if self.waiting:
            self.tell("items", **self.about, items=self.waiting)
            self.waiting = []


def begin_with(shared: Path, own: Path) -> None:
    """Copy the shared results, unless the job already has its own."""
    if shared != own and not (own / FINISHED).exists() and (shared / FINISHED).is_file():
        own.mkdir(parents=True, exist_ok=True)
        for name in (IDENTITY, FINISHED):
            shutil.copy(shared / name, own / name)


def describe_item(result: Finished, line: int) -> dict[str, Any]:
    """Return a summary of an item (see EvaluationItem of the site)."""
    return {
        **{name: getattr(result, name) for name in ("item", "category", "passed", "value", "failure")},
        **{name: getattr(result, name) for name in ("steps", "tokens", "seconds")},
        "calls": len(result.rollout.calls),
        "line": line,
        **({} if (goal := result.rollout.goal_success) is None else {"goal_success": goal}),
    }
