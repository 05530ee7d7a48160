"""Finding a tool, calling it, and getting about by the keyboard alone, in a real browser."""

import re

import pytest
from axe_playwright_python.sync_playwright import Axe
from playwright.sync_api import Page, expect

from tests.browser.test_pages import RULES, SIZES
from tests.site.running import Site

HERE = "/my-team/demo/"


def faults(page: Page) -> list[str]:
    found = Axe().run(page, options=RULES).response["violations"]
    return [f"{one['id']}: {[node['html'][:150] for node in one['nodes'][:3]]}" for one in found]


def test_a_tool_is_found_by_a_word_of_its_description_and_the_address_holds_the_search(site: Site, page: Page) -> None:
    page.goto(f"{HERE}tools/")
    page.get_by_label("Search", exact=True).press_sequentially("own accounts", delay=10)
    expect(page.get_by_role("status").filter(has_text="of 343 tools")).to_be_visible()
    expect(page.get_by_role("link", name="transfer_money")).to_be_visible()
    page.wait_for_url(re.compile(r"q=own\+accounts"))
    page.get_by_label("Kind").select_option("Writes")
    page.wait_for_url(re.compile("kind=write"))
    page.get_by_text("More filters").click()
    page.get_by_label("Input ID type", exact=True).select_option("AccountId")
    page.wait_for_url(re.compile("takes=AccountId"))
    expect(page.locator(".tool-cell a")).to_have_text(["transfer_money"])
    page.get_by_role("link", name="Tool", exact=True).click()
    page.wait_for_url(re.compile("sort=tool"))
    page.reload()
    expect(page.locator(".tool-cell a")).to_have_text(["transfer_money"])
    expect(page.get_by_role("columnheader", name="Tool", exact=True)).to_have_attribute("aria-sort", "ascending")


def test_a_tool_is_called_wrongly_and_then_rightly_from_its_page(site: Site, page: Page) -> None:
    page.goto(f"{HERE}tools/transfer_money/")
    page.get_by_label("amount").fill("much")
    page.get_by_role("button", name="Call", exact=True).click()
    expect(page.get_by_text("It must be an integer.")).to_be_visible()
    page.get_by_role("button", name="Example").click()
    expect(page.get_by_text(re.compile("transfer_money succeeds"))).to_be_visible()
    page.keyboard.press("Control+Enter")
    page.wait_for_url(re.compile(r"/sessions/\d+/"))
    expect(page.locator("#result")).to_contain_text(re.compile(r"rows? changed"))


def test_the_palette_is_used_by_the_keyboard_alone(site: Site, page: Page) -> None:
    page.goto(f"{HERE}servers/maps/")
    page.keyboard.press("Control+k")
    box = page.get_by_role("combobox", name=re.compile("Search project: tools"))
    expect(box).to_be_focused()
    expect(page.get_by_role("option", name="Servers").first).to_be_visible()
    page.keyboard.type("own accounts")
    expect(page.get_by_role("option", selected=True)).to_contain_text("transfer_money")
    assert faults(page) == []
    page.keyboard.press("Enter")
    page.wait_for_url(f"**{HERE}tools/transfer_money/")
    page.keyboard.press("Control+k")
    recent = page.get_by_role("group", name="Recent").get_by_role("option")
    expect(recent.first).to_contain_text("maps")
    expect(recent.first).to_have_attribute("aria-selected", "true")
    page.keyboard.press("ArrowDown")
    expect(recent.first).to_have_attribute("aria-selected", "false")
    page.keyboard.press("ArrowUp")
    page.keyboard.press("Enter")
    page.wait_for_url(f"**{HERE}servers/maps/")
    page.keyboard.press("Control+k")
    page.keyboard.type("no such thing at all")
    expect(page.locator("#palette-said")).to_have_text("No results.")
    page.keyboard.press("Escape")
    expect(page.locator("#palette")).to_be_hidden()


@pytest.mark.long
def test_the_palette_fits_a_telephone_and_the_dark(site: Site, page: Page) -> None:
    page.emulate_media(color_scheme="dark")
    page.set_viewport_size(SIZES["narrow"])
    page.goto(f"{HERE}tools/")
    page.get_by_role("link", name="Search project", exact=True).click()
    page.keyboard.type("transfer")
    expect(page.locator("#palette").get_by_role("option", selected=True)).to_contain_text("transfer_money")
    assert page.evaluate("document.documentElement.scrollWidth") <= SIZES["narrow"]["width"]
    assert faults(page) == []


def test_the_invariants_of_a_server_are_checked_and_displayed_without_reloading(site: Site, page: Page) -> None:
    page.goto(f"{HERE}servers/vehicle/")
    page.get_by_role("button", name="Run invariant checks").click()
    expect(page.get_by_text(re.compile("Invariants hold, replay matches"))).to_be_visible()
    expect(page.get_by_text("Replay certificate")).to_be_visible()


@pytest.mark.long
def test_a_server_that_is_switched_off_is_gone_from_the_lists_until_it_is_on_again(site: Site, page: Page) -> None:
    for on in (False, True):
        page.goto(f"{HERE}environments/")
        page.get_by_role("checkbox", name=re.compile("^vehicle")).set_checked(on)
        page.get_by_role("button", name="Save").click()
        expect(page.get_by_text("All servers enabled." if on else "1 of 20 servers disabled")).to_be_visible()
        page.goto(f"{HERE}tools/?q=start_engine")
        expect(page.get_by_role("link", name="start_engine")).to_have_count(int(on))


@pytest.mark.long
def test_a_session_of_the_gateway_is_started_stopped_and_started_again(site: Site, page: Page) -> None:
    page.goto(f"{HERE}environments/")
    page.get_by_label("Title").fill("An agent at work")
    page.get_by_role("button", name="Start session").click()
    row = page.get_by_role("row", name=re.compile("An agent at work"))
    expect(row.get_by_text(re.compile(r"^http://127\.0\.0\.1:\d+/mcp/\S+\.\S+$"))).to_be_visible()
    assert faults(page) == []
    row.get_by_role("button", name=re.compile("^Stop")).click()
    expect(row.get_by_text("ended", exact=True)).to_be_visible()
    row.get_by_role("button", name=re.compile("^Start")).click()
    expect(row.get_by_role("button", name=re.compile("^Reset"))).to_be_visible()
