"""A run's metrics on its page and as JSON: logged metrics are drawn, at any resolution, with few queries."""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from typing import Any, get_args

import pytest
from django.test import Client
from django.urls import reverse
from hypothesis import given
from hypothesis import strategies as st
from pytest_django import DjangoAssertNumQueries

from prove_web.accounts.models import Project, User
from prove_web.experiments.charts import CHARTS, group_charts, list_charted_metrics
from prove_web.experiments.eval_slices import cuts
from prove_web.experiments.metric_series import MOST, columns, snapshot
from prove_web.experiments.models import HeldOut, Point, Run
from prove_web.experiments.summary_tiles import TILES, tiles
from prove_web.experiments.tools import sort_tools, tools_of
from prove_web.live.models import State
from training_worker.monitoring.metrics import BY_NAME, METRICS, TOOLS, Group

from .trained import RESULT, run_of

pytestmark = pytest.mark.django_db

STEPS = 350


@pytest.fixture
def victors(victor: User, as_user: Callable[[User], Client]) -> Client:
    return as_user(victor)


def line(step: int) -> dict[str, Any]:
    """Return a value of every metric, and the calls of tools; one of them is learned."""
    values = {metric.name: (step * 7 % 11) / 11 for metric in METRICS}
    tools = {"transfer_money": [10, 10 if step <= STEPS // 2 else 0], "list_accounts": [2, 0], "(malformed)": [1, 1]}
    return {**values, "tokens": 1000, "elapsed_s": 2.0 * step, TOOLS: tools}


@pytest.fixture
def long(project: Project) -> Run:
    """A run as long as the paper's with all metrics."""
    run = run_of(project)
    Point.objects.bulk_create(Point(run=run, step=step, metrics=line(step)) for step in range(1, STEPS + 1))
    HeldOut.objects.bulk_create(look(run, step, step / STEPS) for step in range(0, STEPS + 1, 50))
    return run


def look(run: Run, step: int, reward: float) -> HeldOut:
    slices = [["server", "banking", 8, reward, 0.5], ["length", "2", 8, reward, 0.5], ["kind", "chain", 8, reward, 0.5]]
    return HeldOut(run=run, step=step, metrics={"reward": reward, "success": 0.5, "slices": slices})


def ask(run: Run, client: Client, **query: Any) -> Any:
    return client.get(reverse("run-metric", args=[*run.project.path, run.number]), query)


def by_step(answer: dict[str, Any], name: str) -> dict[int, float]:
    """Read a series as the browser does: its values by step."""
    series = answer["series"][name]
    at, values = (range(len(series)), series) if isinstance(series, list) else (series["at"], series["values"])
    return {answer["step"][i]: value for i, value in zip(at, values, strict=True)}


def test_every_line_of_a_chart_is_a_metric_in_the_charts_unit_and_nearly_every_metric_is_drawn() -> None:
    for chart in CHARTS:
        assert len({metric.unit for metric in chart.metrics}) == 1, chart.title
        assert all(metric.formula and metric.healthy for metric in chart.metrics)
        assert len(chart.help) == len(chart.lines)
    not_drawn = {metric.name for metric in METRICS} - set(list_charted_metrics("points"))
    assert not_drawn == {"rollouts", "tokens", "elapsed_s"}, "the axes, and what never changes"
    assert len({chart.title for chart in CHARTS}) == len(CHARTS)
    assert set(TILES) <= BY_NAME.keys()


def test_charts_come_in_their_groups_and_those_with_nothing_to_draw_are_hidden(project: Project, long: Run) -> None:
    old = run_of(project, [0.5] * 3)
    assert [group for group, _ in group_charts(old)] == list(get_args(Group))
    titles = {chart.title for _, members in group_charts(old) for _, chart, has_data in members if has_data}
    assert titles == {"Reward", "Failed calls", "Step time"}
    assert all(
        has_data for _, members in group_charts(long) for _, chart, has_data in members if chart.source == "points"
    )


def test_a_supervised_run_leads_with_its_loss_and_has_no_tile_without_a_figure(project: Project) -> None:
    run = run_of(project)
    points = [{"loss": 1 / step, "token_accuracy": 0.5, "step_s": 1.0} for step in range(1, 5)]
    Point.objects.bulk_create(Point(run=run, step=step, metrics=one) for step, one in enumerate(points, 1))
    assert [tile.metric.name for tile in tiles(run) if tile.now is not None] == ["loss", "token_accuracy", "step_s"]


def test_the_page_of_a_long_run_asks_few_questions_and_draws_from_one_snapshot(
    long: Run, victors: Client, django_assert_max_num_queries: DjangoAssertNumQueries
) -> None:
    with django_assert_max_num_queries(40):
        page = victors.get(long.get_absolute_url())
    assert page.status_code == 200 and len(page.content) < 250_000
    url = reverse("run-points", args=[*long.project.path, long.number])
    with django_assert_max_num_queries(12):
        sent = victors.get(url)
    assert len(sent.content) < 400_000
    assert sent.json()["points"]["axes"]["tokens"][-1] == STEPS * 1000
    assert TOOLS not in sent.json()["points"]["series"] and "slices" not in sent.json()["held_out"]["series"]


@given(
    st.lists(st.one_of(st.none(), st.floats(-10, 10)), min_size=1, max_size=400),
    st.integers(3, 200),
    st.tuples(st.integers(0, 400), st.integers(0, 400)).map(sorted),
)
def test_the_answer_of_a_series_is_true_and_no_longer_than_requested(
    values: list[float | None], most: int, ends: list[int]
) -> None:
    rows = [(step, {} if value is None else {"kl": value}) for step, value in enumerate(values, 1)]
    answer = columns(rows, ["kl"], most, *ends)
    expected = {step: one["kl"] for step, one in rows if one and ends[0] <= step <= ends[1]}
    found = by_step(answer, "kl") if answer["series"] else {}
    assert len(found) == min(most, len(expected)) or len(expected) > most >= len(found)
    assert found.items() <= expected.items()
    assert answer["thinned"] == (len(expected) > most)
    if most >= 10 and expected:
        assert {max(found.values()), min(found.values())} == {max(expected.values()), min(expected.values())}


def test_zooming_in_shows_the_true_values(project: Project, victors: Client) -> None:
    run, values = run_of(project), [(step * 7919 % 1009) / 3 for step in range(1, 5_001)]
    Point.objects.bulk_create(Point(run=run, step=step, metrics={"kl": kl}) for step, kl in enumerate(values, 1))
    full = snapshot(run)["points"]
    assert full["thinned"] and len(by_step(full, "kl")) == MOST
    part = ask(run, victors, names="kl", **{"from": 2_000, "to": 2_099}).json()
    assert part["series"]["kl"] == values[1_999:2_099] and not part["thinned"]
    few = ask(run, victors, names="kl", points=50).json()
    assert len(by_step(few, "kl")) == 50 and max(by_step(few, "kl").values()) == max(values)


def test_tokens_are_counted_from_the_start_of_the_run_and_not_of_the_range(long: Run, victors: Client) -> None:
    part = ask(long, victors, names="reward", **{"from": 101, "to": 102}).json()
    assert part["axes"] == {"tokens": [101_000, 102_000], "time": [202.0, 204.0]}


@pytest.mark.parametrize(
    ("query", "says"),
    [
        ({"names": "reward\nloss"}, "names must be comma-separated metric names"),
        ({"names": "reward;drop"}, "names must be comma-separated metric names"),
        ({"from": "x"}, "from must be a whole number"),
        ({"to": "-1"}, "to must be a whole number"),
        ({"points": "1"}, "points must be from 3 to 100,000"),
        ({"source": "secrets"}, "source must be one of points, held_out"),
    ],
)
def test_an_invalid_query_gets_the_valid_values(query: dict[str, str], says: str, long: Run, victors: Client) -> None:
    answer = ask(long, victors, **query)
    assert answer.status_code == 400 and answer.json()["error"].startswith(says)


def test_what_a_run_never_logged_is_left_out_of_the_answer(long: Run, victors: Client) -> None:
    answer = ask(long, victors, names="reward,never_heard_of").json()
    assert answer["series"].keys() == {"reward"}
    assert ask(long, victors, source="held_out").json()["series"].keys() == {"reward", "success"}


def test_tools_are_counted_over_the_run_and_compared_over_its_tenths(long: Run) -> None:
    found = {tool.tool: tool for tool in tools_of(long)}
    learned = found["transfer_money"]
    assert (learned.server, learned.calls, learned.failures) == ("banking", 3_500, 1_750)
    assert (learned.first, learned.newest, learned.change) == (1.0, 0.0, -1.0)
    assert found["(malformed)"].server == "" and found["list_accounts"].share == 0


def test_the_table_of_tools_is_sorted_by_its_address_and_comes_alone_to_htmx(long: Run, victors: Client) -> None:
    url = reverse("run-tools", args=[*long.project.path, long.number])
    for sort in ("tool", "-calls", "-failures", "share", "change", "nonsense"):
        page = victors.get(url, {"sort": sort})
        assert page.status_code == 200 and "<html" in page.content.decode()
    names = re.findall(r"<code>(\S+)</code>", victors.get(url, {"sort": "-calls"}).content.decode())
    assert names == ["transfer_money", "list_accounts", "(malformed)"]
    part = victors.get(url, headers={"HX-Request": "true"}).content.decode()
    assert "<html" not in part and "100.0 %" in part
    assert sort_tools(tools_of(long), "change")[0].tool == "transfer_money"


def test_the_tools_that_fail_most_lead_to_more_data_about_them(
    long: Run, mary: User, victors: Client, as_user: Callable[[User], Client]
) -> None:
    url = reverse("run-tools", args=[*long.project.path, long.number])
    new = reverse("dataset-new", args=long.project.path)
    page = as_user(mary).get(url).text
    assert f'href="{new}?tools=transfer_money"' in page and 'value="list_accounts" form="more-data"' in page
    assert new not in victors.get(url).text


def test_runs_that_did_not_count_their_tools_say_so(project: Project, victors: Client) -> None:
    for run, says in ((run_of(project, [0.5]), "does not log calls"), (run_of(project), "after the first step")):
        assert says in victors.get(reverse("run-tools", args=[*project.path, run.number])).content.decode()


def test_while_a_run_trains_its_slices_are_the_first_look_against_the_newest(long: Run, victors: Client) -> None:
    servers, lengths, knobs = cuts(long)
    assert [cut.title for cut in (servers, lengths, knobs)] == [
        "By server", "By chain length", "By difficulty knob"
    ]  # fmt: skip
    [one] = servers.slices
    assert (one.name, one.reward, one.change, one.low) == ("banking", (0.0, 1.0), 1.0, None)
    assert not servers.intervals and "first held-out evaluation" in victors.get(long.get_absolute_url()).text


def test_a_finished_run_shows_its_slices_with_intervals_successes_and_pass_hat(
    project: Project, victors: Client
) -> None:
    run = run_of(project, [0.5], state=State.DONE, result={**RESULT, "slices": [slice_of("all", "all"), *SLICES]})
    servers, lengths, paths, knobs = cuts(run)
    assert servers.intervals and servers.passed
    [one, few] = servers.slices
    assert (one.change, one.low, one.high, few.low) == (0.25, 0.1, 0.4, None)
    assert one.zero_x < one.low_x < one.x < one.low_x + one.width
    assert [each.heading for each in knobs.slices] == ["Distractors", "", "Kind"]
    assert [each.name for each in lengths.slices] == ["Abstention", "2 steps"]
    assert [each.name for each in paths.slices] == ["2 steps", "4 steps or more"]
    text = victors.get(run.get_absolute_url()).content.decode()
    assert "Chain success, sampled: 40 held-out conversations" in " ".join(text.split())
    assert "20.0 % → 40.0 %" in visible_text(text) and "+20.0 points" in text and "+10.0 to +30.0 points" in text
    assert "pass^4" in text and "+0.10 to +0.40" in text and "Final state reached" in text
    assert ">Goal success</th>" not in text and not servers.goals, "it was not measured"


def test_a_finished_run_shows_goal_success_beside_success_and_what_was_done_by_right_act(
    project: Project, victors: Client
) -> None:
    goals = {"goal_success": [0.3, 0.6], "act_accuracy": [0.7, 0.9]}
    lines = [one | {mode: one[mode] | goals for mode in ("sampled", "greedy")} for one in SLICES[:2]]
    overall = slice_of("all", "all")
    overall |= {"sampled": overall["sampled"] | goals}
    acts = [[[9, 0, 1], [2, 0, 0], [0, 0, 5]], [[10, 0, 0], [0, 2, 0], [0, 0, 5]]]
    result = {**RESULT, "slices": [overall, *lines, SLICES[2]], "sampled": {**RESULT["sampled"], "acts": acts}}
    run = run_of(project, [0.5], state=State.DONE, result=result)
    servers, lengths = cuts(run)
    assert [one.goals for one in (*servers.slices, *lengths.slices)] == [(0.3, 0.6), (0.3, 0.6), None]
    text = visible_text(victors.get(run.get_absolute_url()).content.decode())
    assert "Goal success 30.0 % → 60.0 %" in text.replace("30 %", "30.0 %").replace("60 %", "60.0 %")
    assert "Expected act Called Asked Text Call 9 → 10 0 → 0 1 → 0 Ask 2 → 0 0 → 2 0 → 0" in text


def test_slices_of_looks_show_goal_success_where_both_looks_have_it(project: Project) -> None:
    run = run_of(project, [0.5])
    old, new = (["server", "banking", 8, 0.5, 0.5, *goal] for goal in ([0.25], [0.75]))
    for step, line in ((0, old), (1, new)):
        HeldOut.objects.create(run=run, step=step, metrics={"reward": 0.5, "slices": [line]})
    assert cuts(run)[0].slices[0].goals == (0.25, 0.75)
    HeldOut.objects.create(run=run, step=2, metrics={"reward": 0.5, "slices": [old[:5]]})
    assert cuts(run)[0].slices[0].goals is None


def visible_text(page: str) -> str:
    return " ".join(re.sub(r"<[^>]+>", " ", page).split())


def slice_of(by: str, name: str, examples: int = 40) -> dict[str, Any]:
    numbers = {"before": [0.5] * 6 + [0.2], "after": [0.75] * 6 + [0.4]}
    gains = {"reward": [0.25, 0.1, 0.4], "success": [0.2, 0.1, 0.3]}
    if examples < 10:
        gains = {name: [values[0], None, None] for name, values in gains.items()}  # type: ignore[list-item,misc]
    mode = {**numbers, **gains, "pass_1": [0.2, 0.4], "pass_4": [0.1, 0.2]}
    return {"by": by, "name": name, "examples": examples, "sampled": mode, "greedy": mode}


SLICES = [
    *(slice_of("server", "banking"), slice_of("server", "maps", 4), slice_of("length", "0"), slice_of("length", "2")),
    *(
        slice_of("path", "2"),
        slice_of("path", "4"),
        slice_of("distractors", "none"),
        slice_of("distractors", "some"),
        slice_of("kind", "chain"),
    ),
]
RESULT = json.loads(json.dumps(RESULT)) | {"sampled": {**RESULT["sampled"], "state": [0.5, 0.6]}}  # type: ignore[dict-item]
