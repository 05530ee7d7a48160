"""Evaluation of a policy before and after training: held-out worlds, the behaviour suite, and BFCL.

`make evaluations` runs it with the shipped policy and the one that `make pipeline` trained from it, and writes the
table between the marks in docs/benchmarks.md. Both answer the same items greedily. An interrupted run resumes where it
stopped.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from rich.console import Console

from ..core.benchmark_page import PAGE, write_block
from ..core.models import SHIPPED
from ..core.stage_cache import StageFailed
from ..core.terminal import show_time_left_bar
from ..core.warm import SERVERS
from ..evaluation.bfcl.child import ChildFailed
from ..evaluation.checkpoint_policy import NoPolicy
from ..evaluation.compare import PairedComparison, compare_shared_tasks
from ..evaluation.environment import NotInstalled
from ..evaluation.protocol import Result
from ..evaluation.registry import NotKnown, get_benchmark_spec
from ..evaluation.request import EvaluationRequest, FinishedEvaluation, have_done
from ..evaluation.results import ResultsTaken
from ..evaluation.results_text import percent
from .pipeline import run_with_exit_code

ABOUT = "The shipped warm policy before, and after `make pipeline`; each answers every item once, greedily."
OURS = {"servers": ",".join(SERVERS), "candidates": "8", "manner": "plain"}  # as in the tiny policy's training


@dataclass(frozen=True)
class BenchmarkComparison:
    """One benchmark with both policies: by category, and over all items, the mean before and after."""

    benchmark: str
    rows: tuple[tuple[str, PairedComparison], ...]


def build_requests(given: argparse.Namespace, policy: Path) -> list[EvaluationRequest]:
    """Return the evaluations of one policy, all greedy."""
    tried = [("worlds", {**OURS, "count": str(given.worlds)}), ("behaviour", {**OURS, "count": str(given.behaviour)})]
    found = [
        EvaluationRequest(benchmark=name, source="folder", folder=str(policy), temperature=0.0, options=options)
        for name, options in tried
    ]
    if given.bfcl:
        found.append(
            EvaluationRequest(benchmark="bfcl", source="folder", folder=str(policy), temperature=0.0, limit=given.bfcl)
        )
    return found


def compare(given: argparse.Namespace, console: Console) -> list[BenchmarkComparison]:
    """Run every available benchmark with both policies. Raises StageFailed."""
    found = []
    for before, after in zip(build_requests(given, given.before), build_requests(given, given.after), strict=True):
        try:
            found.append(compare_reports(run(before, given.data, "before"), run(after, given.data, "after")))
        except NotInstalled as reason:
            console.print(
                f"{get_benchmark_spec(before.benchmark).title} is left out: {reason}", highlight=False, soft_wrap=True
            )
        except (ChildFailed, NoPolicy, NotKnown, ResultsTaken) as reason:
            raise StageFailed(str(reason)) from None
    return found


def run(one: EvaluationRequest, data: Path, name: str) -> FinishedEvaluation:
    """Run one evaluation. Raises StageFailed if an item could not be run, and what `have_done` raises."""
    with show_time_left_bar(f"{one.benchmark} {name}") as progress:
        done = have_done(one, data, progress=progress)
    if not done.report.complete:
        why = next(iter(done.report.not_run.values()), "the evaluation ended early")
        raise StageFailed(f"Some items of {get_benchmark_spec(one.benchmark).title} could not be run: {why}")
    return done


def compare_reports(before: FinishedEvaluation, after: FinishedEvaluation) -> BenchmarkComparison:
    names, identity = [one.name for one in before.report.categories], before.report.identity
    rows = [
        (name, compare_shared_tasks(filter_by_category(before, name), filter_by_category(after, name)))
        for name in names
    ]
    rows.append(("all", compare_shared_tasks(before.results, after.results)))
    return BenchmarkComparison(f"{get_benchmark_spec(identity.benchmark).title} {identity.version}", tuple(rows))


def filter_by_category(done: FinishedEvaluation, category: str) -> dict[str, Result]:
    return {id: result for id, result in done.results.items() if result.category == category}


def markdown(found: Sequence[BenchmarkComparison], about: str) -> str:
    """Return the table of the page: a line per category, and one over all items of each benchmark."""
    lines = [
        about,
        "",
        "| benchmark | category | items | before % | after % | difference (95%) | p | goal success % |",
        "| --- " * 8 + "|",
    ]
    for one in found:
        for name, row in one.rows:
            gain = f"{100 * row.difference:+.1f} ({100 * row.low:+.1f} to {100 * row.high:+.1f})"
            shares = f"{100 * row.first:.1f} | {100 * row.second:.1f}"
            goals = " → ".join(map(percent, row.goals))
            lines.append(f"| {one.benchmark} | {name} | {row.items} | {shares} | {gain} | {row.p:.3f} | {goals} |")
    return "\n".join(lines)


def main(argv: Sequence[str] | None = None) -> int:
    given, console = options(argv), Console()

    def work() -> None:
        if not given.after.is_dir():
            raise StageFailed(
                f"There is no policy in {given.after}: create one with `make pipeline`, or give its folder to --after."
            )
        write_block("evaluations", markdown(compare(given, console), given.about or ABOUT))
        console.print(f"Table written to {PAGE}.", highlight=False, soft_wrap=True)

    return run_with_exit_code(work, given.data, console)


def options(argv: Sequence[str] | None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="training_worker.experiments.evaluations", description=__doc__.split("\n")[0])
    parser.add_argument("--data", type=Path, default=Path("data"), help="folder of results and of installed benchmarks")
    parser.add_argument("--before", type=Path, default=SHIPPED)
    parser.add_argument("--after", type=Path, default=Path("data") / "pipeline" / "train" / "policy")
    parser.add_argument("--worlds", type=int, default=50, metavar="N", help="items of each category of held-out worlds")
    parser.add_argument("--behaviour", type=int, default=25, metavar="N", help="items of each behaviour")
    parser.add_argument(
        "--bfcl", type=int, default=25, metavar="N", help="the first N items of each BFCL category; 0 skips BFCL"
    )
    parser.add_argument("--about", default="", help="description of the two policies on the page")
    return parser.parse_args(argv)


if __name__ == "__main__":
    sys.exit(main())
