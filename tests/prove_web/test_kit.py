"""The page kit: vendored files match their manifest, and the parts render any value readably and safely."""

from __future__ import annotations

import hashlib
import re
import tomllib
from datetime import datetime, timedelta, timezone
from pathlib import Path
from typing import Any

import pytest
from django import forms
from django.conf import settings
from django.core.paginator import Paginator
from django.template import Context, Template, TemplateSyntaxError
from django.template.loader import get_template, render_to_string
from django.test import RequestFactory
from django.urls import reverse
from django.utils.html import strip_tags

from prove_web.accounts.context import SECTIONS
from prove_web.live.models import Job, Kind, State
from prove_web.live.templatetags import kit
from prove_web.trajectories.breakdown import parts_of
from training_worker.core.trajectory import Reward

from .conftest import one_line

STATIC = settings.BASE_DIR / "prove_web" / "static"
VENDOR = STATIC / "vendor"
TEMPLATES = sorted((settings.BASE_DIR / "templates").rglob("*.html"))
PACKAGES = tomllib.loads((VENDOR / "MANIFEST.toml").read_text(encoding="utf-8"))["package"]
HUNDRED_KILOBYTES = 100_000


def rendered(template: str, **context: Any) -> str:
    return " ".join(render_to_string(template, context).split())


def test_each_vendored_file_is_the_one_in_the_manifest() -> None:
    for package in PACKAGES:
        for name, digest in package["sha256"].items():
            assert hashlib.sha256((VENDOR / name).read_bytes()).hexdigest() == digest, name


def test_the_manifest_names_each_vendored_file_and_its_licence() -> None:
    named = {"MANIFEST.toml"} | {name for package in PACKAGES for name in (*package["sha256"], package["licence_file"])}
    assert {path.name for path in VENDOR.iterdir()} == named
    assert all(package["licence"] and re.fullmatch(r"\d+\.\d+\.\d+", package["version"]) for package in PACKAGES)


def test_vendored_files_stay_small() -> None:
    assert sum(path.stat().st_size for path in VENDOR.iterdir()) < 15 * HUNDRED_KILOBYTES


def icons(text: str) -> set[str]:
    given = set(re.findall(r"""{% icon "([^"]+)""", text)) | set(re.findall(r"""default:"([a-z0-9-]+)" %}""", text))
    return given | set(re.findall(r"""empty_state icon="([^"]+)""", text))


@pytest.mark.parametrize("path", TEMPLATES, ids=lambda path: f"{path.parent.name}/{path.name}")
def test_a_template_parses_and_its_icons_are_in_the_sprite(path: Path) -> None:
    get_template(str(path.relative_to(settings.BASE_DIR / "templates")))
    sprite = set(re.findall(r'id="([^"]+)"', (VENDOR / "tabler-icons.svg").read_text(encoding="utf-8")))
    assert icons(path.read_text(encoding="utf-8")) - sprite == set()


def test_every_section_of_the_navigation_leads_somewhere_and_has_its_icon() -> None:
    sprite = (VENDOR / "tabler-icons.svg").read_text(encoding="utf-8")
    for section in SECTIONS:
        assert reverse(section.page, args=["acme", "demo"]).startswith("/acme/demo/")
        assert f'<symbol id="{section.icon}"' in sprite


@pytest.mark.parametrize("path", TEMPLATES, ids=lambda path: f"{path.parent.name}/{path.name}")
def test_a_template_has_no_script_of_its_own(path: Path) -> None:
    text = re.sub(r"{%.*?%}", "", path.read_text(encoding="utf-8"))
    assert re.findall(r"<script(?![^>]* src=)", text) == [], "the content security policy forbids it"
    assert re.findall(r"<[^>]*\son[a-z]+=", text) == []
    assert "|safe" not in text.replace("field.help_text|safe", ""), "texts of tools and people are escaped"


