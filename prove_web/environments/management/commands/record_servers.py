"""Command that records the tools of servers that have changed."""

from django.core.management.base import BaseCommand

from prove_web.environments.versions import record


class Command(BaseCommand):
    """`manage.py record_servers`: prints which servers have a new version since the last record."""

    help = "Record the tools of servers whose code has changed; `serve` does this at start."

    def handle(self, *args: object, **options: object) -> None:
        changed = record()
        self.stdout.write(f"new versions: {', '.join(changed)}" if changed else "no server has changed")
