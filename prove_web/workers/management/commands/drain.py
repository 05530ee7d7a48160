"""Command that drains a worker (finish current jobs, take no new ones), as before an update or restart."""

from __future__ import annotations

from typing import Any

from django.core.management.base import BaseCommand, CommandError, CommandParser

from prove_web.workers.worker_drain import drain, list_draining_workers, take_again
from prove_web.workers.worker_status import workers


class Command(BaseCommand):
    help = "Drain a worker: it finishes its jobs and takes no new ones, also after a restart, until --undo."

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument("name", nargs="?", help="worker name as on the Workers page; omit it to list the workers")
        parser.add_argument("--undo", action="store_true", help="resume the worker")

    def handle(self, *args: Any, **options: Any) -> None:
        found = workers()
        if found is None:
            raise CommandError("The broker does not answer. Start the site, or check REDIS_URL.")
        there, drained = {one.name: one for one in found if one.info}, list_draining_workers()
        if (name := options["name"]) is None:
            for one in there.values():
                self.stdout.write(f"{one.name}  {one.state.lower()}")
            for gone in sorted(drained - there.keys()):
                self.stdout.write(f"{gone}  draining, no heartbeat")
        elif options["undo"] and name in drained:
            take_again(name)
            self.stdout.write(f"{name} takes jobs again.")
        elif name not in there:
            raise CommandError(f"Unknown worker {name!r}. Workers: {', '.join(there) or 'none'}.")
        elif options["undo"]:
            self.stdout.write(f"{name} is not draining.")
        else:
            drain(name, there[name].enrolment)
            jobs = len(there[name].jobs)
            left = f"It is running {jobs} job{'s' * (jobs != 1)}." if jobs else "It is idle."
            self.stdout.write(f"{name} stops taking jobs within seconds. {left}")
