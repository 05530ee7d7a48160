"""The picture of the graph as people use it: find, click, look at evidence, draw a chain, by mouse and by keyboard."""

import re

import pytest
from playwright.sync_api import Page, expect

from tests.site.running import Site

from .test_pages import SIZES, faults

GRAPH = "/my-team/demo/graph/"
PLACE = """id => {
    const {cy} = window.prove.graph.picture, element = cy.getElementById(id)
    const {x, y} = element.isEdge() ? element.renderedMidpoint() : element.renderedPosition()
    const box = document.getElementById("graph-canvas").getBoundingClientRect()
    return {x: box.x + x, y: box.y + y, still: !cy.animated()}
}"""
STATES = ["", "?tool=transfer_money&hops=2", "?edge=list_accounts~get_account&by=success", "?between=calendar~email"]


@pytest.fixture
def proven(site: Site) -> Site:
    """The site once its graph is proven."""
    site.wait(lambda: site.rows("SELECT state FROM live_job WHERE kind = 'graph'")[0][0] == "done")
    return site


def opened(page: Page, query: str = "") -> None:
    page.emulate_media(reduced_motion="reduce")
    page.goto(GRAPH + query)
    expect(page.locator("#graph-canvas[data-drawn]")).to_be_visible()


def click(page: Page, id: str, address_part: str) -> None:
    """Click something where the picture shows it, once that is drawn for an address with these words."""
    expect(page.locator(f"#graph-canvas[data-shows*='{address_part}']")).to_be_visible()
    page.locator("#graph-canvas").scroll_into_view_if_needed()
    place = page.evaluate(PLACE, id)
    page.mouse.click(place["x"], place["y"])


def test_a_tool_is_found_clicked_and_its_edge_proven_and_a_chain_drawn(proven: Site, page: Page) -> None:
    opened(page)
    status, panel = page.locator("#graph-status"), page.locator("#graph-panel")
    expect(status).to_contain_text(re.compile(r"edges as [\d,]+ lines"))
    find = page.get_by_role("combobox", name="Tool", exact=True)
    find.fill("schedule pay")
    page.get_by_role("option", name=re.compile("^schedule_payment")).click()
    expect(panel.get_by_role("heading", name="schedule_payment")).to_be_visible()
    expect(page).to_have_url(re.compile(r"tool=schedule_payment"))
    expect(status).to_contain_text(re.compile(r"^\d+ of 2,\d+ edges\.$"))
    click(page, "t:cancel_scheduled_payment", "tool=schedule_payment")
    expect(panel.get_by_role("heading", name="cancel_scheduled_payment")).to_be_visible()
    click(page, "e:schedule_payment~cancel_scheduled_payment", "tool=cancel_scheduled_payment")
    expect(panel.get_by_text("four runs with seed").first).to_be_visible()
    expect(panel.get_by_text("Consumer with this value").first).to_be_visible()
    page.go_back()
    expect(panel.get_by_role("heading", name="cancel_scheduled_payment")).to_be_visible()
    panel.get_by_role("link", name="Chains to here").click()
    panel.get_by_label("From").fill("list_accounts")
    panel.get_by_role("button", name="Show chains").click()
    panel.get_by_role("link", name=re.compile("^shortest")).first.click()
    expect(page).to_have_url(re.compile("chain=1"))
    expect(panel.locator(".graph-chain-list a[aria-current]")).to_be_visible()
    expect(page.locator("#graph-canvas[data-shows*='chain=1']")).to_be_visible()
    chosen = "() => window.prove.graph.picture.cy.edges('.chain').length"
    expect(panel.get_by_role("link", name="Send to synthesis")).to_be_visible()
    assert page.evaluate(chosen) == 2


@pytest.mark.long
def test_an_edge_is_opened_as_a_live_session(proven: Site, page: Page) -> None:
    opened(page, "?edge=list_accounts~get_account")
    page.locator("#graph-panel").get_by_role("button", name="Open in session").click()
    page.wait_for_url(re.compile(r"/sessions/\d+/"))
    expect(page.get_by_text("returned the same result as in the evidence")).to_be_visible()
    expect(page.get_by_text("list_accounts").first).to_be_visible()


@pytest.mark.long
def test_the_keyboard_reaches_every_tool_and_moves_the_picture(proven: Site, page: Page) -> None:
    opened(page)
    find = page.get_by_role("combobox", name="Tool", exact=True)
    find.focus()
    page.keyboard.type("shift_gear")
    page.keyboard.press("ArrowDown")
    pointed = "() => window.prove.graph.picture.cy.elements('.pointed').map(one => one.id())"
    assert page.evaluate(pointed) == ["t:shift_gear"], "the picture shows what the list is at"
    page.keyboard.press("Enter")
    panel = page.locator("#graph-panel")
    expect(panel.get_by_role("heading", name="shift_gear")).to_be_visible()
    links = panel.locator(".graph-list a")
    links.first.focus()
    page.keyboard.press("ArrowDown")
    expect(links.nth(1)).to_be_focused()
    assert f"e:{links.nth(1).get_attribute('data-edge')}" in page.evaluate(pointed)
    page.keyboard.press("Enter")
    expect(panel.get_by_role("heading", name="Edge")).to_be_visible()
    page.locator("#graph-canvas").focus()
    pan, zoom = (f"() => window.prove.graph.picture.cy.{what}()" for what in ("pan", "zoom"))
    before = page.evaluate(pan), page.evaluate(zoom)
    page.keyboard.press("ArrowRight")
    assert page.evaluate(pan)["x"] < before[0]["x"]
    page.keyboard.press("+")
    assert page.evaluate(zoom) > before[1]


@pytest.mark.long
def test_the_lines_of_a_server_come_apart_as_one_zooms_in_on_it(proven: Site, page: Page) -> None:
    opened(page)
    bundles = "() => window.prove.graph.picture.cy.edges(\"[is = 'bundle'][source = 's:email']\").length"
    assert page.evaluate(bundles) > 0
    page.evaluate("() => { const {cy} = window.prove.graph.picture; cy.fit(cy.getElementById('s:email'), 10) }")
    expect(page.locator("#graph-canvas[data-opened=email]")).to_be_visible()
    assert page.evaluate(bundles) == 0


@pytest.mark.long
@pytest.mark.parametrize("query", STATES)
def test_the_graph_is_accessible_in_each_of_its_states(query: str, proven: Site, page: Page) -> None:
    for theme in ("light", "dark"):
        page.emulate_media(color_scheme=theme)
        opened(page, query)
        assert faults(page) == [], theme
    page.set_viewport_size(SIZES["narrow"])
    assert page.evaluate("document.documentElement.scrollWidth") <= SIZES["narrow"]["width"], "it scrolls sideways"


@pytest.mark.long
def test_without_script_the_lists_and_the_table_hold_the_same(proven: Site, chromium, signed_in: dict) -> None:
    context = chromium.new_context(base_url=proven.url, storage_state=signed_in, java_script_enabled=False)
    page = context.new_page()
    page.goto(GRAPH)
    page.get_by_role("link", name=re.compile("^banking")).first.click()
    page.get_by_role("link", name=re.compile("^transfer_money")).first.click()
    page.locator("#graph-panel .graph-list a").first.click()
    expect(page.locator("#graph-panel").get_by_text("four runs with seed").first).to_be_visible()
    page.get_by_label("Tool", exact=True).fill("pay_payee")
    page.get_by_role("button", name="Search").click()
    expect(page.locator("#graph-panel").get_by_role("heading", name="pay_payee")).to_be_visible()
    context.close()
