"""Splits and mixes: what they guarantee for any data, on drawn items and on real conversations."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from training_worker.core.trajectory import Example
from training_worker.datasets import dataset_folder
from training_worker.datasets.dataset_split import BY, divide, hash_to_fraction
from training_worker.datasets.files import write_streamed
from training_worker.datasets.items import Item, contents_of, flag_leaks, item_of
from training_worker.datasets.mixture import counts, mix
from training_worker.datasets.rollout_dataset import DatasetRollout, messages_of
from training_worker.environment.episode import oracle

words = st.text("abcdefgh", min_size=1, max_size=2)
items = st.lists(
    st.builds(
        Item,
        contents=words,
        world=st.sampled_from(["", "1", "2", "3", "4"]),
        identifiers=st.frozensets(words, max_size=3),
        held_out=st.booleans(),
    ),
    max_size=12,
)
shares, seeds = st.floats(0, 1), st.integers(0, 99)


@pytest.fixture(scope="module")
def some(examples: tuple[Example, ...]) -> list[Example]:
    return list(examples[:60])


@given(items, shares, st.sampled_from(BY), seeds)
def test_a_split_never_has_anything_on_both_sides(found: list[Item], share: float, by: str, seed: int) -> None:
    sides = divide(found, share, by, seed)
    train, held_out = (
        [item for item, side in zip(found, sides, strict=True) if side == one] for one in ("train", "held_out")
    )
    for read in (lambda one: {one.contents}, lambda one: {one.world} - {""}, lambda one: set(one.identifiers)):
        assert not set().union(*map(read, train)) & set().union(*map(read, held_out))


@given(items, shares, st.sampled_from(BY), seeds)
def test_what_is_held_out_stays_so_and_a_split_is_decided_by_its_seed(
    found: list[Item], share: float, by: str, seed: int
) -> None:
    sides = divide(found, share, by, seed)
    assert sides == divide(found, share, by, seed)
    assert all(side == "held_out" for item, side in zip(found, sides, strict=True) if item.held_out)


@given(items, shares, shares, seeds)
def test_a_larger_share_holds_out_all_that_a_smaller_one_does(
    found: list[Item], one: float, other: float, seed: int
) -> None:
    small, large = (divide(found, share, "world", seed) for share in sorted((one, other)))
    assert all(then == "held_out" for now, then in zip(small, large, strict=True) if now == "held_out")


def test_about_the_requested_share_is_held_out() -> None:
    held = sum(hash_to_fraction(str(world), 7) < 0.2 for world in range(5_000)) / 5_000
    assert 0.18 < held < 0.22


def test_real_conversations_of_a_held_out_world_share_no_identifier_with_training(some: list[Example]) -> None:
    found = [item_of(example) for example in some]
    sides = divide(found, 0.3, "world", 1)
    train, held = ([i for i, s in zip(found, sides, strict=True) if s == one] for one in ("train", "held_out"))
    assert train and held and any(item.identifiers for item in held)
    assert not set().union(*(i.identifiers for i in train)) & set().union(*(i.identifiers for i in held))


sets = st.lists(st.lists(words, max_size=20), min_size=1, max_size=4)


@given(sets, st.data(), seeds)
def test_a_mix_takes_nothing_twice_and_the_same_seed_takes_the_same(
    found: list[list[str]], data: st.DataObject, seed: int
) -> None:
    weights = data.draw(st.lists(st.floats(0, 10), min_size=len(found), max_size=len(found)))
    mixed = mix(found, weights, seed)
    taken = [found[which][place] for which, place in mixed.taken]
    assert len(taken) == len(set(taken)) and mixed == mix(found, weights, seed)
    distinct = len({one for contents in found for one in contents})
    assert sum(mixed.duplicates) == sum(map(len, found)) - distinct
    places = [pair for pair in mixed.taken if pair[0] == 0]
    assert places == sorted(places), "a set keeps its order"


@pytest.mark.parametrize(
    ("sizes", "weights", "most", "expected"),
    [
        ([100, 100], [1, 1], None, [100, 100]),
        ([100, 100], [1, 0.5], None, [100, 50]),
        ([10, 1000], [1, 1], None, [10, 10]),
        ([100, 100], [3, 1], 40, [30, 10]),
        ([100, 0], [1, 1], None, [100, 0]),
        ([100, 50], [0, 1], None, [0, 50]),
        ([0, 0], [1, 1], None, [0, 0]),
    ],
)
def test_counts_are_in_proportion_and_as_large_as_they_can_be(
    sizes: list[int], weights: list[float], most: int | None, expected: list[int]
) -> None:
    assert counts(sizes, weights, most) == expected


@pytest.mark.parametrize("weight", [5e-324, 1e-310, 1.0, 1e300])
def test_only_the_proportion_of_weights_counts_however_small_they_are(weight: float) -> None:
    assert counts([4, 8], [weight, weight]) == [4, 4]
    assert counts([4, 8], [weight, weight], 6) == [3, 3]
    assert counts([4, 8, 0], [weight, 0.0, 1e308]) == [4, 0, 0]


def test_contents_are_the_same_under_another_id_and_on_another_side(some: list[Example]) -> None:
    one = some[0]
    assert contents_of(one) == contents_of(replace(one, id="other", split="held_out"))
    assert contents_of(one) != contents_of(replace(one, turns=("Another.",)))
    assert flag_leaks([item_of(one)], [item_of(replace(one, id="other"))]) == [True]


def test_files_are_those_that_a_recipe_writes_and_hold_what_they_say(tmp_path: Path, some: list[Example]) -> None:
    sides = [replace(one, split="held_out" if at % 5 == 0 else "train") for at, one in enumerate(some)]
    made = write_streamed(tmp_path / "a", "made", {}, sides, {"why": 2, "none": 0}, servers="x")

    def split_of(split: str) -> tuple[list[Example], dataset_folder.DrawCounts]:
        return [one for one in sides if one.split == split], dataset_folder.DrawCounts(drawn=0, dropped={})

    known = dataset_folder.write(tmp_path / "b", "made", {}, 0, "x", split_of, "")
    assert made.content == known.content and dataset_folder.list_changed_files(tmp_path / "a", made) == []
    assert made.splits["train"].dropped == {"why": 2}
    assert made.splits["train"].drawn == made.splits["train"].conversations + 2


def test_an_attempt_in_the_chat_format_has_its_calls_as_tool_calls(some: list[Example]) -> None:
    example = next(one for one in some if len(one.steps) > 1)
    attempt = oracle(example)
    messages = messages_of(example, attempt)
    made = [call["function"] for message in messages for call in message.get("tool_calls", ())]
    assert [(call["name"], call["arguments"]) for call in made] == [
        (one.call.name, one.call.arguments) for one in attempt.calls
    ]
    ids = [call["id"] for message in messages for call in message.get("tool_calls", ())]
    assert [message["tool_call_id"] for message in messages if message["role"] == "tool"] == ids
    assert json.dumps(DatasetRollout(id="a", example=example, rollout=attempt).origin) == "{}"
