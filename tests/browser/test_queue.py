"""The queue in a real browser: two runs wait behind one that is at work; the second is raised, the first cancelled."""

import re

from playwright.sync_api import Page, expect

from tests.browser.test_pages import look_at
from tests.site.running import Site

HERE = "/my-team/demo/"


def launch(page: Page, name: str) -> None:
    page.goto(f"{HERE}runs/new/")
    page.locator("#id_name").fill(name)
    page.locator("#id_minutes").fill("30")
    page.get_by_role("button", name=re.compile("^ ?Launch$")).last.click()
    page.get_by_role("heading", name=name).wait_for()


def test_what_waits_is_raised_and_cancelled_and_its_order_is_seen(done_run: Site, page: Page) -> None:
    for name in ("At work", "First", "Second"):
        launch(page, name)
    page.goto(f"{HERE}queue/")
    rows = page.locator(".queue-table tbody tr")
    expect(rows).to_have_count(2)
    expect(rows.first).to_contain_text("First")
    page.get_by_role("button", name="Move Second first").click()
    expect(page.get_by_text("“Second” goes first")).to_be_visible()
    expect(rows.first).to_contain_text("Second")
    look_at("queue/", page)
    page.set_viewport_size({"width": 1440, "height": 900})
    page.get_by_role("button", name="Cancel First").click()
    expect(rows).to_have_count(1)
    expect(page.get_by_role("button", name="Put First back")).to_be_visible()
    page.get_by_role("button", name="Cancel Second").click()
    page.get_by_role("link", name="At work").click()
    page.get_by_role("button", name="Stop now").click()
    expect(page.get_by_text("Stopped").first).to_be_visible()

    page.goto(f"{HERE}workers/")
    expect(page.locator(".worker-card")).to_have_count(3)
    look_at("workers/", page)