@pytest.mark.parametrize(
    ("seconds", "words"),
    [
        (None, ""),
        (0, "0 s"),
        (59.6, "1 min 00 s"),
        (200, "3 min 20 s"),
        (3900, "1 h 05 min"),
        (timedelta(days=2, hours=3, minutes=59), "2 d 3 h"),
        (-4, "0 s"),
    ],
)
def test_a_duration_reads_as_people_say_it(seconds: Any, words: str) -> None:
    assert kit.duration(seconds) == words


@pytest.mark.parametrize(
    ("number", "words"),
    [(None, ""), (0, "0"), (950, "950"), (12_345, "12.3k"), (4_500_000, "4.5M"), (-2_000, "-2k"), (0.25, "0.2")],
)
def test_a_number_for_a_tile_is_short(number: Any, words: str) -> None:
    assert kit.compact(number) == words


@pytest.mark.parametrize(("share", "words"), [(None, "0"), (0.5, "50"), (1.7, "100"), (-1, "0"), ("0.25", "25")])
def test_a_share_is_a_percentage_between_0_and_100(share: Any, words: str) -> None:
    assert kit.percent(share) == words


@pytest.mark.parametrize(
    ("value", "text"),
    [({"a": "ü"}, '{\n  "a": "ü"\n}'), ('{"a":1}', '{\n  "a": 1\n}'), ("no JSON", "no JSON"), (None, "null")],
)
def test_json_is_indented_and_other_text_left_alone(value: Any, text: str) -> None:
    assert kit.json_pretty(value) == text


def test_what_a_tool_says_is_escaped_folded_and_never_cut() -> None:
    text = "<script>alert(1)</script>" + "x" * HUNDRED_KILOBYTES + "end"
    folded = rendered("kit/folded.html", text=text, summary="Result")
    assert "<details" in folded and "<script>" not in folded and "xend" in folded
    assert "<details" not in rendered("kit/folded.html", text="short", summary="Result")


def test_attributes_of_an_icon_are_escaped() -> None:
    odd = '"><script>'
    assert "<script>" not in Template("{% icon name classes %}").render(Context({"name": odd, "classes": odd}))


@pytest.mark.parametrize("state", State)
def test_a_state_is_a_word_and_not_only_a_colour(state: State) -> None:
    assert strip_tags(rendered("kit/state.html", state=state)).strip() == state.label


def test_progress_without_a_total_claims_no_percentage() -> None:
    job = Job(kind=Kind.RUN, title="Run", state=State.STARTING)
    assert "aria-valuenow" not in rendered("kit/progress.html", job=job)
    job.total, job.done, job.state = 4, 1, State.RUNNING
    assert 'aria-valuenow="25"' in rendered("kit/progress.html", job=job)


def test_a_reward_shows_its_components_and_an_abstention_has_none() -> None:
    reward = Reward(total=0.874, validity=1.0, coverage=0.5, efficiency=1.0, name=0.75, arguments=0.25)
    chips = "Reward 0.87 Validity 1.00 Coverage 0.50 Efficiency 1.00 Name 0.75 Arguments 0.25"
    assert " ".join(strip_tags(rendered("kit/reward.html", reward=reward, parts=parts_of(reward))).split()) == chips
    nothing = Reward(total=1.0, abstention=True)
    assert "Coverage" not in rendered("kit/reward.html", reward=nothing, parts=parts_of(nothing))


def test_a_pager_keeps_the_filter_and_is_absent_for_one_page() -> None:
    request, page = RequestFactory().get("/?q=a%26b&page=2"), Paginator(range(70), 25).page(2)
    pager = render_to_string("kit/pager.html", {"page": page}, request)
    assert "?q=a%26b&amp;page=1" in pager and "?q=a%26b&amp;page=3" in pager and "26 to 50 of 70" in pager
    assert rendered("kit/pager.html", page=Paginator(range(3), 25).page(1)) == ""


class Ask(forms.Form):
    name = forms.CharField(help_text="Any name.")
    sure = forms.BooleanField()


