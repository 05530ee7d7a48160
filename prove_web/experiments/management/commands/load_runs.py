"""Command that fills a project with many runs for measuring page speed."""

from __future__ import annotations

from argparse import ArgumentParser
from typing import Any

from django.core.management.base import BaseCommand, CommandError

from prove_web.accounts.models import Project
from prove_web.experiments.many_runs import load

PROGRESS_EVERY = 50


class Command(BaseCommand):
    help = "Fill a project with many synthetic runs to measure page speed; nothing is trained."

    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument("project", help="organisation/project, such as my-team/demo")
        parser.add_argument("--runs", type=int, default=500)
        parser.add_argument("--steps", type=int, default=350)
        parser.add_argument("--metrics", type=int, default=60, help="per step")
        parser.add_argument("--rollouts", type=int, default=256, help="per step of the first run")

    def handle(self, *, project: str, runs: int, steps: int, metrics: int, rollouts: int, **options: Any) -> None:
        if min(runs, steps, metrics) < 1 or rollouts < 0:
            raise CommandError("--runs, --steps and --metrics must be at least 1, --rollouts at least 0.")
        organisation, _, slug = project.partition("/")
        found = Project.objects.filter(organisation__slug=organisation, slug=slug).first()
        if found is None:
            raise CommandError(f"Project “{project}” does not exist. Give organisation/project, such as my-team/demo.")
        for loaded in load(found, runs, steps, metrics, rollouts):
            if loaded % PROGRESS_EVERY == 0 or loaded == runs:
                self.stdout.write(f"{loaded:,} of {runs:,}")
