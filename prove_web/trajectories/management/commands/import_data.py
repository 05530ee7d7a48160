"""A data set of a file that others made: all of its rows, or none and what is wrong with which."""

from argparse import ArgumentParser
from pathlib import Path

from django.core.management.base import BaseCommand, CommandError

from training_worker.prove.export.publish import publish
from training_worker.prove.importers.formats import FORMATS, make
from training_worker.prove.synthesis import folder
from training_worker.prove.trajectory import UnreadableData


class Command(BaseCommand):
    """`manage.py import_data FILE --format when2call --out FOLDER`: JSON lines, a JSON array or Parquet."""

    help = "Import a file: " + "; ".join(f"{name}, {one.title}" for name, one in FORMATS.items()) + "."
    requires_system_checks = ()

    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument("file", type=Path, help="JSON lines, a JSON array or Parquet")
        parser.add_argument("--format", choices=FORMATS, required=True, help="what its rows are")
        parser.add_argument("--out", type=Path, required=True, help="the folder of the data set")
        parser.add_argument("--answers", type=Path, help="bfcl: the possible answers; possible_answer/FILE by default")
        parser.add_argument("--split", choices=folder.SPLITS, help="of all rows; benchmarks are held out by default")
        parser.add_argument("--replace", action="store_true", help="replace the finished data set that is there")

    def handle(self, *args: object, **options: object) -> None:
        path, out = Path(str(options["file"])), Path(str(options["out"])).absolute()
        answers = Path(str(options["answers"])) if options["answers"] else None
        split, replacing = options["split"], bool(options["replace"])
        try:
            manifest = make(path, out, FORMATS[str(options["format"])], answers, split, replacing=replacing)
            publish(out)
        except (UnreadableData, folder.Taken) as reason:
            raise CommandError(str(reason)) from None
        except OSError as error:
            raise CommandError(f"{error.filename or out}: {error.strerror or error}.") from error
        self.stdout.write(folder.told(manifest))
        for side, one in manifest.splits.items():
            for why, count in one.dropped.items():
                self.stdout.write(f"{count:,} left out: {why}")
            if one.not_certified:
                self.stdout.write(
                    f"{one.not_certified:,} {side.replace('_', '-')} conversations have calls and are not certified: "
                    "to review and to learn from with supervision, not for recipes and rollouts"
                )
        self.stdout.write(f"in {out}")
