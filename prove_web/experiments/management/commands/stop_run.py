"""Command that stops a run."""

from argparse import ArgumentParser
from typing import Any

from django.core.management.base import BaseCommand

from prove_web.experiments.management.run_lookup import run_named
from prove_web.live.jobs import request_stop
from prove_web.live.models import StopLevel


class Command(BaseCommand):
    """`manage.py stop_run my-team/demo 3`: stops after the step with a checkpoint, or immediately with `--now`."""

    help = "Stop a run after its current step, with a checkpoint."

    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument("project", help="organisation/project")
        parser.add_argument("run", type=int, help="run number")
        parser.add_argument("--now", action="store_true", help="stop immediately, without finishing the step")

    def handle(self, *args: object, **options: Any) -> None:
        run = run_named(options["project"], options["run"])
        job = request_stop(run.job, StopLevel.NOW if options["now"] else StopLevel.AFTER_STEP)
        self.stdout.write(f"run {run.number}, {run.name}: {job.get_state_display().lower()}")
