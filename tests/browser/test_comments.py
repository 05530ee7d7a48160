"""Two people at one trajectory: they verify it, talk about it live, mention each other and get notifications."""

import re

import pytest
from playwright.sync_api import APIResponse, Page, Route, expect

from tests.site.running import Site

from .every_page import EXAMPLE
from .test_pages import HERE, SIZES, faults


@pytest.fixture
def address(done_run: Site) -> str:
    [(example,)] = done_run.rows(EXAMPLE)
    return f"{HERE}datasets/1/{example}/"


def opened(page: Page, address: str) -> None:
    page.goto(address)
    page.locator("#comment-form").wait_for()
    page.evaluate("window.untouched = true")


def test_two_people_talk_about_a_call_without_reloading(address: str, page: Page, other: Page) -> None:
    opened(page, address)
    opened(other, address)
    other.locator("#call-2").hover()
    other.get_by_role("button", name="Comment on call 2").click()
    expect(other.get_by_label("Comment", exact=True)).to_be_focused()
    other.keyboard.type("Is the **account** right, @ow")
    expect(other.get_by_role("option", name="owner")).to_have_attribute("aria-selected", "true")
    assert faults(other) == []
    other.keyboard.press("Enter")
    other.keyboard.type("? <script>alert(1)</script>")
    page.get_by_label("Comment", exact=True).fill("Half a thought")
    other.keyboard.press("Control+Enter")
    thread = page.get_by_role("region", name="Call 2")
    expect(thread.locator("strong", has_text="account")).to_be_visible()
    expect(thread).to_contain_text("<script>alert(1)</script>")
    expect(page.get_by_role("button", name="1 comment on call 2")).to_be_visible()
    expect(page.get_by_label("Comment", exact=True)).to_have_value("Half a thought")
    expect(other.get_by_label("Comment", exact=True)).to_have_value("")
    page.reload()
    expect(page.get_by_label("Comment", exact=True)).to_have_value("Half a thought")
    page.get_by_label("About").select_option("call-2")
    page.get_by_label("Comment", exact=True).fill("It is.")
    page.keyboard.press("Control+Enter")
    expect(other.get_by_role("region", name="Call 2")).to_contain_text("It is.")
    assert other.evaluate("window.untouched"), "the page was not loaded anew"
    page.goto(HERE)
    page.get_by_role("link", name=re.compile("Notifications, .* unread")).click()
    assert faults(page) == []
    page.get_by_role("button", name=re.compile("^Unread: .* mentioned you in .*, call 2")).click()
    page.wait_for_url("**#comment-*")
    expect(page.locator(".comment.is-target")).to_be_focused()
    page.get_by_role("button", name="Resolve: Call 2").click()
    expect(page.get_by_text("Call 2: resolved, 2 comments")).to_be_visible()
    expect(other.get_by_text("Call 2: resolved, 2 comments")).to_be_visible()


@pytest.mark.long
def test_a_comment_that_did_not_arrive_stays_in_the_form(address: str, page: Page, other: Page) -> None:
    opened(page, address)
    opened(other, address)
    page.route("**/comments/add/", lambda route: route.abort())
    page.get_by_label("Comment", exact=True).fill("Never arrived")
    with page.expect_event("requestfailed"):
        page.keyboard.press("Control+Enter")
    other.get_by_label("Comment", exact=True).fill("From somebody else")
    other.keyboard.press("Control+Enter")
    expect(page.locator(".comment", has_text="From somebody else")).to_be_visible()
    expect(page.get_by_label("Comment", exact=True)).to_have_value("Never arrived")
    page.said.clear()


def test_an_answer_that_comes_after_the_news_of_it_empties_the_form(address: str, other: Page) -> None:
    opened(other, address)
    held: list[tuple[Route, APIResponse]] = []
    other.route("**/comments/add/", lambda route: held.append((route, route.fetch())))
    other.get_by_label("Comment", exact=True).fill("Told before it was answered")
    other.keyboard.press("Control+Enter")
    expect(other.locator(".comment", has_text="Told before it was answered")).to_be_visible()
    [(route, response)] = held
    route.fulfill(response=response)
    expect(other.get_by_label("Comment", exact=True)).to_have_value("")


@pytest.mark.long
def test_what_one_said_is_changed_and_taken_back_and_put_back(address: str, page: Page) -> None:
    opened(page, address)
    page.get_by_label("Comment", exact=True).fill("Too hasty")
    page.get_by_role("button", name="Comment", exact=True).click()
    page.get_by_role("link", name="Edit your comment").click()
    page.get_by_label("Your comment", exact=True).fill("On second thoughts")
    page.get_by_role("button", name="Save").click()
    expect(page.locator(".comment", has_text="On second thoughts")).to_contain_text("edited")
    page.get_by_role("button", name="Remove your comment").click()
    expect(page.get_by_text("You removed this comment.")).to_be_visible()
    assert faults(page) == []
    page.get_by_role("button", name="Undo").click()
    expect(page.get_by_text("On second thoughts")).to_be_visible()
    page.get_by_role("button", name="Remove your comment").click()
    expect(page.get_by_text("You removed this comment.")).to_be_visible()


def test_a_trajectory_is_verified_and_accepted(address: str, page: Page) -> None:
    opened(page, address)
    page.get_by_role("button", name="Verify and accept").click()
    expect(page.get_by_text("The replay on the current servers matches")).to_be_visible()
    expect(page.get_by_role("list", name="Acceptance history")).to_contain_text("unchanged")
    assert faults(page) == []
    page.set_viewport_size(SIZES["narrow"])
    assert page.evaluate("document.documentElement.scrollWidth") <= SIZES["narrow"]["width"], "it scrolls sideways"
    page.reload()
    expect(page.get_by_text("same servers", exact=False).first).to_be_visible()
