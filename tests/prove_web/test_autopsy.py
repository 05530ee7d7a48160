"""What went wrong in a run: outcomes by tool, any step narrowed and sorted, and a group as a tree of its calls."""

from __future__ import annotations

import csv
import json
import re
from collections import Counter
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from django.conf import LazySettings
from django.test import Client
from django.urls import reverse
from hypothesis import HealthCheck, given
from hypothesis import settings as hypothesis_settings
from hypothesis import strategies as st
from pytest_django import DjangoAssertNumQueries

from prove_web.accounts.models import Project, User
from prove_web.environments.models import Environment
from prove_web.experiments.models import RolloutGroup, Run
from prove_web.experiments.rollout_index import record_rollouts
from prove_web.experiments.tool_outcomes import (
    Range,
    counts_in,
    filter_lines,
    lines_of,
    list_worst_tools,
    sections,
    sort_lines,
    tenth,
)
from training_worker.core.trajectory import Example, ExecutedCall, Message, Reward, Rollout, ToolCall
from training_worker.environment.outcomes import OUTCOMES, outcomes
from training_worker.store.parquet import write
from training_worker.store.steps import ROWS, SCHEMA, read_short

from .examples import abstention, chain, dataset_of
from .trained import calling, good, keep_old_rollouts, keep_rollouts, run_of, saying

pytestmark = pytest.mark.django_db

SignIn = Callable[[User], Client]
STEP = 4
EVIL = "</td><script>alert(1)</script>"


@pytest.fixture
def victors(victor: User, as_user: SignIn) -> Client:
    return as_user(victor)


@pytest.fixture
def run(project: Project, settings: LazySettings, tmp_path: Path) -> Run:
    settings.PROVE_DATA, settings.PROVE_STORAGE = tmp_path, ""
    data = dataset_of(project, [chain(), abstention()])
    return run_of(project, [0.5] * STEP, dataset=data, config={"group": 4})


def address(run: Run, name: str, *parts: Any) -> str:
    return reverse(name, args=[*run.project.path, run.number, *parts])


def read(client: Client, url: str, status: int = 200, **query: Any) -> str:
    answer = client.get(url, query)
    assert answer.status_code == status
    return answer.content.decode()


def lazy(example: Example) -> Rollout:
    return saying(example, *("Done." for _ in example.turns))


def truth(example: Example) -> list[ToolCall]:
    return [call for step in example.steps for call in step.calls]


def wrong(example: Example) -> Rollout:
    """Make the first call of the ground truth, then a call of an unknown tool."""
    return calling(example, truth(example)[0], ToolCall("no_such_tool", {}))


def backwards(example: Example) -> Rollout:
    return calling(example, *reversed(truth(example)))


def broken(example: Example) -> Rollout:
    return replace(good(example), reward=None, failed_at="environment", error="away", end="infrastructure")


def four(example: Example) -> list[Rollout]:
    return [good(example), lazy(example), wrong(example), backwards(example)]


def tools(example: Example) -> set[str]:
    return {call.name for call in truth(example)}


# what is counted


def test_every_call_and_every_need_is_counted_once(run: Run) -> None:
    idle, useless = good(abstention()), calling(abstention(), truth(chain())[0])
    made = [*four(chain()), idle, useless, broken(abstention()), idle, lazy(chain()), broken(chain())]
    keep_rollouts(run, STEP, made)
    found = counts_in(run, Range(1, STEP))
    scored = [one for one in made if one.reward]
    expected: Counter[tuple[str, str]] = Counter()
    for one in scored:
        names = [call.call.name for call in one.calls]
        for name, word in zip(names, outcomes(one), strict=True):
            expected[name if name != "no_such_tool" else "", word] += 1
        needs = tools(chain()) if one.example == chain().id else set()
        expected.update((name, "untried") for name in needs - set(names))
    counted = {(tool, word): counts[at] for tool, counts in found.items() for at, word in enumerate(OUTCOMES)}
    assert Counter(counted) == expected


def test_a_line_adds_up_and_its_shares_do(run: Run) -> None:
    keep_rollouts(run, STEP, four(chain()))
    for line in filter_lines(lines_of(counts_in(run, Range(1, STEP)), None, ["banking"])):
        assert sum(cell.count for cell in line.cells) == line.chances == line.calls + line.counts[-1]
        assert sum(cell.share or 0 for cell in line.cells) == pytest.approx(1)


