"""Command that fills a project with many trajectories, to test the library at scale."""

from __future__ import annotations

from argparse import ArgumentParser
from typing import Any

from django.core.management.base import BaseCommand, CommandError

from prove_web.accounts.models import Project
from prove_web.trajectories.many import load


class Command(BaseCommand):
    help = "Load many trajectories into a project to test page speed: synthesized ones, repeated with new ids."

    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument("project", help="organisation/project, such as my-team/demo")
        parser.add_argument("--count", type=int, default=100_000)
        parser.add_argument(
            "--different", type=int, default=1_000, help="number of trajectories to synthesize and repeat"
        )

    def handle(self, *, project: str, count: int, different: int, **options: Any) -> None:
        if count < 1 or different < 1:
            raise CommandError("--count and --different must be at least 1.")
        organisation, _, slug = project.partition("/")
        found = Project.objects.filter(organisation__slug=organisation, slug=slug).first()
        if found is None:
            raise CommandError(f"There is no project “{project}”. Name one by its URL, such as my-team/demo.")
        for loaded in load(found, count, different):
            self.stdout.write(f"{loaded:,} of {count:,}")
