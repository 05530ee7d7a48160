"""Command that prepares a site before its programs start: migrations, and an owner who can sign in."""

from __future__ import annotations

from typing import Any

from django.conf import settings
from django.core.management.base import BaseCommand, CommandError

from prove_web.environments import versions
from prove_web.operations import bootstrap
from prove_web.supervisor import checks
from prove_web.supervisor.program import ServiceError


class Command(BaseCommand):
    """`manage.py prepare`, to run before the programs start; `serve` includes it."""

    help = "Migrate the database and, if it is empty, create the first owner, a team and a demo project."
    requires_system_checks = ()

    def handle(self, *args: object, **options: Any) -> None:
        try:
            checks.data_folder(settings.PROVE_DATA)
            checks.storage(settings.PROVE_STORAGE)
            bootstrap.refuse_newer_database()
            with checks.only_one(settings.PROVE_DATA):
                bootstrap.migrate()
                versions.record()
                welcome = bootstrap.fill_empty_database()
        except ServiceError as why:
            raise CommandError(str(why)) from None
        if welcome and welcome.password:
            self.stdout.write(f"user name: {bootstrap.OWNER}   password: {welcome.password}   (shown only once)")
        if welcome and welcome.warning:
            self.stdout.write(f"PROVE_OWNER_PASSWORD is weak: {welcome.warning}")
        self.stdout.write("The site is prepared.")
