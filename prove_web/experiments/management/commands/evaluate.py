"""A model on a benchmark that others wrote: scored by the benchmark's own code, kept item by item, resumable."""

import os
from argparse import ArgumentParser
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from django.conf import settings
from django.core.management.base import BaseCommand, CommandError

from training_worker.prove.benchmarks import told
from training_worker.prove.benchmarks.bfcl.benchmark import CATEGORIES, Bfcl
from training_worker.prove.benchmarks.bfcl.child import ChildFailed
from training_worker.prove.benchmarks.compare import NotComparable, paired, require_comparable
from training_worker.prove.benchmarks.environment import BFCL, NotInstalled, SetUpFailed, environment, installed
from training_worker.prove.benchmarks.evaluating import evaluate
from training_worker.prove.benchmarks.local import Local, NoPolicy
from training_worker.prove.benchmarks.policies import endpoint_policy, silent
from training_worker.prove.benchmarks.protocol import Policy, identity_of, selected
from training_worker.prove.benchmarks.report import Report
from training_worker.prove.benchmarks.results import Results, ResultsTaken, folder_of, identity_in, results_in
from training_worker.prove.synthesis.endpoint import Endpoint, EndpointFailed
from training_worker.prove.synthesis.endpoint.settings import from_environment
from training_worker.prove.trajectory import UnreadableData
from training_worker.terminal import console, estimated, table

STOPPED = "stopped; the same command goes on from here"
TOLD = (ChildFailed, EndpointFailed, NoPolicy, NotComparable, NotInstalled, ResultsTaken, SetUpFailed, UnreadableData)


class Command(BaseCommand):
    """`manage.py evaluate bfcl --endpoint URL --model NAME`: Ctrl-C, and the same command goes on."""

    help = "Evaluate a model on a benchmark by the benchmark's own code; --install bfcl gets it first."
    requires_system_checks = ()

    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument("benchmark", choices=["bfcl"])
        parser.add_argument("--install", action="store_true", help="get the benchmark from PyPI and do nothing else")
        parser.add_argument("--endpoint", metavar="URL", help="an OpenAI-compatible API; PROVE_LLM_... set the rest")
        parser.add_argument("--model", metavar="NAME", help="the model there")
        parser.add_argument("--checkpoint", type=Path, metavar="DIR", help="instead: a folder with a model")
        parser.add_argument("--policy", choices=["oracle", "silent"], help="instead: the ground truth, or nothing")
        parser.add_argument("--style", choices=["tools", "prompt"], default="tools", help="how tools are told to it")
        parser.add_argument("--temperature", type=float, default=0.001, help="BFCL's own is 0.001")
        parser.add_argument("--category", action="append", default=[], choices=CATEGORIES, help="may be given again")
        parser.add_argument("--limit", type=int, metavar="N", help="the first N items of each category")
        parser.add_argument("--parallel", type=int, metavar="N", help="items at once (PROVE_LLM_PARALLEL, 4)")
        parser.add_argument("--out", type=Path, metavar="DIR", help="folder of results; one for each model by default")
        parser.add_argument("--against", type=Path, metavar="DIR", help="results of another model, compared by item")

    def handle(self, *args: object, **options: Any) -> None:
        root = Path(settings.PROVE_DATA) / "benchmarks"
        try:
            if options["install"]:
                environment(root / "bfcl-env", BFCL)
                self.stdout.write(f"bfcl is installed in {root / 'bfcl-env'}")
                return
            self.run(root, options)
        except TOLD as reason:
            raise CommandError(str(reason)) from None
        except OSError as error:
            raise CommandError(
                f"{error.filename or root}: {error.strerror}; name another folder with --out."
            ) from error
        except KeyboardInterrupt:
            raise CommandError(STOPPED, returncode=130) from None

    def run(self, root: Path, options: dict[str, Any]) -> None:
        python = installed(root / "bfcl-env", "bfcl")
        with Bfcl(python) as benchmark, policy_of(benchmark, options) as (policy, parallel):
            items = selected(benchmark.items(), options["category"], options["limit"])
            identity = identity_of(benchmark, policy)
            folder = options["out"] or folder_of(root, identity)
            if options["against"]:
                require_comparable(identity_in(options["against"]), identity)
            with Results(folder.absolute(), identity) as results, estimated("bfcl") as progress:
                report = evaluate(benchmark, policy, items, results, options["parallel"] or parallel, progress)
                done = {item.id: results.done[item.id] for item in items if item.id in results.done}
        self.tell(report, folder)
        if options["against"]:
            for line in told.compared(paired(results_in(options["against"]), done)):
                self.stdout.write(line)

    def tell(self, report: Report, folder: Path) -> None:
        table(console(self.stdout), told.COLUMNS, told.rows(report))
        for line in told.lines(report):
            self.stdout.write(line)
        self.stdout.write(f"report.json and every conversation are in {folder}")


@contextmanager
def policy_of(benchmark: Bfcl, options: dict[str, Any]) -> Iterator[tuple[Policy, int]]:
    """The policy that is asked for, and how many items it takes at once. Raises EndpointFailed."""
    if options["policy"]:
        speak = {"oracle": benchmark.oracle, "silent": silent}[options["policy"]]
        yield Policy(model=options["policy"], speak=speak), 2
        return
    if options["checkpoint"]:
        with Local(options["checkpoint"], options["temperature"]) as local:
            yield local.policy(options["style"]), 1
        return
    given = {"PROVE_LLM_URL": options["endpoint"], "PROVE_LLM_MODEL": options["model"]}
    variables = {**os.environ, **{name: value for name, value in given.items() if value}}
    with Endpoint(from_environment(variables, Path(settings.PROVE_DATA) / "answers")) as endpoint:
        yield endpoint_policy(endpoint, options["style"], options["temperature"]), endpoint.settings.parallel
