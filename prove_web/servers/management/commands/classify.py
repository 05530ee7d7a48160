"""Command that compares a language model's classification of tool pairs with the verified graph."""

import os
from argparse import ArgumentParser
from pathlib import Path

from django.conf import settings
from django.core.management.base import BaseCommand, CommandError

from mcp_servers.catalogue import SERVERS
from training_worker.core.terminal import console, show_count_bar, table
from training_worker.core.trajectory import write_lines
from training_worker.endpoint import Endpoint, EndpointFailed
from training_worker.endpoint.settings import from_environment
from training_worker.graph.dependency_graph import load_or_build
from training_worker.synthesis.graph_agreement import KINDS, Agreement, compare
from training_worker.synthesis.llm_graph import classify

MAX_LISTED = 20


class Command(BaseCommand):
    """`manage.py classify --servers banking,vehicle`: precision, recall, confusion, kappa, and the differences."""

    help = "Classify tool dependencies with a language model and compare with the verified graph."
    requires_system_checks = ()

    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument("--servers", default=",".join(SERVERS), help="comma-separated; all by default")
        parser.add_argument("--out", type=Path, help="JSON file for the whole report, every difference included")

    def handle(self, *args: object, **options: object) -> None:
        servers = tuple(dict.fromkeys(str(options["servers"]).split(",")))
        if unknown := [name for name in servers if name not in SERVERS]:
            raise CommandError(f"Unknown server {unknown[0]!r}. Available: {', '.join(SERVERS)}.")
        data = Path(settings.PROVE_DATA)
        out = Path(str(options["out"])).absolute() if options["out"] else None
        try:
            if out:
                out.parent.mkdir(parents=True, exist_ok=True)
            used = from_environment(os.environ, data / "answers")
            with show_count_bar("graph") as progress:
                graph = load_or_build(data / "graph", progress)
            with Endpoint(used) as endpoint, show_count_bar("pairs") as progress:
                said = classify(servers, endpoint, progress)
            agreement = compare(graph, said, used.model, servers)
            if out:
                write_lines(out, [agreement])
        except EndpointFailed as reason:
            raise CommandError(str(reason)) from None
        except OSError as error:
            raise CommandError(f"{error.filename or out}: {error.strerror}; name another file with --out.") from error
        self.show(agreement)

    def show(self, agreement: Agreement) -> None:
        table(
            console(self.stdout),
            ("kind", "verified", "predicted", "both", "precision", "recall", *(f"predicted {kind}" for kind in KINDS)),
            (
                (kind, of.proven, of.said, of.both, of.precision, of.recall, *agreement.confusion[number])
                for number, (kind, of) in enumerate(agreement.kinds.items())
            ),
        )
        kappa = "undefined" if agreement.kappa is None else f"{agreement.kappa:.3f}"
        self.stdout.write(
            f"{agreement.model}: {agreement.pairs:,} ordered pairs, {agreement.unanswered:,} without an answer; "
            f"{len(agreement.differences):,} differ; Cohen's kappa {kappa}"
        )
        for one in agreement.differences[:MAX_LISTED]:
            self.stdout.write(f"{one.first} -> {one.then}: verified {one.proven}, predicted {one.said}")
        if len(agreement.differences) > MAX_LISTED:
            self.stdout.write(f"and {len(agreement.differences) - MAX_LISTED:,} more; --out writes all")
