"""A real Chromium on a real site. Without a browser these tests are left out, and say so by name."""

import importlib.util
import json
import os
import re
import subprocess
import sys
from collections.abc import Callable, Iterator
from functools import cache
from pathlib import Path
from typing import Any

import pytest

from tests.site.running import PASSWORD, ROOT, Site, running
from tests.waiting import PATIENCE

if importlib.util.find_spec("torch") is None:
    pytest.skip("the site's demo run needs torch", allow_module_level=True)
sync_api = pytest.importorskip("playwright.sync_api", reason="no browser tests without playwright")

FLAGS = (
    "--no-sandbox --disable-gpu --disable-quic --no-first-run "
    "--disable-background-networking --disable-component-update --disable-sync"
).split()
HERE = Path(__file__).parent
NOTHING = '<!doctype html><link rel="icon" href="data:,">'  # a page that asks the site for nothing
LEFT_EARLY = "WebSocket is closed before the connection is established."  # said when a page is left so soon


@cache
def found_browser() -> str | None:
    spec = importlib.util.spec_from_file_location("prove_browser", ROOT / ".ci" / "browser.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module.find_browser()


@pytest.hookimpl(trylast=True)
def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """First the tests that do not wait for the demo's run: it is at work meanwhile."""
    here = [item for item in items if item.path.is_relative_to(HERE)]
    ordered = iter(sorted(here, key=lambda item: "done_run" in item.fixturenames))
    items[:] = [next(ordered) if item.path.is_relative_to(HERE) else item for item in items]


@pytest.fixture(scope="package")
def site(tmp_path_factory: pytest.TempPathFactory, graph_folder: Path, migrated: Path) -> Iterator[Site]:
    """A site on its first start, with a small demo."""
    if found_browser() is None:
        pytest.skip("no browser: install Chromium or Chrome")
    with running(tmp_path_factory.mktemp("site"), graph_folder, migrated) as one:
        yield one


@pytest.fixture(scope="package")
def chromium() -> Iterator["sync_api.Browser"]:
    """Closed after the last of these tests: until then its event loop is in the way of others in this process."""
    path = found_browser()
    if path is None:
        pytest.skip("no browser: install Chromium or Chrome")
    with sync_api.sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=path, args=FLAGS)
        sync_api.expect.set_options(timeout=1000 * PATIENCE)
        yield browser
        browser.close()


@pytest.fixture(scope="package")
def signed_in(site: Site, chromium: "sync_api.Browser") -> dict:
    """The cookies of the owner, who signed in by the form."""
    context = chromium.new_context(base_url=site.url)
    context.set_default_timeout(1000 * PATIENCE)
    page = context.new_page()
    sign_in(page)
    state = context.storage_state()
    context.close()
    return state


def sign_in(page: "sync_api.Page") -> None:
    page.goto("/")
    page.get_by_label("User name").fill("owner")
    page.get_by_label("Password").fill(PASSWORD)
    page.get_by_role("button", name="Sign in").click()
    page.wait_for_url("**/my-team/demo/")


class Reused:
    """A page that tests have one after another: a new page or context starts a process and reads everything again.

    Each test finds it as if it were new, on no address, and its context with these cookies alone.
    """

    def __init__(self, chromium: "sync_api.Browser", url: str, state: dict, **options: object):
        self.chromium, self.url, self.state, self.options = chromium, url, state, options
        self.page: sync_api.Page | None = None
        self.said: list[str] = []
        self.heard: list[str] = []  # what the console said until the end of the last test

    def open(self) -> "sync_api.Page":
        if self.page is None:
            context = self.chromium.new_context(base_url=self.url, reduced_motion="reduce", **self.options)
            context.set_default_timeout(1000 * PATIENCE)
            self.page = context.new_page()
            self.page.on("console", self.hear)
            self.page.on("pageerror", lambda error: self.said.append(str(error)))
            self.page.said = self.said
            self.fresh = self.page.viewport_size
        self.page.context.add_cookies(self.state["cookies"])
        self.said.clear()
        return self.page

    def hear(self, message: "sync_api.ConsoleMessage") -> None:
        if message.type in ("error", "warning"):
            self.said.append(message.text)

    def leave(self) -> None:
        """Undo what a test did: close other pages, leave its address, clear its storage and reset its appearance."""
        page, context = self.page, self.page.context
        for each in context.pages:
            if each is not page:
                each.close()
        page.unroute_all()
        context.set_offline(False)
        page.route("**/nothing", lambda route: route.fulfill(body=NOTHING, content_type="text/html"))
        page.goto("/nothing")
        page.unroute_all()
        page.evaluate("localStorage.clear(); sessionStorage.clear()")
        context.clear_cookies()
        page.set_viewport_size(self.fresh)
        page.emulate_media(color_scheme="light", reduced_motion="reduce", media="null")

    def close(self) -> None:
        """The next test has a new one."""
        if self.page is not None:
            self.page.context.close()
            self.page = None

    def lend(self, request: pytest.FixtureRequest) -> Iterator["sync_api.Page"]:
        """The page for one test; one that failed may have left it in any state."""
        failed = request.session.testsfailed
        yield self.open()
        self.heard = [text for text in self.said if LEFT_EARLY not in text]
        if request.session.testsfailed > failed:
            self.close()
        else:
            self.leave()


@pytest.fixture(scope="package")
def owners(site: Site, chromium: "sync_api.Browser", signed_in: dict) -> Iterator[Reused]:
    reused = Reused(chromium, site.url, signed_in, viewport={"width": 1440, "height": 900})
    yield reused
    reused.close()


