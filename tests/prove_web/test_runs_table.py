"""The table of runs: columns sort as Python does, searches say where they are wrong, groups are what Python sums."""

from __future__ import annotations

import csv
import io
import json
import statistics
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from django.conf import LazySettings
from django.test import Client
from django.urls import reverse
from django.utils import timezone
from hypothesis import given
from hypothesis import strategies as st
from pytest_django import DjangoAssertNumQueries

from prove_web.accounts.models import Preference, Project, SavedView, User
from prove_web.experiments import run_metadata
from prove_web.experiments.metric_summary import rebuild
from prove_web.experiments.models import Point, Run, RunKind, Sweep
from prove_web.experiments.table import columns
from prove_web.experiments.table.columns import FORMS, KNOWN, Measure, column
from prove_web.experiments.table.search import remove_operator_spaces
from prove_web.experiments.table.settings import SETTINGS
from prove_web.live.models import Job, State
from prove_web.sharing.models import Deletion

from .trained import RESULT, measure, run_of

pytestmark = pytest.mark.django_db
SignIn = Callable[[User], Client]
RATES = (1e-4, 3e-7, 1e-4, 5e-8, 2e-4)


@pytest.fixture(autouse=True)
def data(settings: LazySettings, tmp_path: Path) -> None:
    settings.PROVE_DATA = tmp_path


@pytest.fixture
def marys(mary: User, as_user: SignIn) -> Client:
    return as_user(mary)


@pytest.fixture
def several(project: Project, alice: User, bob: User) -> list[Run]:
    """Return five runs that differ, and one without any point."""
    found = []
    for place, rate in enumerate(RATES):
        rewards = [0.1 * ((place * 7 + step) % 11) for step in range(12 + place * 30)]
        config = {"learning_rate": rate, "seed": place % 2, "max_steps": 350}
        config |= {"loss": "grpo"} if place == 2 else {"mask_truncated": False} if place == 3 else {}
        by = alice if place < 2 else bob
        found.append(run_of(project, rewards, name=f"Run {'abcde'[place]}", config=config, by=by, result=RESULT))
    measure(found[1], step_0=0.3, step_20=0.7)
    measure(found[3], step_0=0.5)
    run_metadata.set_tags(found[0], ["baseline"])
    run_metadata.set_tags(found[2], ["baseline", "odd, no".split(",")[0]])
    return [*found, run_of(project, name="Waiting", state=State.QUEUED)]


def page(client: Client, project: Project, **query: Any) -> Any:
    answer = client.get(reverse("runs", args=project.path), query)
    assert answer.status_code == 200
    return answer


def numbers(client: Client, project: Project, **query: Any) -> list[int]:
    return [row.run.number for row in page(client, project, **query).context.get("rows", ())]


