"""Command that checks whether a dataset still holds, by a replay of every conversation on the current servers."""

import json
from argparse import ArgumentParser
from dataclasses import asdict
from pathlib import Path

from django.core.management.base import BaseCommand, CommandError

from prove_web.trajectories.management.dataset_errors import raise_command_errors
from training_worker.core.terminal import show_count_bar
from training_worker.datasets.importers.external_replay import VERDICTS
from training_worker.datasets.replay import CAUSES, ReplayReport, verify


class Command(BaseCommand):
    """`manage.py verify FOLDER`: exit code 1 when a conversation has drifted or a line cannot be read."""

    help = "Replay every conversation of a dataset and report which no longer hold, and why."
    requires_system_checks = ()

    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument("folder", type=Path, help="dataset folder with a manifest.json")
        parser.add_argument("--json", action="store_true", help="print JSON")

    def handle(self, *args: object, **options: object) -> None:
        path = Path(str(options["folder"]))
        with raise_command_errors(), show_count_bar("replay") as progress:
            found = verify(path, progress)
        as_json = json.dumps(asdict(found) | {"holds": found.holds}, indent=1)
        self.stdout.write(as_json if options["json"] else format_report(found))
        if not found.holds:
            raise CommandError("The dataset has drifted: create it again on the current servers.", returncode=1)


def format_report(found: ReplayReport) -> str:
    """Return the report as lines: changed files, bad lines, then a paragraph for each cause, most frequent first."""
    lines = [f"{name} does not match the manifest: its contents have another hash." for name in found.changed]
    lines += map(str, found.bad_lines)
    if found.bad > len(found.bad_lines):
        lines.append(f"and {found.bad - len(found.bad_lines):,} more bad lines")
    for cause, group in sorted(found.groups.items(), key=lambda item: (-item[1].count, item[0])):
        more = f" and {group.count - len(group.examples):,} more" if group.count > len(group.examples) else ""
        lines.append(f"{group.count:,}: {CAUSES[cause]} ({', '.join(group.examples)}{more})")
        if group.first:
            lines.append(f"  {group.first.example}: {group.first.reason}")
            lines += [f"    {line}" for line in group.first.diff]
    if found.not_certified:
        lines.append(f"{found.not_certified:,} were imported with calls and cannot be replayed: not certified")
    for servers, count in found.elsewhere.items():
        lines.append(f"{count:,} were certified on {servers} at their import; only our servers are replayed here")
    lines += [f"  {count:,} {VERDICTS[verdict]}" for verdict, count in found.checks.items() if verdict != "same"]
    return "\n".join([*lines, f"{found.held:,} of {found.total - found.not_replayed:,} hold"])
