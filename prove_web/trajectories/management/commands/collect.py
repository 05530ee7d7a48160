"""Command that collects rollouts of a run into a dataset."""

from argparse import ArgumentParser
from typing import Any

from django import forms
from django.core.management.base import BaseCommand, CommandError

from prove_web.experiments.models import Run
from prove_web.experiments.rollouts import NoRollouts
from prove_web.live.models import State
from prove_web.trajectories.curate_forms import STEPS_HELP, numbers
from prove_web.trajectories.rollout_collection import RolloutSelection, collect
from prove_web.trajectories.versions import InvalidDataset


class Command(BaseCommand):
    """`manage.py collect my-team/demo 3 --steps 1,10-20 --failing`: failing rollouts of run 3, to read and review."""

    help = "Collect rollouts of a run into a dataset."

    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument("project", help="organisation/project")
        parser.add_argument("run", type=int, help="run number")
        parser.add_argument("--steps", required=True, help=STEPS_HELP)
        parser.add_argument("--groups", default="", help="group numbers within a step; all by default")
        parser.add_argument("--low", type=float, help="minimum reward")
        parser.add_argument("--high", type=float, help="maximum reward")
        parser.add_argument("--failing", action="store_true", help="only rollouts with a failed call")
        parser.add_argument("--name", default="", help="name of the dataset; its number by default")

    def handle(self, *args: object, **options: Any) -> None:
        organisation, _, project = options["project"].partition("/")
        runs = Run.objects.select_related("job", "dataset", "project__organisation")
        where = {"project__slug": project, "project__organisation__slug": organisation}
        run = runs.filter(number=options["run"], **where).first()
        if run is None:
            raise CommandError(f"There is no run {options['run']} in {options['project']}.")
        try:
            steps, groups = numbers(options["steps"]), numbers(options["groups"])
            wanted = RolloutSelection(steps, groups, options["low"], options["high"], options["failing"])
            made = collect(run, None, options["name"], wanted)
        except (InvalidDataset, NoRollouts) as why:
            raise CommandError(str(why)) from None
        except forms.ValidationError as why:
            raise CommandError(" ".join(why.messages)) from None
        count = made.trajectories.count()
        state = f"{count:,} rollouts" if made.job.state == State.DONE else "queued for the files worker"
        self.stdout.write(f"dataset {made.number}, {made.name}: {state}")
