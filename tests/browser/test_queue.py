"""The queue in a real browser: two runs wait behind one that is at work; the second is raised, the first cancelled."""

from playwright.sync_api import Page, expect

from tests.site.running import Site

from .test_pages import look_at
from .test_stories import launch

HERE = "/my-team/demo/"


def test_what_waits_is_raised_and_cancelled_and_its_order_is_seen(done_run: Site, page: Page) -> None:
    state = "SELECT state FROM live_job WHERE title = 'Holds the worker'"
    launch(page, "Holds the worker", max_steps=400)
    done_run.wait(lambda: done_run.rows(state) == [("running",)])
    for name in ("Waits first", "Waits second"):
        launch(page, name)
        page.get_by_role("heading", name=name).wait_for()
    page.goto(f"{HERE}queue/")
    rows = page.locator(".queue-table tbody tr").filter(has_text="Waits")
    expect(rows).to_contain_text(["Waits first", "Waits second"])
    page.get_by_role("button", name="Move Waits second first").click()
    expect(page.get_by_text("“Waits second” goes first")).to_be_visible()
    expect(rows).to_contain_text(["Waits second", "Waits first"])
    look_at("queue/", page)
    page.set_viewport_size({"width": 1440, "height": 900})
    for name in ("Waits first", "Waits second"):
        page.get_by_role("button", name=f"Cancel {name}").click()
        expect(page.get_by_role("button", name=f"Put {name} back")).to_be_visible()
    expect(rows).to_have_count(0)
    page.get_by_role("link", name="Holds the worker").click()
    page.get_by_role("button", name="Stop now").click()
    expect(page.get_by_text("Stopped").first).to_be_visible()

    page.goto(f"{HERE}workers/")
    expect(page.locator(".worker-card")).to_have_count(3)
    look_at("workers/", page)
