"""Duplicates: the quick filter retains exactly what a comparison of every pair would retain."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from training_worker.core.trajectory import Example, Step, ToolCall, WorldRef
from training_worker.synthesis.dedup import THRESHOLD, distinct, jaccard, signature

thresholds = st.sampled_from([0.3, 0.5, 0.6, 0.7, 0.8, 0.9, 1.0])
groups = st.lists(st.sets(st.integers(0, 12), min_size=1, max_size=12), max_size=25)


def example(calls: set[int], name: str = "look", turn: str = "Look.") -> Example:
    """Return a conversation with these calls, which differ in their arguments."""
    steps = tuple(Step((ToolCall(name, {"at": call}),)) for call in sorted(calls))
    return Example(
        id="x", kind="chain", split="train", world=WorldRef(1, ("banking",)), turns=(turn,), steps=steps, edges=(),
        candidates=(), answers=("Done.",), digests=(), fingerprint="",
    )  # fmt: skip


def by_comparing_all(examples: list[Example], threshold: float) -> list[Example]:
    retained: list[Example] = []
    for one in examples:
        if all(jaccard(signature(one), signature(other)) <= threshold for other in retained):
            retained.append(one)
    return retained


@given(groups, thresholds)
def test_the_filter_keeps_what_comparing_every_pair_keeps(calls: list[set[int]], threshold: float) -> None:
    examples = [example(own) for own in calls]
    assert list(distinct(examples, threshold)) == by_comparing_all(examples, threshold)


@given(groups)
def test_what_is_retained_once_is_retained_again(calls: list[set[int]]) -> None:
    retained = list(distinct(example(own) for own in calls))
    assert list(distinct(retained)) == retained


def test_seven_in_ten_may_be_the_same_and_no_more() -> None:
    """A conversation with a Jaccard similarity of 0.70 is retained; one above is dropped (paper, section 2, step 5)."""
    ten, seven, eight = set(range(10)), set(range(7)), set(range(8))
    assert THRESHOLD == 0.7
    assert len(list(distinct([example(ten), example(seven)]))) == 2
    assert len(list(distinct([example(ten), example(eight)]))) == 1


def test_by_name_alone_far_more_conversations_are_the_same() -> None:
    examples = [example({1}), example({2}), example({3}, name="tell")]
    assert len(list(distinct(examples))) == 3
    assert list(distinct(examples, names_only=True)) == [examples[0], examples[2]]


def test_the_order_of_arguments_and_of_calls_makes_no_difference() -> None:
    def with_calls(*calls: ToolCall) -> Example:
        return Example(**{**vars(example({1})), "steps": tuple(Step((call,)) for call in calls)})

    one, other = ToolCall("pay", {"a": 1, "b": 2}), ToolCall("pay", {"b": 2, "a": 1})
    look = ToolCall("look", {})
    assert signature(with_calls(one, look)) == signature(with_calls(look, other))


def test_abstentions_differ_by_what_the_user_says() -> None:
    examples = [example(set(), turn=turn) for turn in ("Fly.", "Sing.", "Fly.")]
    assert list(distinct(examples)) == examples[:2]
