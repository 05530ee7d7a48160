"""Command that measures the latency of run pages on a filled database."""

from __future__ import annotations

import statistics
import time
from argparse import ArgumentParser
from collections.abc import Mapping
from typing import Any

from django.core.management.base import BaseCommand, CommandError
from django.db import connection
from django.test import Client

from prove_web.accounts.models import Membership, Organisation, Project, User
from prove_web.accounts.roles import Role
from prove_web.experiments.many_runs import GROUP, load
from prove_web.experiments.models import Run
from training_worker.core.benchmark_page import write_block

WIDE = "state,steps,reward,reward-best,kl-last,entropy-mean-20,held_out-best,learning_rate,seed,took"
PAGES = {
    "run": "runs/{run}/",
    "table": "runs/",
    "table, part": "runs/?part=table",
    "table by a metric": f"runs/?sort=-reward-best&columns={WIDE}",
    "table by a setting": f"runs/?sort=learning_rate&columns={WIDE}",
    "table, searched": f"runs/?q=reward>0.5 learning_rate:2e-4&columns={WIDE}",
    "table in groups": f"runs/?group=sweep&columns={WIDE}",
    "groups by a metric": f"runs/?group=learning_rate&sort=-reward&columns={WIDE}",
    "columns": "runs/?part=columns",
    "rollouts of a step": "runs/{run}/rollouts/{step}/",
    "rollouts of a step, list": "runs/{run}/rollouts/{step}/?view=list&sort=-reward",
    "rollouts of a step, some": "runs/{run}/rollouts/{step}/?tool=bank_transfer",
    "a group": "runs/{run}/rollouts/{step}/groups/1/",
    "a rollout": "runs/{run}/rollouts/{step}/1/",
    "rollouts of the run": "runs/{run}/rollouts/?q=reward<0.2",
    "tools by outcome": "runs/{run}/tools/outcomes/?all=1",
    "tools": "runs/{run}/tools/",
    "rollouts of a wide step": "runs/{wide}/rollouts/{step}/",
    "rollouts of a wide step, list": "runs/{wide}/rollouts/{step}/?view=list&sort=-reward",
}


FEW = {"runs": 5, "steps": 20, "metrics": 60, "rollouts": 16, "wide": 16}  # the baseline


class Command(BaseCommand):
    help = "Measure the latency of run pages in ms, with many runs and with few; fills the configured database first."

    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument("--runs", type=int, default=500)
        parser.add_argument("--steps", type=int, default=350)
        parser.add_argument("--metrics", type=int, default=60)
        parser.add_argument("--rollouts", type=int, default=256, help="per step of the first run")
        parser.add_argument("--wide", type=int, default=4096, help="in the last step of the second run")
        parser.add_argument("--times", type=int, default=40, help="requests per page")
        parser.add_argument("--only", action="append", choices=PAGES, help="page to measure; repeatable")
        parser.add_argument("--write", action="store_true", help="write the table into docs/benchmarks.md")

    def handle(self, *, times: int, only: list[str] | None, write: bool, **options: Any) -> None:
        many = {name: options[name] for name in FEW}
        if min(many["runs"] - 1, *many.values(), times) < 1 or min(many["rollouts"], many["wide"]) < GROUP:
            raise CommandError(
                f"--runs must be at least 2, --rollouts and --wide at least {GROUP}, the others at least 1."
            )
        few, large = (addresses(slug, size) for slug, size in (("few", FEW), ("many", many)))
        client = Client(headers={"host": "localhost"})
        client.force_login(User.objects.get(username="bench"))
        lines: list[str] = []

        def print_line(line: str) -> None:
            lines.append(line)
            self.stdout.write(line)

        print_line(f"{connection.display_name}: {sizes(many)}; few: {sizes(FEW)}\n")
        print_line("| page | few, median | many, median | many, 95th | many / few |")
        print_line("| --- | --- | --- | --- | --- |")
        for kind in only or PAGES:
            base, _ = measure_latency(client, few[kind], times)
            median, p95 = measure_latency(client, large[kind], times)
            print_line(f"| {kind} | {base:.0f} ms | {median:.0f} ms | {p95:.0f} ms | {median / base:.1f} |")
        if write:
            write_block("pages", "\n".join(lines))


def sizes(size: Mapping[str, int]) -> str:
    return (
        f"{size['runs']:,} runs x {size['steps']:,} steps x {size['metrics']:,} metrics, "
        f"{size['steps'] * size['rollouts']:,} rollouts, a step of {size['wide']:,}"
    )


def addresses(slug: str, size: Mapping[str, int]) -> dict[str, str]:
    """Return the URLs of a project of this size by kind of page; an existing project is reused."""
    team, _ = Organisation.objects.get_or_create(slug="bench", defaults={"name": "Bench"})
    project, made = Project.objects.get_or_create(organisation=team, slug=slug, defaults={"name": slug.capitalize()})
    owner, _ = User.objects.get_or_create(username="bench", defaults={"email": "bench@localhost"})
    Membership.objects.get_or_create(organisation=team, user=owner, defaults={"role": Role.OWNER})
    for _ in load(project, **size) if made else ():
        pass
    run, wide = Run.objects.filter(project=project).order_by("number")[:2]
    step = run.points.order_by("-step").values_list("step", flat=True).first()
    numbers = {"run": run.number, "wide": wide.number, "step": step}
    return {kind: f"/bench/{slug}/{page.format(**numbers)}" for kind, page in PAGES.items()}


def measure_latency(client: Client, url: str, times: int) -> tuple[float, float]:
    """Return median and 95th percentile of the latency in ms, from request to complete response in one process.

    The first request, which reads the disk, is not counted.
    """
    took = []
    for _ in range(times + 1):
        began = time.perf_counter()
        answer = client.get(url)
        took.append(1000 * (time.perf_counter() - began))
        if answer.status_code != 200:
            raise CommandError(f"{url} returned status {answer.status_code}.")
    took = took[1:]
    p95 = statistics.quantiles(took, n=20)[-1] if len(took) > 1 else took[0]
    return statistics.median(took), p95
