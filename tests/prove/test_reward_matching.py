"""The matching: one to one, in ground-truth order, after the predecessors, best values, earliest."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from training_worker.core.trajectory import ExecutedCall, Step, ToolCall
from training_worker.reward.call_matching import MatchResult, match

names = st.sampled_from(["look", "pay"])
argument_sets = st.dictionaries(st.sampled_from("ab"), st.integers(0, 1), max_size=2)
tool_calls = st.builds(ToolCall, names, argument_sets)
steps_of = st.lists(st.builds(Step, st.lists(tool_calls, min_size=1, max_size=2).map(tuple)), min_size=1, max_size=4)
unreadable = st.builds(ToolCall, names, st.none())
rollouts = st.lists(st.builds(ExecutedCall, tool_calls | unreadable, st.integers(0, 3)), max_size=10)
edge_lists = st.lists(st.tuples(st.integers(0, 3), st.integers(0, 3)), max_size=5)


def by_hand(steps: list[Step], edges: list[tuple[int, int]], calls: list[ExecutedCall]) -> list[list[int | None]]:
    """Return the same assignment the slow way: strike out candidates, one preference after the other."""
    chosen: list[list[int | None]] = []
    used: set[int] = set()
    for g, step in enumerate(steps):
        done = [chosen[j] for j, later in edges if later == g and j < g and None not in chosen[j]]
        barriers = [position for positions in done for position in positions if position is not None]
        row: list[int | None] = []
        for truth in step.calls:
            left = [p for p, made in enumerate(calls) if p not in used and carries(made.call, truth)]
            left = [p for p in left if all(p > barrier for barrier in barriers)] or left
            most = max((alike(calls[p].call, truth) for p in left), default=0)
            left = [p for p in left if alike(calls[p].call, truth) == most]
            row.append(left[0] if left else None)
            used.update(left[:1])
        chosen.append(row)
    return chosen


def carries(made: ToolCall, truth: ToolCall) -> bool:
    return made.name == truth.name and made.arguments is not None and set(truth.arguments or {}) <= set(made.arguments)


def alike(made: ToolCall, truth: ToolCall) -> int:
    return sum((made.arguments or {})[key] == value for key, value in (truth.arguments or {}).items())


@given(steps_of, edge_lists, rollouts)
def test_the_matching_is_the_one_found_by_striking_out(
    steps: list[Step], edges: list[tuple[int, int]], calls: list[ExecutedCall]
) -> None:
    edges = [(j, g) for j, g in edges if max(j, g) < len(steps)]
    matching = match(steps, edges, calls)
    expected = by_hand(steps, edges, calls)
    assert [list(row) for row in matching.positions] == [[p for p in row if p is not None] for row in expected]
    assert [matching.is_matched(g) for g in range(len(steps))] == [None not in row for row in expected]


@given(steps_of, rollouts)
def test_no_call_serves_twice_and_none_that_fits_stays_idle_while_a_step_misses_it(
    steps: list[Step], calls: list[ExecutedCall]
) -> None:
    matching = match(steps, [], calls)
    positions = [pair.position for pair in matching.pairs]
    assert len({*positions}) == len(positions)
    idle = [made.call for position, made in enumerate(calls) if position not in positions]
    for g, step in enumerate(steps):
        if not matching.is_matched(g):
            assert any(not any(carries(call, truth) for call in idle) for truth in step.calls)


def pair_up(edges: list[tuple[int, int]], truths: list[list[ToolCall]], made: list[ToolCall]) -> MatchResult:
    return match([Step(tuple(step)) for step in truths], edges, [ExecutedCall(call, 3) for call in made])


def pay(amount: int) -> ToolCall:
    return ToolCall("pay", {"amount": amount})


LOOK = ToolCall("look", {})


def test_coming_after_the_predecessors_outweighs_better_values() -> None:
    matching = pair_up([(0, 1)], [[LOOK], [pay(1)]], [pay(1), LOOK, pay(2)])
    assert matching.positions == ((1,), (2,))
    assert [pair.wrong for pair in matching.pairs] == [(), ("amount",)]


def test_a_call_before_the_predecessor_is_taken_where_there_is_no_other() -> None:
    matching = pair_up([(0, 1)], [[LOOK], [pay(1)]], [pay(2), pay(1), LOOK])
    assert matching.positions == ((2,), (1,))
    assert matching.is_matched(1) and not matching.in_order(1)


def test_a_parallel_step_ends_with_its_last_call_and_begins_with_its_first() -> None:
    steps = [[pay(1), pay(2)], [LOOK]]
    assert pair_up([(0, 1)], steps, [pay(2), pay(1), LOOK]).in_order(1)
    assert not pair_up([(0, 1)], steps, [pay(2), LOOK, pay(1)]).in_order(1)
    assert not pair_up([(1, 0)], steps, [pay(2), LOOK, pay(1)]).in_order(0)


def test_half_a_parallel_step_is_aligned_but_not_matched_and_holds_its_successors_back() -> None:
    matching = pair_up([(0, 1)], [[pay(1), pay(2)], [LOOK]], [pay(1), LOOK])
    assert len(matching.pairs) == 2
    assert not matching.is_matched(0) and matching.is_matched(1) and not matching.in_order(1)


def test_a_malformed_call_matches_nothing() -> None:
    assert pair_up([], [[LOOK]], [ToolCall("look", None)]).pairs == ()


def test_a_step_that_waits_for_itself_is_never_in_order() -> None:
    assert not pair_up([(0, 0)], [[LOOK]], [LOOK]).in_order(0)
