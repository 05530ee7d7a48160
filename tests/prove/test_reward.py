"""The total reward: the laws every rollout obeys."""

from __future__ import annotations

from dataclasses import replace
from math import ceil

import pytest
from hypothesis import given
from hypothesis import strategies as st

from training_worker.core.trajectory import ExecutedCall, Reward, Step, ToolCall
from training_worker.reward import PAPER, PRESETS, score
from training_worker.reward.efficiency import budget

COMPONENTS = ("validity", "coverage", "efficiency", "name", "arguments")

# Small alphabets, so that random rollouts meet their ground truth half-way rather than never.
names = st.sampled_from(["look", "pay", "tell"])
argument_sets = st.dictionaries(st.sampled_from("abc"), st.integers(0, 2) | st.sampled_from(["x", " x "]), max_size=3)
tool_calls = st.builds(ToolCall, names, argument_sets)
steps_of = st.lists(st.builds(Step, st.lists(tool_calls, min_size=1, max_size=3).map(tuple)), min_size=1, max_size=5)
spelled_badly = st.just(ExecutedCall(ToolCall("", None), 0))
executed = st.builds(ExecutedCall, tool_calls, st.integers(0, 3)) | spelled_badly
rollouts = st.lists(executed, max_size=12)


@st.composite
def tasks(draw: st.DrawFn) -> tuple[list[Step], list[tuple[int, int]]]:
    """Draw ground-truth steps with edges from earlier to later ones."""
    steps = draw(steps_of)
    pairs = [(j, g) for g in range(len(steps)) for j in range(g)]
    return steps, draw(st.lists(st.sampled_from(pairs), unique=True)) if pairs else []


@st.composite
def distinct_tasks(draw: st.DrawFn) -> tuple[list[Step], list[tuple[int, int]]]:
    """Draw a task in which all calls have different arguments, so that each has only one partner."""
    steps, edges = draw(tasks())
    serial = iter(range(100))
    return [Step(tuple(ToolCall(call.name, {"id": next(serial)}) for call in step.calls)) for step in steps], edges


@st.composite
def orders(draw: st.DrawFn) -> tuple[list[Step], list[tuple[int, int]], list[ExecutedCall]]:
    """Draw a distinct task and its calls in some order that respects every edge."""
    steps, edges = draw(distinct_tasks())
    left = {g: list(step.calls) for g, step in enumerate(steps)}
    calls = []
    while any(left.values()):
        ready = [g for g in left if left[g] and not any(left[j] for j, later in edges if later == g)]
        group = left[draw(st.sampled_from(ready))]
        calls.append(ExecutedCall(group.pop(draw(st.integers(0, len(group) - 1))), 3))
    return steps, edges, calls


def oracle(steps: list[Step]) -> list[ExecutedCall]:
    return [ExecutedCall(call, 3) for step in steps for call in step.calls]


@given(tasks())
def test_the_oracle_scores_exactly_the_largest_total(task: tuple[list[Step], list[tuple[int, int]]]) -> None:
    steps, edges = task
    reward = score(steps, edges, oracle(steps))
    assert (reward.total, reward.missed_steps, reward.abstention) == (1.3, (), False)


@given(tasks(), rollouts)
def test_no_rollout_beats_the_oracle_and_every_component_keeps_its_range(
    task: tuple[list[Step], list[tuple[int, int]]], calls: list[ExecutedCall]
) -> None:
    reward = score(*task, calls)
    assert reward.total <= 1.3
    assert reward.efficiency <= 0
    assert all(0 <= getattr(reward, part) <= 1 for part in COMPONENTS if part != "efficiency")
    assert len(calls) > 0 or reward == Reward(total=0.0, missed_steps=tuple(range(len(task[0]))))


@given(tasks(), executed, st.integers(0, 20))
def test_a_call_too_many_never_pays_for_a_perfect_rollout(
    task: tuple[list[Step], list[tuple[int, int]]], spare: ExecutedCall, place: int
) -> None:
    steps, edges = task
    calls = oracle(steps)
    calls.insert(place, spare)
    assert score(steps, edges, calls).total <= 1.3


