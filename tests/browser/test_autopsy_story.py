"""From a tool that goes wrong to the call where a group's rollouts part, by mouse and by keyboard."""

import re

from playwright.sync_api import Page, expect

from tests.site.running import Site

HERE = "/my-team/demo/"


def test_from_a_cell_of_the_heat_map_to_the_fork_of_a_group(done_run: Site, page: Page) -> None:
    page.goto(f"{HERE}runs/1/tools/")
    page.get_by_role("link", name="Heat map of outcomes").first.click()
    cells = page.locator(".heat-table a[data-description]")
    first = page.locator(".heat-table a[data-description][tabindex='0']")
    expect(first).to_have_count(1)
    first.focus()
    expect(page.locator("#heat-description")).to_contain_text("chances")
    for key in ("ArrowDown", "ArrowRight", "ArrowLeft"):
        page.keyboard.press(key)
    expect(page.locator(".heat-table a[data-description]:focus")).to_have_count(1)
    page.get_by_label("Cell values").select_option("counts")
    expect(page).to_have_url(re.compile("view=counts"))
    cells.first.click()
    expect(page.get_by_role("status").first).to_contain_text("rollout")
    page.get_by_role("link", name=re.compile(r"^group \d+$")).first.click()
    expect(page.get_by_role("heading", name="Call tree of the rollouts")).to_be_visible()
    call = page.locator(".branch-call").first
    call.click()
    expect(page.locator("#members-title")).to_contain_text("through call")
    expect(page).to_have_url(re.compile(r"node=\d+"))
    fold = page.locator(".branch-head").first
    fold.focus()
    page.keyboard.press("Enter")
    expect(call).to_be_hidden()
    page.get_by_role("button", name="Expand all").click()
    expect(call).to_be_visible()
    boxes = page.locator("#members input[name=pair]")
    for box in boxes.all():
        box.uncheck()
    page.locator("#members").get_by_role("link", name="Show all").click()
    expect(page.locator("#members-title")).to_have_text("Rollouts")
    expect(page.locator("#pair")).to_contain_text("vs. rollout")