@pytest.fixture
def page(owners: Reused, request: pytest.FixtureRequest) -> Iterator["sync_api.Page"]:
    """A page of the owner; at its end the console must be clean."""
    yield from owners.lend(request)
    assert owners.heard == [], "the console must be clean"


@pytest.fixture(scope="package")
def colleague(site: Site, chromium: "sync_api.Browser", signed_in: dict) -> dict:
    """The cookies of an annotator, whom the owner added and who signed in by the form."""
    owners, theirs = (chromium.new_context(base_url=site.url, storage_state=each) for each in (signed_in, None))
    page = owners.new_page()
    page.goto("/my-team/")
    page.get_by_label("User name or e-mail address").fill("ann@example.com")
    page.locator("[name=role]").last.select_option("annotator")
    page.get_by_role("button", name=re.compile("^Add")).click()
    password = page.locator("#first-password").inner_text()
    page = theirs.new_page()
    page.goto("/")
    page.get_by_label("User name").fill("ann@example.com")
    page.get_by_label("Password").fill(password)
    page.get_by_role("button", name="Sign in").click()
    page.wait_for_url("**/my-team/**")
    cookies = theirs.storage_state()
    for context in (owners, theirs):
        context.close()
    return dict(cookies)


@pytest.fixture(scope="package")
def others(site: Site, chromium: "sync_api.Browser", colleague: dict) -> Iterator[Reused]:
    reused = Reused(chromium, site.url, colleague)
    yield reused
    reused.close()


@pytest.fixture
def other(others: Reused, request: pytest.FixtureRequest) -> Iterator["sync_api.Page"]:
    """A page of someone else at another machine."""
    yield from others.lend(request)


@pytest.fixture(scope="package")
def done_run(site: Site) -> Site:
    """The site once its first run is done."""
    query = "SELECT state FROM live_job WHERE kind = 'run' ORDER BY created_at LIMIT 1"
    site.wait(lambda: site.rows(query)[0][0] == "done")
    return site


ANSWER = """
import json, sys
import django
django.setup()
for line in sys.stdin:
    names = {}
    exec(json.loads(line), names)
    print(json.dumps(names.get("answer")), flush=True)
"""


@pytest.fixture(scope="package")
def within(site: Site) -> Iterator[Callable[[str], Any]]:
    """Runs a program with the site's models and settings, and gives its `answer`; all of them in one process."""
    settings = {"PROVE_DATA": str(site.data), "DJANGO_SETTINGS_MODULE": "prove_web.settings"}
    command, pipe = [sys.executable, "-c", ANSWER], subprocess.PIPE
    with subprocess.Popen(
        command, cwd=ROOT, env={**os.environ, **settings}, stdin=pipe, stdout=pipe, text=True
    ) as process:

        def run(program: str) -> Any:
            process.stdin.write(json.dumps(program) + "\n")
            process.stdin.flush()
            answer = process.stdout.readline()
            assert answer, "the program failed: see above"
            return json.loads(answer)

        yield run
        process.stdin.close()


EVALUATED = """
from prove_web.accounts.models import Project
from prove_web.experiments.models import Run
from tests.prove_web.evaluated import Look, evaluation_of, fails_on, out_of_reach, reads, saying
from training_worker.evaluation.published_scores import COLUMNS
project = Project.objects.get(slug="demo")
run = Run.objects.get(project=project, number=1)
bench = Look(40, COLUMNS["bfcl"])
evaluation_of(project, saying(fails_on(*range(0, 40, 2)), "warm"), bench, named="bfcl")
after = out_of_reach(saying(fails_on(*range(0, 40, 3)), "run 1"), "look-39")
evaluation_of(project, after, bench, named="bfcl", run=run, checkpoint="last")
evaluation_of(project, saying(reads, "run 1"), bench, named="bfcl", run=run, checkpoint="best", state="stopped")
"""


@pytest.fixture(scope="package")
def evaluated(site: Site, within: Callable[[str], Any]) -> Site:
    """The site with three evaluations: of the warm policy, of run 1's last checkpoint, and one that was stopped."""
    within(EVALUATED)
    return site


FURNISHED = """
from datetime import timedelta
from django.db import transaction
from django.urls import get_resolver
from prove_web.accounts.models import Project, User
from prove_web.live.models import Job, State
from prove_web.review.comments import post_comment
from prove_web.trajectories.models import Trajectory
from tests.prove_web.furnished import furnish
from tests.prove_web.test_permissions import PAGES, address
demo = Project.objects.get(slug="demo")
full = Project.objects.create(organisation=demo.organisation, slug="full", name="Full")
Project.objects.filter(pk=full.pk).update(created_at=demo.created_at - timedelta(days=1))
with transaction.atomic():
    names = furnish(full, User.objects.get(username="owner"))
    Job.objects.filter(pk=names["job"]).update(state=State.DONE)
    commented = Trajectory.objects.get(dataset__project=full, example=names["example"])
    post_comment(commented, User.objects.create_user("n" * 100, "n@example.com"), "https://example.com/" + "w" * 300)
answer = {page.name: address(page, names) for page in PAGES}
"""


@pytest.fixture(scope="package")
def furnished(within: Callable[[str], Any]) -> dict[str, str]:
    """The address of every page, by name, in a project with one of everything; the demo stays the newest."""
    return dict(within(FURNISHED))
