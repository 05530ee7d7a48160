"""Search in a job's log: the result is what Python finds in the entire file, however large, in bounded answers."""

from __future__ import annotations

import html
import re
import string
from collections.abc import Callable
from pathlib import Path

import pytest
from django.conf import LazySettings
from django.test import Client
from django.urls import reverse
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from prove_web.accounts.models import Project, User
from prove_web.live import log_search
from prove_web.live.log_search import LEVELS, Line, clean, read_lines_around, seek

from .trained import run_of

LETTERS = st.text(alphabet="aAbB eErRoOwWnNß\r\x1b[0m.é\N{ROCKET}", max_size=30)
LOGS = st.lists(LETTERS, max_size=60).map("\n".join)


def text_of(line: Line) -> str:
    return "".join(text for text, _ in line.pieces)


def all_found(path: Path, words: str, level: str, most: int) -> list[Line]:
    """Return all matches by continuing from each answer."""
    found: list[Line] = []
    answer = seek(path, words, level, None, most)
    while True:
        found = [*answer.lines, *found]
        assert len(answer.lines) <= most
        if answer.before is None:
            return found
        answer = seek(path, words, level, answer.before, most)


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(
    log=LOGS, words=st.text(alphabet="aAbBeßr .", max_size=3), level=st.sampled_from([*LEVELS]), most=st.integers(1, 9)
)
def test_the_search_finds_what_python_finds_in_the_entire_file(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, log: str, words: str, level: str, most: int
) -> None:
    monkeypatch.setattr(log_search, "BLOCK", 7)  # so that lines lie across blocks
    path = tmp_path / "log.txt"
    path.write_bytes(log.encode())
    lines = [clean(raw) for raw in log.encode().removesuffix(b"\n").split(b"\n")] if log else []
    sought = re.compile(re.escape(words), re.IGNORECASE)
    expected = [line for line in lines if sought.search(line) and LEVELS[level].search(line)]
    found = all_found(path, words, level, most)
    assert [text_of(line) for line in found] == expected
    for line in found:
        assert all(bool(sought.fullmatch(text)) for text, hit in line.pieces if hit)
        assert any(hit for _, hit in line.pieces) or not words, "what was sought is marked"
        [here] = [one for one in read_lines_around(path, line.at, words).lines if one.here]
        assert text_of(here) == text_of(line)


def test_an_answer_reads_no_more_than_it_may_and_says_where_to_go_on(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(log_search, "BLOCK", 100)
    monkeypatch.setattr(log_search, "BUDGET", 1_000)
    path = tmp_path / "log.txt"
    path.write_text("needle\n" + "hay\n" * 2_000)
    first = seek(path, "needle")
    assert not first.lines and first.before is not None and first.before > 6_000
    assert [text_of(line) for line in all_found(path, "needle", "", 200)] == ["needle"]


def test_a_line_longer_than_an_answer_may_read_does_not_stop_the_search(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(log_search, "BLOCK", 100)
    monkeypatch.setattr(log_search, "BUDGET", 1_000)
    path = tmp_path / "log.txt"
    path.write_text("needle\n" + "x" * 5_000 + "\n")
    assert [text_of(line) for line in all_found(path, "needle", "", 200)] == ["needle"]


def test_a_log_that_is_not_there_holds_nothing(tmp_path: Path) -> None:
    assert seek(tmp_path / "log.txt", "x") == read_lines_around(tmp_path / "log.txt", 5) == log_search.LogPage(())


@pytest.fixture
def victors(victor: User, as_user: Callable[[User], Client]) -> Client:
    return as_user(victor)


def log_of(project: Project, text: str) -> str:
    job = run_of(project).job
    job.folder.mkdir(parents=True)
    (job.folder / "log.txt").write_text(text)
    return reverse("job-log", args=[*project.path, job.pk])


@pytest.mark.django_db
def test_lines_are_text_and_never_markup(
    project: Project, victors: Client, settings: LazySettings, tmp_path: Path
) -> None:
    settings.PROVE_DATA = tmp_path
    url = log_of(project, "<img src=x onerror=alert(1)> Error\n" + "quiet\n" * 3)
    for query in ({"log": "img"}, {"log": "<img"}, {"log_level": "error"}, {"at": "0", "log": "x"}, {}):
        text = victors.get(url, query).text
        assert "<img" not in text and "img" in text
    assert "<mark>&lt;img</mark>" in victors.get(url, {"log": "<img"}).text


@pytest.mark.django_db
def test_the_page_searches_the_entire_log_and_says_when_there_is_nothing(
    project: Project, victors: Client, settings: LazySettings, tmp_path: Path
) -> None:
    settings.PROVE_DATA = tmp_path
    url = log_of(project, "the first line\n" + "".join(f"step {i}\n" for i in range(5_000)) + "WARNING: the last\n")
    assert "the first line" not in victors.get(url).text
    assert "first</mark>" in victors.get(url, {"log": "FIRST"}).text
    assert "the last" in victors.get(url, {"log_level": "warning"}).text
    text = victors.get(url, {"log": "step"}).text
    assert text.count("<mark>") == log_search.MOST and "step</mark> 4999" in text
    before = re.search(r"before=(\d+)", text)
    assert before and "step</mark> 4799" in victors.get(url, {"log": "step", "before": before[1]}).text
    for odd in ("9" * 40, "-1", "x", "²"):
        assert victors.get(url, {"log": "step", "before": odd, "at": odd}).status_code == 200
    nothing = "".join(c for c in string.ascii_letters)
    assert f"contains “{html.escape(nothing)}”" in victors.get(url, {"log": nothing}).text
