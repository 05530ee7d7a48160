"""Command that restores a backup into an empty data folder."""

from __future__ import annotations

from argparse import ArgumentParser
from pathlib import Path
from typing import Any

from django.core.management.base import BaseCommand, CommandError

from prove_web.operations.backups.archive import BackupFailed
from prove_web.operations.backups.restore_backup import restore
from training_worker.core.terminal import bar, console


class Command(BaseCommand):
    """`manage.py restore site.tar.zst`."""

    help = "Restore a backup into an empty PROVE_DATA and, with DATABASE_URL, into an empty database."
    requires_system_checks = ()

    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument("file", type=Path, help="backup file from `manage.py backup`")

    def handle(self, *args: object, **options: Any) -> None:
        try:
            with bar(console(self.stderr._out), "restore") as progress:
                made = restore(options["file"].expanduser(), lambda done: progress.set(0, 1, f"{done:,} files"))
        except BackupFailed as why:
            raise CommandError(str(why)) from None
        left = f", without {' and '.join(made.without)}" if made.without else ""
        self.stdout.write(
            f"Restored {made.files:,} files and the database as of {made.made_at:%Y-%m-%d %H:%M} UTC{left}."
        )
        self.stdout.write("Start the site as usual; jobs that were running continue from their last checkpoint.")
