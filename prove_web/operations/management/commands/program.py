"""One of the site's programs in this process's place, where something else than `serve` keeps them running."""

from __future__ import annotations

import os
from argparse import ArgumentParser
from pathlib import Path
from typing import Any

from django.conf import settings
from django.core.exceptions import ImproperlyConfigured
from django.core.management.base import BaseCommand, CommandError

from prove_web.broker import embedded_url
from prove_web.env import envint
from prove_web.supervisor.checks import GATEWAY_PORT
from prove_web.supervisor.program import Program
from prove_web.supervisor.programs import Site, programs


class Command(BaseCommand):
    """`manage.py program writer`: becomes that program, with the command that `serve` starts it by."""

    help = "Become one of the programs that `serve` keeps running: " + ", ".join(
        program.name for program in programs(Site(Path(), Path(), "", 0, ""))
    )
    requires_system_checks = ()

    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument("name", help="which one")
        parser.add_argument("--host", default="127.0.0.1", help="address to listen on (default: 127.0.0.1)")

    def handle(self, *args: object, **options: Any) -> None:
        try:
            become(wanted(options["name"], options["host"]))
        except ImproperlyConfigured as error:
            raise CommandError(str(error)) from None


def wanted(name: str, host: str) -> Program:
    """The program of this name. Raises CommandError when there is none, or no broker of its own to talk to."""
    known = {program.name: program for program in programs(site(host))}
    if name not in known:
        raise CommandError(f"there is no program {name!r}: choose one of {', '.join(known)}")
    if name != "gateway" and embedded_url(settings.PROVE_DATA) == settings.REDIS_URL:
        raise CommandError("set REDIS_URL to a broker that all programs reach; only `serve` starts one by itself")
    return known[name]


def site(host: str) -> Site:
    """The site as the environment says it is."""
    cpu_workers = envint("PROVE_CPU_WORKERS", max(1, (os.cpu_count() or 1) // 2))
    ports = envint("PROVE_PORT", 8000), settings.REDIS_URL, envint("PROVE_MCP_PORT", GATEWAY_PORT)
    return Site(settings.BASE_DIR, settings.PROVE_DATA, host, *ports, cpu_workers)


def become(program: Program) -> None:
    os.chdir(program.folder)
    os.execvpe(program.command[0], program.command, dict(program.env))
