"""A person inspects, perturbs and repairs a trajectory with the mouse and the keyboard."""

import re

import pytest
from playwright.sync_api import Page, expect

from tests.site.running import Site

from .test_pages import faults

HERE = "/my-team/demo/"
FED = "SELECT example FROM trajectories_trajectory WHERE steps = 3 AND dataset_id = 1 ORDER BY id LIMIT 1"


def opened(site: Site, page: Page) -> str:
    """The page of a demonstration of three steps, and its address."""
    [(example,)] = site.wait(lambda: site.rows(FED))
    assert page.goto(f"{HERE}datasets/1/{example}/").status == 200
    return f"{HERE}datasets/1/{example}/"


def test_a_part_of_the_reward_lights_up_the_calls_that_earned_it(site: Site, page: Page) -> None:
    opened(site, page)
    name = page.get_by_role("button", name=re.compile("^Name"))
    name.focus()
    page.keyboard.press("Space")
    expect(name).to_have_attribute("aria-pressed", "true")
    expect(page.locator(".call.lit-earned")).to_have_count(3)
    expect(page.get_by_text("Name: earned by calls 1, 2, 3, lost by no call.")).to_be_visible()
    expect(page.locator("#call-1").get_by_text("earned +0.067")).to_be_visible()
    assert faults(page) == []
    name.click()
    expect(page.locator(".call.lit-earned")).to_have_count(0)


def test_a_value_lights_up_where_it_is_from_and_leads_there(site: Site, page: Page) -> None:
    opened(site, page)
    value = page.locator("a.value").last
    source = page.locator(value.get_attribute("href"))
    value.hover()
    expect(source).to_have_class(re.compile("lit"))
    value.click()
    expect(source).to_be_in_viewport()
    assert page.url.endswith(value.get_attribute("href"))


def test_without_a_call_the_score_falls_and_the_page_stays(site: Site, page: Page) -> None:
    opened(site, page)
    page.evaluate("window.untouched = true")
    card = page.locator("#call-3")
    card.get_by_text("Counterfactual").click()
    card.get_by_role("button", name="Run without this call").click()
    before, after = card.locator("[data-before]"), card.locator("[data-after]")
    expect(before).to_have_text("1.300")
    assert float(after.inner_text()) < 1.3 and page.evaluate("window.untouched")
    assert faults(page) == []
    card.get_by_label("Arguments (JSON)").fill("{")
    card.get_by_role("button", name="Run with edits").click()
    expect(card.get_by_role("alert")).to_contain_text("not valid JSON, line 1")


def test_a_mended_trajectory_is_saved_beside_the_old_one_and_nothing_typed_is_lost(site: Site, page: Page) -> None:
    address = opened(site, page)
    page.get_by_role("link", name="Fix").click()
    said = page.get_by_label("User message").first
    said.fill(f"{said.input_value()} Thanks a lot.")
    page.get_by_role("button", name="JSON").first.click()
    arguments = page.get_by_role("textbox", name=re.compile("Arguments of call")).first
    good = arguments.input_value()
    arguments.fill('{"nobody": "gave this"}')
    page.get_by_role("button", name="Replay and save").click()
    expect(page.get_by_role("alert").first).to_contain_text("Validation failed")
    expect(arguments).to_have_value('{"nobody": "gave this"}')
    assert faults(page) == []

    page.reload()
    page.get_by_role("button", name="Restore").click()
    expect(said).to_have_value(re.compile("Thanks a lot"))
    expect(arguments).to_have_value('{"nobody": "gave this"}')
    arguments.fill(good)
    page.get_by_role("button", name="Preview").click()
    expect(page.get_by_role("heading", name=re.compile("Validation passed"))).to_be_visible()
    page.get_by_role("button", name="Replay and save").click()
    page.wait_for_url(re.compile("/hand-[0-9]+/$"))
    expect(page.get_by_text("Edited from")).to_be_visible()
    page.get_by_role("link", name="edits", exact=True).click()
    expect(page.locator("ins")).to_contain_text("Thanks a lot")
    assert faults(page) == []
    page.goto(f"{address}fix/")
    expect(page.get_by_role("button", name="Restore")).to_be_hidden()


@pytest.mark.long
def test_a_trajectory_taken_apart_is_tidy_in_the_dark_and_on_a_phone(site: Site, page: Page) -> None:
    address = opened(site, page)
    for path in (address, f"{address}fix/"):
        page.emulate_media(color_scheme="dark", reduced_motion="reduce")
        page.set_viewport_size({"width": 390, "height": 844})
        page.goto(path)
        assert faults(page) == []
        assert page.evaluate("document.documentElement.scrollWidth") <= 390, "it scrolls sideways"
