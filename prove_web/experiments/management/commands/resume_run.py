"""Command that resumes a run."""

from argparse import ArgumentParser
from typing import Any

from django.core.management.base import BaseCommand, CommandError

from prove_web.experiments.management.run_lookup import run_named
from prove_web.live.jobs import NotNow, resume


class Command(BaseCommand):
    """`manage.py resume_run my-team/demo 3`: resumes from the newest checkpoint."""

    help = "Resume a run that was stopped, failed or lost."

    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument("project", help="organisation/project")
        parser.add_argument("run", type=int, help="run number")

    def handle(self, *args: object, **options: Any) -> None:
        run = run_named(options["project"], options["run"])
        try:
            job = resume(run.job)
        except NotNow as why:
            raise CommandError(str(why)) from None
        self.stdout.write(f"run {run.number}, {run.name}: {job.get_state_display().lower()}")
