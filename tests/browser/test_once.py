"""A form that is sent twice in a moment, as by a double click, reaches the site once."""

from __future__ import annotations

from playwright.sync_api import Browser, Route

from tests.site.running import ROOT

HERE = "http://form.test/"
PAGE = """<!doctype html><title>A form</title><script src="/once.js"></script>
<form method="post" action="/launch"><input name="method" value="x"><button>Launch</button></form>
<form method="get" action="/look"><button>Look</button></form>
<script>
  const prevented = [];
  window.addEventListener("submit", (event) => prevented.push(event.defaultPrevented));
</script>"""


def test_a_double_click_launches_once_and_the_way_back_launches_again(chromium: Browser) -> None:
    sent: list[str] = []

    def answer(route: Route) -> None:
        path = route.request.url.removeprefix(HERE)
        if path == "once.js":
            route.fulfill(path=ROOT / "prove_web/static/prove/once.js", content_type="text/javascript")
        elif path == "":
            route.fulfill(body=PAGE, content_type="text/html")
        else:
            sent.append(path)
            route.fulfill(status=204)  # the page stays, as while an answer takes long

    context = chromium.new_context()
    page = context.new_page()
    page.route("**/*", answer)
    page.goto(HERE)
    page.get_by_role("button", name="Launch").dblclick()
    assert page.evaluate("prevented") == [False, True]
    page.evaluate("window.dispatchEvent(new PageTransitionEvent('pageshow', {persisted: true}))")
    with page.expect_request("**/launch"):
        page.get_by_role("button", name="Launch").click()
    page.get_by_role("button", name="Look").dblclick()
    assert page.evaluate("prevented") == [False, True, False, False, False]
    assert sent.count("launch") == 2
    context.close()
