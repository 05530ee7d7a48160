"""The tree of a group's calls: nothing is lost by merging, counts add up, and the mark is where rewards part first."""

from __future__ import annotations

from collections.abc import Iterator
from statistics import fmean

from hypothesis import example, given
from hypothesis import strategies as st

from training_worker.core.trajectory import ToolCall
from training_worker.environment.prefix_tree import (
    EQUAL,
    By,
    Node,
    by_tool,
    first_difference,
    partings,
    tree,
    with_arguments,
)

CALLS = st.builds(
    ToolCall,
    st.sampled_from("abc"),
    st.none() | st.dictionaries(st.sampled_from("xy"), st.sampled_from([1, 1.0, True, "1", [1.0], {}]), max_size=2),
)
GROUPS = st.lists(st.lists(CALLS, max_size=5), max_size=8)
KEYS = st.sampled_from([with_arguments, by_tool])
REWARD = st.none() | st.sampled_from([0.0, 0.5, 1.3, float("nan"), float("inf")])


def paths(node: Node, before: tuple[ToolCall, ...] = ()) -> Iterator[tuple[int, tuple[ToolCall, ...]]]:
    """Yield each rollout with the calls that lead from the root to where it ends."""
    here = before if node.call is None else (*before, node.call)
    for at in node.ending:
        yield at, here
    for child in node.children:
        yield from paths(child, here)


@given(GROUPS, KEYS)
def test_each_rollout_is_one_path_from_the_root_to_where_it_ends(rollouts: list[list[ToolCall]], key: By) -> None:
    found = list(paths(tree(rollouts, key)))
    assert sorted(at for at, _ in found) == list(range(len(rollouts)))
    for at, path in found:
        assert list(map(key, path)) == list(map(key, rollouts[at]))


@given(GROUPS, KEYS)
def test_the_ways_on_share_out_the_rollouts_of_a_node(rollouts: list[list[ToolCall]], key: By) -> None:
    nodes = list(tree(rollouts, key).walk())
    assert [node.number for node in nodes] == list(range(len(nodes)))
    for node in nodes:
        assert sorted(at for way in node.ways for at in way) == sorted(node.through)
        keys = [key(child.call) for child in node.children if child.call]
        assert len(set(keys)) == len(keys) == len(node.children)
        assert all(child.through and child.depth == node.depth + 1 for child in node.children)


@given(st.lists(st.tuples(st.lists(CALLS, max_size=4), REWARD), max_size=8), KEYS)
@example([([], 1.0), ([ToolCall("a", {})], 0.0)], with_arguments)
def test_the_mark_is_the_earliest_fork_whose_ways_differ_with_winners_and_losers_through_it(
    members: list[tuple[list[ToolCall], float | None]], key: By
) -> None:
    rewards = [reward for _, reward in members]
    root = tree([calls for calls, _ in members], key)
    found = partings(root, rewards)
    known = {at: r for at, r in enumerate(rewards) if r is not None and abs(r) < float("inf")}
    mean = fmean(known.values()) if known else 0.0

    def parts(node: Node) -> bool:
        ways = [[known[at] for at in way if at in known] for way in node.ways]
        means = [fmean(way) for way in ways if way]
        through = [known[at] for at in node.through if at in known]
        differ = len(node.ways) > 1 and bool(means) and max(means) - min(means) > EQUAL
        return differ and any(r > mean + EQUAL for r in through) and any(r < mean - EQUAL for r in through)

    assert {one.node.number for one in found} == {node.number for node in root.walk() if parts(node)}
    assert all(0 <= one.share <= 1 for one in found)
    if found:
        assert found[0].node.depth == min(node.depth for node in root.walk() if parts(node))


@given(st.lists(st.lists(CALLS, max_size=4), min_size=1, max_size=8), st.sampled_from([0.7, None, float("nan")]))
def test_a_group_whose_rewards_are_all_the_same_has_no_mark(rollouts: list[list[ToolCall]], same: float | None) -> None:
    assert partings(tree(rollouts), [same] * len(rollouts)) == []


@given(GROUPS)
def test_by_tool_is_never_the_larger_tree(rollouts: list[list[ToolCall]]) -> None:
    assert len(list(tree(rollouts, by_tool).walk())) <= len(list(tree(rollouts).walk()))


@given(st.lists(CALLS, max_size=4), st.lists(CALLS, max_size=4), KEYS)
def test_two_rollouts_part_where_their_paths_do(a: list[ToolCall], b: list[ToolCall], key: By) -> None:
    at = first_difference(a, b, key)
    shared = [node for node in tree([a, b], key).walk() if len(node.through) == 2]
    deepest = max(node.depth for node in shared)
    assert at == (None if len(a) == len(b) == deepest else deepest)
    assert first_difference(b, a, key) == at


def test_order_of_keys_and_the_spelling_of_a_number_are_no_difference() -> None:
    one, other = ToolCall("a", {"x": 1, "y": "ä"}), ToolCall("a", {"y": "ä", "x": 1.0})
    assert first_difference([one], [other]) is None
    assert first_difference([one], [ToolCall("a", {"x": True, "y": "ä"})]) == 0


def test_rollouts_of_many_calls_make_a_tree_all_the_same() -> None:
    long = [[ToolCall("a", {"n": n, "of": at % 2}) for n in range(3_000)] for at in range(4)]
    root = tree(long)
    assert [len(child.through) for child in root.children] == [2, 2]
    assert max(node.depth for node in root.walk()) == 3_000
