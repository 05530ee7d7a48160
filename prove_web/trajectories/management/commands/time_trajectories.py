"""Command that times the library at scale: it fills a site of its own and requests each kind of page many times."""

from __future__ import annotations

import json
import os
import random
import statistics
import subprocess
import sys
import time
from argparse import ArgumentParser
from collections.abc import Callable, Sequence
from functools import partial
from tempfile import TemporaryDirectory
from typing import Any

from django.conf import settings
from django.core.management.base import BaseCommand, CommandError
from django.http import QueryDict
from django.test import Client
from django.utils.http import urlencode

from prove_web.accounts.models import Membership, Organisation, Project, User
from prove_web.accounts.roles import Role
from prove_web.trajectories.many import load
from prove_web.trajectories.models import Trajectory
from prove_web.trajectories.paging import SORTS
from prove_web.trajectories.prev_next import neighbours

COMMON = ("account", "calendar", "now", "order", "lead", "device")
SCORES = ("coverage<1", "reward<0.5", "reward<1 steps>3", "component:arguments<1 -split:train", "validity<1")
FIELDS = ("tool:get_event", "tool:list_*", "server:email kind:chain", "has:rollout length>4", "knob:distractors")
ORDERS = tuple(SORTS)
Address = Callable[[random.Random], str]


class Command(BaseCommand):
    help = "Time the trajectory pages on a temporary site with many trajectories: milliseconds by kind, as JSON."
    requires_system_checks = ()

    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument("--count", type=int, default=100_000)
        parser.add_argument(
            "--different", type=int, default=1_000, help="number of trajectories to synthesize and repeat"
        )
        parser.add_argument("--times", type=int, default=40, help="requests per kind of page")
        parser.add_argument("--here", action="store_true", help="use the configured database; it is filled first")

    def handle(self, *, count: int, different: int, times: int, here: bool, **options: Any) -> None:
        if min(count, different, times) < 1:
            raise CommandError("--count, --different and --times must be at least 1.")
        if here:
            self.stdout.write(json.dumps(measure_pages(count, different, times)))
            return
        with TemporaryDirectory() as folder:
            environment = {**os.environ, "PROVE_DATA": folder}
            environment.pop("DATABASE_URL", None)
            run(environment, "migrate", "--verbosity", "0")
            words = ("--count", str(count), "--different", str(different), "--times", str(times))
            self.stdout.write(run(environment, "time_trajectories", "--here", *words).strip())


def run(environment: dict[str, str], *words: str) -> str:
    """Run a management command in a child process. Raises CommandError."""
    command = [sys.executable, "manage.py", *words]
    done = subprocess.run(command, cwd=settings.BASE_DIR, env=environment, capture_output=True, text=True)
    if done.returncode:
        raise CommandError(f"{words[0]} failed: {(done.stderr.strip().splitlines() or ['no message'])[-1]}")
    return done.stdout


def measure_pages(count: int, different: int, times: int) -> dict[str, dict[str, float]]:
    """Return the milliseconds of each kind of page, from the request to the full response within one process.

    Adjacent rows are timed separately, because the rest of a trajectory's page replays it.
    """
    client, root = prepare_client(count, different)
    spread = Trajectory.objects.filter(pk__in=sample_trajectory_ids(count)).select_related(
        "dataset__project__organisation"
    )
    found = {}
    rows = list(spread)
    for kind, address in kinds(rows).items():
        found[kind] = measure_repeatedly(times, partial(fetch_page, client, root, address, random.Random(kind)))
    found["next and previous"] = measure_repeatedly(times, partial(load_neighbours, rows, random.Random("beside")))
    return found


def load_neighbours(rows: list[Trajectory], draw: random.Random) -> None:
    query = {"in": "all", "q": draw.choice(("", *COMMON, *SCORES)), "sort": draw.choice(ORDERS)}
    neighbours(QueryDict(urlencode(query)), draw.choice(rows))


def measure_repeatedly(times: int, work: Callable[[], object]) -> dict[str, float]:
    wall, cpu = zip(*[time_call(work) for _ in range(times + 1)][1:], strict=True)  # the first run reads the disk
    return {"pages": times, **summary("", wall), **summary("cpu ", cpu)}


def summary(name: str, took: Sequence[float]) -> dict[str, float]:
    p95 = statistics.quantiles(took, n=20)[-1] if len(took) > 1 else took[0]
    return {f"{name}median": round(statistics.median(took), 1), f"{name}p95": round(p95, 1)}


def prepare_client(count: int, different: int) -> tuple[Client, str]:
    """Return a client that may see a project with `count` trajectories, and its path; existing data is reused."""
    team, _ = Organisation.objects.get_or_create(slug="bench", defaults={"name": "Bench"})
    project, made = Project.objects.get_or_create(organisation=team, slug="load", defaults={"name": "Load"})
    owner, _ = User.objects.get_or_create(username="bench", defaults={"email": "bench@localhost"})
    Membership.objects.get_or_create(organisation=team, user=owner, defaults={"role": Role.OWNER})
    for _ in load(project, count, different) if made else ():
        pass
    client = Client(headers={"host": "localhost"})
    client.force_login(owner)
    return client, "/bench/load/"


def sample_trajectory_ids(count: int) -> list[int]:
    rows = Trajectory.objects.order_by("pk").values_list("pk", flat=True)
    return list(rows)[:: max(1, count // 200)]


def kinds(spread: list[Trajectory]) -> dict[str, Address]:
    """Return a function for the URL of each kind of page; `spread` are rows from the whole table."""

    def counts(draw: random.Random) -> str:
        return f"trajectories/?{urlencode({'part': 'facets', 'q': draw.choice(('', *COMMON, *SCORES))})}"

    def search_address(*queries: str) -> Address:
        return lambda draw: f"trajectories/?{urlencode({'q': draw.choice(queries), 'sort': draw.choice(ORDERS)})}"

    def build_deep_page_address(*queries: str) -> Address:
        def address(draw: random.Random) -> str:
            place = {"after": draw.choice(spread).pk, "q": draw.choice(queries), "sort": draw.choice(ORDERS)}
            return f"trajectories/?{urlencode(place)}"

        return address

    return {
        "list": search_address(""),
        "deep page": build_deep_page_address("", *SCORES),
        "rare words": lambda draw: f"trajectories/?{urlencode({'q': draw.choice(spread).example})}",
        "common words": search_address(*COMMON),
        "a word of all": search_address("many"),
        "phrase and field": search_address('"my account" reward<1', "calendar -tool:get_event", "order length>2"),
        "scores": search_address(*SCORES),
        "fields": search_address(*FIELDS),
        "facets": lambda draw: (
            f"trajectories/?{urlencode({'part': 'facets', 'q': draw.choice(('', *COMMON, *SCORES))})}"
        ),
        "data set": lambda draw: f"datasets/{draw.choice(spread).dataset.number}/?sort={draw.choice(ORDERS)}",
        "completion": lambda draw: f"trajectories/completion/?q=tool:{draw.choice('abcdefgilmst')}&at=6",
    }


def time_call(work: Callable[[], object]) -> tuple[float, float]:
    """Return the milliseconds of wall-clock time and of CPU time, which other programs do not lengthen."""
    began, worked = time.perf_counter(), time.process_time()
    work()
    return 1000 * (time.perf_counter() - began), 1000 * (time.process_time() - worked)


def fetch_page(client: Client, root: str, address: Address, draw: random.Random) -> None:
    """Request a page. Raises CommandError."""
    url = root + address(draw)
    answer = client.get(url)
    if answer.status_code != 200:
        raise CommandError(f"{url} returned {answer.status_code}.")
