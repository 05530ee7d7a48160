"""Every form of the reward on real rollouts: the laws they share, and what is stored of each in JSON."""

from __future__ import annotations

import json
from dataclasses import replace

import pytest

from training_worker.chat.protocol import write_calls
from training_worker.core.trajectory import Example, Reward, Rollout, ToolCall, dumps, loads
from training_worker.environment.episode import Attempt, demonstration, oracle
from training_worker.reward import PAPER, PRESETS, RewardConfig, reward_of, score
from training_worker.reward.state_diff import truth_of

TERMS = {name: RewardConfig(form=name, final_state=0.3, provenance=0.2, repeats=0.1) for name in
         ("paper", "graduated", "trace_state", "final_state")}  # fmt: skip
CONFIGS = {**PRESETS, **{f"{name} with every term": config for name, config in TERMS.items()}}
every = pytest.mark.parametrize("config", CONFIGS.values(), ids=CONFIGS)


Examples = tuple[Example, ...]


def worse(example: Example) -> list[Rollout]:
    """Return real rollouts of an example: idle, babbling, half done, backwards, twice as long, with a made-up value."""
    texts = [message.content for message in demonstration(example) if message.role == "assistant"]
    acts = [text for text in texts if "<tool_call>" in text]
    odd = write_calls([ToolCall(example.candidates[0], {"no_such_parameter": "a value that nobody gave"})])
    plans = [
        [],
        ["Hm."],
        acts[:-1],
        acts[::-1],
        [text for text in texts for _ in (0, 1)],
        [odd, *texts],
        ["<tool_call>{"],
    ]
    return [said(example, plan) for plan in plans]


def said(example: Example, texts: list[str]) -> Rollout:
    attempt = Attempt(example)
    for text in texts:
        if not attempt.over:
            attempt.answer(text)
    return attempt.finish()


@every
def test_the_oracle_earns_the_most_and_nothing_real_earns_more(
    examples: tuple[Example, ...], config: RewardConfig
) -> None:
    for example in examples[:25]:
        most = 1.0 if example.abstains else config.largest
        assert reward_of(example, oracle(example), config).total == pytest.approx(most)
        assert all(reward_of(example, rollout, config).total <= most + 1e-9 for rollout in worse(example))


@every
def test_doing_nothing_earns_less_where_something_is_due(chains: list[Example], config: RewardConfig) -> None:
    """A form that looks at the final state alone can tell only where the ground truth changes it."""
    for example in chains[:25]:
        idle, truth = reward_of(example, said(example, []), config), truth_of(example).still
        if config.form != "final_state" or (truth and truth.signatures):
            assert idle.total < config.largest - 0.2


@every
def test_where_nothing_is_due_every_form_is_abstention(abstention: Example, config: RewardConfig) -> None:
    silent, calling = reward_of(abstention, said(abstention, ["No."]), config), worse(abstention)[5]
    assert (silent.total, silent.abstention, silent.terms, silent.form) == (1.0, True, {}, config.form)
    assert reward_of(abstention, calling, config).total == 0


@every
def test_an_attempt_is_scored_as_configured_and_the_components_stay(
    chains: list[Example], config: RewardConfig
) -> None:
    for example in chains[:5]:
        attempt = Attempt(example, reward=config)
        for step in example.steps[:-1]:
            attempt.answer(write_calls(step.calls))
        rollout = attempt.finish()
        assert rollout.reward == reward_of(example, rollout, config)
        paper = score(example.steps, example.edges, rollout.calls, config)
        assert rollout.reward is not None
        assert replace(rollout.reward, total=paper.total, form="paper", terms={}) == paper
        assert loads(Rollout, dumps(rollout)) == rollout


def test_totals_are_made_of_their_terms_as_the_equations_say(chains: list[Example]) -> None:
    for example in chains[:15]:
        for rollout in worse(example):
            graduated = reward_of(example, rollout, PRESETS["graduated"])
            terms = graduated.terms
            assert graduated.total == pytest.approx(0.5 * terms["atomic"] + 0.5 * terms["orchestration"])
            for tau in (0.0, 0.5, 0.9):
                reward = reward_of(example, rollout, RewardConfig(form="trace_state", tau=tau))
                terms = reward.terms
                earned = tau * terms["trace"] + (1 - tau) * terms["state"]
                assert reward.total == pytest.approx(max(0, earned - terms["surplus"] - terms["unparseable"]))
            final = reward_of(example, rollout, PRESETS["final_state"])
            assert final.total == final.terms["final_state"] == float(terms["state"] == 1)


def test_optional_terms_are_added_to_the_paper_and_cost_nothing_without_weight(chains: list[Example]) -> None:
    config = RewardConfig(final_state=0.3, provenance=0.2, repeats=0.1)
    for example in chains[:15]:
        for rollout in worse(example):
            paper, reward = reward_of(example, rollout), reward_of(example, rollout, config)
            terms = reward.terms
            on_top = 0.3 * terms["final_state"] - 0.2 * (1 - terms["provenance"]) - 0.1 * terms["repeats"]
            assert reward.total == pytest.approx(paper.total + on_top) and not paper.terms


def test_a_rewards_json_says_its_form_and_terms_only_where_they_say_something(chains: list[Example]) -> None:
    rollout = oracle(chains[0])
    paper, final = reward_of(chains[0], rollout), reward_of(chains[0], rollout, PRESETS["final_state"])
    known = [
        "total",
        "validity",
        "coverage",
        "efficiency",
        "name",
        "arguments",
        "abstention",
        "evidence",
        "missed_steps",
    ]
    assert list(json.loads(dumps(paper))) == known
    assert list(json.loads(dumps(final))) == [*known, "form", "terms"]
    assert loads(Reward, dumps(paper)) == paper and loads(Reward, dumps(final)) == final
    assert reward_of(chains[0], rollout, PAPER) == score(chains[0].steps, chains[0].edges, rollout.calls)


def test_a_row_made_in_other_words_may_be_spoken_of_by_its_own_id(chains: list[Example]) -> None:
    """An id follows from the words of the call that made it, so the trace does not require the ground truth's."""
    known = (truth_of(example) for example in chains)
    assert any(truth.still and truth.still.created for truth in known), "some ground truth makes rows"
    for example in chains[:60]:
        truth, config = truth_of(example).still, PRESETS["trace_state"]
        assert truth is not None
        used = {
            value
            for step in example.steps
            for call in step.calls
            for value in (call.arguments or {}).values()
            if isinstance(value, str) and value in truth.created
        }
        if used:
            other = renamed(example, next(iter(used)))
            assert reward_of(example, other, config).terms["trace"] == 1
            return
    pytest.skip("no ground truth here uses a row that it made")


def renamed(example: Example, id: str) -> Rollout:
    """Return the oracle's rollout with one id replaced by another."""
    rollout = oracle(example)
    text = dumps(rollout).replace(id, id[:-4] + "0000")
    return loads(Rollout, text)
