"""Command that imports runs from another tracker's files."""

from argparse import ArgumentParser
from pathlib import Path
from typing import Any

from django.core.management.base import BaseCommand, CommandError

from prove_web.accounts.management.command_arguments import project_named
from prove_web.experiments.outside import TRACKERS as FORMATS
from prove_web.experiments.outside.limits import InvalidRunData
from prove_web.experiments.outside.trackers import bring, read_runs


class Command(BaseCommand):
    """`manage.py import_run mlruns --project my-team/demo --from mlflow`."""

    help = "Import runs from another tracker's files into a project."

    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument("path", type=Path, help="folder, zip of a folder, or one run file")
        parser.add_argument("--project", required=True, help="organisation/project")
        parser.add_argument("--from", required=True, choices=[*FORMATS], help="source format")

    def handle(self, *args: object, **options: Any) -> None:
        path, project = options["path"], project_named(options["project"])
        if not path.exists():
            raise CommandError(f"{path} does not exist.")
        try:
            for one in read_runs(options["from"], path.resolve()):
                run, new = bring(project, None, one, options["from"])
                state = f"{len(one.points):,} steps" if new else "already imported"
                self.stdout.write("\n  ".join([f"Run {run.number}, {run.name}: {state}", *one.remarks]))
        except InvalidRunData as why:
            raise CommandError(str(why)) from None
