"""Command that restores access for a user who lost both the authenticator app and the recovery codes."""

from __future__ import annotations

from typing import Any

from allauth.mfa.models import Authenticator
from django.core.management.base import BaseCommand, CommandError, CommandParser

from prove_web.accounts.memberships import find


class Command(BaseCommand):
    help = "Turn off the second factor of an account; its password alone then signs in."

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument("person", help="user name or e-mail address")

    def handle(self, *args: Any, person: str, **options: Any) -> None:
        user = find(person)
        if user is None:
            raise CommandError(f"No account “{person}”. Enter a user name or an e-mail address.")
        gone, _ = Authenticator.objects.filter(user=user).delete()
        said = "Second factor turned off; the password alone signs in." if gone else "No second factor was set up."
        self.stdout.write(f"{user.get_username()}: {said}")
