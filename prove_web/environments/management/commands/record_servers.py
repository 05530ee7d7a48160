"""The tools of the servers as they are now, written down where they are others than before."""

from django.core.management.base import BaseCommand

from prove_web.environments.versions import record


class Command(BaseCommand):
    """`manage.py record_servers`: which servers have another version than at the last look."""

    help = "Record the tools of servers whose code has changed; `serve` does this at start."

    def handle(self, *args: object, **options: object) -> None:
        changed = record()
        self.stdout.write(f"new versions: {', '.join(changed)}" if changed else "no server has changed")
