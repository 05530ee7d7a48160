"""Getting about without a mouse: what Tab reaches first, what a dialog keeps, how a table is sorted."""

import pytest
from playwright.sync_api import Page, expect

from tests.site.running import Site

from .every_page import HERE

OUTLINED = "getComputedStyle(document.activeElement).outlineStyle"


def test_the_first_stop_skips_to_the_content_and_focus_is_seen(done_run: Site, page: Page) -> None:
    page.goto(f"{HERE}runs/")
    page.keyboard.press("Tab")
    skip = page.get_by_role("link", name="Skip to the content")
    expect(skip).to_be_focused()
    expect(skip).to_be_in_viewport()
    assert page.evaluate(OUTLINED) == "solid"
    page.keyboard.press("Enter")
    expect(page.locator("main#content")).to_be_focused()
    page.keyboard.press("Tab")
    assert page.evaluate("document.querySelector('main').contains(document.activeElement)")
    assert page.evaluate(OUTLINED) == "solid"


def test_a_dialog_keeps_the_focus_and_gives_it_back(done_run: Site, page: Page) -> None:
    page.goto(f"{HERE}runs/")
    page.wait_for_load_state("networkidle")
    opener = page.get_by_role("link", name="Columns")
    opener.focus()
    page.keyboard.press("Enter")
    dialog = page.locator("dialog#columns")
    expect(dialog).to_be_visible()
    for _ in range(3):
        page.keyboard.press("Shift+Tab")
        assert page.evaluate("document.activeElement === document.body || !!document.activeElement.closest('dialog')")
    page.keyboard.press("Escape")
    expect(dialog).to_be_hidden()
    expect(opener).to_be_focused()


def test_a_table_is_sorted_by_the_keyboard(done_run: Site, page: Page) -> None:
    page.goto(f"{HERE}tools/")
    page.wait_for_load_state("networkidle")
    page.get_by_role("columnheader", name="Used").get_by_role("link").focus()
    page.keyboard.press("Enter")
    expect(page.get_by_role("columnheader", name="Used")).to_have_attribute("aria-sort", "descending")
    assert "sort=-used" in page.url


def test_the_menu_of_a_phone_opens_and_closes_by_the_keyboard(site: Site, page: Page) -> None:
    page.set_viewport_size({"width": 390, "height": 844})
    page.goto(f"{HERE}servers/")
    menu, pages = page.get_by_role("button", name="Menu"), page.get_by_role("navigation", name="Pages")
    menu.focus()
    page.keyboard.press("Enter")
    expect(menu).to_have_attribute("aria-expanded", "true")
    expect(pages.get_by_role("link", name="Runs")).to_be_visible()
    expect(page.locator("#menu.collapsing")).to_have_count(0)
    page.keyboard.press("Enter")
    expect(pages).to_be_hidden()


@pytest.mark.long
def test_at_twice_the_size_nothing_scrolls_sideways(done_run: Site, page: Page) -> None:
    """200 % on a screen of 1280 pixels."""
    page.set_viewport_size({"width": 640, "height": 400})
    for path in ("", "runs/", "runs/1/", "datasets/1/", "tools/"):
        page.goto(HERE + path)
        assert page.evaluate("document.documentElement.scrollWidth") <= 640, path
