"""Command that exports a dataset folder, or what a search finds in a project of the site."""

import json
import sys
from argparse import ArgumentParser
from pathlib import Path
from typing import Any

from django.core.management.base import BaseCommand, CommandError

from prove_web.trajectories.management.dataset_errors import raise_command_errors
from training_worker.datasets.export.publish import publish

FORMATS = ("jsonl", "parquet", "huggingface", "openai", "csv")


class Command(BaseCommand):
    """`manage.py export FOLDER` publishes a folder; `--project my-team/demo --out FILE` writes what a search finds."""

    help = "Write Parquet, a data card and plots beside a dataset's lines, or a project's trajectories to a file."
    requires_system_checks = ()

    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument("folder", type=Path, nargs="?", help="dataset folder with a manifest.json")
        parser.add_argument("--project", help="organisation/project, whose trajectories are exported")
        parser.add_argument("--query", default="", help="filter in the search syntax of the site; all by default")
        parser.add_argument("--dataset", type=int, help="dataset number")
        parser.add_argument("--format", choices=FORMATS, default="jsonl", help="file format")
        parser.add_argument("--out", type=Path, help="output file; - is standard output")

    def handle(self, *args: object, **options: Any) -> None:
        if options["project"]:
            self.of_project(options)
            return
        if options["folder"] is None:
            raise CommandError("Name a dataset folder, or a project with --project and a file with --out.")
        path = Path(str(options["folder"]))
        try:
            with raise_command_errors():
                publish(path)
        except KeyError as name:
            raise CommandError(f"Missing tool: {name}. Create the dataset again.") from None
        self.stdout.write(f"{path} loads with datasets.load_dataset; README.md is its card")

    def of_project(self, options: dict[str, Any]) -> None:
        from django.http import Http404

        from prove_web.accounts.models import Project
        from prove_web.review.blinding import Blind
        from prove_web.trajectories.export_formats import FORMATS as KNOWN
        from prove_web.trajectories.selection import select_trajectories

        organisation, _, name = options["project"].partition("/")
        project = Project.objects.filter(slug=name, organisation__slug=organisation).first()
        if project is None or options["out"] is None:
            raise CommandError("--project must be an organisation/project of this site, and --out must name a file.")
        try:
            found = select_trajectories(project, {"q": options["query"], "dataset": str(options["dataset"] or "")})
        except Http404 as why:
            raise CommandError(str(why)) from None
        if found.fault:
            raise CommandError(f"--query, character {found.fault.at + 1}: {found.fault.message}")
        about = {"project": options["project"], "found_by": found.origin}
        pieces, out = KNOWN[options["format"]].make(found.rows, about, Blind(None, project)), options["out"]
        if str(out) == "-":
            for piece in pieces:
                sys.stdout.buffer.write(piece)
            return
        partial = out.with_name(f"{out.name}.partial")
        try:
            with partial.open("wb") as file:
                file.writelines(pieces)
            partial.replace(out)
        except OSError as error:
            raise CommandError(f"{error.filename or out}: {error.strerror}.") from None
        finally:
            partial.unlink(missing_ok=True)
        self.stdout.write(f"{found.rows.count():,} trajectories in {out} ({json.dumps(found.origin)})")