COUNTS = st.dictionaries(
    st.sampled_from(["transfer_money", "list_accounts", "create_event", ""]),
    st.lists(st.integers(0, 9), min_size=6, max_size=6),
)
SORTS = st.sampled_from(["", "tool", "-tool", "chances", "-chances", *OUTCOMES, "-untried", "change-order", "nonsense"])


@given(now=COUNTS, before=st.none() | COUNTS, sort=SORTS)
def test_a_server_is_the_sum_of_its_tools_and_no_line_is_lost_by_sorting(now: Any, before: Any, sort: str) -> None:
    lines = lines_of(now, before, ["banking", "calendar"])
    visible = filter_lines(lines, seen=False)
    made = sections(visible, sort)
    assert sorted(line.tool for one in made for line in one.lines) == sorted(line.tool for line in visible)
    for one in made:
        assert one.total.counts == tuple(sum(line.counts[at] for line in one.lines) for at in range(6))
    values = [line.get_cell("state").share for line in sort_lines(visible, "-state")]
    known = [value for value in values if value is not None]
    assert known == sorted(known, reverse=True) and values[: len(known)] == known
    assert set(list_worst_tools(visible, 3)) <= {line.tool for line in visible if line.lacking}


@given(st.integers(1, 400), st.integers(0, 400))
def test_the_tenths_lie_within_the_run_and_are_as_long(first: int, more: int) -> None:
    every = Range(first, first + more)
    begin, end = tenth(every), tenth(every, last=True)
    assert begin.first == every.first and end.last == every.last
    assert begin.last - begin.first == end.last - end.first and every.first <= end.first


# the heat map


def test_the_map_names_each_outcome_and_leads_to_its_rollouts(run: Run, victors: Client) -> None:
    keep_rollouts(run, STEP, four(chain()))
    text = read(victors, address(run, "run-outcomes"))
    assert "Column definitions" in text and 'role="grid"' in text
    found = re.findall(r'<a href="([^"]+)" data-description title="([^"]+)"', text)
    assert found
    for where, title in found:
        page = victors.get(where.replace("&amp;", "&"))
        assert page.context["results"], where
        tool, outcome = re.match(r"(\S+), ([\w ]+): (\d+) of", title).group(1, 2)
        if outcome == "not called":
            assert all(tool not in hit.tools for hit in page.context["results"])
        else:
            assert all(tool in hit.tools for hit in page.context["results"])


def test_ranges_are_compared_and_limited_to_the_run(run: Run, victors: Client) -> None:
    keep_rollouts(run, 1, [lazy(chain())] * 4)
    keep_rollouts(run, 4, [good(chain())] * 4)
    url, tool = address(run, "run-outcomes"), truth(chain())[0].name
    query = {"from": 4, "to": 99, "against_from": 0, "against_to": 1}
    page = victors.get(url, query)
    assert page.context["steps"] == Range(4, 4) and page.context["against"] == Range(1, 1)
    [line] = [line for one in page.context["sections"] for line in one.lines if line.tool == tool]
    assert line.get_cell("succeeded").change == 1.0 and line.get_cell("untried").change == -1.0
    for odd in (
        {"from": "x"},
        {"to": "9" * 30},
        {"against_from": "-1"},
        {"from": 9, "to": 2},
        {"sort": "x", "q": EVIL},
    ):
        assert EVIL not in read(victors, url, **odd)


def test_all_tools_that_are_switched_on_are_there_on_demand(run: Run, victors: Client) -> None:
    keep_rollouts(run, STEP, four(chain()))
    url = address(run, "run-outcomes")
    some, total = victors.get(url).context["matching"], victors.get(url, {"all": 1}).context["matching"]
    assert some < 20 and total == 344  # all tools, and the line of unknown tools
    Environment.objects.create(project=run.project, off=["filesystem"])
    assert victors.get(url, {"all": 1}).context["matching"] == total - 40
    assert victors.get(url, {"all": 1, "server": "banking"}).context["matching"] == 17
    assert "No matching tools in these steps" in read(victors, url, q="zzz")


def test_a_run_without_rollouts_says_so(run: Run, victors: Client) -> None:
    assert "No rollouts are indexed yet" in read(victors, address(run, "run-outcomes"))


