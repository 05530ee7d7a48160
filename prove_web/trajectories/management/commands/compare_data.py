"""Command that compares datasets side by side, such as those of two teachers on one recipe."""

import json
from argparse import ArgumentParser
from dataclasses import asdict
from pathlib import Path

from django.core.management.base import BaseCommand

from prove_web.trajectories.management.dataset_errors import raise_command_errors
from training_worker.core.terminal import console, table
from training_worker.datasets.compare import build_comparison_rows, measure


class Command(BaseCommand):
    """`manage.py compare_data FOLDER FOLDER`: a column for each."""

    help = "Compare the training splits of datasets side by side."
    requires_system_checks = ()

    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument("folders", type=Path, nargs="+", help="dataset folders with a manifest.json")
        parser.add_argument("--json", action="store_true", help="print JSON")

    def handle(self, *args: object, **options: object) -> None:
        folders = options["folders"]
        assert isinstance(folders, list)
        with raise_command_errors():
            measured = [measure(folder) for folder in folders]
        if options["json"]:
            self.stdout.write(json.dumps([asdict(one) for one in measured], indent=1))
        else:
            table(
                console(self.stdout),
                ["", *(folder.absolute().name for folder in folders)],
                build_comparison_rows(measured),
            )
