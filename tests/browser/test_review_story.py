"""A review from start to end in real browsers: two reviewers without a mouse, and an adjudicator."""

import re
from collections.abc import Callable, Iterator
from typing import Any

import pytest
from playwright.sync_api import Browser, BrowserContext, Page, expect

from tests.site.running import PASSWORD, Site
from tests.waiting import PATIENCE

from .test_pages import SIZES, faults

HERE = "/my-team/demo/"
PEOPLE = ("alice", "bob")
WORDS = "correct horse battery"
MADE = f"""
from prove_web.accounts.models import Membership, Organisation, User
team = Organisation.objects.get(slug="my-team")
for name in {PEOPLE}:
    user = User.objects.create_user(name, name + "@example.com", "{WORDS}")
    Membership.objects.create(organisation=team, user=user, role="annotator")
"""


@pytest.fixture(scope="module")
def team(site: Site, within: Callable[[str], Any]) -> Site:
    """The site with two annotators beside its owner, and the small demo's data set filled."""
    within(MADE)
    site.wait(lambda: site.rows("SELECT COUNT(*) FROM trajectories_trajectory")[0][0])
    return site


@pytest.fixture
def reviewers(team: Site, chromium: Browser) -> Iterator[dict[str, Page]]:
    """A browser each; nobody touches a mouse after signing in."""
    contexts: list[BrowserContext] = []
    pages = {}
    for name in PEOPLE:
        context = chromium.new_context(base_url=team.url, viewport={"width": 1440, "height": 900})
        context.set_default_timeout(1000 * PATIENCE)
        page = pages[name] = context.new_page()
        page.goto("/")
        page.get_by_label("User name").fill(name)
        page.get_by_label("Password").fill(WORDS)
        page.keyboard.press("Enter")
        page.wait_for_url("**/my-team/**")
        contexts.append(context)
    yield pages
    for context in contexts:
        context.close()


def make_queue(page: Page, name: str, count: int, **fields: str) -> str:
    """A queue of so many drawn items for two people each, made by its form; its address."""
    page.goto(f"{HERE}review/new/")
    page.get_by_label("Name", exact=True).fill(name)
    page.get_by_label("Instructions").fill("Does it sound like a **person**?")
    page.get_by_label("Sampling").select_option("random")
    page.get_by_label("Sample size").fill(str(count))
    page.get_by_label("Overlap").fill(fields.get("reviewers", "2"))
    expect(page.locator("#found")).to_contain_text(f"{count} to review")
    page.get_by_role("button", name="Create queue").click()
    page.wait_for_url(re.compile(r"/review/\d+/$"))
    return page.url


def chosen(page: Page) -> str:
    return str(page.evaluate("document.querySelector('[name=a-verdict]:checked')?.value ?? ''"))


def test_two_reviewers_and_an_adjudicator_by_keyboard_alone(team: Site, page: Page, reviewers: dict[str, Page]) -> None:
    address = make_queue(page, "By keyboard", 2)
    assert faults(page) == []
    for name, first in (("alice", "r"), ("bob", "f")):
        mine = reviewers[name]
        mine.goto(f"{address}next/")
        expect(mine.get_by_role("heading", name=re.compile("Item 1"))).to_be_visible()
        expect(mine.locator("#q-a-verdict")).to_be_focused()
        assert faults(mine) == []
        mine.keyboard.press("?")
        expect(mine.locator("#keys")).to_be_visible()
        assert faults(mine) == []
        mine.keyboard.press("Escape")
        mine.keyboard.press(first)
        mine.keyboard.press("j")
        mine.keyboard.press("4")
        mine.keyboard.press("c")
        mine.keyboard.type("as j and 1 are typed")
        expect(mine.locator("#saved")).to_contain_text("Saved")
        mine.keyboard.press("Escape")
        mine.keyboard.press("Control+Enter")
        expect(mine.get_by_role("heading", name=re.compile("Item 2"))).to_be_visible()
        expect(mine.locator("#q-a-verdict")).to_be_focused()  # from here on the page takes keys
        mine.keyboard.press("r")
        mine.keyboard.press("Control+Enter")
        expect(mine.get_by_text("No items left for you in this queue")).to_be_visible()
    page.goto(address)
    expect(page.locator(".standing-keys").first).to_contain_text("1 consensus")
    expect(page.locator(".standing-keys").first).to_contain_text("1 in conflict")
    page.goto(f"{address}adjudicate/")
    for text in ("alice", "bob", "reject", "fix", "differs"):
        expect(page.get_by_role("region", name="Answers side by side")).to_contain_text(text)
    assert faults(page) == []
    page.keyboard.press("f")
    page.keyboard.press("Control+Enter")
    expect(page.get_by_text("No item of this queue is in conflict")).to_be_visible()
    expect(page.locator(".standing-keys").first).to_contain_text("2 consensus")