def test_failing_tools_lead_to_more_data_for_who_may_make_it(
    run: Run, mary: User, victors: Client, as_user: SignIn
) -> None:
    keep_rollouts(run, STEP, four(chain()))
    new = reverse("dataset-new", args=run.project.path)
    assert f"{new}?tools=" in read(as_user(mary), address(run, "run-outcomes"))
    assert new not in read(victors, address(run, "run-outcomes"))


def test_steps_from_before_outcomes_were_stored_are_counted_when_somebody_looks(run: Run, victors: Client) -> None:
    keep_rollouts(run, STEP, four(chain()))
    expected = counts_in(run, Range(1, STEP))
    stored = [row.rollouts for row in run.groups.all()]
    forget(run)
    assert counts_in(run, Range(1, STEP)) == {}
    assert victors.get(address(run, "run-outcomes")).context["left"] == 0
    assert counts_in(run, Range(1, STEP)) == expected and [row.rollouts for row in run.groups.all()] == stored


def test_a_step_whose_file_is_gone_stays_uncounted_and_the_page_says_so(run: Run, victors: Client) -> None:
    keep_rollouts(run, STEP, four(chain()))
    forget(run)
    (run.job.out / "rollouts" / "step-000004.parquet").unlink()
    assert "1 step of this range is not counted yet" in read(victors, address(run, "run-outcomes"))


def forget(run: Run) -> None:
    """Restore the state of an older worker and site: neither file nor index has outcomes."""
    for row in run.groups.all():
        row.rollouts = {name: values for name, values in row.rollouts.items() if name not in ("outcomes", "untried")}
        row.save()
    run.stored_steps.update(outcomes=None)
    rewrite(run, outcomes=None)


def rewrite(run: Run, **columns: pa.Array | None) -> None:
    """Replace columns of the step's file, or remove them."""
    file = run.job.out / "rollouts" / "step-000004.parquet"
    table = read_short(file, SCHEMA.names)
    for name, values in columns.items():
        at = table.column_names.index(name)
        table = table.remove_column(at) if values is None else table.set_column(at, name, values)
    write(file, table, ROWS)


def test_a_worker_of_before_is_understood(run: Run, victors: Client) -> None:
    lists = {"reward": [1.0], "advantage": [0.0], "end": ["answered"], "failed_calls": [0], "model_tokens": [3]}
    group = {"number": 1, "first": 1, "example": "one", **lists, "tools": [["pay"]]}
    file = {"file": "step-000001.parquet", "digest": "", "bytes": 1, "tokens": "", "tokens_digest": ""}
    record_rollouts(run, {1: {**file, "groups": [group]}})
    assert RolloutGroup.objects.get(run=run).rollouts.keys() == {*lists, "tools"}
    assert run.stored_steps.get().outcomes is None
    assert read(victors, address(run, "run-rollouts"), q="outcome:state")
    assert read(victors, address(run, "run-rollouts"))


def test_an_outcome_belongs_to_a_call_of_the_requested_tool(run: Run, victors: Client) -> None:
    keep_rollouts(run, STEP, four(chain()))
    url, tool = address(run, "run-rollouts"), truth(chain())[0].name

    def found(q: str) -> list[int]:
        return [hit.index for hit in victors.get(url, {"q": q}).context["results"]]

    assert found("outcome:schema") == [3] and found(f"tool:{tool} outcome:schema") == []
    assert found(f"untried:{tool}") == [2] and found("untried:zzz") == []
    assert read(victors, url, 422, q="outcome:nonsense")


# the rollouts of a step


def test_a_step_is_narrowed_and_sorted_by_its_address(run: Run, victors: Client) -> None:
    keep_rollouts(run, STEP, [*four(chain()), *[good(abstention())] * 4])
    url = address(run, "rollouts", STEP)

    def visible(**query: Any) -> list[int]:
        return [member.index for member in victors.get(url, {"view": "list", **query}).context["members"]]

    rewards = {i + 1: one.reward.total for i, one in enumerate([*four(chain()), *[good(abstention())] * 4])}
    assert visible() == list(range(1, 9))
    assert visible(sort="-reward") == sorted(rewards, key=lambda i: (-rewards[i], i))
    assert visible(sort="reward", low=1.0, high=1.0) == [5, 6, 7, 8]
    assert visible(component="coverage", below=0.5, high=0.99)[0] == 2
    assert visible(tool=truth(chain())[0].name) == [1, 3, 4] and visible(outcome="schema") == [3]
    assert visible(end="tokens") == [] and visible(example=abstention().id) == [5, 6, 7, 8]
    groups = victors.get(url, {"outcome": "schema"}).context["groups"]
    assert [[member.index for member in group.visible_members] for group in groups] == [[3]]
    assert len(groups[0].members) == 4


