"""Live sessions with company: two people and an MCP client in one world, on a real site."""

import re
import subprocess
import sys

import pytest
from playwright.sync_api import Page, expect

from tests.site.running import Site
from tests.waiting import PATIENCE

from .test_pages import SIZES, faults

HERE = "/my-team/demo/"


def open_session(page: Page) -> str:
    page.goto(f"{HERE}sessions/new/?servers=calendar&servers=banking")
    page.get_by_label("Size").select_option("small")
    page.get_by_role("button", name="Open session").click()
    page.wait_for_url(re.compile(r"/sessions/\d+/$"))
    return page.url


def test_two_people_in_one_session_see_the_same_and_keep_what_they_type(site: Site, page: Page, other: Page) -> None:
    address = open_session(page)
    page.goto(f"{address}?tool=create_event")
    page.locator("[name=arg-title]").fill("Half a thought")
    page.locator("#find").fill("a")
    page.locator("[name=arg-title]").focus()
    page.evaluate("window.untouched = true")
    other.goto(f"{address}?tool=create_event")
    other.get_by_role("button", name="Example").click()
    expect(other.get_by_text("tried in a fork")).to_be_visible()
    other.locator("[data-call]").click()
    expect(other.locator("#call-1")).to_contain_text("create_event")
    expect(page.locator("#call-1")).to_contain_text("create_event")
    expect(page.locator("#said")).to_contain_text("Call 1, create_event by ann")
    assert page.evaluate("window.untouched"), "the page was not loaded anew"
    expect(page.locator("[name=arg-title]")).to_have_value("Half a thought")
    expect(page.locator("[name=arg-title]")).to_be_focused()
    expect(page.locator("#find")).to_have_value("a")
    digest = other.locator("#digest").get_attribute("data-digest")
    expect(page.locator("#digest")).to_have_attribute("data-digest", digest)


@pytest.mark.long
def test_a_client_connects_by_the_text_of_the_panel_and_is_watched(site: Site, page: Page, other: Page) -> None:
    address = open_session(page)
    other.goto(address)
    page.get_by_role("link", name="Connect").click()
    page.get_by_label("Name").fill("A script of mine")
    page.get_by_role("button", name="Create token").click()
    expect(page.get_by_text("It is shown only once")).to_be_visible()
    assert faults(page) == []
    page.set_viewport_size(SIZES["narrow"])
    assert page.evaluate("document.documentElement.scrollWidth") <= SIZES["narrow"]["width"], "it scrolls sideways"
    for title in ("Claude Desktop", "MCP Inspector"):
        assert "/mcp/s/" in page.get_by_role("region", name=title).inner_text()
    program, command = (page.get_by_role("region", name=title).inner_text() for title in ("Python", "curl"))
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, timeout=PATIENCE)
    assert done.returncode == 0, done.stderr
    expect(other.locator("#call-1")).to_contain_text("mcp")
    assert other.locator("#result").inner_text()
    done = subprocess.run(["bash", "-c", command], capture_output=True, text=True, timeout=PATIENCE)
    assert '"isError":false' in done.stdout, done.stdout + done.stderr
    expect(other.locator("#call-2")).to_contain_text("curl")
    page.get_by_role("button", name="Revoke A script of mine").click()
    expect(page.get_by_text("revoked.")).to_be_visible()
    done = subprocess.run(["bash", "-c", command], capture_output=True, text=True, timeout=PATIENCE)
    assert "revoked" in done.stdout
    expect(other.locator("#call-3")).to_have_count(0)


@pytest.mark.long
def test_faults_are_switched_on_met_and_reported(site: Site, page: Page) -> None:
    address = open_session(page)
    page.get_by_role("link", name="Faults").click()
    page.get_by_label("Unavailable").fill("100")
    assert faults(page) == []
    page.get_by_role("button", name="Enable").click()
    expect(page.locator("#faults-now")).to_contain_text("Fault injection is on")
    page.goto(f"{address}?tool=list_calendars")
    page.locator("[data-call]").click()
    expect(page.locator("#call-1")).to_contain_text("unavailable, injected")
    assert faults(page) == []
    page.get_by_role("link", name="Edit or disable").click()
    page.get_by_role("button", name="Disable").click()
    expect(page.locator("#faults-now")).to_be_empty()
    page.goto(f"{address}?tool=list_calendars")
    page.locator("[data-call]").click()
    expect(page.locator("#call-2")).not_to_contain_text("injected")


def test_a_call_of_a_rollout_opens_as_a_session(done_run: Site, page: Page) -> None:
    for index in range(1, 9):
        page.goto(f"{HERE}runs/1/rollouts/1/{index}/")
        button = page.get_by_role("button", name=re.compile("^Fork here: open the state after call"))
        if button.count():
            break
    assert faults(page) == []
    button.first.click()
    page.wait_for_url(re.compile(r"/sessions/\d+/$"))
    expect(page.locator(".session-facts")).to_contain_text("rollout")
