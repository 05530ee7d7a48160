"""Pictures of every page of a real site, for docs/pages.md: `make pictures`, in a few minutes."""

from __future__ import annotations

import io
import os
import subprocess
import sys
import tempfile
import tomllib
from pathlib import Path

from PIL import Image
from playwright.sync_api import Page, sync_playwright

from tests.browser.conftest import FLAGS, found_browser, sign_in
from tests.site.running import ROOT, Site, running
from training_worker.graph.dependency_graph import load_or_build

HERE = "/my-team/demo/"
FOLDER = ROOT / "docs" / "images" / "pages"
TOUR = ROOT / "docs" / "pages.md"
WIDE = {"width": 1280, "height": 800}
QUALITY = 72  # of WebP


LIST = Path(__file__).with_name("pictures.toml")
SECTIONS = tomllib.loads(LIST.read_text("utf-8"))["section"]
Picture = dict[str, str]  # name of the file, path in the project, title, and what one does there

FURNISHED = """
import django, json
django.setup()
from mcp_servers.catalogue import fingerprint
from prove_web.accounts.models import Project, User
from prove_web.servers.session_services import fork, make
from prove_web.servers.models import LiveSession
owner, project, servers = User.objects.get(), Project.objects.get(slug="demo"), ["banking", "calendar"]
session = LiveSession.objects.create(project=project, title="Paying the rent", servers=servers, seed=7,
    fingerprint=fingerprint(tuple(servers)), created_by=owner)
mine = [one["id"] for one in json.loads(make(session, owner, "list_accounts", {}).text)]
payees = [one["id"] for one in json.loads(make(session, owner, "find_payees", {"name": "a"}).text)]
make(session, owner, "pay_payee", {"source": mine[0], "payee": payees[1], "amount": 120_000})
make(session, owner, "transfer_money", {"source": mine[0], "target": mine[3], "amount": 5_000})
other = fork(session, owner, 3)
make(other, owner, "transfer_money", {"source": mine[3], "target": mine[0], "amount": 9_000})
from prove_web.review.create_queue import make_queue
from prove_web.review.schema import PLAIN
from prove_web.trajectories.models import Dataset
from prove_web.trajectories.versions import make_version
data = Dataset.objects.get(project=project, number=1)
looked = list(data.trajectories.filter(steps__gt=1).order_by("pk").values_list("pk", flat=True)[:20])
queue = make_queue(project, owner, looked, name="First look", schema=PLAIN.model_dump(mode="json"), reviewers=2,
    instructions="Would a person say this? Is every call needed, and right?")
version = make_version(project, owner, "Long ones", data.trajectories.filter(steps__gt=2), parent=data,
    origin={"query": "steps>2", "dataset": 1})
from django.db import transaction
from prove_web.experiments.api_form import filled_form
from prove_web.experiments.run_launch import launch
form = filled_form(project, {"clone": 1, "name": "Faster", "learning_rate": 4e-4})
assert form.is_valid(), form.errors
with transaction.atomic():
    launch(project, owner, form)
print(session.pk, other.pk, queue.number, version.number)
"""


def main() -> None:
    FOLDER.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(prefix="pictures-") as folder:
        data, graph = Path(folder) / "data", Path(folder) / "graph"
        data.mkdir()
        load_or_build(graph)
        with running(data, graph) as site:
            query = "SELECT state FROM live_job WHERE kind = 'run' ORDER BY created_at LIMIT 1"
            site.wait(lambda: site.rows(query)[0][0] == "done")
            with sync_playwright() as playwright:
                browser = playwright.chromium.launch(executable_path=found_browser(), args=FLAGS)
                page = browser.new_page(base_url=site.url, viewport=WIDE, reduced_motion="reduce")
                sign_in(page)
                evaluate(site, page)
                take(page, furnished(site))
                browser.close()
    TOUR.write_text(tour(), "utf-8")


def furnished(site: Site) -> dict[str, str]:
    """What names the things in addresses, once they are there."""
    settings = {"PROVE_DATA": str(site.data), "DJANGO_SETTINGS_MODULE": "prove_web.settings"}
    made = subprocess.run(
        [sys.executable, "-c", FURNISHED],
        cwd=ROOT, env={**os.environ, **settings}, check=True, capture_output=True, text=True,
    )  # fmt: skip
    names = dict(zip(("session", "fork", "queue", "version"), made.stdout.split()[-4:], strict=True))
    runs = "SELECT COUNT(*) FROM live_job WHERE kind = 'run' AND state = 'done'"
    site.wait(lambda: site.rows(runs) == [(2,)])
    [(example,)] = site.rows("SELECT example FROM trajectories_trajectory WHERE steps = 3 LIMIT 1")
    return {**names, "example": example}


def evaluate(site: Site, page: Page) -> None:
    """What the run began with, and what it left, on some held-out worlds."""
    for number, policy in enumerate(("warm", "run 1"), 1):
        page.goto(f"{HERE}evaluations/new/?benchmark=worlds")
        names = page.locator("#id_policy option").evaluate_all("all => all.map(one => [one.value, one.text])")
        page.locator("#id_policy").select_option(next(value for value, text in names if policy in text.lower()))
        page.get_by_label("Items per category").fill("2")
        page.get_by_role("button", name="Evaluate").click()
        page.wait_for_url(f"**/evaluations/{number}/")
        query = f"SELECT state FROM live_job WHERE kind = 'evaluate' ORDER BY created_at LIMIT 1 OFFSET {number - 1}"
        site.wait(lambda query=query: site.rows(query)[0][0] == "done")


def take(page: Page, names: dict[str, str]) -> None:
    for section in SECTIONS:
        for picture in section["pictures"]:
            page.goto(HERE + picture["path"].format(**names))
            keep(page, picture)


def keep(page: Page, picture: Picture) -> None:
    page.wait_for_load_state("networkidle")
    taken = Image.open(io.BytesIO(page.screenshot()))
    taken.save(FOLDER / f"{picture['name']}.webp", quality=QUALITY, method=6)


def tour() -> str:
    """docs/pages.md."""
    lines = ["# All pages", "", "A tour of the site, with pictures of a new site and its demo.", ""]
    lines += ["`make pictures` updates them.", ""]
    for section in SECTIONS:
        lines += [f"## {section['title']}", ""]
        for one in section["pictures"]:
            picture = f"![{one['title']}](images/pages/{one['name']}.webp)"
            lines += [f"### {one['title']}", "", one["says"], "", picture, ""]
    return "\n".join(lines).rstrip() + "\n"


if __name__ == "__main__":
    main()
