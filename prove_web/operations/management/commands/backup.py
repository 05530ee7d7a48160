"""Command that backs up the whole site to one file while it is in use."""

from __future__ import annotations

from argparse import ArgumentParser
from pathlib import Path
from typing import Any

from django.core.management.base import BaseCommand, CommandError

from prove_web.operations.backups.archive import BackupFailed
from prove_web.operations.backups.contents import PARTS
from prove_web.operations.backups.create_backup import BackupSummary, backup
from training_worker.core.terminal import show_count_bar


class Command(BaseCommand):
    """`manage.py backup site.tar.zst --without rollouts`."""

    help = "Back up database, data folder and secrets into one file; the site may be running."
    requires_system_checks = ()

    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument("file", type=Path, help="new file; its name ends in .tar.zst or .tar.gz")
        parser.add_argument("--without", nargs="+", default=[], choices=sorted(PARTS), help="parts to leave out")

    def handle(self, *args: object, **options: Any) -> None:
        file = options["file"].expanduser().absolute()
        try:
            with show_count_bar("backup") as progress:
                made = backup(file, options["without"], progress)
        except BackupFailed as why:
            raise CommandError(str(why)) from None
        for line in format_summary(file, made):
            self.stdout.write(line)


def format_summary(file: Path, made: BackupSummary) -> list[str]:
    lines = [f"{file}: {made.files:,} files and the database, {made.bytes / 1e6:,.1f} MB before compression."]
    if made.gone:
        lines.append(f"{len(made.gone)} files were removed during the backup and are not in it.")
    if made.links:
        lines.append(f"Links are not backed up: {', '.join(made.links[:3])}{', ...' if len(made.links) > 3 else ''}.")
    return [*lines, "The backup contains the site's secrets: store it where only you can read it."]
