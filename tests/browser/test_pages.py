"""Every page, in light and dark, wide and narrow: it is accessible, tidy, and logs nothing in the console."""

import re
from typing import Any

import pytest
from axe_playwright_python.sync_playwright import Axe
from playwright.sync_api import expect

from tests.site.running import PASSWORD, Site

from .conftest import LEFT_EARLY
from .every_page import CONFIRMED, EVALUATIONS, EXAMPLE, FURNISHED, HERE, PAGES, TRAJECTORY

SIZES = {"wide": {"width": 1440, "height": 900}, "narrow": {"width": 390, "height": 844}}
# Looked at closely in `make test`, too; `make test-long` looks at every page so.
MAIN = {"", "servers/banking/", "runs/new/", "runs/1/"}
VIOLATIONS = {"resultTypes": ["violations"]}  # of the thousands of nodes that pass, axe describes one a rule
RULES = {"runOnly": ["wcag2a", "wcag2aa", "wcag21a", "wcag21aa", "wcag22aa"], **VIOLATIONS}
CONTRAST = {"runOnly": ["color-contrast"], **VIOLATIONS}

TOO_WIDE = """() => ["it scrolls sideways", ...[...document.querySelectorAll("main *, header *")]
    .filter((one) => one.getBoundingClientRect().right > innerWidth && !one.closest(".table-responsive"))
    .slice(-5).map((one) => `${one.outerHTML.slice(0, 120)} ${one.getBoundingClientRect().right}`)]"""


def faults(page, rules: dict = RULES) -> list[str]:
    found = Axe().run(page, options=rules).response["violations"]
    return [f"{one['id']}: {[node['html'][:150] for node in one['nodes'][:3]]}" for one in found]


@pytest.mark.long
def test_every_page_of_a_project_opens_with_a_clean_console_and_fits_a_phone(
    done_run: Site, evaluated: Site, furnished: dict[str, str], page
) -> None:
    [(example,)] = done_run.rows(EXAMPLE)
    trajectory = [path.format(example=example) for path in TRAJECTORY]
    of_the_demo = [path if path.startswith("/") else HERE + path for path in (*PAGES, *EVALUATIONS, *trajectory)]
    seen = {path: look_quickly(path, page) for path in (*of_the_demo, *(furnished[name] for name in FURNISHED))}
    assert {path: found for path, found in seen.items() if found} == {}


def look_quickly(path: str, page) -> list[str]:
    """Open a page at the narrowest width; return what is wrong with it."""
    page.set_viewport_size({"width": 320, "height": 844})
    status = page.goto(path).status
    found = [] if status == 200 else [f"status {status}"]
    if page.evaluate("document.documentElement.scrollWidth") > 320:
        found += page.evaluate(TOO_WIDE)
    if page.locator("h1").count() != 1 or not page.title():
        found.append("it needs one heading and a title")
    found += [text for text in page.said if LEFT_EARLY not in text]
    page.said.clear()
    return found


@pytest.mark.parametrize(
    "path", [path if path in MAIN else pytest.param(path, marks=pytest.mark.long) for path in PAGES]
)
def test_a_page_is_accessible_and_tidy(path: str, done_run: Site, page) -> None:
    look_at(path, page)


@pytest.mark.long
@pytest.mark.parametrize("path", EVALUATIONS)
def test_a_page_of_an_evaluation_is_accessible_and_tidy(path: str, evaluated: Site, page) -> None:
    look_at(path, page)


@pytest.mark.long
@pytest.mark.parametrize("name", FURNISHED)
def test_a_page_of_one_thing_is_accessible_and_tidy(name: str, furnished: dict[str, str], page) -> None:
    look_at(furnished[name], page)


