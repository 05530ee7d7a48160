"""Command that runs the whole site in the foreground (broker, web, workers, clock) until Ctrl-C."""

from __future__ import annotations

import os
import re
from argparse import ArgumentParser
from contextlib import suppress
from dataclasses import replace

from django.conf import settings
from django.core.exceptions import ImproperlyConfigured
from django.core.management.base import BaseCommand, CommandError
from django.db import connections

from prove_web.core.broker import embedded_url, socket_path
from prove_web.core.env import envint
from prove_web.environments import versions
from prove_web.operations import bootstrap
from prove_web.operations.healthcheck_cli import ALIVE, fetch_health_response
from prove_web.supervisor import checks, valkey
from prove_web.supervisor.output import Console
from prove_web.supervisor.program import ServiceError, StopRequested
from prove_web.supervisor.programs import CHECKPOINT_GRACE, Site, programs
from prove_web.supervisor.supervisor import Supervisor

LOOPBACK = {"127.0.0.1", "localhost", "::1"}
STARTS = 180.0  # seconds until the site responds; on a busy machine its programs take a minute to import


class Command(BaseCommand):
    """`manage.py serve`: exits with 0 after a requested stop, and with 1 and a one-line error otherwise."""

    help = "Run the site: broker, web, workers and clock, in the foreground. Ctrl-C stops all of them."
    requires_system_checks = ()

    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument("--host", default="127.0.0.1", help="address to listen on (default: 127.0.0.1)")
        parser.add_argument("--port", type=int, help="port; 0 picks a free one (default: PROVE_PORT or 8000)")
        parser.add_argument(
            "--cpu-workers",
            type=int,
            help="graph and dataset jobs that run in parallel (default: PROVE_CPU_WORKERS or half of the cores)",
        )

    def handle(self, *args: object, **options: object) -> None:
        try:
            port = options["port"] if options["port"] is not None else envint("PROVE_PORT", 8000)
            wanted = envint("PROVE_MCP_PORT", -1)
            cpu_workers = options["cpu_workers"]
            if cpu_workers is None:
                cpu_workers = envint("PROVE_CPU_WORKERS", max(1, (os.cpu_count() or 1) // 2))
            serve(str(options["host"]), int(str(port)), None if wanted == -1 else wanted, int(str(cpu_workers)))
        except (ServiceError, ImproperlyConfigured) as error:
            raise CommandError(str(error), returncode=1) from None
        except StopRequested:
            pass


def serve(host: str, port: int, mcp_port: int | None, cpu_workers: int) -> None:
    """Check the environment, start the programs and supervise them. Raises ServiceError and StopRequested."""
    data = settings.PROVE_DATA
    checks.cpu_workers(cpu_workers)
    checks.data_folder(data)
    checks.storage(settings.PROVE_STORAGE)
    bootstrap.refuse_newer_database()
    embedded = embedded_url(data) == settings.REDIS_URL
    server = valkey.binary() if embedded else None
    with checks.only_one(data) as say:
        site = Site(settings.BASE_DIR, data, host, checks.free_port(host, port), settings.REDIS_URL)
        free = checks.gateway_port(site.mcp_host, 0 if port == 0 and mcp_port is None else mcp_port, site.port)
        site = replace(site, mcp_port=free, cpu_workers=cpu_workers)
        say(site.url)
        with Supervisor(Console(), data / "logs") as supervisor:
            if server:
                supervisor.start(valkey.program(data, socket_path(data), server, site.environment()))
            start(supervisor, site, embedded)
            supervisor.run()
            supervisor.print_line(
                f"stopping; a run gets {CHECKPOINT_GRACE:.0f} s for a checkpoint, Ctrl-C again stops it now"
            )
    with suppress(OSError):
        print("Stopped. `make run` continues from here.", flush=True)


def start(supervisor: Supervisor, site: Site, embedded: bool) -> None:
    """Start everything after the broker, and wait until the site responds."""
    broker = re.sub(r"//[^/]*@", "//***@", site.broker_url)  # hides user name and password
    supervisor.wait(lambda: valkey.answers(site.broker_url), f"the broker at {broker}", 60 if embedded else 5)
    bootstrap.migrate()
    versions.record()
    welcome = bootstrap.fill_empty_database()
    if welcome:
        supervisor.print_line("created the first owner, a team and a demo project")
    if welcome and welcome.password:
        supervisor.print_line(f"user name: {bootstrap.OWNER}   password: {welcome.password}   (shown only once)")
    if embedded and (jobs := bootstrap.go_on()):
        supervisor.print_line(f"resuming {jobs} job{'s' * (jobs > 1)} from where the last stop left off")
    ignored = bootstrap.password_was_ignored()
    connections.close_all()
    supervisor.start(*programs(site))
    supervisor.wait(lambda: responds(site), "the site", STARTS)
    for line in greeting(site, welcome, ignored):
        supervisor.print_line(line)


def responds(site: Site) -> bool:
    """Return whether the web process responds."""
    host = "127.0.0.1" if site.host in ("0.0.0.0", "localhost") else "::1" if site.host == "::" else site.host
    return bool(fetch_health_response(host, site.port, ALIVE))


def greeting(site: Site, welcome: bootstrap.Welcome | None, ignored: bool) -> list[str]:
    """Return the lines that say where the site is and how to sign in."""
    owner = bootstrap.OWNER
    how = {
        True: f"sign in as {owner}" + (" with the password above" if welcome and welcome.password else ""),
        False: f"sign in as before; a forgotten password: .venv/bin/python manage.py changepassword {owner}",
    }[bool(welcome)]
    lines = [f"PROVE Studio is at {site.url}", how, f"MCP clients find the servers at {site.mcp_url}"]
    if welcome and welcome.warning:
        lines.append(f"PROVE_OWNER_PASSWORD is weak: {welcome.warning}")
    if ignored:
        lines.append(f"PROVE_OWNER_PASSWORD applies only at the first start; the password of {owner} is unchanged")
    if site.host not in LOOPBACK and not os.environ.get("PROVE_HOSTS"):
        lines.append("other machines are refused until PROVE_HOSTS lists this machine's host names")
    return [*lines, "Ctrl-C stops everything; the next start continues from there"]
