"""Curating in a real browser: found, made, compared, taken away, brought back: the same to the byte."""

import re
from pathlib import Path

import pytest
from playwright.sync_api import Page, expect

from tests.browser.test_pages import look_at
from tests.site.running import Site

HERE = "/my-team/demo/"


def send(page: Page, file: Path) -> None:
    page.goto(f"{HERE}datasets/import/")
    page.get_by_label("File").set_input_files(file)
    page.get_by_role("button", name="Upload").click()


@pytest.mark.long
def test_what_is_found_becomes_a_data_set_that_comes_back_from_its_export_as_it_was(
    done_run: Site, page: Page, tmp_path: Path
) -> None:
    page.goto(f"{HERE}datasets/1/?steps=2")
    page.get_by_role("link", name=re.compile(r"Create dataset from these \d+")).click()
    page.get_by_label("Name").fill("Short ones")
    page.get_by_role("button", name="Create dataset").click()
    page.get_by_role("heading", name="Short ones").wait_for()
    content = page.locator(".dataset-line code").first.get_attribute("title")

    page.get_by_role("link", name="Changes").click()
    expect(page.get_by_role("heading", name="Removed")).to_be_visible()
    expect(page.get_by_role("heading", name="Added")).to_have_count(0)
    page.go_back()

    page.get_by_role("link", name="Export").first.click()
    with page.expect_download() as download:
        page.get_by_role("link", name="JSON lines").click()
    file = tmp_path / download.value.suggested_filename
    download.value.save_as(file)
    assert file.name == "short-ones.jsonl" and content in file.read_text("utf-8").splitlines()[-1]

    send(page, file)
    expect(page.get_by_role("status")).to_have_text("all valid")
    page.get_by_role("button", name="Import").click()
    expect(page.get_by_text("content digest matches the last line")).to_be_visible()
    expect(page.get_by_text("rows were imported")).to_be_visible()


def test_a_file_that_is_not_what_it_says_is_named_and_another_can_be_chosen(
    done_run: Site, page: Page, tmp_path: Path
) -> None:
    picture = tmp_path / "data.jsonl"
    picture.write_bytes(b"\x89PNG\r\n\x1a\n" + bytes(1000))
    send(page, picture)
    expect(page.get_by_text("it seems to be a PNG image")).to_be_visible()
    expect(page.get_by_role("link", name="Choose another file")).to_be_visible()
    page.said[:] = [text for text in page.said if "422" not in text]


@pytest.mark.long
def test_a_table_is_mapped_and_its_bad_rows_are_reported(done_run: Site, page: Page, tmp_path: Path) -> None:
    table = tmp_path / "table.csv"
    table.write_text("ask,reply\nWhat is it?,It is.\n,nobody asks\n", "utf-8")
    send(page, table)
    page.get_by_label("Query").select_option("ask")
    page.get_by_label("Answer").select_option("reply")
    expect(page.get_by_role("status")).to_have_text("1 invalid")
    page.get_by_label("Skip invalid rows").check()
    page.get_by_role("button", name="Import").click()
    expect(page.get_by_text("1 of 2 rows were imported")).to_be_visible()
    with page.expect_download() as download:
        page.get_by_role("link", name="Report on 1 invalid row").click()
    assert "the user message is empty" in Path(download.value.path()).read_text("utf-8-sig")


def test_rollouts_of_a_step_are_collected_to_be_read(done_run: Site, page: Page) -> None:
    page.goto(f"{HERE}runs/1/rollouts/1/")
    page.get_by_role("link", name="Collect").click()
    expect(page.get_by_label("Steps")).to_have_value("1")
    page.get_by_label("Name").fill("Tries")
    page.get_by_role("button", name="Collect").click()
    page.get_by_role("heading", name="Tries").wait_for()
    expect(page.get_by_text("rollouts of run 1")).to_be_visible()


@pytest.mark.long
@pytest.mark.parametrize(
    "path",
    [
        "datasets/version/?dataset=1", "datasets/mix/", "datasets/export/?dataset=1", "datasets/import/",
        "datasets/1/split/", "datasets/1/changes/", "runs/1/collect/?step=1",
    ],
)  # fmt: skip
def test_a_page_is_accessible_and_tidy(path: str, done_run: Site, page: Page) -> None:
    look_at(path, page)