def test_a_field_has_a_label_and_its_faults_are_tied_to_it() -> None:
    form = Ask({})
    name, sure = (rendered("kit/field.html", field=form[each]) for each in ("name", "sure"))
    assert 'for="id_name"' in name and 'aria-invalid="true"' in name and "This field is required." in name
    described = re.search(r'aria-describedby="([^"]+)"', name)
    assert described and all(f'id="{each}"' in name for each in described[1].split())
    assert "form-check-input" in sure


def test_no_line_of_a_template_is_longer_than_120_characters() -> None:
    lines = (
        (path.name, at, line) for path in TEMPLATES for at, line in enumerate(path.read_text("utf-8").split("\n"), 1)
    )
    assert [(name, at) for name, at, line in lines if len(line) > 120] == []


def test_pages_are_compared_without_the_line_breaks_of_their_templates() -> None:
    broken = "<p>\n  a\n  b <i>c</i>\n  <b>d</b>\n</p>\n<pre>\n x\n</pre>"
    assert one_line(broken) == "<p>a b <i>c</i> <b>d</b></p> <pre>\n x\n</pre>"


def test_trimmed_joins_the_lines_of_a_template_and_leaves_those_of_a_value() -> None:
    lines = "{% trimmed %}\n  <b>{{ value }}</b>\n  {% if value %} and{% endif %}\n  more\n{% endtrimmed %}"
    assert Template(lines).render(Context({"value": "a\n  <b"})) == "<b>a\n  &lt;b</b> andmore"
    stored = '{% trimmed as label %}\n  {{ value }},\n  more\n{% endtrimmed %}<p title="{{ label }}">'
    assert Template(stored).render(Context({"value": '"'})) == '<p title="&quot;,more">'
    with pytest.raises(TemplateSyntaxError, match="trimmed as name"):
        Template("{% trimmed label %}{% endtrimmed %}")


def test_an_empty_list_says_what_would_be_there_and_what_to_do() -> None:
    tag = (
        '{% empty_state icon="box" title=title action_url="/new/" action="Create" %}No {{ what }}.{% endempty_state %}'
    )
    made = " ".join(Template(tag).render(Context({"title": "A & B", "what": "<b>"})).split())
    assert "A &amp; B" in made and "&lt;b&gt;." in made and 'href="/new/">Create</a>' in made
    bare = Template('{% empty_state icon="box" title="None" %}{% endempty_state %}').render(Context())
    assert "empty-subtitle" not in bare and "<a" not in bare


def test_a_moment_is_rendered_in_utc_with_its_zone() -> None:
    moment = datetime(2026, 5, 1, 20, 5, tzinfo=timezone(timedelta(hours=-5)))
    made = Template("{% timestamp moment %}|{{ moment|utc }}|{% time_ago moment %}").render(Context({"moment": moment}))
    element, text, ago = made.split("|")
    assert text == "2 May 2026, 01:05 UTC"
    assert element == f'<time datetime="2026-05-02T01:05:00+00:00">{text}</time>'
    assert ago.startswith(f'<time datetime="2026-05-02T01:05:00+00:00" title="{text}">')
    assert Template("{% timestamp no %}{{ no|utc }}{% time_ago no %}").render(Context({"no": None})) == ""


WORLDS = {
    "servers/compare.html",
    "servers/session_call.html",
    "servers/session_state_head.html",
}  # with the clock of a world


@pytest.mark.parametrize("path", TEMPLATES, ids=lambda path: str(path.relative_to(settings.BASE_DIR / "templates")))
def test_a_day_with_its_time_says_its_zone(path: Path) -> None:
    if str(path.relative_to(settings.BASE_DIR / "templates")) not in WORLDS:
        assert re.findall(r'date:"j M Y, H:i(?::s)?" ?\}\}(?! UTC)[^<]*', path.read_text("utf-8")) == []
