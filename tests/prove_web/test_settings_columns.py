"""Settings of runs trained elsewhere are columns of the table: displayed, sorted, searched and grouped by."""

from __future__ import annotations

import csv
import io
import json
import random
from collections.abc import Callable
from typing import Any

import pytest
from django.test import Client
from django.urls import reverse
from pytest_django import DjangoAssertNumQueries

from prove_web.accounts.models import Project, User
from prove_web.experiments.models import Run, RunSetting
from prove_web.experiments.outside.config_flatten import (
    LONGEST_NAME,
    LONGEST_TEXT,
    MOST,
    choose_number_or_text,
    flatten_config,
    normalise_name,
)
from prove_web.experiments.outside.create import ExternalRunRequest, make
from prove_web.experiments.table.columns import column
from prove_web.experiments.table.external_columns import OFFERED

from .trained import run_of

pytestmark = pytest.mark.django_db
CONFIGS: tuple[dict[str, Any], ...] = (
    {"lr": 10, "model": {"size": 7, "name": "seven"}, "amp": True, "seed": 3},
    {"lr": 9.5, "model": {"size": 70}, "amp": False},
    {"lr": "1e-3", "model": {"size": "huge"}, "learning_rate": 3e-7, "loss": "mine"},
    {"lr": -2, "layers": [1, 2], "note": None},
    {"lr": "warm up", "model": {"size": 7.0}},
    {"lr": float(2**70), "Optimizer/β 2": "0.95", "a, b": "x, y"},
)


@pytest.fixture
def runs(project: Project, mary: User) -> list[Run]:
    """Return six runs trained elsewhere, and one of this site, which has no such setting."""
    found = [
        make(project, mary, ExternalRunRequest(f"Run {place}", config=config))[0]
        for place, config in enumerate(CONFIGS)
    ]
    return [*found, run_of(project, [0.5], name="Ours")]


@pytest.fixture
def marys(mary: User, as_user: Callable[[User], Client]) -> Client:
    return as_user(mary)


def page(client: Client, project: Project, **query: Any) -> Any:
    answer = client.get(reverse("runs", args=project.path), query)
    assert answer.status_code == 200
    return answer


def names(client: Client, project: Project, **query: Any) -> list[str]:
    return [row.run.name for row in page(client, project, **query).context.get("rows", ())]


def found(client: Client, project: Project, query: str) -> set[str]:
    answer = page(client, project, q=query)
    assert not answer.context["fault"], answer.context["fault"]
    return {row.run.name.removeprefix("Run ") for row in answer.context["rows"]}


def test_numbers_sort_as_numbers_before_words_and_runs_without_come_last_either_way(
    project: Project, runs: list[Run], marys: Client
) -> None:
    up = ["Run 3", "Run 2", "Run 1", "Run 0", "Run 5", "Run 4", "Ours"]
    assert names(marys, project, sort="config.lr") == up
    assert names(marys, project, sort="-config.lr") == [*up[4::-1], *up[5:]]


def test_a_column_shows_the_reported_values_and_files_have_numbers_as_numbers(
    project: Project, runs: list[Run], marys: Client
) -> None:
    columns = "config.lr,config.model.size,config.amp,config.layers,config.optimizer/β_2"
    rows = page(marys, project, columns=columns, sort="number").context["rows"]
    assert [[cell.text for cell in row.cells] for row in rows[:4]] == [
        ["10", "7", "yes", "", ""],
        ["9.5", "70", "no", "", ""],
        ["1e-3", "huge", "", "", ""],
        ["-2", "", "", "[1, 2]", ""],
    ]
    files = reverse("runs-export", args=project.path)
    exported = json.loads(marys.get(files, {"columns": columns, "sort": "number", "format": "json"}).getvalue())
    assert [one["config.lr"] for one in exported[:5]] == [10, 9.5, "1e-3", -2, "warm up"]
    lines = marys.get(files, {"columns": columns, "sort": "number"}).getvalue().decode()
    assert [one["config.model.size"] for one in csv.DictReader(io.StringIO(lines))][:3] == ["7", "70", "huge"]


@pytest.mark.parametrize(
    ("query", "wanted"),
    [
        ("config.lr>9.5", "05"),
        ("config.lr >= 9.5", "015"),
        ("config.lr<=0.001", "23"),
        ("config.lr=0.001", "2"),
        ("config.LR:10,-2", "03"),
        ('config.lr:"warm up"', "4"),
        ("config.lr!=10", "12345"),
        ("-config.lr:10", "12345Ours"),
        ("config.model.size:7", "04"),
        ("config.model.size:huge OR config.amp:yes", "02"),
        ("config.optimizer/β_2>0.9", "5"),
        ("learning_rate<1e-6", "2"),
        ("kind:outside config.model.size>0 -config.amp:no", "04"),
    ],
)
def test_a_search_compares_numbers_and_finds_words(
    query: str, wanted: str, project: Project, runs: list[Run], marys: Client
) -> None:
    assert found(marys, project, query) == {*wanted.replace("Ours", "")} | ({"Ours"} if "Ours" in wanted else set())


