"""A page as a guest sees it: the same page without actions, links that lead elsewhere and names of people."""

from __future__ import annotations

import json
import re
from html import unescape
from html.parser import HTMLParser
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from prove_web.sharing.guest_pages import PRIVATE
from prove_web.sharing.guest_sanitizer import build_redactor, data, page, read, write


class Reach:
    """Let a guest reach one page and one part of a project at /team/it/."""

    team, base = "/team/it/", "/shared/x/"

    def address(self, url: str) -> str | None:
        if url.startswith("?"):
            return url
        known = {"/team/it/runs/1/": self.base, "/team/it/runs/1/points/": f"{self.base}runs/1/points/"}
        return url if url.startswith(self.base) else known.get(url)


REACH: Any = Reach()
WORDS = build_redactor({"mary"})
texts = st.text(st.characters(blacklist_categories=["Cs", "Cc"]), max_size=20)


@st.composite
def trees(draw: Any, depth: int = 3) -> str:
    from html import escape

    if depth == 0 or draw(st.booleans()):
        return escape(draw(texts), quote=False)
    tag = draw(st.sampled_from(["div", "section", "span", "p", "svg", "br", "input"]))
    attributes = f' title="{escape(draw(texts))}"' if draw(st.booleans()) else ""
    if tag in ("br", "input"):
        return f"<{tag}{attributes}>"
    return f"<{tag}{attributes}>{''.join(draw(st.lists(trees(depth=depth - 1), max_size=3)))}</{tag}>"


@given(trees())
def test_what_is_read_is_written_as_it_was(html: str) -> None:
    assert events(write(read(html))) == events(html)
    assert write(read(write(read(html)))) == write(read(html))


def events(html: str) -> list[Any]:
    found: list[Any] = []

    class Recorder(HTMLParser):
        def handle_starttag(self, tag: str, attrs: Any) -> None:
            found.append((tag, attrs))

        def handle_endtag(self, tag: str) -> None:
            found.append(tag)

        def handle_data(self, data: str) -> None:
            found.append(unescape(data))

    reader = Recorder()
    reader.feed(html)
    reader.close()
    return found


@given(trees())
def test_no_text_becomes_markup(html: str) -> None:
    assert "<script" not in page(html, REACH, WORDS)


def test_links_become_text_and_actions_go() -> None:
    html = (
        '<a href="/team/it/runs/1/">here</a><a class="x" href="/team/it/runs/2/">there</a><a href="#top">up</a>'
        '<a class="btn" href="/team/it/runs/new/">New</a><form method="post"><input name="a"></form>'
        '<form action="/team/it/x/"></form><form><input></form>'
        '<button hx-post="/team/it/runs/1/">Do</button><button hx-get="/team/it/other/">Ask</button>'
        '<a href="javascript:alert(1)">run</a><img src="https://elsewhere.example/x.png">'
        '<div data-run="/team/it/runs/1/points/" data-job="/team/it/jobs/2/"></div>'
    )
    assert page(html, REACH, WORDS) == (
        '<a href="/shared/x/">here</a><span class="x">there</span><a href="#top">up</a><form><input></form>'
        '<span>run</span><img><div data-run="/shared/x/runs/1/points/"></div>'
    )


def test_a_section_goes_with_what_it_would_load() -> None:
    log = '<section><h2>Log</h2><div><div hx-get="/team/it/log/" hx-trigger="load, live">Wait</div></div></section>'
    assert page(f"<main>{log}<p>Else</p></main>", REACH, WORDS) == "<main><p>Else</p></main>"
    assert page('<main><div hx-get="/team/it/log/" hx-trigger="load">Wait</div><p>Else</p></main>', REACH, WORDS) == (
        "<main><p>Else</p></main>"
    )


def test_names_of_people_are_removed_from_text_and_accessible_labels() -> None:
    html = '<p title="by mary" data-title="Run of mary">mary is here, summary</p><pre class="mary">x</pre>'
    assert (
        page(html, REACH, WORDS)
        == '<p title="by …" data-title="Run of …">… is here, summary</p><pre class="mary">x</pre>'
    )


def test_addresses_in_data_are_the_visitors() -> None:
    source = '{"points": "/team/it/runs/1/points/", "log": "/team/it/log/", "by": "mary"}'
    fitted = {"points": "/shared/x/runs/1/points/", "log": "", "by": "…"}
    assert json.loads(data(source, REACH, WORDS)) == fitted


@pytest.mark.parametrize("written", [json.dumps("by Zoë, 5"), json.dumps("by Zoë, 5", ensure_ascii=False)])
def test_a_name_is_left_out_of_data_however_it_is_written(written: str) -> None:
    assert json.loads(data(f'{{"told": {written}}}', REACH, build_redactor(["Zoë"]))) == {"told": "by …, 5"}


@pytest.mark.parametrize(
    ("text", "left"),
    [
        ("by a.b+c@acme.example, or d@e.f.", "by …, or …."),
        ("a@b.cc+d@e.ff", "…"),
        ("at s3://bucket/x or in /home/it/a@b.c/run now", "at … or in … now"),
        ("a@b c/d 1/2 @you", "a@b c/d 1/2 @you"),
        ("a" * 95_000, "a" * 95_000),
    ],
)
def test_addresses_places_and_folders_are_left_out(text: str, left: str) -> None:
    assert build_redactor((), PRIVATE)(text) == left


def test_names_of_people_that_look_like_data_leave_data_unchanged() -> None:
    source = '{"points": [5, 5.5, null, true, -5], "by": "null of 5", "max": 1, "team": "/team/it/"}'
    fitted = json.loads(data(source, REACH, build_redactor(["5", "null", "true", "max"])))
    assert fitted == {
        "points": [5, 5.5, None, True, -5],
        "by": "… of …",
        "max": 1,
        "team": REACH.address("/team/it/") or "",
    }


def test_a_text_that_is_rewritten_does_not_end_its_script() -> None:
    html = '<script type="application/json">["mary \\u003C/script\\u003E \\u0026", "\\u003Cb"]</script>'
    assert page(html, REACH, WORDS) == html.replace("mary", "\\u2026")


def test_scripts_are_not_escaped() -> None:
    html = '<script id="charts" type="application/json">[{"title": "a & b < c"}]</script>'
    assert page(html, REACH, WORDS) == html


def test_svg_and_empty_elements_stay() -> None:
    html = '<svg viewbox="0 0 1 1"><use href="/static/x.svg#eye"/><line x1="0"/></svg><br><input disabled>'
    assert page(html, REACH, WORDS) == html
    assert re.search(r"<use [^>]*/>", page(html, REACH, WORDS))
