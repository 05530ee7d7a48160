"""Load test of pages: users who wait a second between two pages, on a site with many stored sessions; prints JSON."""

from __future__ import annotations

import asyncio
import json
import os
import random
import statistics
import subprocess
import sys
import time
from argparse import ArgumentParser
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import httpx2
from django.conf import settings
from django.core.management.base import BaseCommand, CommandError
from django.test import Client

from mcp_servers.catalogue import SERVERS, TOOLS, fingerprint
from mcp_servers.world import World
from prove_web.accounts.models import Membership, Organisation, Project, User
from prove_web.accounts.roles import Role
from prove_web.servers.models import LiveSession, SessionCall
from prove_web.supervisor.checks import free_port
from prove_web.supervisor.programs import Site, uvicorn

WORLD, SEED, SIZE = ("banking", "email"), 7, "default"
CALLS = ("list_accounts", "list_cards", "list_messages", "find_payees", "list_drafts")
WARM = 40  # sessions that users open; the worlds of the others are not requested
WORDS = ("account", "send", "list", "flight", "delete", "invoice")
THINK = 1.0  # seconds between two pages of a user
STARTS = 60.0  # seconds that the server may take to start
Times = tuple[float, float]  # milliseconds from request to full response, and as measured by the server


class Command(BaseCommand):
    help = "Time pages under load on a temporary site with many sessions: milliseconds by page, as JSON."
    requires_system_checks = ()

    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument("--sessions", type=int, default=10_000)
        parser.add_argument("--people", type=int, default=20)
        parser.add_argument("--seconds", type=float, default=20.0)
        parser.add_argument("--fill", action="store_true", help="only fill the site of PROVE_DATA and print a cookie")

    def handle(self, *, sessions: int, people: int, seconds: float, fill: bool, **options: Any) -> None:
        if fill:
            self.stdout.write(json.dumps(create_sessions(sessions)))
            return
        with TemporaryDirectory() as folder:
            environment = prepare_site_environment(folder)
            site_data = json.loads(manage(environment, "load_pages", "--fill", "--sessions", str(sessions)))
            with running_server(environment, Path(folder)) as url:
                times = asyncio.run(measure_page_times(url, site_data, people, seconds))
        self.stdout.write(json.dumps({page: summary(found) for page, found in times.items()}))


def prepare_site_environment(folder: str) -> dict[str, str]:
    """Return the environment of a separate site in this folder, with its database migrated. Raises CommandError."""
    environment = {**os.environ, "PROVE_DATA": folder}
    environment.pop("DATABASE_URL", None)
    manage(environment, "migrate", "--verbosity", "0")
    return environment


def manage(environment: dict[str, str], *words: str) -> str:
    """Run a management command in a child process. Raises CommandError."""
    command = [sys.executable, "manage.py", *words]
    done = subprocess.run(command, cwd=settings.BASE_DIR, env=environment, capture_output=True, text=True)
    if done.returncode:
        raise CommandError(f"{words[0]} failed: {(done.stderr.strip().splitlines() or ['no output'])[-1]}")
    return done.stdout


def create_sessions(number: int) -> dict[str, Any]:
    """Create `number` sessions with real responses to their calls. Return the user's cookie and the warm sessions."""
    owner = User.objects.create_user("bench", "bench@localhost", None)
    team = Organisation.objects.create(slug="bench", name="Bench")
    Membership.objects.create(organisation=team, user=owner, role=Role.OWNER)
    project = Project.objects.create(organisation=team, slug="load", name="Load")
    made = LiveSession.objects.bulk_create(
        LiveSession(
            project=project,
            title=f"Session {place}",
            servers=list(WORLD),
            seed=SEED + place % WARM,
            size=SIZE,
            fingerprint=fingerprint(WORLD),
            created_by=owner,
        )
        for place in range(number)
    )
    answers = {seed: collect_replies(seed) for seed in range(SEED, SEED + WARM)}
    SessionCall.objects.bulk_create(
        (
            SessionCall(session=one, position=place, tool=tool, arguments={}, ok=ok, text=text, made_by=owner)
            for one in made
            for place, (tool, ok, text) in enumerate(answers[one.seed], 1)
        ),
        batch_size=5_000,
    )
    client = Client()
    client.force_login(owner)
    return {
        "cookie": client.cookies[settings.SESSION_COOKIE_NAME].value,
        "sessions": [one.pk for one in made[-WARM:]],
    }


