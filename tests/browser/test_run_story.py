"""A run's page all day long: its charts zoomed and smoothed, its marks, its log, a clone measured against it."""

import re

from playwright.sync_api import Page, expect

from tests.site.running import Site

RUN = "/my-team/demo/runs/1/"


def test_a_run_is_looked_at_zoomed_searched_and_cloned(done_run: Site, page: Page) -> None:
    page.goto(RUN)
    chart = page.get_by_role("application", name=re.compile("^Reward: arrow"))
    expect(chart.locator("canvas")).to_be_visible()
    expect(page).to_have_title(re.compile("^Done · Run 1"))
    chart.focus()
    page.keyboard.press("End")
    page.keyboard.press("+")
    expect(page).to_have_url(re.compile("zoom="))
    page.reload()
    expect(page.get_by_role("button", name="Reset zoom: Reward", exact=True)).to_be_visible()
    page.get_by_role("application", name=re.compile("^Reward: arrow")).focus()
    page.keyboard.press("0")
    expect(page).not_to_have_url(re.compile("zoom="))
    page.get_by_role("button", name="Checkpoints").click()
    expect(page).to_have_url(re.compile("marks="))
    page.get_by_text("Event markers").click()
    expect(page.locator(".curve-marks li").first).to_have_text(re.compile(r"^Step \d+: "))
    pinned, large = page.locator("#curves-pinned"), page.get_by_role("dialog", name="Enlarged chart")
    page.get_by_role("button", name="Pin: Reward", exact=True).click()
    expect(pinned.get_by_role("application", name=re.compile("^Reward: arrow"))).to_be_visible()
    expect(page).to_have_url(re.compile("pins=reward"))
    page.get_by_role("button", name="Log scale", exact=True).click()
    expect(page).to_have_url(re.compile("y=log"))
    page.get_by_role("button", name="Enlarge: Reward", exact=True).click()
    page.reload()
    expect(large.get_by_role("application", name=re.compile("^Reward: arrow"))).to_be_visible()
    with page.expect_download() as saved:
        large.get_by_role("button", name="Save Reward as SVG").click()
    assert "polyline" in saved.value.path().read_text("utf-8") and saved.value.suggested_filename == "reward.svg"
    large.get_by_role("button", name="Close").click()
    expect(page).not_to_have_url(re.compile("chart="))
    expect(pinned.get_by_role("application", name=re.compile("^Reward: arrow"))).to_be_visible()
    page.get_by_role("button", name="Pin: Reward", exact=True).click()
    expect(pinned).to_be_hidden()
    page.get_by_label("Search charts").fill("kl")
    expect(page.get_by_role("application", name=re.compile("^Reward: arrow"))).to_be_hidden()
    page.get_by_label("Search the whole log").fill("no such words")
    expect(page.get_by_text("No log line contains")).to_be_visible()
    expect(page).to_have_url(re.compile("log=no"))
    page.get_by_role("link", name="Clone").click()
    expect(page.locator("[name=name]")).to_have_value(re.compile("copy"))
