"""Command that runs the invariant checks of servers one after another; the catalogue shows the results."""

from argparse import ArgumentParser

from django.core.management.base import BaseCommand, CommandError

from mcp_servers.catalogue import SERVERS
from prove_web.environments.server_checks import create_check, run


class Command(BaseCommand):
    """`manage.py check_servers banking vehicle`: whether they satisfy their invariants and replay; default: all."""

    help = "Run the invariant checks of servers on random walks, replay them, and store the results."

    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument("servers", nargs="*", help="all by default")

    def handle(self, *args: object, servers: list[str], **options: object) -> None:
        if unknown := [name for name in servers if name not in SERVERS]:
            raise CommandError(f"Unknown server {unknown[0]!r}. Available: {', '.join(SERVERS)}.")
        bad = []
        for name in servers or SERVERS:
            check = create_check(name)
            run(check)
            report = check.found
            line = f"{report['calls']} calls, certificate {report['certificate'][:12]}" if report else check.error
            self.stdout.write(f"{name:<14} {'ok' if check.ok else 'VIOLATED' if report else 'no result'}  {line}")
            bad += [] if check.ok else [name, *report.get("faults", ())]
        if bad:
            raise CommandError("Invariant checks failed: " + "; ".join(bad))
