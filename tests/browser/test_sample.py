"""A sample of a data set is read with the keyboard, and a value leads to where it is from."""

import re

from playwright.sync_api import Page, expect

from tests.site.running import Site

from .every_page import HERE
from .test_pages import faults

MADE = "SELECT count(*) FROM trajectories_trajectory WHERE dataset_id = 1 HAVING count(*) > 20"


def test_a_sample_is_read_with_the_keyboard_and_a_value_leads_to_its_source(site: Site, page: Page) -> None:
    site.wait(lambda: site.rows(MADE))
    page.goto(f"{HERE}datasets/1/")
    page.get_by_role("link", name="Read a sample of 20").click()
    page.wait_for_url("**/datasets/1/sample/?seed=0")
    conversations = page.get_by_role("article", name=re.compile("train-|held_out-"))
    expect(conversations).to_have_count(20)
    for key, number in (("j", 1), ("j", 2), ("k", 1)):
        page.keyboard.press(key)
        expect(page.locator(f"#c{number}")).to_be_focused()
        expect(page.locator(f"#c{number} h2")).to_be_in_viewport()

    value = page.locator(".sample a.value-result").first
    expect(value.locator("xpath=following-sibling::span[1]")).to_have_text(re.compile("from the result of call"))
    source = page.locator(value.get_attribute("href"))
    expect(source).to_be_hidden()
    value.focus()
    page.keyboard.press("Enter")
    expect(source).to_be_in_viewport()
    assert faults(page) == []

    first = conversations.first.get_by_role("heading").inner_text()
    page.keyboard.press("n")
    page.wait_for_url("**/datasets/1/sample/?seed=1")
    expect(conversations.first.get_by_role("heading")).not_to_have_text(first)
    conversations.first.get_by_role("heading").get_by_role("link").click()
    expect(page.get_by_role("heading", name="Conversation", exact=True)).to_be_visible()