@pytest.mark.long
def test_pages_of_review_are_accessible_and_tidy(team: Site, page: Page) -> None:
    address = make_queue(page, "Looked at", 3, reviewers="1")
    for path in (f"{HERE}review/", f"{HERE}review/new/", address, f"{address}edit/", f"{address}1/"):
        page.set_viewport_size(SIZES["wide"])
        for theme in ("light", "dark"):
            page.emulate_media(color_scheme=theme, reduced_motion="reduce")
            page.goto(path)
            assert faults(page) == [], (path, theme)
        page.set_viewport_size(SIZES["narrow"])
        assert page.evaluate("document.documentElement.scrollWidth") <= SIZES["narrow"]["width"], path
        assert page.locator("h1").count() == 1


def test_a_lost_connection_loses_nothing_that_was_typed(team: Site, page: Page) -> None:
    address = make_queue(page, "Without a net", 2, reviewers="1")
    page.goto(f"{address}1/")
    page.wait_for_load_state("networkidle")  # the comments have loaded
    page.context.set_offline(True)
    page.keyboard.press("a")
    page.keyboard.press("c")
    page.keyboard.type("Typed on a train")
    expect(page.locator("#saved")).to_contain_text("kept in this browser")
    page.keyboard.press("Control+Enter")
    expect(page.locator("#saved")).to_contain_text("kept in this browser")
    page.context.set_offline(False)
    expect(page.locator("#saved")).to_contain_text("Saved")
    page.reload()
    expect(page.locator("#comment")).to_have_value("Typed on a train")
    assert chosen(page) == "accept"
    page.said[:] = [text for text in page.said if "ERR_INTERNET_DISCONNECTED" not in text]


@pytest.mark.long
def test_what_a_closed_page_had_not_sent_is_there_when_it_is_opened_again(team: Site, page: Page) -> None:
    address = make_queue(page, "Closed too soon", 2, reviewers="1")
    page.goto(f"{address}1/")
    page.wait_for_load_state("networkidle")  # the comments have loaded
    page.context.set_offline(True)
    page.keyboard.press("c")
    page.keyboard.type("Not sent")
    expect(page.locator("#saved")).to_contain_text("kept in this browser")
    page.goto("about:blank")
    page.context.set_offline(False)
    page.goto(f"{address}1/")
    expect(page.locator("#comment")).to_have_value("Not sent")
    expect(page.locator("#saved")).to_contain_text("Saved")
    page.said[:] = [text for text in page.said if "ERR_INTERNET_DISCONNECTED" not in text]


@pytest.mark.long
def test_two_tabs_are_notified_of_each_other_and_both_texts_stay(team: Site, page: Page) -> None:
    address = make_queue(page, "Two tabs", 2, reviewers="1")
    page.goto(f"{address}1/")
    other = page.context.new_page()
    other.goto(f"{address}1/")
    page.locator("#comment").fill("From the first")
    expect(page.locator("#saved")).to_contain_text("Saved")
    other.locator("#comment").fill("From the second")
    expect(other.locator("#two")).to_contain_text("From the first")
    expect(other.locator("#comment")).to_have_value("From the second")
    assert faults(other) == []
    other.get_by_role("button", name="Keep mine").press("Enter")
    expect(other.locator("#saved")).to_contain_text("Saved")
    other.close()
    page.reload()
    expect(page.locator("#comment")).to_have_value("From the second")


@pytest.mark.long
def test_undo_brings_the_last_item_back_with_all_that_was_said(team: Site, page: Page) -> None:
    address = make_queue(page, "Second thoughts", 3, reviewers="1")
    page.goto(f"{address}next/")
    page.keyboard.press("r")
    page.keyboard.press("c")
    page.keyboard.type("Hasty")
    page.keyboard.press("Control+Enter")
    expect(page.get_by_role("heading", name=re.compile("Item 2"))).to_be_visible()
    page.wait_for_load_state("networkidle")  # a key that comes before the page listens is lost
    page.keyboard.press("u")
    expect(page.get_by_role("heading", name=re.compile("Item 1"))).to_be_visible()
    expect(page.locator("#comment")).to_have_value("Hasty")
    assert chosen(page) == "reject"
    page.wait_for_load_state("networkidle")
    page.keyboard.press("s")
    expect(page.get_by_role("heading", name=re.compile("Item 2"))).to_be_visible()


@pytest.mark.long
def test_who_was_signed_out_signs_in_elsewhere_and_types_on(team: Site, page: Page) -> None:
    address = make_queue(page, "Signed out", 2, reviewers="1")
    page.goto(f"{address}1/")
    page.wait_for_load_state("networkidle")  # the comments have loaded
    page.context.clear_cookies(name="sessionid")
    page.locator("#comment").fill("Before")
    expect(page.locator("#saved")).to_contain_text("You are signed out: kept in this browser")
    page.evaluate("htmx.ajax('GET', location.pathname, '#comments')")  # requested by the page itself, as news is
    page.wait_for_load_state("networkidle")
    expect(page.locator("#comment")).to_have_value("Before")
    other = page.context.new_page()
    other.goto("/")
    other.get_by_label("User name").fill("owner")
    other.get_by_label("Password").fill(PASSWORD)
    other.keyboard.press("Enter")
    other.wait_for_url("**/my-team/**")
    other.close()
    page.locator("#comment").fill("Before and after")
    expect(page.locator("#saved")).to_contain_text("Saved")
    page.reload()
    expect(page.locator("#comment")).to_have_value("Before and after")
