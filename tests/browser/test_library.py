"""Finding trajectories with the keyboard alone: completion, a fault at its character, refining, a view for the team."""

import pytest
from playwright.sync_api import Page, expect

from tests.site.running import Site

from .test_pages import HERE, faults, look_at

QUERY = "?q=kind%3Achain"


def test_a_query_is_typed_with_the_keyboard_and_its_faults_are_marked(done_run: Site, page: Page) -> None:
    page.goto(f"{HERE}trajectories/")
    box = page.get_by_role("combobox", name="Search")
    box.focus()
    page.keyboard.type("ki")
    expect(page.locator("#q-options").get_by_role("option").first).to_contain_text("kind:")
    page.keyboard.press("ArrowDown")
    page.keyboard.press("Enter")
    expect(page.locator("#q-options").get_by_role("option")).to_have_count(3)
    page.keyboard.press("ArrowDown")
    page.keyboard.press("Tab")
    expect(box).to_have_value("kind:chain ")
    expect(box).to_be_focused()
    expect(page.get_by_role("status").filter(has_text="found").first).to_be_visible()

    page.keyboard.type("steps>two")
    page.keyboard.press("Enter")
    expect(page.get_by_role("alert")).to_contain_text("takes a whole number")
    expect(page.locator("mark")).to_have_text("t")
    expect(box).to_have_value("kind:chain steps>two")
    expect(box).to_have_attribute("aria-invalid", "true")
    assert faults(page) == []

    for _ in "two":
        page.keyboard.press("Backspace")
    page.keyboard.type("1")
    page.keyboard.press("Enter")
    expect(page.get_by_role("alert")).to_have_count(0)
    expect(box).not_to_have_attribute("aria-invalid", "true")


def test_a_search_is_refined_saved_and_walked_through(done_run: Site, page: Page) -> None:
    page.goto(f"{HERE}trajectories/")
    page.get_by_role("complementary", name="Filters").get_by_role("link", name="Chain").click()
    page.wait_for_url("**q=kind*")
    page.get_by_text("Save this view").click()
    page.get_by_label("Name of the view").fill("Chains")
    page.get_by_role("button", name="Save for the team").click()
    expect(page.get_by_role("link", name="Chains")).to_have_attribute("aria-current", "page")
    page.locator(".query-text").first.click()
    page.get_by_role("link", name="Next").click()
    assert "in=all" in page.url and "kind" in page.url


@pytest.mark.long
def test_the_page_of_all_trajectories_is_accessible_and_tidy(done_run: Site, page: Page) -> None:
    for path in ("trajectories/", f"trajectories/{QUERY}", "trajectories/?q=steps%3Etwo"):
        look_at(path, page)
        page.set_viewport_size({"width": 1440, "height": 900})
