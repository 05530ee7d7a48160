"""The table of runs in a browser: columns, an order, groups, many at once and taken back, a view; and it is tidy."""

import re

import pytest
from playwright.sync_api import Page, expect

from tests.site.running import Site

from .test_pages import HERE, faults, look_at

WIDE = "runs/?columns=state,reward-best,reward-mean-20,learning_rate,held_out-last"


def story(page: Page, here: str) -> None:
    """Run the complete story on the runs of a project."""
    page.goto(f"{here}runs/")
    page.get_by_role("link", name="Columns").click()
    picker = page.get_by_role("dialog", name="Columns")
    picker.get_by_label("Search columns").fill("learning rate settings")
    page.keyboard.press("Enter")
    expect(picker.locator("[data-chosen] li").last).to_contain_text("Learning rate")
    picker.get_by_label("Statistic of Reward").select_option("best")
    picker.get_by_role("button", name="Move left: Learning rate").click()
    picker.get_by_role("button", name="Remove: Duration").click()
    assert faults(page) == []
    picker.get_by_role("button", name="Apply").click()
    page.wait_for_url("**columns=**")
    expect(page.get_by_role("columnheader", name="Reward, best")).to_be_visible()
    expect(page.get_by_role("columnheader", name="Duration")).to_have_count(0)

    page.goto(f"{here}runs/")
    page.get_by_role("link", name="Reward, best").click()
    expect(page.get_by_role("columnheader", name="Reward, best")).to_have_attribute("aria-sort", "descending")

    page.get_by_role("combobox", name="Group by").select_option("state")
    expect(page.get_by_role("status").filter(has_text="by state").first).to_be_visible()
    page.locator("[data-fold]").first.click()
    expect(page.locator("[data-fold]").first).to_have_attribute("aria-expanded", "true")

    page.get_by_role("checkbox", name=re.compile("^Select run")).first.check()
    bar = page.get_by_role("region", name="Selected runs")
    expect(bar).to_contain_text("1 run selected")
    bar.get_by_label("Tag", exact=True).fill("Story")
    bar.get_by_role("button", name="Tag", exact=True).click()
    expect(page.get_by_text("1 run tagged")).to_be_visible()
    assert "group=state" in page.url and "columns=" in page.url, "one comes back to the table as it was"
    page.get_by_role("button", name="Undo").click()
    expect(page.get_by_text("1 run untagged")).to_be_visible()

    page.get_by_text("Save this view").click()
    page.get_by_label("Name of the view").fill("By state")
    page.get_by_role("button", name="Save for the team").click()
    expect(page.get_by_role("link", name="By state")).to_have_attribute("aria-current", "page")
    page.get_by_role("link", name="Columns").click()
    picker.get_by_role("button", name="Reset columns").click()
    expect(page.get_by_role("columnheader", name="Duration")).to_be_visible()


def test_columns_order_groups_many_at_once_and_a_view(done_run: Site, page: Page) -> None:
    story(page, HERE)


@pytest.mark.long
def test_the_table_is_accessible_and_tidy(done_run: Site, page: Page) -> None:
    for path in (WIDE, f"{WIDE}&group=loss&open=%3Ddapo", "runs/?q=reward+%3E+many"):
        look_at(path, page)
        page.set_viewport_size({"width": 1440, "height": 900})
