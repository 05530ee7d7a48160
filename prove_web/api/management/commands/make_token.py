"""Command that creates an API token on the server."""

from argparse import ArgumentParser
from typing import Any

from django.core.management.base import BaseCommand, CommandError

from prove_web.accounts.management.command_arguments import person_named, project_named
from prove_web.accounts.models import Organisation
from prove_web.accounts.roles import Action
from prove_web.api.tokens import TooMany, issue


class Command(BaseCommand):
    """`manage.py make_token mary my-team --scope launch`: prints its text once; it is not stored."""

    help = "Create an API token for a team member and print it."

    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument("person", help="user name or e-mail address")
        parser.add_argument("organisation", help="the team's name in URLs")
        parser.add_argument(
            "--scope", nargs="+", default=[], action="extend", choices=[*Action.values], help="in addition to view"
        )
        parser.add_argument("--project", help="organisation/project, to restrict the token to one project")
        parser.add_argument("--days", type=int, default=90, help="days until it expires; 0: never")
        parser.add_argument("--name", default="Created on the server", help="what the token is for")

    def handle(self, *args: object, **options: Any) -> None:
        organisation = Organisation.objects.filter(slug=options["organisation"]).first()
        if organisation is None:
            raise CommandError(f"Team {options['organisation']} not found.")
        if not 0 <= options["days"] <= 3_650:
            raise CommandError("--days must be 0 to 3,650.")
        project = project_named(options["project"]) if options["project"] else None
        if project and project.organisation_id != organisation.pk:
            raise CommandError(f"{options['project']} is not a project of {organisation.slug}.")
        scopes = [Action.VIEW.value, *options["scope"]]
        for scope in scopes:
            person = person_named(options["person"], Action(scope), organisation)
        try:
            _, text = issue(person, organisation, options["name"][:80], scopes, project, options["days"] or None)
        except TooMany as why:
            raise CommandError(str(why)) from None
        self.stdout.write(text)
