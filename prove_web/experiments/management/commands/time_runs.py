"""Times the pages of runs at their size: a database is filled, and each kind of page asked for many times."""

from __future__ import annotations

import json
import statistics
import time
from argparse import ArgumentParser
from typing import Any

from django.core.management.base import BaseCommand, CommandError
from django.test import Client

from prove_web.accounts.models import Membership, Organisation, Project, User
from prove_web.accounts.roles import Role
from prove_web.experiments.many_runs import load
from prove_web.experiments.models import Point, Run

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


class Command(BaseCommand):
    help = "Time the pages of runs on the database that is set, which is filled first: milliseconds by kind, as JSON."

    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument("--runs", type=int, default=500)
        parser.add_argument("--steps", type=int, default=350)
        parser.add_argument("--metrics", type=int, default=60)
        parser.add_argument("--rollouts", type=int, default=256, help="in each step of the first run")
        parser.add_argument("--wide", type=int, default=4096, help="in the last step of the second run")
        parser.add_argument("--times", type=int, default=40, help="how often each kind of page is asked for")

    def handle(
        self, *, runs: int, steps: int, metrics: int, rollouts: int, wide: int, times: int, **options: Any
    ) -> None:
        if min(runs - 1, steps, metrics, rollouts, wide, times) < 1:
            raise CommandError("--runs takes a number from 2, each of the others one from 1.")
        client, (run, second) = ready(runs, steps, metrics, rollouts, wide)
        step = Point.objects.filter(run=run).order_by("-step").values_list("step", flat=True).first()
        found = {
            kind: timed(client, "/bench/runs/" + page.format(run=run.number, wide=second.number, step=step), times)
            for kind, page in PAGES.items()
        }
        self.stdout.write(json.dumps(found, indent=1))


def ready(runs: int, steps: int, metrics: int, rollouts: int, wide: int) -> tuple[Client, list[Run]]:
    """Someone who may see a project with so many runs, and its first two; what is there from before is used again."""
    team, _ = Organisation.objects.get_or_create(slug="bench", defaults={"name": "Bench"})
    project, made = Project.objects.get_or_create(organisation=team, slug="runs", defaults={"name": "Runs"})
    owner, _ = User.objects.get_or_create(username="bench", defaults={"email": "bench@localhost"})
    Membership.objects.get_or_create(organisation=team, user=owner, defaults={"role": Role.OWNER})
    for _ in load(project, runs, steps, metrics, rollouts, wide) if made else ():
        pass
    client = Client(headers={"host": "localhost"})
    client.force_login(owner)
    return client, list(Run.objects.filter(project=project).order_by("number")[:2])


def timed(client: Client, url: str, times: int) -> dict[str, float]:
    """Milliseconds of the clock, from the request to the whole answer within one process; the first reads the disk."""
    took = []
    for _ in range(times + 1):
        began = time.perf_counter()
        answer = client.get(url)
        took.append(1000 * (time.perf_counter() - began))
        if answer.status_code != 200:
            raise CommandError(f"{url} was answered {answer.status_code}.")
    took = took[1:]
    p95 = statistics.quantiles(took, n=20)[-1] if len(took) > 1 else took[0]
    return {"pages": times, "median": round(statistics.median(took), 1), "p95": round(p95, 1)}