def test_an_unknown_setting_is_a_fault_that_names_a_similar_one(
    project: Project, runs: list[Run], marys: Client
) -> None:
    fault = page(marys, project, q="config.model.sise:7").context["fault"]
    assert "config.model.size" in fault.message and fault.at == 0


def test_runs_are_grouped_by_a_setting_and_each_group_leads_to_its_own(
    project: Project, runs: list[Run], marys: Client
) -> None:
    groups = page(marys, project, group="config.lr", sort="config.lr").context["groups"]
    assert [(one.title, one.count) for one in groups] == [
        *((title, 1) for title in ("-2", "1e-3", "9.5", "10", groups[4].title, "warm up")),
        ("None", 1),
    ]
    for one in groups[:6]:
        assert len(found(marys, project, one.only)) == one.count, one.only
        opened = page(marys, project, group="config.lr", open=one.key).context["groups"]
        assert [len(each.rows) for each in opened if each.key == one.key] == [1]
    odd = page(marys, project, group="config.a_b").context["groups"]
    assert {(one.title, one.only) for one in odd} == {("x, y", ""), ("None", "")}


def test_settings_of_the_launch_form_are_those_of_runs_trained_elsewhere_where_their_names_agree(
    project: Project, runs: list[Run], marys: Client
) -> None:
    rows = page(marys, project, columns="learning_rate,loss,seed", sort="number").context["rows"]
    assert [cell.text for cell in rows[2].cells] == ["3e-07", "mine", ""]
    assert [cell.text for cell in rows[1].cells] == ["", "", ""]
    assert names(marys, project, sort="learning_rate")[:2] == ["Run 2", "Ours"]


def test_the_picker_completion_and_grouping_offer_the_names_of_this_project_alone(
    project: Project, runs: list[Run], marys: Client
) -> None:
    second = Project.objects.create(organisation=project.organisation, slug="second", name="Second")
    make(second, None, ExternalRunRequest("Theirs", config={"secret": 1}))
    Run.objects.filter(pk=runs[3].pk).update(deleted_at=runs[3].created_at)
    picker = page(marys, project, part="columns").content.decode()
    assert 'data-key="config.model.size"' in picker and "secret" not in picker and "config.layers" not in picker
    assert 'value="config.amp"' in page(marys, project).content.decode()
    complete = reverse("runs-completion", args=project.path)
    offered = [one["text"] for one in marys.get(complete, {"q": "config.mod"}).json()["options"]]
    assert offered == ["config.model.name>", "config.model.size>"]
    values = [one["text"] for one in marys.get(complete, {"q": "config.model.size:"}).json()["options"]]
    assert values == ["7", "7.0", "70", "huge"]


def test_a_page_takes_as_many_queries_however_many_runs_and_names_there_are(
    project: Project, runs: list[Run], marys: Client, django_assert_max_num_queries: DjangoAssertNumQueries
) -> None:
    for place in range(20):
        config = {f"setting {place} {name}": name for name in range(20)}
        make(project, None, ExternalRunRequest(f"More {place}", config=config))
    picker = page(marys, project, part="columns").content.decode()
    assert picker.count('data-key="config.') == OFFERED
    with django_assert_max_num_queries(30):
        page(marys, project, columns="config.lr,config.amp,config.setting_3_1", sort="config.lr")


def test_the_stored_settings_of_any_configuration_are_bounded_and_searchable() -> None:
    draw = random.Random(5)
    letters = "aB.-/ ,:\"'β\n0"
    for _ in range(200):
        config = {
            "".join(draw.choices(letters, k=draw.randint(0, 90))): draw.choice(
                [1, 2.5, "7", "x" * 300, None, True, [1], {"a": {"b": 10**400}}, {}]
            )
            for _ in range(draw.randint(0, 12))
        }
        for one in flatten_config(config):
            assert 0 < len(one.name) <= LONGEST_NAME and len(one.text) <= LONGEST_TEXT
            assert normalise_name(one.name) == one.name and column(f"config.{one.name}") is not None
    assert len(flatten_config({f"n{place}": place for place in range(MOST + 9)})) == MOST


@pytest.mark.parametrize(
    ("value", "expected"),
    [(3, 3), (2.5, 2.5), ("0.001", 0.001), ("4.10", "4.10"), ("007", "007"), ("1e-3", "1e-3"), (True, "yes")],
)
def test_a_value_comes_out_as_it_went_in(value: Any, expected: Any) -> None:
    one = flatten_config({"x": value})[0]
    assert choose_number_or_text(one.text, one.number) == expected


def test_settings_go_with_their_run(project: Project, runs: list[Run]) -> None:
    runs[0].delete()
    assert not RunSetting.objects.filter(run_id=runs[0].pk).exists()
