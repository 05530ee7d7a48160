"""Command that launches a run as the launch form does."""

from argparse import ArgumentParser
from typing import Any

from django.core.management.base import BaseCommand, CommandError
from django.db import transaction

from prove_web.accounts.management.command_arguments import format_errors, parse_settings, person_named, project_named
from prove_web.accounts.roles import Action
from prove_web.experiments.api_form import NotThere, filled_form
from prove_web.experiments.run_launch import launch


class Command(BaseCommand):
    """`manage.py launch_run my-team/demo --as mary --dataset 1 --set name=Slower learning_rate=1e-6`."""

    help = "Queue a run."

    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument("project", help="organisation/project")
        parser.add_argument("--as", dest="person", required=True, help="owner of the run: username or e-mail")
        parser.add_argument("--dataset", type=int, help="dataset number")
        parser.add_argument("--clone", type=int, help="number of the run whose settings to copy")
        parser.add_argument(
            "--set", nargs="+", default=[], action="extend", metavar="NAME=VALUE", help="launch form field"
        )

    def handle(self, *args: object, **options: Any) -> None:
        project = project_named(options["project"])
        person = person_named(options["person"], Action.LAUNCH, project.organisation)
        values = parse_settings(options["set"]) | {name: options[name] for name in ("dataset", "clone")}
        try:
            form = filled_form(project, values)
        except NotThere as why:
            raise CommandError(str(why)) from None
        if strange := [name for name in values if name not in (*form.fields, "clone")]:
            raise CommandError(f"The launch form has no field {strange[0]}.")
        if not form.is_valid():
            raise CommandError(format_errors(form.errors))
        with transaction.atomic():
            run = launch(project, person, form)
        self.stdout.write(f"run {run.number}, {run.name}: queued as job {run.job_id}")
