"""A live session from its opening to a trajectory, by keyboard alone, as people do it who have never seen it."""

import re
from urllib.parse import quote_plus

import pytest
from playwright.sync_api import Page, expect

from tests.site.running import Site

from .test_pages import faults

HERE = "/my-team/demo/"
NUMBER = re.compile(r"/sessions/(\d+)/")


def focused(page: Page, selector: str) -> None:
    """Walk with the Tab key to what the selector names."""
    for _ in range(80):
        if page.evaluate("selector => document.activeElement.matches(selector)", selector):
            return
        page.keyboard.press("Tab")
    raise AssertionError(f"Tab does not lead to {selector}")


def opened(page: Page, server: str) -> None:
    page.goto(f"{HERE}sessions/new/?servers={server}")
    focused(page, "[name=seed]")
    page.keyboard.press("Control+a")
    page.keyboard.type("7")
    page.keyboard.press("Enter")
    page.wait_for_url(NUMBER)


def found(page: Page, words: str, tool: str) -> None:
    """Search for a tool by words of its description, and open its form."""
    page.keyboard.press("/")
    page.keyboard.type(words)
    page.wait_for_url(re.compile(re.escape(quote_plus(words))))  # what was found on the way is gone by then
    expect(page.locator("#tools-found a").first).to_contain_text(tool)
    focused(page, "#tools-found a")
    page.keyboard.press("Enter")
    expect(page.locator(f"#call-form input[name=tool][value={tool}]")).to_be_attached()


def test_a_wrong_call_becomes_a_right_one_a_fork_a_comparison_and_a_trajectory(site: Site, page: Page) -> None:
    opened(page, "calendar")
    page.evaluate("window.untouched = true")
    found(page, "create an event in a calendar", "create_event")
    assert faults(page) == []

    focused(page, "[name=arg-duration]")
    page.keyboard.type("half an hour")
    page.keyboard.press("Control+Enter")  # the page reports the error before it sends anything
    beside = page.locator("[id='arg-duration-error']")
    expect(beside).to_have_text("It must be an integer.")
    expect(page.locator("#call-1")).to_have_count(0)
    page.keyboard.press("Control+Enter")  # and the server's error afterwards
    expect(page.locator("#call-1")).to_contain_text("error")
    expect(beside).to_have_text("It must be an integer.")
    expect(page.locator("[name=arg-duration]")).to_have_value("half an hour")

    page.keyboard.press("Alt+e")
    expect(page.locator("#call-form")).to_contain_text("tried in a fork")
    page.keyboard.press("Control+Enter")
    expect(page.locator("#result")).to_contain_text("1 row changed")
    expect(page.locator("#rows tr.diff-added")).to_have_count(1)
    expect(page.locator("#said")).to_have_text("Call 2, create_event: ok, 1 row changed")
    assert faults(page) == []

    page.keyboard.press("Escape")
    page.keyboard.press("k")
    expect(page.locator("#pane-state")).to_have_text("State after call 1")
    expect(page.locator("#rows tr.diff-added")).to_have_count(0)
    page.keyboard.press("j")
    expect(page.locator("#rows tr.diff-added")).to_have_count(1)
    page.keyboard.press("k")
    expect(page.locator("#pane-state")).to_have_text("State after call 1")
    assert page.evaluate("window.untouched"), "the page was not loaded anew"

    first = NUMBER.search(page.url)[1]
    page.keyboard.press("f")
    page.wait_for_url(lambda url: NUMBER.search(url) and NUMBER.search(url)[1] != first)
    found(page, "create an event in a calendar", "create_event")
    page.keyboard.press("Alt+e")
    expect(page.locator("#call-form")).to_contain_text("tried in a fork")
    focused(page, "[name=arg-title]")
    page.keyboard.press("Control+a")
    page.keyboard.type("another title")
    page.keyboard.press("Control+Enter")
    expect(page.locator("#call-2")).to_contain_text("1 row changed")

    page.keyboard.press("Escape")
    page.get_by_role("link", name="Compare").press("Enter")
    expect(page.get_by_text("Calls in common")).to_be_visible()
    expect(page.locator(".diff")).to_contain_text("another title")
    assert faults(page) == []
    page.go_back()

    page.get_by_role("link", name="Branches").press("Enter")
    expect(page.locator(".branches li")).to_have_count(2)
    assert faults(page) == []
    page.go_back()

    page.get_by_role("link", name="Save as trajectory").press("Enter")
    page.wait_for_url("**/trajectory/")
    assert faults(page) == []
    said = page.get_by_label("User message")
    said.press("Control+Enter")
    page.get_by_role("button", name="Replay and save").press("Enter")
    expect(page.get_by_text("Not saved.")).to_be_visible()
    page.said.remove("Failed to load resource: the server responded with a status of 422 (Unprocessable Entity)")
    values = page.locator(".form-hint code").all_text_contents()
    page.get_by_label("User message").press_sequentially(f"Make this event for me: {', '.join(values)}.")
    page.get_by_role("button", name="Replay and save").press("Enter")
    page.wait_for_url(re.compile(r"/datasets/\d+/hand-\d+/"))
    expect(page.get_by_text("score 1.30 of 1.30")).to_be_visible()


def test_an_entity_is_chosen_by_what_it_is_called(site: Site, page: Page) -> None:
    opened(page, "calendar")
    found(page, "create an event in a calendar", "create_event")
    focused(page, "[name=arg-calendar]")
    page.keyboard.type("personal")
    expect(page.locator(".picker [data-value]")).to_have_count(1)
    assert faults(page) == []
    page.keyboard.press("ArrowDown")
    page.keyboard.press("Enter")
    expect(page.locator("[name=arg-calendar]")).to_have_value(re.compile(r"^CAL-\d+$"))
    expect(page.get_by_role("listbox")).to_have_count(0)


@pytest.mark.long
def test_without_a_script_a_session_is_used_all_the_same(site: Site, chromium, signed_in: dict) -> None:
    context = chromium.new_context(base_url=site.url, storage_state=signed_in, java_script_enabled=False)
    page = context.new_page()
    page.goto(f"{HERE}sessions/new/?servers=payments&tool=register_webhook")
    page.get_by_role("button", name="Open session").click()
    page.get_by_role("button", name="Add item").click()
    page.get_by_role("button", name="Add item").click()
    expect(page.get_by_label("Item 2", exact=False).first).to_be_visible()
    page.get_by_role("button", name="Example").click()
    page.get_by_role("button", name="Call", exact=True).last.click()
    expect(page.locator("#result")).to_contain_text("1 row changed")
    page.get_by_role("link", name="Code").click()
    expect(page.locator("#code-python")).to_contain_text("register_webhook")
    context.close()