def collect_replies(seed: int) -> list[tuple[str, bool, str]]:
    world = World.open(seed, WORLD, SIZE)
    replies = [(tool, world.call(tool, {})) for tool in CALLS]
    return [(tool, reply.ok, reply.text) for tool, reply in replies]


@contextmanager
def running_server(environment: dict[str, str], data: Path) -> Iterator[str]:
    """Run the web server of `manage.py serve` without the other processes. Raises CommandError if it does not start."""
    port = free_port("127.0.0.1", 0)
    site = Site(Path(settings.BASE_DIR), data, "127.0.0.1", port, "")
    process = subprocess.Popen(uvicorn(site), cwd=settings.BASE_DIR, env=environment, stderr=subprocess.DEVNULL)
    try:
        url, end = f"http://127.0.0.1:{port}", time.monotonic() + STARTS
        while not is_responding(url):
            if process.poll() is not None or time.monotonic() > end:
                raise CommandError("The web server did not start.")
            time.sleep(0.2)
        yield url
    finally:
        process.terminate()
        process.wait()


def is_responding(url: str) -> bool:
    try:
        return httpx2.get(url, timeout=5).status_code < 500
    except httpx2.HTTPError:
        return False


async def measure_page_times(
    url: str, site_data: dict[str, Any], people: int, seconds: float
) -> dict[str, list[Times]]:
    """Return the times by page; the worlds are warm."""
    times: dict[str, list[Times]] = {}
    cookies = {settings.SESSION_COOKIE_NAME: site_data["cookie"]}
    async with httpx2.AsyncClient(base_url=f"{url}/bench/load/", cookies=cookies, timeout=60) as client:
        tools = [next(iter(server.tools)) for server in SERVERS.values()]
        for page in (
            "tools/",
            *(f"tools/{tool}/" for tool in tools),
            *(f"sessions/{one}/" for one in site_data["sessions"]),
        ):
            (await client.get(page)).raise_for_status()
        until = time.monotonic() + seconds
        await asyncio.gather(*(visit(client, site_data["sessions"], who, until, times) for who in range(people)))
    return times


async def visit(
    client: httpx2.AsyncClient, sessions: list[int], who: int, until: float, times: dict[str, list[Times]]
) -> None:
    """Simulate one user, who goes from page to page."""
    drawn, names = random.Random(who), sorted(TOOLS)
    await asyncio.sleep(drawn.random() * THINK)
    while time.monotonic() < until:
        pages = {
            "catalogue": f"tools/?q={drawn.choice(WORDS)}",
            "tool": f"tools/{drawn.choice(names)}/",
            "inspector step": f"sessions/{drawn.choice(sessions)}/?at={drawn.randint(0, len(CALLS))}",
            "sessions": f"sessions/?page={drawn.randint(1, 50)}",
        }
        page = drawn.choice(sorted(pages))
        began = time.perf_counter()
        answer = (await client.get(pages[page])).raise_for_status()
        milliseconds = 1000 * (time.perf_counter() - began)
        times.setdefault(page, []).append((milliseconds, float(answer.headers["server-timing"].partition("dur=")[2])))
        await asyncio.sleep(THINK)


def summary(times: list[Times]) -> dict[str, float]:
    result: dict[str, float] = {"pages": len(times)}
    for prefix, found in zip(("", "server_"), zip(*times, strict=True), strict=True):
        p95 = statistics.quantiles(found, n=20)[-1] if len(found) > 1 else found[0]
        result |= {f"{prefix}median": statistics.median(found), f"{prefix}p95": p95}
    return result
