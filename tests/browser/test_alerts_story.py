"""From a rule to the rollout that shows why it fired, in a real browser on a real site."""

import re
from collections.abc import Callable
from typing import Any

import pytest
from playwright.sync_api import Page, expect

from tests.site.running import Site

from .test_pages import SIZES, faults

HERE = "/my-team/demo/"
IDLE = "No calls where expected"
REPORTED = """
from prove_web.accounts.models import Project
from prove_web.live.ingest import record
from tests.prove_web.examples import chain
from tests.prove_web.story import ended, step
from tests.prove_web.trained import keep_rollouts, run_of, saying
from prove_web.live.models import State
run = run_of(Project.objects.get(slug="demo"), name="Says nothing", state=State.RUNNING)
for at in (1, 2, 3):
    keep_rollouts(run, at, [saying(chain(), "No.") for _ in range(8)])
record(str(run.job_id), 1, [*(step(at, at, 0.0) for at in (1, 2, 3)), ended(4)])
"""


@pytest.mark.long
def test_a_rule_fires_and_leads_to_the_rollout_that_shows_why(
    site: Site, within: Callable[[str], Any], page: Page
) -> None:
    page.goto(f"{HERE}alerts/")
    page.get_by_role("link", name="Add rules").click()
    assert faults(page) == []
    page.get_by_role("button", name="Add selected").click()
    page.get_by_role("link", name=IDLE).click()
    page.get_by_label("Threshold").fill("0.8")
    page.get_by_role("button", name="Save").click()
    expect(page.get_by_text("saved. Active runs")).to_be_visible()
    within(REPORTED)
    site.wait(lambda: site.rows("SELECT COUNT(*) FROM alerts_alert WHERE value = 1.0")[0][0])
    page.goto(f"{HERE}alerts/")
    for size in ("wide", "narrow"):
        page.set_viewport_size(SIZES[size])
        assert faults(page) == []
    page.set_viewport_size(SIZES["wide"])
    page.get_by_role("link", name="Says nothing").first.click()
    banner = page.get_by_role("region", name="Alerts")
    expect(banner).to_contain_text(IDLE)
    run = page.url
    banner.get_by_role("link", name=IDLE).click()
    expect(page.get_by_role("heading", name="Suggested fixes")).to_be_visible()
    for size in ("narrow", "wide"):
        page.set_viewport_size(SIZES[size])
        assert faults(page) == []
    page.get_by_role("link", name=re.compile("rollout 1")).click()
    expect(page).to_have_url(re.compile(r"/rollouts/3/1/$"))
    page.go_back()
    page.get_by_role("button", name="Acknowledge").click()
    expect(page.get_by_text("is acknowledged")).to_be_visible()
    page.goto(run)
    expect(page.get_by_role("heading", name="Says nothing")).to_be_visible()
    expect(page.get_by_role("region", name="Alerts")).to_have_count(0)