@given(tasks(), st.integers(0, 2))
def test_repeating_beyond_the_budget_costs_more_with_every_call(
    task: tuple[list[Step], list[tuple[int, int]]], beyond: int
) -> None:
    steps, edges = task
    calls = oracle(steps)
    spare = budget(len(calls), PAPER.beta) - len(calls)
    totals = [score(steps, edges, [*calls, *[calls[-1]] * (spare + extra)]).total for extra in (0, beyond, beyond + 1)]
    assert totals[0] == 1.3
    assert totals[0] >= totals[1] > totals[2]


@given(orders())
def test_any_order_that_respects_the_edges_covers_everything(
    task: tuple[list[Step], list[tuple[int, int]], list[ExecutedCall]],
) -> None:
    assert score(*task).total == 1.3


@given(distinct_tasks())
def test_every_broken_edge_costs_the_step_that_depends(task: tuple[list[Step], list[tuple[int, int]]]) -> None:
    steps, edges = task
    backwards = [ExecutedCall(call, 3) for step in reversed(steps) for call in step.calls]
    dependent = {g for _, g in edges}
    assert score(steps, edges, backwards).coverage == pytest.approx(1 - len(dependent) / len(steps))


@given(tasks(), rollouts)
def test_the_order_of_argument_keys_changes_nothing(
    task: tuple[list[Step], list[tuple[int, int]]], calls: list[ExecutedCall]
) -> None:
    steps, edges = task
    turned = [replace(made, call=backwards(made.call)) for made in calls]
    assert score(steps, edges, turned) == score(steps, edges, calls)
    other = score([Step(tuple(map(backwards, step.calls))) for step in steps], edges, calls)
    assert [getattr(other, part) for part in ("total", *COMPONENTS)] == [
        getattr(score(steps, edges, calls), part) for part in ("total", *COMPONENTS)
    ]


def backwards(call: ToolCall) -> ToolCall:
    return call if call.arguments is None else replace(call, arguments=dict(reversed(call.arguments.items())))


@given(tasks(), rollouts)
def test_the_evidence_adds_up_to_the_components(
    task: tuple[list[Step], list[tuple[int, int]]], calls: list[ExecutedCall]
) -> None:
    steps, edges = task
    reward = score(steps, edges, calls)
    n, n_gt = len(calls), sum(len(step.calls) for step in steps)
    limit = n_gt + ceil(n_gt * 0.5)
    matched = [each for each in reward.evidence if each.step is not None]
    covered = {each.step for each in matched if each.in_order} - {*reward.missed_steps}
    shares = [each.arguments for each in matched if each.arguments is not None]
    assert [each.call for each in reward.evidence] == list(range(n))
    assert len(shares) == len(matched)
    assert [getattr(reward, part) for part in COMPONENTS] == pytest.approx(
        [
            sum(each.level for each in reward.evidence) / 3 / max(n, 1),
            len(covered) / len(steps),
            -0.5 * max(0, n - limit) / limit,
            sum(each.named for each in reward.evidence) / max(n, 1),
            sum(shares) / max(len(shares), 1),
        ]
    )
    for each in matched:
        assert (each.arguments == 1) == (not each.wrong_arguments)


@given(st.lists(executed, min_size=1, max_size=5))
def test_where_nothing_should_be_called_only_silence_pays(calls: list[ExecutedCall]) -> None:
    assert score([], [], []) == Reward(total=1.0, abstention=True)
    for steps in ([], [Step(())]):
        broken = score(steps, [], calls)
        assert (broken.total, broken.abstention, len(broken.evidence)) == (0.0, True, len(calls))


@given(tasks(), rollouts, st.sampled_from(COMPONENTS))
def test_an_ablation_takes_exactly_its_component_out_of_the_total(
    task: tuple[list[Step], list[tuple[int, int]]], calls: list[ExecutedCall], part: str
) -> None:
    full, without = score(*task, calls), score(*task, calls, PRESETS[f"no_{part}"])
    assert without.total == pytest.approx(full.total - getattr(PAPER, part) * getattr(full, part))
    assert replace(without, total=full.total) == full


@given(tasks(), st.integers(1, 3))
def test_the_flat_budget_charges_the_first_excess_call(
    task: tuple[list[Step], list[tuple[int, int]]], extra: int
) -> None:
    steps, edges = task
    calls = oracle(steps)
    flat = score(steps, edges, [*calls, *[calls[0]] * extra], PRESETS["flat_budget"])
    assert flat.efficiency == pytest.approx(-0.5 * extra / len(calls))
