"""Evaluation requests from commands and jobs, which name a policy and a benchmark, and their execution."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Literal

from ..core.trajectory import UnreadableData
from ..endpoint import Endpoint, EndpointFailed
from ..endpoint.settings import from_environment
from .bfcl.child import ChildFailed
from .checkpoint_policy import Local, NoPolicy
from .environment import NotInstalled, SetUpFailed
from .policies import endpoint_policy, silent
from .protocol import Benchmark, Item, Policy, Result, Style, identity_of, select_items
from .registry import NotKnown, get_benchmark_spec, open_benchmark
from .report import Report
from .results import RESULTS, Results, ResultsTaken, folder_of
from .runner import Finished, evaluate

Source = Literal["endpoint", "folder", "oracle", "silent"]
Progress = Callable[[int, int], None]
AT_ONCE = 12  # parallel conversations with a policy of a folder, whose requests are batched
SILENT = Policy(model="silent", speak=silent, kind="silent")
# exceptions of an evaluation that cannot run; their messages are shown to the user
REPORTED = (ChildFailed, EndpointFailed, NoPolicy, NotInstalled, NotKnown, ResultsTaken, SetUpFailed, UnreadableData)


@dataclass(frozen=True, kw_only=True)
class EvaluationRequest:
    """A request to evaluate a policy on a benchmark.

    `source` says where the policy is: behind the endpoint `url` as `model` (the variables PROVE_LLM_... where these are
    empty), in `folder` (`model` then replaces the folder's name), or one of the two baselines, oracle and silent.
    `temperature` None is the benchmark's own; `limit` takes only the first items of each category.
    """

    benchmark: str
    source: Source
    url: str = ""
    model: str = ""
    folder: str = ""
    style: Style = "tools"
    temperature: float | None = None
    categories: tuple[str, ...] = ()
    limit: int | None = None
    trials: int = 1
    parallel: int | None = None
    options: dict[str, str] = field(default_factory=dict)


@dataclass(frozen=True)
class FinishedEvaluation:
    """A finished evaluation: the report, the folder of its results, the requested items and their results."""

    report: Report
    folder: Path
    items: tuple[Item, ...]
    results: dict[str, Result]


def have_done(
    request: EvaluationRequest,
    data: Path,
    out: Path | None = None,
    progress: Progress = lambda done, total: None,
    check: Callable[[Benchmark, Policy], None] = lambda benchmark, policy: None,
    results_in: Path | None = None,
    finished: Finished = lambda result, line: None,
    stopping: Callable[[], bool] = lambda: False,
) -> FinishedEvaluation:
    """Run an evaluation, or resume it. `data` is the data folder of a site.

    Results go to `out`, or to a separate folder in `results_in`, by default `results` in the folder `benchmarks`;
    installed packages and data next to it are never written to. `check` gets the benchmark and the policy before the
    run and may raise; `finished` and `stopping` are those of `evaluate`. Raises the exceptions in REPORTED.
    """
    root, one = data / "benchmarks", get_benchmark_spec(request.benchmark)
    results_root = root / RESULTS
    if wrong := sorted(set(request.categories) - set(one.categories)):
        raise NotKnown(f"{one.title} has no category {wrong[0]!r}; it has {', '.join(one.categories)}.")
    with (
        open_benchmark(request.benchmark, root, request.options) as benchmark,
        policy_of(request, benchmark, data) as speaking,
    ):
        policy, parallel = speaking
        getattr(benchmark, "require", lambda policy: None)(policy)
        check(benchmark, policy)
        items = select_items(benchmark.items(), request.categories, request.limit, request.trials)
        nothing = {} if policy == SILENT else of_silence(benchmark, items, results_root)
        identity = identity_of(benchmark, policy)
        folder = (out or folder_of(results_in or results_root, identity)).absolute()
        with Results(folder, identity) as results:
            at_once = request.parallel or parallel
            report = evaluate(benchmark, policy, items, results, at_once, progress, nothing, finished, stopping)
            done = {item.id: results.done[item.id] for item in items if item.id in results.done}
    return FinishedEvaluation(report, folder, items, done)


def of_silence(benchmark: Benchmark, items: tuple[Item, ...], root: Path) -> Mapping[str, Result]:
    """Return the results of a model that says nothing; empty while another process is running it."""
    identity = identity_of(benchmark, SILENT)
    try:
        with Results(folder_of(root, identity), identity) as results:
            evaluate(benchmark, SILENT, [item for item in items if item.trial == 1], results, parallel=2)
            return dict(results.done)
    except ResultsTaken:
        return {}


@contextmanager
def policy_of(request: EvaluationRequest, benchmark: Benchmark, data: Path) -> Iterator[tuple[Policy, int]]:
    """Open the policy; yields it and the number of items to run in parallel.

    Raises NotKnown, NoPolicy and EndpointFailed.
    """
    temperature = (
        get_benchmark_spec(request.benchmark).temperature if request.temperature is None else request.temperature
    )
    match request.source:
        case "silent":
            yield SILENT, 2
        case "oracle":
            speak = getattr(benchmark, "oracle", None)
            if speak is None:
                title = get_benchmark_spec(request.benchmark).title
                raise NotKnown(f"{title} has no oracle: it does not provide its ground truth.")
            yield Policy(model="oracle", speak=speak, kind="oracle"), 2
        case "folder":
            with Local(Path(request.folder), temperature) as local:
                yield local.policy(request.style, request.model), AT_ONCE
        case "endpoint":
            given = {"PROVE_LLM_URL": request.url, "PROVE_LLM_MODEL": request.model}
            variables = {**os.environ, **{name: value for name, value in given.items() if value}}
            with Endpoint(from_environment(variables, data / "answers")) as endpoint:
                yield endpoint_policy(endpoint, request.style, temperature), endpoint.settings.parallel
