"""Command that times a manual call in a real browser: milliseconds from Ctrl+Enter to its painted result, as JSON."""

from __future__ import annotations

import json
import statistics
from argparse import ArgumentParser
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from django.conf import settings
from django.core.management.base import BaseCommand

from .load_pages import CALLS, manage, prepare_site_environment, running_server
from .pan_graph import FLAGS, browser_path

TOOL = CALLS[0]
# Resolves with the time from the next Ctrl+Enter to the frame after which the timeline has one more call.
WATCH = """() => {
    const made = () => Number(document.getElementById("calls").dataset.calls), before = made()
    let began
    addEventListener("keydown", event => { if (event.key === "Enter") began = performance.now() }, {capture: true})
    window.painted = new Promise(done => {
        const seen = () => {
            if (made() > before) requestAnimationFrame(() => setTimeout(() => done(performance.now() - began)))
            else requestAnimationFrame(seen)
        }
        seen()
    })
}"""


class Command(BaseCommand):
    help = "Call a tool by hand in a browser: milliseconds from Ctrl+Enter to its result, as JSON."
    requires_system_checks = ()

    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument("--sessions", type=int, default=10_000)
        parser.add_argument("--calls", type=int, default=40)

    def handle(self, *, sessions: int, calls: int, **options: Any) -> None:
        browser = browser_path()
        with TemporaryDirectory() as folder:
            environment = prepare_site_environment(folder)
            site_data = json.loads(manage(environment, "load_pages", "--fill", "--sessions", str(sessions)))
            with running_server(environment, Path(folder)) as url:
                times = measure_call_times(browser, url, site_data, calls)
        p95 = statistics.quantiles(times, n=20)[-1]
        self.stdout.write(json.dumps({"calls": len(times), "median": statistics.median(times), "p95": p95}))


def measure_call_times(browser: str, url: str, site_data: dict[str, Any], calls: int) -> list[float]:
    """Time one call after another, without the first ones of the browser and the server."""
    from playwright.sync_api import sync_playwright

    with sync_playwright() as playwright:
        chromium = playwright.chromium.launch(executable_path=browser, args=[*FLAGS])
        context = chromium.new_context(base_url=url, viewport={"width": 1440, "height": 900})
        context.add_cookies([{"name": settings.SESSION_COOKIE_NAME, "value": site_data["cookie"], "url": url}])
        page, times = context.new_page(), []
        for number in range(calls + 3):
            page.goto(f"/bench/load/sessions/{site_data['sessions'][number % 4]}/?tool={TOOL}")
            page.evaluate(WATCH)
            page.keyboard.press("Control+Enter")
            times.append(page.evaluate("window.painted"))
        chromium.close()
    return times[3:]
