"""What people come for, clicked in a real browser on a real site."""

import re

import pytest
from playwright.sync_api import Page, expect

from tests.site.running import Site

HERE = "/my-team/demo/"


def unfold(page: Page) -> None:
    """Open every fold of a launch form, as a person does one by one."""
    for fold in page.locator("details.launch-more:not([open]) > summary").all()[::-1]:
        fold.click()


def launch(page: Page, name: str, **fields: object) -> None:
    """Fill in the launch form and send it."""
    page.goto(f"{HERE}runs/new/")
    unfold(page)
    page.locator("[name=name]").fill(name)
    small = {"minutes": 5, "prompts": 1, "group": 2, "held_out": 2, "threads": 1, "evaluate_every": 0}
    for field, value in (small | fields).items():
        page.locator(f"[name={field}]").fill(str(value))
    page.get_by_role("button", name="Launch").click()


def test_the_curve_gains_points_without_reloading(done_run: Site, page: Page) -> None:
    launch(page, "Watched", max_steps=4)
    page.wait_for_url(re.compile(r"/runs/\d+/$"))
    page.evaluate("window.untouched = true")
    number = page.url.rstrip("/").rsplit("/", 1)[1]
    seen = page.locator("[data-state]").first
    expect(seen).to_be_visible()
    rows = (
        f"SELECT COUNT(*) FROM experiments_point p JOIN experiments_run r ON p.run_id = r.id WHERE r.number = {number}"
    )
    done_run.wait(lambda: done_run.rows(rows)[0][0] >= 3)
    expect(page.locator(".uplot").first).to_be_visible()
    expect(page.get_by_text("Done", exact=True).first).to_be_visible()
    assert page.evaluate("window.untouched"), "the page was not loaded anew"


def test_a_rollout_tells_which_call_earned_what(done_run: Site, page: Page) -> None:
    components = page.get_by_role("columnheader", name=re.compile("validity|coverage|name|arguments", re.I))
    for step in range(1, 6):
        page.goto(f"{HERE}runs/1/rollouts/{step}/?sort=spread")
        page.get_by_role("link", name=re.compile(r"^Rollout \d+")).first.click()
        expect(page.get_by_role("heading", name="Reward breakdown")).to_be_visible()
        if not page.get_by_text("Abstention", exact=True).count():  # an abstention has no calls
            break
    expect(components).to_have_count(4)
    for component in components.all():
        expect(component).to_be_visible()


def test_a_launch_form_with_nonsense_says_what_is_wrong_and_keeps_what_was_typed(done_run: Site, page: Page) -> None:
    page.goto(f"{HERE}runs/new/")
    unfold(page)
    page.locator("[name=name]").fill("My very own name")
    page.evaluate("document.querySelectorAll('form').forEach(form => form.noValidate = true)")
    page.locator("[name=learning_rate]").fill("-3")
    page.locator("[name=group]").fill("1")
    page.get_by_role("button", name="Launch").click()
    expect(page.locator("[name=name]")).to_have_value("My very own name")
    expect(page.locator(".invalid-feedback").first).to_be_visible()
    page.said.remove("Failed to load resource: the server responded with a status of 422 (Unprocessable Entity)")


def test_a_session_is_opened_and_a_tool_called(site: Site, page: Page) -> None:
    page.goto(f"{HERE}sessions/new/?server=banking")
    page.locator("[name=seed]").fill("7")
    box = page.locator("input[name=servers][value=banking]")
    if box.count() and not box.is_checked():
        box.check()
    page.get_by_role("button", name=re.compile("open", re.I)).first.click()
    page.wait_for_url(re.compile(r"/sessions/\d+/"))
    expect(page.get_by_text("banking").first).to_be_visible()


def test_a_socket_that_is_cut_comes_back_by_itself(done_run: Site, page: Page) -> None:
    page.goto(f"{HERE}runs/1/")
    badge = page.locator("#live")
    expect(badge).to_contain_text(re.compile("live", re.I))
    page.context.set_offline(True)
    web = done_run.find("uvicorn")
    web.kill()
    expect(badge).to_contain_text(re.compile("reconnecting|offline", re.I))
    page.context.set_offline(False)
    expect(badge).to_contain_text(re.compile("live", re.I))
    page.said.clear()  # the browser itself reports the lost connection


@pytest.mark.parametrize("size", [10_000_000])
def test_a_form_with_ten_megabytes_is_refused_in_words(site: Site, page: Page, size: int) -> None:
    page.goto(f"{HERE}sessions/new/")
    token = page.locator("[name=csrfmiddlewaretoken]").first.input_value()
    answer = page.request.post(
        page.url, form={"csrfmiddlewaretoken": token, "title": "x" * size}, headers={"Referer": page.url}
    )
    assert answer.status == 413 and "Traceback" not in answer.text()


@pytest.mark.long
def test_a_sweep_is_launched_and_its_runs_are_laid_side_by_side(done_run: Site, page: Page) -> None:
    page.goto(f"{HERE}sweeps/new/?preset=seeds&dataset=1")
    page.get_by_label("Values of setting 1").fill("0, 1")
    page.get_by_label("Setting 2", exact=True).select_option("kind")
    page.get_by_label("Values of setting 2").fill("sft")
    page.get_by_text("Shared settings").click()
    unfold(page)
    for field, value in {"minutes": 5, "max_steps": 1, "held_out": 2, "evaluate_every": 0}.items():
        page.locator(f"[name={field}]").fill(str(value))
    page.get_by_role("button", name="Preview runs").click()
    expect(page.locator("#planned")).to_contain_text("2 runs will be queued")
    page.get_by_role("button", name="Launch all").click()
    page.wait_for_url(re.compile(r"/sweeps/\d+/$"))
    page.evaluate("window.untouched = true")
    expect(page.get_by_text("2 done")).to_be_visible()
    expect(page.locator(".sweep-dot")).to_have_count(4)  # two runs against two settings
    expect(page.get_by_text("best", exact=True)).to_be_visible()
    assert page.evaluate("window.untouched"), "the page was not loaded anew"
    page.get_by_role("link", name=re.compile(r"^Run \d+$")).first.click()
    expect(page.get_by_text("Token accuracy").first).to_be_visible()


def test_a_weight_is_moved_and_the_reward_saved_for_the_next_run(done_run: Site, page: Page) -> None:
    page.goto(f"{HERE}runs/1/")
    page.get_by_role("link", name="Reward replay").first.click()
    status = page.get_by_role("status").filter(has_text="Scored")
    expect(status).to_contain_text("change a weight to see a difference")
    slider = page.get_by_role("slider", name="Coverage, slider")
    slider.focus()
    for _ in range(10):
        slider.press("ArrowRight")
    expect(page.get_by_role("spinbutton", name=re.compile("^Coverage"))).to_have_value("0.6")
    expect(status).not_to_contain_text("change a weight")
    expect(page).to_have_url(re.compile(r"what-if/\?of=run-1&coverage=0\.6$"))
    page.get_by_label("Name", exact=True).last.fill("More coverage")
    page.get_by_role("button", name="Save", exact=True).click()
    page.get_by_role("link", name="Launch run").click()
    unfold(page)
    expect(page.get_by_label("Reward", exact=True).locator("option:checked")).to_contain_text("More coverage")
