"""Command that replays every accepted trajectory on the current servers and lists those that have drifted."""

from __future__ import annotations

from argparse import ArgumentParser

from django.core.management.base import BaseCommand, CommandError

from prove_web.accounts.models import Project
from prove_web.review.reverify import ReverifyReport, get_latest_acceptances, verify
from training_worker.core.terminal import show_count_bar


class Command(BaseCommand):
    """`manage.py verify_accepted [--project team/project]`: exit code 1 if one drifted or could not be replayed."""

    help = "Replay every accepted trajectory on the current servers and list those that have drifted."

    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument("--project", default="", metavar="TEAM/PROJECT", help="only trajectories of this project")

    def handle(self, *args: object, **options: object) -> None:
        rows = get_latest_acceptances(project(str(options["project"])))
        with show_count_bar("replay") as progress:
            found = verify(rows, progress)
        self.stdout.write(format_report(found))
        if found.drifted or found.broken:
            raise CommandError("Some accepted trajectories have drifted or could not be replayed.", returncode=1)


def project(path: str) -> Project | None:
    """Return the project with this URL path; None for an empty path."""
    if not path:
        return None
    team, _, name = path.partition("/")
    found = Project.objects.filter(organisation__slug=team, slug=name).first()
    if found is None:
        raise CommandError(f"There is no project {path}. Write it as in its URL, such as my-team/demo.")
    return found


def format_report(found: ReverifyReport) -> str:
    """Return a paragraph for each drifted trajectory, those that could not be replayed, and the count."""
    lines = []
    for where, drift in found.drifted.items():
        lines += [f"{where} has drifted since it was accepted:", *(f"  {text}" for text in drift)]
    lines += [f"{where} could not be replayed: {why}" for where, why in found.broken.items()]
    if found.other_code:
        lines.append(f"{found.other_code:,} replay the same although their servers have changed since acceptance")
    return "\n".join([*lines, f"{found.held:,} of {found.total:,} accepted trajectories hold"])
