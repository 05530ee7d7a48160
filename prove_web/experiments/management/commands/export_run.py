"""Command that exports a run's metric points and rollouts to files."""

import json
from argparse import ArgumentParser
from collections.abc import Iterable
from pathlib import Path
from typing import Any

from django.core.management.base import BaseCommand, CommandError

from prove_web.experiments.management.run_lookup import run_named
from prove_web.experiments.models import Run
from prove_web.experiments.outside import TRACKERS
from prove_web.experiments.outside.limits import InvalidRunData
from prove_web.experiments.outside.trackers import write_run
from prove_web.experiments.rollout_storage import StoredRun
from prove_web.experiments.run_export import points_of, rollouts_of


class Command(BaseCommand):
    """`manage.py export_run my-team/demo 3 FOLDER`: run.json, points.jsonl, held_out.jsonl and rollouts.jsonl."""

    help = "Export a run's metrics and rollouts to a folder as JSON lines."

    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument("project", help="organisation/project")
        parser.add_argument("run", type=int, help="run number")
        parser.add_argument("folder", type=Path, help="output folder; created if missing")
        parser.add_argument("--to", choices=[*TRACKERS], help="export as another tracker's files, without rollouts")

    def handle(self, *args: object, **options: Any) -> None:
        run, folder = run_named(options["project"], options["run"]), options["folder"]
        if options["to"]:
            return self.for_tracker(run, options["to"], folder)
        record = {"number": run.number, "name": run.name, "kind": run.kind, "state": run.job.state}
        record |= {"config": run.config, "notes": run.notes, "tags": run.tags, "result": run.job.result}
        try:
            folder.mkdir(parents=True, exist_ok=True)
            (folder / "run.json").write_text(json.dumps(record, indent=1, ensure_ascii=False), "utf-8")
            for name, rows in (
                ("points", points_of(run.points.all())),
                ("held_out", points_of(run.held_out.all())),
                ("rollouts", rollouts_of(run, StoredRun(run).steps())),
            ):
                self.stdout.write(f"{name}: {write_json_lines(folder / f'{name}.jsonl', rows):,}")
        except OSError as why:
            raise CommandError(f"Cannot write to {folder}: {why.strerror}.") from None

    def for_tracker(self, run: Run, tracker: str, folder: Path) -> None:
        try:
            folder.mkdir(parents=True, exist_ok=True)
            write_run(run, tracker, folder.resolve())
        except (InvalidRunData, OSError) as why:
            raise CommandError(f"Run {run.number} was not exported: {why}") from None
        self.stdout.write(f"points: {run.points.count():,}, held_out: {run.held_out.count():,}")


def write_json_lines(path: Path, rows: Iterable[Any]) -> int:
    """Write the rows as JSON lines and return their number."""
    with path.open("w", encoding="utf-8") as file:
        return sum(1 for row in rows if file.write(json.dumps(row, ensure_ascii=False) + "\n"))
