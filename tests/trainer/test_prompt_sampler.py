"""Which examples a run draws: rounds, pools and chain lengths, and how it resumes in the middle of any of them."""

from __future__ import annotations

import json
from collections import Counter
from dataclasses import replace
from pathlib import Path

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from training_worker.config.grpo import GRPORun
from training_worker.core.trajectory import Example, Rollout, Step, ToolCall, UnreadableData
from training_worker.reward.success import is_success
from training_worker.training.prompt_sampler import ALL_BY, OFTENER, PromptSampler

from .double import Bank, example

CALL = Step((ToolCall("get_balance", {"account_id": "A"}),), 0, ("{}",))
RUN = GRPORun(policy=Path("policy"), data=Path("nowhere/train.jsonl"), out=Path("out"))
MANY = [
    replace(example(seed), id=f"e{seed}", steps=(CALL,) * (seed % 4), edges=()) for seed in range(24)
]  # chains of none to three steps
SETTINGS = st.fixed_dictionaries(
    {"difficulty": st.sampled_from(["off", "pools"]), "curriculum": st.sampled_from(["off", "length"])}
)


def sampler_with(**settings: object) -> PromptSampler:
    return PromptSampler(replace(RUN, **settings), MANY, lambda one: True)  # type: ignore[arg-type]


def ids(examples: list[Example]) -> list[str]:
    return [one.id for one in examples]


def test_every_example_is_drawn_once_a_round() -> None:
    sampler = sampler_with()
    for _ in range(3):
        assert sorted(ids(sampler.draw(24))) == sorted(ids(MANY))


@given(SETTINGS, st.integers(0, 9), st.lists(st.integers(1, 6), min_size=1, max_size=8), st.integers(0, 7))
def test_it_goes_on_in_the_middle_as_if_nothing_had_been(
    settings: dict[str, object], seed: int, counts: list[int], cut: int
) -> None:
    uninterrupted, first = sampler_with(**settings, seed=seed), sampler_with(**settings, seed=seed)
    wanted, found = [], []
    for turn, count in enumerate(counts):
        share = turn / len(counts)
        if turn == cut:
            state = json.loads(json.dumps(first.state()))
            first = sampler_with(**settings, seed=seed)
            first.restore(state)
        for one, drawn in ((uninterrupted, wanted), (first, found)):
            some = one.draw(count, share)
            one.learn([(example.id, len(example.id) % 2) for example in some])
            drawn += ids(some)
    assert found == wanted


def test_short_chains_come_first_and_all_lengths_by_the_middle_of_the_run() -> None:
    for difficulty in ("off", "pools"):
        early = sampler_with(curriculum="length", difficulty=difficulty)
        lengths = [
            {len(one.steps) for _ in range(20) for one in early.draw(6, share)} for share in (0, ALL_BY / 2, ALL_BY)
        ]
        assert lengths == [{0, 1}, {0, 1, 2}, {0, 1, 2, 3}]


def test_what_is_sometimes_solved_is_drawn_oftener_and_nothing_is_forgotten() -> None:
    pools = sampler_with(difficulty="pools")
    pools.learn([(one.id, (0.0, 0.5, 1.0)[i % 3]) for i, one in enumerate(MANY)])
    assert pools.pools() == {"hard_examples": 8, "middle_examples": 8, "easy_examples": 8}
    drawn = Counter(one.id for _ in range(600) for one in pools.draw(2))
    middle = sum(count for id, count in drawn.items() if int(id[1:]) % 3 == 1)
    share = OFTENER / (OFTENER + 2)
    assert middle / 1200 == pytest.approx(share, abs=0.05) and len(drawn) == len(MANY)


def test_a_pass_rate_that_is_measured_again_keeps_half_of_what_it_was() -> None:
    pools = sampler_with(difficulty="pools")
    for rate in (1.0, 0.0, 1.0):
        pools.learn([("e1", rate)])
    assert pools.rates == {"e1": 0.75}


def test_pass_rates_that_lie_beside_the_data_are_where_it_begins(tmp_path: Path) -> None:
    (tmp_path / "pass_rates.json").write_text('{"e1": 1, "e2": 0}')
    begun = sampler_with(difficulty="pools", data=tmp_path / "train.jsonl")
    assert begun.rates == {"e1": 1.0, "e2": 0.0}
    (tmp_path / "pass_rates.json").write_text("[1]")
    with pytest.raises(UnreadableData, match="not a JSON object of ids and pass rates"):
        sampler_with(difficulty="pools", data=tmp_path / "train.jsonl")


@pytest.mark.parametrize("difficulty", ["off", "pools"])
def test_what_is_too_long_is_never_drawn_and_looked_at_once(difficulty: str) -> None:
    looked = Counter[str]()

    def fits(one: Example) -> bool:
        looked[one.id] += 1
        return one.id in ("e3", "e5")

    some = PromptSampler(replace(RUN, difficulty=difficulty), MANY, fits)  # type: ignore[arg-type]
    assert {one.id for _ in range(9) for one in some.draw(3)} == {"e3", "e5"}
    assert set(looked.values()) == {1}


@pytest.mark.parametrize("difficulty", ["off", "pools"])
def test_data_without_a_prompt_that_is_short_enough_are_refused(difficulty: str) -> None:
    with pytest.raises(ValueError, match="no training example of at most 1024 prompt tokens"):
        PromptSampler(replace(RUN, difficulty=difficulty), MANY, lambda one: False).draw(1)  # type: ignore[arg-type]


def played(one: Example, texts: list[str]) -> Rollout:
    bank = Bank(one)
    for text in texts:
        bank.answer(text)
    return bank.finish()


def is_solved(rollout: Rollout) -> bool:
    return rollout.reward is not None and is_success(rollout.reward)


def test_a_rollout_succeeds_when_all_is_done_and_nothing_else() -> None:
    find = '<tool_call>\n{"name": "find_account", "arguments": {"name": "Viktor Sato"}}\n</tool_call>'
    tell = '<tool_call>\n{"name": "get_balance", "arguments": {"account_id": "ACC-1037"}}\n</tool_call>'
    assert is_solved(played(example(1), [find, "It is.", tell]))
    assert not is_solved(played(example(1), [find] * 9 + [tell]))
    assert not is_solved(played(example(1), [find, "It is."])) and not is_solved(played(example(1), [tell, find]))
    assert is_solved(played(example(0), ["I cannot."])) and not is_solved(played(example(0), [find]))


def test_a_run_of_before_goes_on_in_the_rounds_that_it_had_which_left_out_first_what_does_not_fit() -> None:
    generator = torch.Generator().manual_seed(7)
    fitting = [one for one in MANY if one.world.seed % 3]
    rounds = [torch.randperm(len(fitting), generator=generator).tolist() for _ in range(2)]
    wanted = [fitting[i].id for each in rounds for i in each]

    def begun() -> PromptSampler:
        return PromptSampler(replace(RUN, seed=7), MANY, lambda one: bool(one.world.seed % 3))

    old = begun()
    old.narrow()
    assert ids(old.draw(5)) == wanted[:5]
    later = begun()
    later.restore(json.loads(json.dumps(old.state())))
    assert ids(later.draw(len(wanted) - 5)) == wanted[5:]