def test_what_cannot_be_read_says_why_and_stays_as_typed(run: Run, victors: Client) -> None:
    keep_rollouts(run, STEP, four(chain()))
    text = read(victors, address(run, "rollouts", STEP), 422, low="much", end="nonsense", high="nan")
    assert 'value="much"' in text and "Enter a number" in text and "Group 1" in text


def test_what_is_filtered_is_exported(run: Run, victors: Client) -> None:
    evil = calling(chain(), ToolCall("=1+1", {}))
    keep_rollouts(run, STEP, [good(chain()), lazy(chain()), evil, broken(chain())])
    where = [address(run, "rollouts-export", STEP, each) for each in ("csv", "jsonl")]

    def got(url: str, **query: Any) -> str:
        return b"".join(victors.get(url, query).streaming_content).decode()

    lines = [json.loads(line) for line in got(where[1], sort="-reward").splitlines()]
    rewards = [line["reward"] for line in lines]
    assert rewards[-1] is None and rewards[:-1] == sorted(rewards[:-1], reverse=True)
    assert lines[0]["tools"] == [call.name for call in truth(chain())]
    rows = list(csv.DictReader(got(where[0], low=0.0, tool="=1+1").splitlines()))
    assert [row["tools"] for row in rows] == ["'=1+1"] and rows[0]["outcomes"] == "schema"
    assert victors.get(address(run, "rollouts-export", STEP, "xml")).status_code == 404
    assert victors.get(address(run, "rollouts-export", 99, "csv")).status_code == 404


def test_a_large_step_costs_as_many_questions_as_a_small_one(
    run: Run, victors: Client, django_assert_max_num_queries: DjangoAssertNumQueries
) -> None:
    keep_rollouts(run, STEP, four(chain()) * 40)
    for url in (
        address(run, "rollouts", STEP),
        f"{address(run, 'rollouts', STEP)}?view=list&sort=-coverage&page=2",
        address(run, "rollout-group", STEP, 7),
        address(run, "run-outcomes"),
    ):
        with django_assert_max_num_queries(14):
            read(victors, url)
    assert len(victors.get(address(run, "rollouts", STEP), {"page": 5}).context["groups"]) == 8


# one group


def test_a_group_shows_where_winners_and_losers_part(run: Run, victors: Client) -> None:
    keep_rollouts(run, STEP, four(chain()))
    page = victors.get(address(run, "rollout-group", STEP, 1))
    assert page.context["parted"].node.depth == 0 and 'id="parting"' in page.text
    assert page.context["members"][0].index == 1
    assert page.context["pair"].parts == 0 and "They diverge at the first call" in page.text
    together = victors.get(address(run, "rollout-group", STEP, 1), {"pair": ["1", "3"]}).context["pair"]
    assert together.parts == 1 and len(together.alike) == 1 and together.rest[0].first


def test_a_call_of_the_tree_leads_to_the_rollouts_through_it(run: Run, victors: Client) -> None:
    keep_rollouts(run, STEP, four(chain()))
    url = address(run, "rollout-group", STEP, 1)
    nodes = {int(one) for one in re.findall(r"node=(\d+)#members", read(victors, url))}
    assert nodes == set(range(1, len(nodes) + 1))
    through = {node: len(victors.get(url, {"node": node}).context["members"]) for node in nodes}
    assert through[1] == 2 and all(0 < count <= 4 for count in through.values())
    part = read(victors, url, node=1, part="members")
    assert "<html" not in part and "2 of 4 rollouts" in part
    for odd in ("0", "999", "x", "-1", "٣"):
        assert len(victors.get(url, {"node": odd, "pair": odd, "by": odd}).context["members"]) == 4


