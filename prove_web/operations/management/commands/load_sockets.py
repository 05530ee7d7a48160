"""Load test of the live sockets of a run: latency from sending a point to its arrival in every browser, as JSON."""

from __future__ import annotations

import asyncio
import json
import os
import random
import signal
import statistics
import subprocess
import sys
import time
from argparse import ArgumentParser
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import httpx2
from django.conf import settings
from django.core.management.base import BaseCommand, CommandError
from django.test import Client
from websockets.asyncio.client import connect
from websockets.exceptions import ConnectionClosed

from prove_web.accounts.models import Membership, Organisation, Project, User
from prove_web.accounts.roles import Role
from prove_web.celery import app
from prove_web.experiments.models import Run
from prove_web.live.models import Job, Kind, State
from prove_web.supervisor.checks import free_port
from prove_web.trajectories.models import Dataset

PEOPLE = 20  # users that own the sockets, in turn
METRICS = 60  # per point
STARTS = 120.0  # seconds for the site to start
LAST_WORD = 10.0  # seconds for the last point to arrive


class Command(BaseCommand):
    help = "Load-test the live sockets of one run on a temporary site: delivery latency in milliseconds, as JSON."
    requires_system_checks = ()

    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument("--sockets", type=int, default=200)
        parser.add_argument("--rate", type=float, default=5.0, help="points per second")
        parser.add_argument("--points", type=int, default=150)
        parser.add_argument("--leaving", type=float, default=0.0, help="sockets that reconnect per second")
        parser.add_argument("--fill", action="store_true", help="only create a run in PROVE_DATA and print its cookies")
        parser.add_argument("--tell", metavar="JOB", help="only send points of this job, as a worker does")

    def handle(self, *, sockets: int, rate: float, points: int, leaving: float, **options: Any) -> None:
        if options["fill"]:
            self.stdout.write(json.dumps(create_run_and_users()))
        elif options["tell"]:
            send_points(options["tell"], rate, points)
        else:
            self.stdout.write(json.dumps(measure_latency(sockets, rate, points, leaving)))


def measure_latency(sockets: int, rate: float, points: int, leaving: float) -> dict[str, Any]:
    """Measure one socket alone, then all of them. Raises CommandError."""
    with TemporaryDirectory() as folder:
        environment = {**os.environ, "PROVE_DATA": folder, "PROVE_DEMO": "none", "PROVE_CPU_WORKERS": "1"}
        for elsewhere in ("DATABASE_URL", "REDIS_URL"):
            environment.pop(elsewhere, None)
        found = {}
        with running_site(environment, Path(folder)) as url:
            for name, count, broken in (("alone", 1, 0.0), ("all", sockets, 0.0), ("leaving", sockets, leaving)):
                if name == "leaving" and not leaving:
                    continue
                made = json.loads(child(environment, "--fill").stdout)
                teller = ["--tell", made["job"], "--rate", str(rate), "--points", str(points)]
                found[name] = asyncio.run(
                    collect_socket_messages(url, made, count, broken, environment, teller, points)
                )
        return found


@contextmanager
def running_site(environment: dict[str, str], data: Path) -> Iterator[str]:
    """Run a complete site as a user starts it. Raises CommandError if it does not start."""
    port = free_port("127.0.0.1", 0)
    url, end = f"http://127.0.0.1:{port}", time.monotonic() + STARTS
    with (data / "site.log").open("w") as log:
        command = [sys.executable, "manage.py", "serve", "--port", str(port)]
        site = subprocess.Popen(command, cwd=settings.BASE_DIR, env=environment, stdout=log, stderr=log)
        try:
            while not is_site_ready(url):
                if site.poll() is not None or time.monotonic() > end:
                    raise CommandError("The site did not start.")
                time.sleep(0.5)
            yield url
        finally:
            site.send_signal(signal.SIGINT)
            site.wait()


def is_site_ready(url: str) -> bool:
    try:
        return httpx2.get(f"{url}/health/ready/", timeout=5).status_code == httpx2.codes.OK
    except httpx2.HTTPError:
        return False


def child(environment: dict[str, str], *words: str) -> subprocess.CompletedProcess[str]:
    """Run this command in a child process. Raises CommandError."""
    command = [sys.executable, "manage.py", "load_sockets", *words]
    done = subprocess.run(command, cwd=settings.BASE_DIR, env=environment, capture_output=True, text=True)
    if done.returncode:
        raise CommandError((done.stderr.strip().splitlines() or ["a child process failed without output"])[-1])
    return done


