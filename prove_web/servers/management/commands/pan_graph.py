"""Command that pans the whole graph in a real browser, and prints the frame times as JSON."""

from __future__ import annotations

import importlib.util
import json
import shutil
import statistics
from argparse import ArgumentParser
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from django.conf import settings
from django.contrib.staticfiles.handlers import StaticFilesHandler
from django.core.management.base import BaseCommand, CommandError
from django.db import DEFAULT_DB_ALIAS, connections
from django.test import Client, override_settings
from django.test.testcases import LiveServerThread

from prove_web.accounts.models import Membership, Organisation, Project, User
from prove_web.accounts.roles import Role
from prove_web.live.models import Job, Kind, State
from training_worker.graph.dependency_graph import graph_path, load_or_build

FLAGS = ("--no-sandbox", "--disable-gpu", "--disable-background-networking", "--disable-component-update")
FRAMES = 240
PAN = """frames => new Promise(done => {
    const cy = window.prove.graph.picture.cy, times = []
    let last, at = 0
    const frame = now => {
        if (last !== undefined) times.push(now - last)
        last = now
        const angle = at++ / 30 * Math.PI
        cy.panBy({x: 14 * Math.cos(angle), y: 9 * Math.sin(angle)})
        if (times.length < frames) requestAnimationFrame(frame)
        else done(times)
    }
    requestAnimationFrame(frame)
})"""


class Command(BaseCommand):
    help = "Pan the whole graph in a real browser: frame times in milliseconds, as JSON."

    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument("--graph", type=Path, default=Path("data/bench/graph"), help="folder of the graph")

    def handle(self, *, graph: Path, **options: Any) -> None:
        browser = browser_path()
        load_or_build(graph)
        source = graph_path(graph)
        with TemporaryDirectory() as folder, override_settings(PROVE_DATA=folder), site(source) as (url, cookie):
            times, edges, lines = measure_frame_times(browser, url, cookie)
        p95 = statistics.quantiles(times, n=20)[-1]
        result = {"edges": edges, "lines": lines, "median": statistics.median(times), "p95": p95}
        self.stdout.write(json.dumps(result))


def browser_path() -> str:
    """Return the path of a browser. Raises CommandError without a browser, or without playwright to drive it."""
    try:
        import playwright.sync_api  # noqa: F401
    except ImportError:
        raise CommandError("playwright is not installed; `make setup` installs it.") from None
    spec = importlib.util.spec_from_file_location("browser", settings.BASE_DIR / ".ci" / "browser.py")
    assert spec and spec.loader
    finder = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(finder)
    if path := finder.find_browser():
        return str(path)
    raise CommandError("There is no browser: install Chromium or Chrome, or run `make test` once, which gets one.")


@contextmanager
def site(graph: Path) -> Iterator[tuple[str, str]]:
    """Run a site with that graph and one user, on an in-memory database. Yield its URL and the user's cookie."""
    connection = connections[DEFAULT_DB_ALIAS]  # the connection itself, because the proxy looks it up in each thread
    name = connection.creation.create_test_db(verbosity=0, serialize=False)
    try:
        owner = User.objects.create_user("bench", "bench@localhost", None)
        team = Organisation.objects.create(slug="bench", name="Bench")
        Membership.objects.create(organisation=team, user=owner, role=Role.OWNER)
        project = Project.objects.create(organisation=team, slug="graph", name="Graph")
        job = Job.objects.create(project=project, kind=Kind.GRAPH, title="Graph", state=State.DONE)
        job.out.mkdir(parents=True)
        shutil.copyfile(graph, job.out / "graph.json")
        client = Client()
        client.force_login(owner)
        connection.inc_thread_sharing()
        thread = LiveServerThread("localhost", StaticFilesHandler, connections_override={DEFAULT_DB_ALIAS: connection})
        thread.daemon = True
        thread.start()
        thread.is_ready.wait()
        if thread.error:
            raise thread.error
        yield f"http://localhost:{thread.port}", client.cookies[settings.SESSION_COOKIE_NAME].value
        thread.terminate()
        connection.dec_thread_sharing()
    finally:
        connections.close_all()
        connection.creation.destroy_test_db(name, verbosity=0)


def measure_frame_times(browser: str, url: str, cookie: str) -> tuple[list[float], int, int]:
    """Return the frame times, the edges of the graph, and the lines drawn for them."""
    from playwright.sync_api import sync_playwright

    with sync_playwright() as playwright:
        chromium = playwright.chromium.launch(executable_path=browser, args=[*FLAGS])
        context = chromium.new_context(base_url=url, viewport={"width": 1440, "height": 900})
        context.add_cookies([{"name": settings.SESSION_COOKIE_NAME, "value": cookie, "url": url}])
        page = context.new_page()
        page.goto("/bench/graph/graph/")
        page.locator("#graph-canvas[data-drawn]").wait_for()
        page.evaluate(PAN, FRAMES // 4)  # the first rendering is not measured
        times = page.evaluate(PAN, FRAMES)
        edges, lines = (page.evaluate(f"window.prove.graph.data.{name}") for name in ("total", "drawn"))
        chromium.close()
    return times, edges, lines
