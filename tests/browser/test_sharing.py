"""A run is read by somebody who has only a link, until it is withdrawn; and one that is deleted comes back."""

import pytest
from playwright.sync_api import Browser, Page, expect

from tests.site.running import Site
from tests.waiting import PATIENCE

HERE = "/my-team/demo/"


def test_a_link_lets_a_stranger_read_a_run_until_it_is_withdrawn(done_run: Site, page: Page, chromium: Browser) -> None:
    page.goto(f"{HERE}runs/1/")
    page.get_by_role("link", name="Share", exact=True).click()
    page.get_by_role("button", name="Create link").click()
    address = page.locator("#address").inner_text()

    context = chromium.new_context(base_url=done_run.url, viewport={"width": 1440, "height": 900})
    context.set_default_timeout(1000 * PATIENCE)
    stranger, said = context.new_page(), []
    stranger.on("console", lambda message: said.append(message.text) if message.type in ("error", "warning") else None)
    stranger.on("pageerror", lambda error: said.append(str(error)))
    stranger.goto(address)
    expect(stranger.locator(".uplot").first).to_be_visible()
    expect(stranger.locator("#run-tools table")).to_be_visible()
    expect(stranger.locator(".navbar")).to_have_count(0)
    stranger.wait_for_load_state("networkidle")
    assert said == [], "the console must be clean"

    page.get_by_role("link", name="All links").click()
    page.get_by_role("button", name="Withdraw").first.click()
    expect(page.get_by_text("no longer works")).to_be_visible()
    stranger.reload()
    expect(stranger.get_by_role("heading", name="Share link not available")).to_be_visible()
    context.close()


@pytest.mark.long
def test_a_run_that_was_deleted_is_brought_back(done_run: Site, page: Page) -> None:
    page.goto(f"{HERE}runs/1/")
    page.wait_for_load_state("networkidle")  # what it still asks for, it would not find
    page.get_by_role("button", name="Delete", exact=True).click()
    page.wait_for_url(f"**{HERE}runs/")
    expect(page.locator("a[href$='/runs/1/']")).to_have_count(0)
    page.get_by_role("button", name="Undo").click()
    page.wait_for_url(f"**{HERE}runs/1/")
    expect(page.get_by_text("is restored")).to_be_visible()
