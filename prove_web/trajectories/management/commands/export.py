"""Parquet, a data card and its plots for a data set that has none, or old ones."""

from argparse import ArgumentParser
from pathlib import Path

from django.core.management.base import BaseCommand, CommandError

from prove_web.trajectories.management.reading import told_in_a_line
from training_worker.prove.export.publish import publish


class Command(BaseCommand):
    """`manage.py export FOLDER`: what `synthesize` and `import_data` do by themselves."""

    help = "Write Parquet, a data card and plots beside the lines of a data set."
    requires_system_checks = ()

    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument("folder", type=Path, help="where its manifest.json is")

    def handle(self, *args: object, **options: object) -> None:
        path = Path(str(options["folder"]))
        try:
            with told_in_a_line():
                publish(path)
        except KeyError as name:
            raise CommandError(f"There is no tool {name} any more: make the data set again.") from None
        self.stdout.write(f"{path} loads with datasets.load_dataset; README.md is its card")