@pytest.mark.parametrize(
    ("made", "says"),
    [
        (lambda: [good(chain())] * 4, "All succeeded"),
        (lambda: [lazy(chain())] * 4, "All failed"),
        (lambda: [wrong(chain())] * 4, "None did everything"),
        (lambda: [good(abstention())] * 4, "All succeeded"),
        (lambda: [calling(abstention(), ToolCall("x", {}))] * 4, "All failed"),
        (lambda: [good(chain()), broken(chain())] * 2, "a reason outside the policy"),
        (lambda: [good(chain())], "A group of one"),
        (lambda: [saying(chain()) for _ in range(4)], "All failed"),
    ],
)
def test_a_group_without_signal_says_why(
    made: Callable[[], list[Rollout]], says: str, run: Run, victors: Client
) -> None:
    keep_rollouts(run, STEP, made())
    assert says in read(victors, address(run, "rollout-group", STEP, 1))
    assert read(victors, address(run, "rollouts", STEP))


def test_a_group_that_is_not_there_or_whose_file_is_gone_says_so(run: Run, victors: Client) -> None:
    keep_rollouts(run, STEP, four(chain()))
    assert victors.get(address(run, "rollout-group", STEP, 2)).status_code == 404
    assert "has not reached step 9" in read(victors, address(run, "rollout-group", 9, 1), 404)


def test_rollouts_of_before_the_store_have_groups_too(run: Run, victors: Client) -> None:
    keep_old_rollouts(run, STEP, four(chain()))
    old = read(victors, address(run, "rollout-group", STEP, 1))
    assert "Winners and losers diverge here" in old
    assert (
        len(victors.get(address(run, "rollouts", STEP), {"view": "list", "outcome": "schema"}).context["members"]) == 1
    )


def test_odd_rewards_and_what_a_model_writes_are_escaped(run: Run, victors: Client) -> None:
    call = ToolCall(EVIL, {EVIL: EVIL, "long": "x" * 60_000, "nested": [EVIL] * 3})
    keep_rollouts(run, STEP, [calling(chain(), call), calling(chain(), call, call), good(chain()), good(chain())])
    rewrite(run, reward=pa.array([0.5, 0.0, float("nan"), float("inf")]))
    for url in (
        address(run, "rollout-group", STEP, 1),
        f"{address(run, 'rollout-group', STEP, 1)}?by=tool&pair=1&pair=2",
        f"{address(run, 'rollouts', STEP)}?view=list",
        address(run, "rollouts", STEP),
    ):
        text = read(victors, url)
        assert "<script>alert" not in text and "alert(1)" in text
        assert not re.search(r">\s*(nan|inf)\s*<", text)


def long(at: int) -> Rollout:
    """Return a rollout of thirty calls that shares the first few with others."""
    made = [
        ExecutedCall(ToolCall("list_accounts", {"at": n, "of": at if n > at % 7 else 0}), 3, "{}") for n in range(30)
    ]
    reward = Reward(total=at / 64, validity=1.0)
    said = (Message("user", "Go."), Message("assistant", "…"))
    return Rollout(example=chain().id, transcript=said, calls=tuple(made), end="answered", reward=reward)


def test_sixty_four_rollouts_of_thirty_calls_are_one_page(run: Run, victors: Client) -> None:
    run.config["group"] = 64
    run.save()
    keep_rollouts(run, STEP, [long(at) for at in range(64)])
    page = victors.get(address(run, "rollout-group", STEP, 1))
    assert page.status_code == 200 and len(page.context["members"]) == 64
    assert len(page.content) < 1_500_000


@pytest.mark.long
@hypothesis_settings(max_examples=25, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(st.lists(st.lists(st.sampled_from("abc"), max_size=4), min_size=1, max_size=6), st.booleans())
def test_every_rollout_ends_in_one_branch_of_the_drawing(run: Run, victors: Client, made: Any, by_tool: bool) -> None:
    run.config["group"] = len(made)
    run.save()
    keep_rollouts(run, STEP, [calling(chain(), *(ToolCall(name, {}) for name in names)) for names in made])
    query = {"by": "tool"} if by_tool else {}
    root = victors.get(address(run, "rollout-group", STEP, 1), query).context["root"]

    def ends(branch: Any, before: tuple[str, ...] = ()) -> list[tuple[int, tuple[str, ...]]]:
        here = (*before, *(call.tool for call in branch.calls))
        found = [(member.index, here) for member in branch.stops]
        assert len(branch.members) == len(branch.stops) + sum(len(way.members) for way in branch.ways)
        return found + [one for way in branch.ways for one in ends(way, here)]

    assert sorted(ends(root)) == [(at, tuple(names)) for at, names in enumerate(made, 1)]
