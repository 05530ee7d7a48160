"""Command that runs one of the site's programs, for deployments that supervise them without `serve`."""

from __future__ import annotations

import os
from argparse import ArgumentParser
from pathlib import Path
from typing import Any

from django.conf import settings
from django.core.exceptions import ImproperlyConfigured
from django.core.management.base import BaseCommand, CommandError

from prove_web.core.broker import embedded_url
from prove_web.core.env import envint
from prove_web.supervisor import checks
from prove_web.supervisor.checks import GATEWAY_PORT
from prove_web.supervisor.program import Program, ServiceError
from prove_web.supervisor.programs import Site, programs

LISTENING = ("web", "gateway")


class Command(BaseCommand):
    """`manage.py program writer`: replaces this process with the program, using the command that `serve` uses."""

    help = "Run one of the programs of `serve` in the foreground: " + ", ".join(
        program.name for program in programs(Site(Path(), Path(), "", 0, ""))
    )
    requires_system_checks = ()

    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument("name", help="program name")
        parser.add_argument("--host", default="127.0.0.1", help="address to listen on (default: 127.0.0.1)")
        parser.add_argument("--port", type=int, help="port of web or gateway (default: PROVE_PORT, PROVE_MCP_PORT)")

    def handle(self, *args: object, **options: Any) -> None:
        try:
            become(find_program(options["name"], options["host"], options["port"]))
        except (ImproperlyConfigured, ServiceError) as error:
            raise CommandError(str(error)) from None


def find_program(name: str, host: str, port: int | None = None) -> Program:
    """Return the program of this name, on the given port if any.

    Raises CommandError if there is no such program or no shared broker, and ServiceError for a port in use.
    """
    known = {program.name: program for program in programs(site(host, port))}
    if name not in known:
        raise CommandError(f"unknown program {name!r}: choose one of {', '.join(known)}")
    if name != "gateway" and embedded_url(settings.PROVE_DATA) == settings.REDIS_URL:
        raise CommandError("set REDIS_URL to a broker that all programs can reach; only `serve` starts its own")
    if port is not None and name not in LISTENING:
        raise CommandError(f"{name} listens on no port: omit --port, which is for {' and '.join(LISTENING)}")
    if port is not None:
        checks.free_port(host, port, "--port")
    return known[name]


def site(host: str, port: int | None = None) -> Site:
    """Return the site as configured by the environment."""
    cpu_workers = envint("PROVE_CPU_WORKERS", max(1, (os.cpu_count() or 1) // 2))
    pages, mcp = envint("PROVE_PORT", 8000), envint("PROVE_MCP_PORT", GATEWAY_PORT)
    ours = (pages, mcp) if port is None else (port, port)
    return Site(settings.BASE_DIR, settings.PROVE_DATA, host, ours[0], settings.REDIS_URL, ours[1], cpu_workers)


def become(program: Program) -> None:
    os.chdir(program.folder)
    os.execvpe(program.command[0], program.command, dict(program.env))
