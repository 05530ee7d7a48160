"""Every page, in light and dark, wide and narrow: accessible, tidy, with nothing to say in the console."""

import pytest
from axe_playwright_python.sync_playwright import Axe

from tests.site.running import Site

HERE = "/my-team/demo/"
PAGES = [
    "", "servers/", "servers/banking/", "tools/", "tools/transfer_money/", "graph/", "sessions/", "sessions/new/",
    "sessions/compare/",
    "datasets/", "datasets/new/", "datasets/1/", "runs/", "runs/new/", "runs/1/", "runs/1/tools/", "runs/1/rollouts/1/",
    "runs/1/tools/outcomes/?all=1", "runs/1/rollouts/1/?view=list&low=0", "runs/1/rollouts/1/groups/1/",
    "runs/1/rollouts/1/1/", "runs/1/rollouts/?q=calls%3E0", "sweeps/", "sweeps/new/?preset=rates",
    "tools/?sensitive=1&sort=-used", "find/?q=transfer", "environments/", "environments/versions/banking/",
    "../", "../../account/password/", "../../account/notifications/",
    "review/agreement/", "review/reward/", "what-if/", "what-if/?name=1&repeats=0.1",
]  # fmt: skip
EVALUATIONS = [
    "evaluations/2/", "evaluations/3/", "evaluations/2/items/0/", "evaluations/2/compare/",
    "evaluations/2/compare/?with=1", "evaluations/2/compare/1/2/",
    "leaderboards/", "leaderboards/bfcl/", "leaderboards/teval/",
]  # fmt: skip
SIZES = {"wide": {"width": 1440, "height": 900}, "narrow": {"width": 390, "height": 844}}
RULES = {"runOnly": ["wcag2a", "wcag2aa", "wcag21a", "wcag21aa", "wcag22aa"]}


def faults(page) -> list[str]:
    found = Axe().run(page, options=RULES).response["violations"]
    return [f"{one['id']}: {[node['html'][:150] for node in one['nodes'][:3]]}" for one in found]


@pytest.mark.parametrize("path", PAGES)
def test_a_page_is_accessible_and_tidy(path: str, done_run: Site, page) -> None:
    look_at(path, page)


@pytest.mark.parametrize("path", EVALUATIONS)
def test_a_page_of_an_evaluation_is_accessible_and_tidy(path: str, evaluated: Site, page) -> None:
    look_at(path, page)


def look_at(path: str, page) -> None:
    for theme in ("light", "dark"):
        page.emulate_media(color_scheme=theme, reduced_motion="reduce")
        assert page.goto(HERE + path).status == 200
        assert page.locator("html").get_attribute("data-bs-theme") in (theme, None), "it follows the system"
        assert faults(page) == [], theme
    page.set_viewport_size(SIZES["narrow"])
    assert page.evaluate("document.documentElement.scrollWidth") <= SIZES["narrow"]["width"], "it scrolls sideways"
    assert page.locator("h1").count() == 1 and page.title()


def test_news_and_another_model_of_the_paper_leave_an_evaluation_whole(evaluated: Site, page) -> None:
    page.goto(f"{HERE}evaluations/2/")
    shown = page.locator("#evaluation-now")
    with page.expect_response(lambda answer: answer.url.endswith("evaluations/2/")):
        shown.dispatch_event("live")
    assert shown.locator("section").count() >= 3 and page.locator("h1").count() == 1
    page.get_by_label("Beside the paper").select_option("Granite-4.1-8B")
    page.get_by_role("columnheader", name="Paper's Granite-4.1-8B".replace("'", "\u2019")).wait_for()
    assert page.url.endswith("?beside=Granite-4.1-8B") and shown.locator("section").count() >= 3
    page.get_by_label("Outcome").select_option("failed")
    page.get_by_role("status").filter(has_text="found").wait_for()
    assert page.url.endswith("?outcome=failed")


def test_a_trajectory_is_accessible_and_tidy(done_run: Site, page) -> None:
    [(example,)] = done_run.rows("SELECT example FROM trajectories_trajectory WHERE steps = 3 LIMIT 1")
    assert page.goto(f"{HERE}datasets/1/{example}/").status == 200
    page.locator("#comment-form").wait_for()
    assert faults(page) == []
    for path in ("acceptance/", "comments/"):
        look_at(f"datasets/1/{example}/{path}", page)


def test_a_stranger_to_the_site_is_asked_to_sign_in(site: Site, chromium) -> None:
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