def truth(run: Run, one: Measure) -> float | None:
    """Compute a metric in one form from all points."""
    table = run.points if one.source == "points" else run.held_out
    points = [(step, line[one.name]) for step, line in table.values_list("step", "metrics") if one.name in line]
    if not points:
        return None
    last, heights = points[-1][0], [value for _, value in points]
    newest = 1 if one.source == "held_out" else min(10, max(1, last // 2))
    if one.form == "now" or one.form.startswith("mean-"):
        width = newest if one.form == "now" else int(one.form.removeprefix("mean-"))
        return statistics.fmean(value for step, value in points if step > last - width)
    best = min if one.metric and one.metric.better == "less" else max
    return {
        "last": heights[-1],
        "first": heights[0],
        "least": min(heights),
        "most": max(heights),
        "best": best(heights),
    }[one.form]


def in_order(values: list[tuple[Any, int]], down: bool) -> list[int]:
    """Sort numbers of runs by value: runs without one are last, and equal ones stand by number, the newest first."""
    known = sorted((one for one in values if one[0] is not None), key=lambda one: -one[1])
    known.sort(key=lambda one: one[0], reverse=down)
    return [number for _, number in known] + sorted((n for value, n in values if value is None), reverse=True)


FORMS_OF = [
    *((name, form) for name in ("reward", "tool_failures") for form in FORMS),
    *(("held_out", form) for form in FORMS if not form.startswith("mean-")),
]


@pytest.mark.parametrize(("name", "form"), FORMS_OF)
def test_sorting_by_a_metric_is_what_python_sorts_off_its_points(
    name: str, form: str, project: Project, several: list[Run], marys: Client
) -> None:
    one = column(f"{name}-{form}")
    assert isinstance(one, Measure)
    values = [(None if (value := truth(run, one)) is None else round(value, 9), run.number) for run in several]
    if len({value for value, _ in values}) < len(values) - 2:
        values = []  # sums that differ in their last digit are no ties: only the ends are compared
    for down in (True, False):
        found = numbers(marys, project, sort=f"{'-' * down}{one.key}")
        assert found == in_order(values, down) if values else len(found) == len(several)


def test_sorting_by_any_setting_is_what_python_sorts_off_the_configurations(
    project: Project, several: list[Run], marys: Client
) -> None:
    rates = [(run.config.get("learning_rate", 2e-4), run.number) for run in several]
    assert numbers(marys, project, sort="learning_rate") == in_order(rates, False)
    assert numbers(marys, project, sort="-learning_rate") == in_order(rates, True)
    losses = [(run.config.get("loss", "dapo"), run.number) for run in several]
    assert numbers(marys, project, sort="loss") == in_order(losses, False)
    masks = [("no" if run.config.get("mask_truncated") is False else "yes", run.number) for run in several]
    assert numbers(marys, project, sort="mask_truncated") == in_order(masks, False)


@pytest.mark.parametrize("down", ["", pytest.param("-", marks=pytest.mark.long)])
def test_every_column_is_displayed_and_can_be_sorted_by(
    down: str, project: Project, several: list[Run], marys: Client
) -> None:
    keys = [*KNOWN, *SETTINGS]
    for place, key in enumerate(keys):
        selected = ",".join(keys[place : place + 3])
        query = {"sort": f"{down}{key}", "columns": selected, "part": "table"}
        assert sorted(numbers(marys, project, **query)) == [run.number for run in several]


def test_pinned_runs_come_first_however_the_table_is_sorted(
    project: Project, several: list[Run], marys: Client
) -> None:
    run_metadata.pin(several[0])
    for sort in ("", "reward", "-reward", "number"):
        assert numbers(marys, project, sort=sort)[0] == several[0].number


def test_archived_runs_are_hidden_unless_requested(project: Project, several: list[Run], marys: Client) -> None:
    run_metadata.archive(several[0])
    everything = [run.number for run in reversed(several)]
    assert numbers(marys, project) == everything[:-1]
    assert numbers(marys, project, archived="too") == everything
    assert numbers(marys, project, archived="only") == everything[-1:]


@pytest.mark.parametrize(
    ("query", "found"),
    [
        ("tag:baseline", [3, 1]),
        ("tag:base", []),
        ("-tag:baseline state:done", [5, 4, 2]),
        ("state:queued", [6]),
        ("by:alice,bob -by:bob", [2, 1]),
        ("learning_rate = 1e-4", [3, 1]),
        ("learning_rate<1e-6", [4, 2]),
        ("loss:grpo", [3]),
        ("loss != dapo", [3]),
        ("mask_truncated:no", [4]),
        ("steps>=72 steps<132", [4, 3]),
        ("held_out-last > 0.6", [2]),
        ("held_out-first = 0.5", [4]),
        ("reward-most>=0", [5, 4, 3, 2, 1]),
        ("has:tags OR #6", [6, 3, 1]),
        ('state:done -("run a" OR "run b")', [5, 4, 3]),
        ('"Run c"', [3]),
        ("number>4", [6, 5]),
        ("gain>0.2 seed:1", [4, 2]),
        ("when>=2000-01-01 when<2100-01-01 pinned:no", [6, 5, 4, 3, 2, 1]),
    ],
)
def test_a_search_finds_what_it_says(
    query: str, found: list[int], project: Project, several: list[Run], marys: Client
) -> None:
    assert numbers(marys, project, q=query) == found


@pytest.mark.parametrize(
    ("query", "at", "why"),
    [
        ("reward > high", 9, "takes a number"),
        ("state:runing", 6, "Did you mean “running”"),
        ("rewrd>0.5", 0, "There is no field “rewrd”. Did you mean “reward”?"),
        ("a  loss > dapo", 8, "is not a number"),
        ("tag:x (", 7, "state:running"),
        ("when:yesterday", 5, "takes a date"),
        ("learning_rate=1e-4 steps > many", 27, "takes a number"),
    ],
)
def test_a_search_that_is_none_says_what_is_wrong_and_where(
    query: str, at: int, why: str, project: Project, several: list[Run], marys: Client
) -> None:
    answer = page(marys, project, q=query)
    fault = answer.context["fault"]
    assert fault.at == at and why in fault.message
    assert not answer.context["rows"] and "q-fault" in answer.content.decode()


@given(st.text(alphabet='ab_- "<>=:!()19', max_size=20))
def test_tightening_leaves_all_but_blanks_and_knows_their_places(query: str) -> None:
    tight, places = remove_operator_spaces(query)
    assert tight.replace(" ", "") == query.replace(" ", "")
    assert [query[at] for at in places[:-1]] == list(tight) and places[-1] == len(query)


@pytest.mark.parametrize(
    "by", ["dataset", "sweep", "kind", "state", "by", "base", "learning_rate", "loss", "reward_preset"]
)
def test_groups_count_and_average_what_python_does(
    by: str, project: Project, several: list[Run], marys: Client
) -> None:
    answer = page(marys, project, group=by, columns="reward,reward-best,steps,learning_rate,state,took,when")
    groups = answer.context["groups"]
    assert sum(group.count for group in groups) == len(several)
    for group in groups:
        opened = page(marys, project, group=by, open=group.key).context["groups"]
        [same] = [one for one in opened if one.key == group.key]
        runs = [row.run for row in same.rows]
        assert len(runs) == group.count and all(not one.open for one in opened if one.key != group.key)
        for cell in group.cells[:2]:
            assert isinstance(cell.column, Measure)
            values = [value for run in runs if (value := truth(run, cell.column)) is not None]
            assert cell.count == len(values)
            if values:
                assert cell.mean == pytest.approx(statistics.fmean(values))
            if len(values) > 1:
                assert cell.deviation == pytest.approx(statistics.stdev(values))
        if group.only:
            assert sorted(numbers(marys, project, q=group.only)) == sorted(run.number for run in runs)


def test_a_run_is_in_the_group_of_each_of_its_tags(project: Project, several: list[Run], marys: Client) -> None:
    groups = page(marys, project, group="tag", open="=odd").context["groups"]
    assert [(group.title, group.count) for group in groups] == [("baseline", 2), ("odd", 1), ("No tag", 4)]
    assert [row.run.number for row in groups[1].rows] == [3]
    assert groups[0].cells[3].mean is not None


def test_groups_are_sorted_by_the_mean_of_a_column(project: Project, several: list[Run], marys: Client) -> None:
    for sort in ("-reward-most", "reward-most"):
        groups = page(marys, project, group="learning_rate", sort=sort, columns="reward-most").context["groups"]
        means = [group.cells[0].mean for group in groups if group.cells[0].mean is not None]
        assert means == sorted(means, reverse=sort.startswith("-")) and groups[-1].cells[0].mean is not None


def test_columns_are_remembered_for_one_person_and_a_link_shows_them_to_all(
    project: Project, several: list[Run], marys: Client, victor: User, as_user: SignIn
) -> None:
    root, victors = reverse("runs", args=project.path), as_user(victor)
    wanted = "reward-best,learning_rate,state"
    answer = victors.post(
        reverse("runs-columns", args=project.path), {"columns": f"{wanted},nothing,x,state", "q": "run"}
    )
    assert answer.url.startswith(f"{root}?q=run&columns=reward-best%2Clearning_rate%2Cstate")
    first = victors.get(root)
    assert first.status_code == 302 and "columns=reward-best" in first.url
    assert [one["column"].key for one in victors.get(first.url).context["heads"]][:3] == wanted.split(",")
    assert marys.get(root).status_code == 200
    assert [one["column"].key for one in marys.get(first.url).context["heads"]][:3] == wanted.split(",")
    victors.post(reverse("runs-columns", args=project.path), {"usual": "1", "columns": wanted})
    assert victors.get(root).status_code == 200 and not Preference.objects.exists()


@pytest.mark.parametrize("key", [*columns.USUAL, "reward-mean-20", "loss", "loss-now", "held_out_success-best"])
def test_a_column_is_found_again_by_its_name(key: str) -> None:
    found = column(key)
    assert found is not None and found.key == key and columns.read(f"{key},{key}") == [found]


def test_best_follows_the_metric(project: Project) -> None:
    fields = {key: getattr(column(key), "field", "") for key in ("reward-best", "tool_failures-best", "step_s-best")}
    assert (fields["reward-best"], fields["tool_failures-best"]) == ("most", "least")
    assert column("entropy-best") is None, "what has no better side has no best"


def test_the_picker_offers_what_runs_report_and_completion_names_it(
    project: Project, several: list[Run], marys: Client
) -> None:
    Point.objects.create(run=several[0], step=900, metrics={"theirs": 1.0, "kl": 0.1})
    rebuild(several[0])
    text = page(marys, project, part="columns").content.decode()
    for said in (
        'data-key="theirs"',
        'data-key="kl"',
        'data-key="held_out"',
        'data-key="learning_rate"',
        "Settings: reward",
    ):
        assert said in text
    answer = marys.get(reverse("runs-completion", args=project.path), {"q": "learn", "at": 5}).json()
    assert answer["options"][0]["text"] == "learning_rate>"
    answer = marys.get(reverse("runs-completion", args=project.path), {"q": "tag:b", "at": 5}).json()
    assert [one["text"] for one in answer["options"]] == ["baseline"]


def bulk(client: Client, project: Project, where: str = "runs-mark", **fields: Any) -> str:
    answer = client.post(reverse(where, args=project.path), fields, follow=True)
    assert answer.status_code == 200
    return str(answer.content.decode())


def test_many_are_tagged_at_once_and_that_is_taken_back(project: Project, several: list[Run], marys: Client) -> None:
    text = bulk(marys, project, act="tag", runs="1,2,4", tag="Baseline")
    assert "2 runs tagged “baseline”" in text and "Undo" in text
    tagged = Run.objects.exclude(tags=[]).order_by("number")
    assert [run.number for run in tagged if "baseline" in run.tags] == [1, 2, 3, 4]
    assert "Undo" not in page(marys, project).content.decode(), "it is offered once"
    bulk(marys, project, act="untag", runs="2,4", tag="baseline")
    assert [run.number for run in tagged.all() if "baseline" in run.tags] == [1, 3]


def test_all_that_a_search_found_are_archived_and_come_back(
    project: Project, several: list[Run], marys: Client
) -> None:
    bulk(marys, project, "runs-act", act="archive", all="1", q="tag:baseline")
    assert [*Run.objects.filter(archived_at=None).values_list("number", flat=True)] == [6, 5, 4, 2]
    bulk(marys, project, "runs-act", act="unarchive", all="1", q="tag:baseline", archived="only")
    assert not Run.objects.exclude(archived_at=None).exists()


def test_a_refusal_for_one_run_is_named_and_the_others_are_done(
    project: Project, several: list[Run], marys: Client
) -> None:
    text = bulk(marys, project, "runs-act", act="stop-now", runs="1,6")
    assert "Run 1: already done" in text and "1 run asked to stop now" in text
    assert Job.objects.get(run__number=6).state == State.STOPPED
    Job.objects.filter(run__number=6).update(state=State.STOPPED)
    text = bulk(marys, project, "runs-act", act="base", runs="1,2", base="1")
    assert "cannot be its own baseline" in text and Run.objects.get(number=2).base == several[0]


def test_many_are_deleted_at_once_and_come_back_and_what_is_needed_stays(
    project: Project, several: list[Run], marys: Client
) -> None:
    Job.objects.filter(run__number=6).update(state=State.RUNNING)
    text = bulk(marys, project, "runs-act", act="delete", runs="1,2,6")
    assert "2 runs moved to the trash" in text and "Undo" in text and "Run 6:" in text and "stop it first" in text
    assert not Run.objects.filter(number__in=[1, 2]).exists() and Run.objects.filter(number=6).exists()
    assert Deletion.objects.filter_in_trash().filter(project=project, kind="run", by__username="mary").count() == 2
    assert "No runs selected" in bulk(marys, project, "runs-act", act="archive", runs="1,2")
    text = bulk(marys, project, "runs-act", act="undelete", runs="1,2,6")
    assert "2 runs restored" in text and Run.objects.filter(number__in=[1, 2]).count() == 2
    assert "No runs selected" in bulk(marys, project, "runs-act", act="undelete", runs="1,2")


def test_runs_that_somebody_else_deleted_are_named_and_the_others_are_done(
    project: Project, several: list[Run], marys: Client
) -> None:
    bulk(marys, project, "runs-act", act="delete", runs="2")
    text = bulk(marys, project, act="tag", runs="1,2,4,99", tag="mine")
    assert "2 runs tagged “mine”" in text
    assert "Not applied to 2 runs. Run 2: no longer exists; Run 99: no longer exists." in text


def test_what_is_removed_for_good_meanwhile_is_not_restored(
    project: Project, several: list[Run], marys: Client
) -> None:
    bulk(marys, project, "runs-act", act="delete", runs="1,2")
    Deletion.objects.filter(project=project, number=1).update(purged_at=timezone.now())
    text = bulk(marys, project, "runs-act", act="undelete", runs="1,2")
    assert "1 run restored" in text and "Run 1: permanently deleted in the meantime" in text


def test_of_more_runs_than_are_done_at_once_none_is_done(project: Project, several: list[Run], marys: Client) -> None:
    many, pinned = ",".join(map(str, range(1, 10_001))), Run.objects.filter(pinned=True).count()
    assert "At most 1,000 runs at a time" in bulk(marys, project, act="pin", runs=many)
    assert Run.objects.filter(pinned=True).count() == pinned


@pytest.mark.parametrize(
    "fields", [{}, {"act": "tag"}, {"act": "tag", "runs": "1", "tag": " "}, {"act": "nothing", "runs": "1"}]
)
def test_what_makes_no_sense_changes_nothing_and_says_so(
    fields: dict[str, str], project: Project, several: list[Run], marys: Client
) -> None:
    before = list(Run.objects.values())
    assert "alert-danger" in bulk(marys, project, **fields)
    assert list(Run.objects.values()) == before


def test_runs_of_another_project_are_not_reached_by_number(
    project: Project, several: list[Run], charlie: User, as_user: SignIn
) -> None:
    theirs = Project.objects.get(organisation__slug="other")
    text = bulk(as_user(charlie), theirs, act="tag", runs="1,2", tag="mine")
    assert "No runs selected" in text and not Run.objects.filter(tags__0="mine").exists()


def test_the_table_as_a_file_has_every_row_and_the_selected_columns(
    project: Project, several: list[Run], marys: Client
) -> None:
    run_metadata.rename(several[0], "=1+1")
    query = {"columns": "reward-best,learning_rate,when,took", "sort": "-reward-best"}
    url = reverse("runs-export", args=project.path)
    exported = json.loads(marys.get(url, {**query, "format": "json"}).getvalue())
    assert [one["number"] for one in exported] == numbers(marys, project, **query)
    assert exported[0]["reward-best"] == truth(Run.objects.get(number=exported[0]["number"]), column("reward-best"))
    lines = list(csv.DictReader(io.StringIO(marys.get(url, {**query, "format": "csv"}).getvalue().decode())))
    assert [int(one["number"]) for one in lines] == [one["number"] for one in exported]
    assert [one["name"] for one in lines if one["number"] == "1"] == ["'=1+1"]
    head = marys.get(url, {"columns": "=cmd|'/C calc'!A0", "format": "csv"}).getvalue().decode().splitlines()[0]
    assert head.endswith(",'=cmd|'/C calc'!A0"), "a link names the columns, so it may come from anyone"
    assert marys.get(url, {"format": "xls"}).status_code == marys.get(url, {"q": "state:odd"}).status_code == 400


def test_a_view_keeps_search_group_order_and_columns(project: Project, several: list[Run], marys: Client) -> None:
    query = {"q": "state:done", "group": "loss", "sort": "-reward", "columns": "reward-best", "archived": "too"}
    marys.post(reverse("run-views", args=project.path), {**query, "name": "Losses", "page": "3"})
    view = SavedView.objects.get()
    text = page(marys, project, **query).content.decode()
    assert "Losses" in text and 'aria-current="page"' in text
    marys.post(reverse("run-view", args=[*project.path, view.pk]), {"name": "Others"})
    assert SavedView.objects.get().name == "Others"
    marys.post(reverse("run-view", args=[*project.path, view.pk]), {"remove": "1"})
    assert not SavedView.objects.exists()


@pytest.mark.parametrize("query", [{}, {"group": "sweep"}, {"group": "learning_rate"}, {"sort": "-kl-best"}])
def test_the_table_takes_as_few_queries_for_many_runs_and_columns_as_for_one(
    query: dict[str, str], project: Project, marys: Client, django_assert_max_num_queries: DjangoAssertNumQueries
) -> None:
    for number in range(24):
        sweep = Sweep.objects.create(project=project, number=number, name=f"Sweep {number}")
        run = run_of(project, [0.5, 0.6], config={"learning_rate": 1e-5 * number, "policy": f"run:{'a' * 36}"})
        Run.objects.filter(pk=run.pk).update(sweep=sweep, kind=RunKind.GRPO)
    wide = "state,reward,reward-best,kl-last,held_out,learning_rate,policy,sweep,base,reward_preset,took"
    with django_assert_max_num_queries(14):
        page(marys, project, columns=wide, **query)


def test_names_tags_and_settings_are_text_and_never_markup(project: Project, marys: Client) -> None:
    run = run_of(project, [0.5], name="<script>1", config={"policy": "<img src=x>", "learning_rate": 1e-4})
    run_metadata.set_tags(run, ["<b>tag"])
    for query in ({}, {"columns": "policy"}, {"group": "policy"}, {"group": "tag"}, {"part": "columns"}):
        text = page(marys, project, **query).content.decode()
        assert "<script>1" not in text and "<img src=x" not in text and "<b>tag" not in text
