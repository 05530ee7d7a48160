"""Three runs are picked, drawn over each other and zoomed into, and a task that flipped is opened."""

import re
from collections.abc import Callable
from typing import Any

import pytest
from playwright.sync_api import Page, expect

from tests.site.running import Site

HERE = "/my-team/demo/"
MADE = """
from prove_web.accounts.models import Project
from tests.prove_web.compared import leave_held_out, trained_run, wrong_on
project = Project.objects.get(slug="demo")
for seed, wrong in enumerate([(), (0, 1), (2,)]):
    run = trained_run(project, f"Beside {seed}", 60, lift=seed / 10, config={"seed": seed})
    leave_held_out(run, wrong_on(*wrong))
"""


@pytest.fixture(scope="module")
def three(site: Site, within: Callable[[str], Any]) -> Site:
    """The site with three runs that differ by their seed."""
    within(MADE)
    return site


def test_three_runs_are_compared_down_to_a_task_that_flipped(three: Site, page: Page) -> None:
    page.goto(f"{HERE}runs/compare/")
    for seed in range(3):
        page.get_by_label("Add a run").fill(f"beside {seed}")
        page.get_by_role("link", name=re.compile(f"Beside {seed}")).last.click()
        expect(page.locator(".compare-run")).to_have_count(seed + 1)
        page.wait_for_load_state("networkidle")
    reward = page.locator(".run-chart").first
    expect(reward.locator(".chart-key")).to_have_count(3)
    box = reward.locator(".u-over").bounding_box()
    page.mouse.move(box["x"] + 40, box["y"] + 40)
    page.mouse.down()
    page.mouse.move(box["x"] + 160, box["y"] + 40)
    page.mouse.up()
    expect(reward.get_by_role("button", name="Reset zoom")).to_be_visible()
    page.get_by_label("Group seeds").check()
    page.wait_for_url(re.compile("group=seed"))
    expect(page.locator(".run-chart").first.locator(".chart-key")).to_have_count(1)
    page.get_by_label("Band").select_option("range")
    page.wait_for_url(re.compile("band=range"))
    page.wait_for_load_state("networkidle")
    page.locator(".run-chart").first.get_by_text("Data table").click()
    expect(page.locator(".run-chart").first.get_by_role("cell", name=re.compile(" to ")).first).to_be_visible()
    page.get_by_role("link", name="Behaviour diff").first.click()
    page.wait_for_url(re.compile("runs/behaviour"))
    page.get_by_role("link", name=re.compile("^Regressed")).click()
    page.wait_for_url(re.compile("kind=lost"))
    page.locator("tbody th a").first.click()
    expect(page.get_by_text("First difference").first).to_be_visible()
    assert page.get_by_text("First difference").first.evaluate("e => e.getBoundingClientRect().top") < 900
    page.wait_for_load_state("networkidle")
