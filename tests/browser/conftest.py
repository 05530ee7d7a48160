"""A real Chromium on a real site. Without a browser these tests are left out, and say so by name."""

import importlib.util
import json
import os
import re
import subprocess
import sys
from collections.abc import Iterator
from functools import cache
from pathlib import Path

import pytest

from tests.site.running import PASSWORD, ROOT, Site, running
from tests.waiting import PATIENCE

pytest.importorskip("torch", reason="the site's demo run needs torch")
sync_api = pytest.importorskip("playwright.sync_api", reason="no browser tests without playwright")

FLAGS = (
    "--no-sandbox --disable-gpu --disable-quic --no-first-run "
    "--disable-background-networking --disable-component-update --disable-sync"
).split()
LEFT_EARLY = "WebSocket is closed before the connection is established."  # said when a page is left so soon


@cache
def found_browser() -> str | None:
    spec = importlib.util.spec_from_file_location("prove_browser", ROOT / ".ci" / "browser.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module.find_browser()


@pytest.fixture(scope="package")
def site(tmp_path_factory: pytest.TempPathFactory, graph_folder: Path) -> Iterator[Site]:
    """A site on its first start, with a small demo."""
    if found_browser() is None:
        pytest.skip("no browser: install Chromium or Chrome")
    with running(tmp_path_factory.mktemp("site"), graph_folder) as one:
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


@pytest.fixture
def page(site: Site, chromium: "sync_api.Browser", signed_in: dict) -> Iterator["sync_api.Page"]:
    """A page of the owner; at its end the console must be clean."""
    context = chromium.new_context(base_url=site.url, storage_state=signed_in, viewport={"width": 1440, "height": 900})
    context.set_default_timeout(1000 * PATIENCE)
    said: list[str] = []
    page = context.new_page()
    page.on("console", lambda message: said.append(message.text) if message.type in ("error", "warning") else None)
    page.on("pageerror", lambda error: said.append(str(error)))
    page.said = said
    yield page
    context.close()
    assert [text for text in said if LEFT_EARLY not in text] == [], "the console must be clean"


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


@pytest.fixture
def other(site: Site, chromium: "sync_api.Browser", colleague: dict) -> Iterator["sync_api.Page"]:
    """A page of someone else at another machine."""
    context = chromium.new_context(base_url=site.url, storage_state=colleague)
    context.set_default_timeout(1000 * PATIENCE)
    yield context.new_page()
    context.close()


@pytest.fixture
def done_run(site: Site) -> Site:
    """The site once its first run is done."""
    query = "SELECT state FROM live_job WHERE kind = 'run' ORDER BY created_at LIMIT 1"
    site.wait(lambda: site.rows(query)[0][0] == "done")
    return site


EVALUATED = """
import django
django.setup()
from prove_web.accounts.models import Project
from prove_web.experiments.models import Run
from tests.prove_web.evaluated import Look, evaluation_of, fails_on, out_of_reach, reads, saying
from training_worker.prove.benchmarks.paper import COLUMNS
project = Project.objects.get(slug="demo")
run = Run.objects.get(project=project, number=1)
bench = Look(40, COLUMNS["bfcl"])
evaluation_of(project, saying(fails_on(*range(0, 40, 2)), "warm"), bench, named="bfcl")
after = out_of_reach(saying(fails_on(*range(0, 40, 3)), "run 1"), "look-39")
evaluation_of(project, after, bench, named="bfcl", run=run, checkpoint="last")
evaluation_of(project, saying(reads, "run 1"), bench, named="bfcl", run=run, checkpoint="best", state="stopped")
"""


@pytest.fixture(scope="package")
def evaluated(site: Site) -> Site:
    """The site with three evaluations: of the warm policy, of run 1's last checkpoint, and one that was stopped."""
    settings = {"PROVE_DATA": str(site.data), "DJANGO_SETTINGS_MODULE": "prove_web.settings"}
    made = subprocess.run([sys.executable, "-c", EVALUATED], cwd=ROOT, env={**os.environ, **settings})
    assert made.returncode == 0
    return site


FURNISHED = """
import json, sys
from datetime import timedelta
import django
django.setup()
from django.db import transaction
from django.urls import get_resolver
from prove_web.accounts.models import Project, User
from prove_web.live.models import Job, State
from prove_web.review.comments import say
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
    say(commented, User.objects.create_user("n" * 100, "n@example.com"), "https://example.com/" + "w" * 300)
json.dump({page.name: address(page, names) for page in PAGES}, sys.stdout)
"""


@pytest.fixture(scope="package")
def furnished(site: Site) -> dict[str, str]:
    """The address of every page, by name, in a project with one of everything; the demo stays the newest."""
    settings = {"PROVE_DATA": str(site.data), "DJANGO_SETTINGS_MODULE": "prove_web.settings"}
    command = [sys.executable, "-c", FURNISHED]
    made = subprocess.run(command, cwd=ROOT, env={**os.environ, **settings}, stdout=subprocess.PIPE, check=True)
    return dict(json.loads(made.stdout))
