"""While a run is at work: it is watched as it happens, runs wait behind it in the queue, and it is stopped by two."""

import re
from collections.abc import Iterator

import pytest
from playwright.sync_api import Browser, Page, expect

from tests.site.running import Site
from tests.waiting import PATIENCE

from .every_page import HERE
from .test_pages import faults, look_at
from .test_stories import launch

NAME = "Holds the worker"
STATE = f"SELECT state FROM live_job WHERE title = '{NAME}'"

CLICK_SOON = """text => {
    const said = one => one.textContent.toLowerCase().includes(text)
    setTimeout(() => [...document.querySelectorAll("button")].find(said)?.click(), 300)
}"""


@pytest.fixture(scope="module")
def at_work(done_run: Site, chromium: Browser, signed_in: dict) -> Iterator[str]:
    """The address of a run that goes on until the last of these tests stops it."""
    context = chromium.new_context(base_url=done_run.url, storage_state=signed_in)
    context.set_default_timeout(1000 * PATIENCE)
    page = context.new_page()
    launch(page, NAME, max_steps=400)
    page.wait_for_url(re.compile(r"/runs/\d+/$"))
    address = page.url
    page.goto("about:blank")
    done_run.wait(lambda: done_run.rows(STATE) == [("running",)])
    yield address
    if done_run.rows(STATE) == [("running",)]:  # a test failed: others need the worker
        page.goto(address)
        page.get_by_role("button", name="Stop now").click()
        done_run.wait(lambda: done_run.rows(STATE) == [("stopped",)])
    context.close()


@pytest.mark.long
def test_a_running_rollout_is_watched_as_it_happens(at_work: str, page: Page) -> None:
    page.goto(at_work)
    page.get_by_role("link", name="Live rollout", exact=True).click()
    expect(page.get_by_role("heading", name=re.compile(r"^Step \d+"))).to_be_visible()
    expect(page.get_by_label("Conversation", exact=True).get_by_text("User").first).to_be_visible()
    page.evaluate("window.untouched = true")
    first = page.locator("#conversation").inner_text().split()[1]
    expect(page.locator("#conversation")).not_to_contain_text(re.compile(rf"^Step {first}\b"))
    assert page.evaluate("window.untouched"), "the page was not loaded anew"
    assert faults(page) == []


@pytest.mark.long
def test_what_waits_is_raised_and_cancelled_and_its_order_is_seen(at_work: str, page: Page) -> None:
    for name in ("Waits first", "Waits second"):
        launch(page, name)
        page.get_by_role("heading", name=name).wait_for()
    page.goto(f"{HERE}queue/")
    expect(page.get_by_role("link", name=NAME)).to_be_visible()
    rows = page.locator(".queue-table tbody tr").filter(has_text="Waits")
    expect(rows).to_contain_text(["Waits first", "Waits second"])
    page.get_by_role("button", name="Move Waits second first").click()
    expect(page.get_by_text("“Waits second” is now first")).to_be_visible()
    expect(rows).to_contain_text(["Waits second", "Waits first"])
    look_at("queue/", page)
    page.set_viewport_size({"width": 1440, "height": 900})
    for name in ("Waits first", "Waits second"):
        page.get_by_role("button", name=f"Cancel {name}").click()
        expect(page.get_by_role("button", name=f"Requeue {name}")).to_be_visible()
    expect(rows).to_have_count(0)

    page.goto(f"{HERE}workers/")
    expect(page.locator(".worker-card")).to_have_count(3)
    look_at("workers/", page)


@pytest.mark.long
def test_two_browsers_stop_one_run_and_one_resumes_it(done_run: Site, at_work: str, page: Page) -> None:
    page.goto(at_work)
    other = page.context.new_page()
    other.goto(at_work)
    for one in (page, other):
        expect(one.get_by_role("button", name=re.compile("after this step", re.I)).first).to_be_visible()
    for one in (page, other):  # at one moment: a page that has heard of the other's click has no such button
        one.evaluate(CLICK_SOON, "after this step")
    done_run.wait(lambda: done_run.rows(STATE) == [("stopped",)])
    page.goto(f"{at_work}watch/")
    expect(page.get_by_text("not running", exact=False).first).to_be_visible()
    expect(page.locator("#watched[hx-trigger]")).to_have_count(0)
    page.goto(at_work)
    page.get_by_role("button", name=re.compile("resume", re.I)).first.click()
    done_run.wait(lambda: done_run.rows(STATE) == [("running",)])
    page.reload()
    page.get_by_role("button", name="Stop now").click()
    expect(page.get_by_text("Stopped").first).to_be_visible()
    done_run.wait(lambda: done_run.rows(STATE) == [("stopped",)])
