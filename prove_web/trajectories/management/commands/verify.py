"""Whether a data set still holds: every conversation is replayed on today's servers."""

from argparse import ArgumentParser
from pathlib import Path

from django.core.management.base import BaseCommand, CommandError
from pydantic import ValidationError

from training_worker.prove.synthesis import folder
from training_worker.prove.trajectory import UnreadableData
from training_worker.terminal import counted

SHOWN = 20


class Command(BaseCommand):
    """`manage.py verify FOLDER`: exit code 1 when a conversation has drifted."""

    help = "Replay every conversation of a data set and tell which no longer hold, and why."
    requires_system_checks = ()

    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument("folder", type=Path, help="where its manifest.json is")

    def handle(self, *args: object, **options: object) -> None:
        path = Path(str(options["folder"]))
        try:
            with counted("replay") as progress:
                held, drifted = folder.verify(path, progress)
        except FileNotFoundError as error:
            raise CommandError(f"{error.filename} is not there; `manage.py synthesize` makes data sets.") from None
        except (UnreadableData, ValidationError) as error:
            raise CommandError(f"{path}: {error}") from None
        for reason in drifted[:SHOWN]:
            self.stdout.write(reason)
        if len(drifted) > SHOWN:
            self.stdout.write(f"and {len(drifted) - SHOWN:,} more")
        self.stdout.write(f"{held:,} of {sum(one.conversations for one in folder.read(path).splits.values()):,} hold")
        if drifted:
            raise CommandError("The data set has drifted: make it again on today's servers.", returncode=1)