def create_run_and_users() -> dict[str, Any]:
    """Create a running run without a worker, and users who may see it; return its job and their cookies."""
    team, _ = Organisation.objects.get_or_create(slug="bench", defaults={"name": "Bench"})
    project, _ = Project.objects.get_or_create(organisation=team, slug="load", defaults={"name": "Load"})
    number = project.runs.count() + 1
    made = {"project": project, "title": "Load", "state": State.DONE}
    dataset = Dataset.objects.create(
        project=project, number=number, name="Load", job=Job.objects.create(kind=Kind.DATASET, **made)
    )
    job = Job.objects.create(kind=Kind.RUN, **{**made, "state": State.RUNNING})
    Run.objects.create(project=project, number=number, name="Load", dataset=dataset, job=job)
    cookies = []
    for name in (f"bench-{place}" for place in range(PEOPLE)):
        user, new = User.objects.get_or_create(username=name, defaults={"email": f"{name}@localhost"})
        if new:
            Membership.objects.create(organisation=team, user=user, role=Role.VIEWER)
        client = Client()
        client.force_login(user)
        cookies.append(client.cookies[settings.SESSION_COOKIE_NAME].value)
    return {"job": str(job.pk), "cookies": cookies}


def send_points(job: str, rate: float, points: int) -> None:
    """Send points at a steady rate through the queue that workers use."""
    drawn, began = random.Random(0), time.monotonic()
    for step in range(1, points + 1):
        time.sleep(max(0.0, began + step / rate - time.monotonic()))
        metrics = {f"metric_{place}": drawn.random() for place in range(METRICS)}
        event = {
            "seq": step,
            "kind": "step",
            "at": datetime.now(UTC).isoformat(),
            "data": {"step": step, "sent_at": time.time(), **metrics},
        }
        sent = {"job": job, "attempt": 1, "events": [event]}
        app.send_task("prove_web.live.ingest", kwargs=sent, queue="events")


@dataclass
class Browser:
    """One socket that follows the run, with the received steps in order and their delays in milliseconds."""

    url: str
    job: str
    cookie: str
    cursor: int = 0
    steps: list[int] = field(default_factory=list)
    delays: list[float] = field(default_factory=list)
    socket: Any = None

    async def follow(self, points: int, open_: asyncio.Event) -> None:
        """Receive until the last point, and reconnect with the cursor after a disconnection."""
        address = self.url.replace("http", "ws", 1) + "/ws/live/"
        headers = {"Cookie": f"{settings.SESSION_COOKIE_NAME}={self.cookie}"}
        while not self.steps or self.steps[-1] < points:
            with suppress(ConnectionClosed):
                async with connect(address, additional_headers=headers, origin=self.url) as self.socket:
                    wanted = {"job": self.job, "after": self.cursor}
                    await self.socket.send(json.dumps({"subscribe": wanted}))
                    await self.receive_events(points, open_)

    async def receive_events(self, points: int, open_: asyncio.Event) -> None:
        async for text in self.socket:
            now, message = time.time(), json.loads(text)
            open_.set()
            for event in message.get("events", ()):
                self.steps.append(event["data"]["step"])
                self.delays.append(1000 * (now - event["data"]["sent_at"]))
            self.cursor = message.get("cursor", self.cursor)
            if self.steps and self.steps[-1] >= points:
                return


async def collect_socket_messages(
    url: str,
    made: dict[str, Any],
    sockets: int,
    leaving: float,
    environment: dict[str, str],
    teller: list[str],
    points: int,
) -> dict[str, Any]:
    """Collect the messages of all sockets. Raises CommandError if some miss the last point."""
    browsers = [Browser(url, made["job"], made["cookies"][place % PEOPLE]) for place in range(sockets)]
    heard = [asyncio.Event() for _ in browsers]
    following = [asyncio.create_task(one.follow(points, each)) for one, each in zip(browsers, heard, strict=True)]
    await asyncio.wait_for(asyncio.gather(*(each.wait() for each in heard)), STARTS)
    sender = asyncio.create_task(asyncio.to_thread(child, environment, *teller))
    breaking = asyncio.create_task(break_connections(browsers, leaving))
    try:
        await sender
        async with asyncio.timeout(LAST_WORD):
            await asyncio.gather(*following)
    except TimeoutError:
        raise CommandError("Some sockets did not receive the last point.") from None
    finally:
        for task in (breaking, *following):
            task.cancel()
    return summary(browsers, points, leaving)


async def break_connections(browsers: list[Browser], a_second: float) -> None:
    """Break `a_second` connections per second."""
    drawn = random.Random(0)
    while a_second:
        await asyncio.sleep(1 / a_second)
        if (one := drawn.choice(browsers)).socket:
            one.socket.transport.abort()


def summary(browsers: list[Browser], points: int, leaving: float) -> dict[str, Any]:
    """Return latency statistics over all points and sockets, and how many sockets received each point once in order."""
    delays = sorted(delay for one in browsers for delay in one.delays)
    cut = statistics.quantiles(delays, n=100)
    complete = sum(one.steps == list(range(1, points + 1)) for one in browsers)
    found = {"median": statistics.median(delays), "p95": cut[94], "p99": cut[98], "most": delays[-1]}
    return {"sockets": len(browsers), "complete": complete, "leaving": leaving, "points": points, **found}
