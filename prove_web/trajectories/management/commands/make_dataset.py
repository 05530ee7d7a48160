"""Command that creates a dataset on the site."""

from argparse import ArgumentParser
from typing import Any

from django.core.management.base import BaseCommand, CommandError

from prove_web.accounts.management.command_arguments import format_errors, parse_settings, person_named, project_named
from prove_web.accounts.roles import Action
from prove_web.trajectories.forms import NewDataset


class Command(BaseCommand):
    """`manage.py make_dataset my-team/demo --as mary --set train=200 held_out=40 servers='["banking"]'`."""

    help = "Create a dataset on the site, like its form."

    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument("project", help="organisation/project")
        parser.add_argument("--as", dest="person", required=True, help="owner: user name or email address")
        parser.add_argument("--set", nargs="+", default=[], action="extend", metavar="NAME=VALUE", help="form field")

    def handle(self, *args: object, **options: Any) -> None:
        project = project_named(options["project"])
        person = person_named(options["person"], Action.LAUNCH, project.organisation)
        values = parse_settings(options["set"])
        start = {name: each.initial for name, each in NewDataset.base_fields.items() if each.initial is not None}
        if strange := [name for name in values if name not in NewDataset.base_fields]:
            raise CommandError(f"Unknown dataset field {strange[0]}.")
        form = NewDataset(project, start | values)
        if not form.is_valid():
            raise CommandError(format_errors(form.errors))
        made = form.launch(project, person)
        self.stdout.write(f"dataset {made.number}, {made.name}: queued as job {made.job_id}")