@pytest.mark.long
@pytest.mark.parametrize(
    "name", [CONFIRMED[0], *(pytest.param(name, marks=pytest.mark.long) for name in CONFIRMED[1:])]
)
def test_a_page_behind_a_password_prompt_is_accessible_and_tidy(name: str, furnished: dict[str, str], page) -> None:
    page.goto(furnished[name])
    if "/confirm/" in page.url:
        page.get_by_label("Password").fill(PASSWORD)
        page.get_by_role("button", name="Confirm").click()
        page.wait_for_url(f"**{furnished[name]}")
    look_at(furnished[name], page)


def look_at(path: str, page) -> None:
    """The page in light, then in dark, then on a phone; it is loaded once."""
    page.set_viewport_size(SIZES["wide"])
    page.emulate_media(color_scheme="light", reduced_motion="reduce")
    assert page.goto(HERE + path if not path.startswith("/") else path).status == 200
    page.wait_for_load_state("networkidle")
    assert faults(page) == []
    page.emulate_media(color_scheme="dark", reduced_motion="reduce")
    expect(page.locator("html")).to_have_attribute("data-bs-theme", "dark")  # it follows the system
    assert faults(page, CONTRAST) == [], "in dark"
    for width in (390, 320):
        page.set_viewport_size({"width": width, "height": 844})
        assert page.evaluate("document.documentElement.scrollWidth") <= width, (width, page.evaluate(TOO_WIDE))
    assert page.locator("h1").count() == 1 and page.title()


def test_news_and_another_model_of_the_paper_leave_an_evaluation_complete(evaluated: Site, page) -> None:
    page.goto(f"{HERE}evaluations/2/")
    evaluation = page.locator("#evaluation-now")
    with page.expect_response(lambda answer: "evaluations/2/?beside=" in answer.url):
        evaluation.dispatch_event("live")
    assert evaluation.locator("section").count() >= 3 and page.locator("h1").count() == 1
    page.get_by_label("Paper reference").select_option("Granite-4.1-8B")
    page.get_by_role("columnheader", name="Paper: Granite-4.1-8B").wait_for()
    assert page.url.endswith("?beside=Granite-4.1-8B") and evaluation.locator("section").count() >= 3
    page.get_by_label("Outcome").select_option("failed")
    page.get_by_role("status").filter(has_text="found").wait_for()
    assert page.url.endswith("?outcome=failed")


def test_news_on_their_way_or_later_do_not_undo_the_choice_of_a_model(evaluated: Site, page) -> None:
    held = list[Any]()
    page.goto(f"{HERE}evaluations/2/")
    model, news = page.get_by_label("Paper reference"), page.locator("#evaluation-now")
    news_url = re.compile(f"/evaluations/2/.beside={re.escape(model.input_value())}$")
    page.route(news_url, lambda route: held.append(route))
    with page.expect_request(news_url):
        news.dispatch_event("live")
    model.select_option("Granite-4.1-8B")
    column = page.get_by_role("columnheader", name="Granite-4.1-8B")
    column.wait_for()
    for route in held:
        route.continue_()
    page.unroute_all()
    with page.expect_response(lambda answer: "evaluations/2/?beside=Granite" in answer.url):
        news.dispatch_event("live")
    expect(page.locator(".htmx-request, .htmx-swapping, .htmx-settling")).to_have_count(0)
    assert column.is_visible()


@pytest.mark.long
@pytest.mark.parametrize("path", TRAJECTORY)
def test_a_trajectory_is_accessible_and_tidy(path: str, done_run: Site, page) -> None:
    [(example,)] = done_run.rows(EXAMPLE)
    look_at(path.format(example=example), page)


def test_a_stranger_to_the_site_is_sent_to_the_sign_in_page(site: Site, chromium) -> None:
    context = chromium.new_context(base_url=site.url)
    page = context.new_page()
    page.goto(f"{HERE}runs/")
    assert "/sign-in/" in page.url
    page.get_by_label("User name").fill("owner")
    page.get_by_label("Password").fill("not it")
    page.get_by_role("button", name="Sign in").click()
    assert page.get_by_label("User name").input_value() == "owner", "what was typed is kept"
    assert faults(page) == []
    context.close()
