"""Rollouts as they are stored, scored again: what changes, and what is refused."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

import pytest

from training_worker.core.trajectory import Example, Reward, Rollout, UnreadableData, file_digest, write_lines
from training_worker.environment.episode import Attempt, StaleExample, oracle
from training_worker.environment.reward_replay import Comparison, UnknownExample, rescore
from training_worker.reward import PAPER, PRESETS, reward_of
from training_worker.store.rollout_files import data_of, examples_in, files_of, rollouts_in


def idle(example: Example) -> Rollout:
    return Attempt(example).finish()


def by_id(*examples: Example) -> dict[str, Example]:
    return {example.id: example for example in examples}


@pytest.mark.parametrize("config", PRESETS.values(), ids=PRESETS)
def test_a_rollout_scored_again_earns_what_it_would_have_earned(examples: tuple[Example, ...], config: object) -> None:
    for example in examples[:10]:
        live = Attempt(example, reward=config)
        rollout = live.finish()
        assert list(rescore(by_id(example), [rollout, oracle(example)], config)) == [
            rollout.reward, reward_of(example, oracle(example), config),
        ]  # fmt: skip


def test_a_rollout_that_failed_for_no_fault_of_the_policy_has_no_reward_under_any(two_turns: Example) -> None:
    attempt = Attempt(two_turns)
    attempt.fail("infrastructure", "gone")
    assert list(rescore({}, [attempt.finish()], PAPER)) == [None]


def test_an_example_that_the_data_set_lacks_is_named(two_turns: Example) -> None:
    with pytest.raises(UnknownExample, match=rf"no example {two_turns.id}.*--data"):
        list(rescore({}, [idle(two_turns)], PAPER))


def test_a_world_of_other_code_is_refused_only_where_the_reward_needs_it(two_turns: Example) -> None:
    for other in (
        replace(two_turns, fingerprint="0"),
        replace(two_turns, world=replace(two_turns.world, servers=("x",))),
    ):
        assert list(rescore(by_id(other), [idle(two_turns)], PAPER))
        with pytest.raises(StaleExample, match="Use the reward form paper or graduated"):
            list(rescore(by_id(other), [idle(two_turns)], PRESETS["final_state"]))


def test_two_groups_of_one_example_side_by_side_are_two(two_turns: Example) -> None:
    rollouts, found = scored(idle(two_turns), 1.0, 1.0, 0.5, 0.5), Comparison()
    found.add(rollouts, [one.reward for one in rollouts], groups=[1, 1, 2, 2])
    assert (found.groups, found.dead_before, found.pairs) == (2, 2, 0)


def scored(rollout: Rollout, *totals: float | None) -> list[Rollout]:
    return [replace(rollout, reward=None if total is None else Reward(total=total)) for total in totals]


def test_groups_die_come_alive_and_change_their_ranks(chains: list[Example]) -> None:
    one, other = idle(chains[0]), idle(chains[1])
    rollouts = [*scored(one, 0.1, 0.2, 0.3), *scored(other, 0.5, 0.5), *scored(one, 0.1, None), *scored(other, 1, 2)]
    after = [0.3, 0.2, 0.1, 0.4, 0.6, 0.2, None, 1, 1]
    found = Comparison()
    found.add(rollouts, [None if total is None else Reward(total=total) for total in after])
    assert (found.rollouts, found.without_reward, found.groups) == (8, 1, 3)
    assert (found.dead_before, found.dead_after, found.died, found.revived) == (1, 1, 1, 1)
    assert (found.pairs, found.swapped, found.reordered) == (4, 3, 1)
    assert found.before.means()["total"] == pytest.approx(4.7 / 8)
    assert found.after.means()["total"] == pytest.approx(3.8 / 8)


def test_components_are_means_over_the_rollouts_that_have_them(chains: list[Example], abstention: Example) -> None:
    rollouts = [oracle(chains[0]), oracle(abstention)]
    found = Comparison()
    found.add(rollouts, list(rescore(by_id(chains[0], abstention), rollouts, PRESETS["graduated"])))
    assert found.before.means()["coverage"] == 1 and found.after.means()["atomic"] == pytest.approx(1)
    assert found.before.means()["total"] == pytest.approx(2.3 / 2)


@pytest.fixture
def run(tmp_path: Path, chains: list[Example]) -> Path:
    """Return a run's folder with two steps, beside the data set that it trained on, as jobs store them."""
    data, run = tmp_path / "data" / "out", tmp_path / "run" / "out"
    (run / "rollouts").mkdir(parents=True)
    data.mkdir(parents=True)
    write_lines(data / "train.jsonl", chains[:4])
    (run / "run.json").write_text(json.dumps({"data": file_digest(data / "train.jsonl")}), "utf-8")
    for step in (1, 2):
        write_lines(run / "rollouts" / f"step-{step:06d}.jsonl", [oracle(chains[step]), idle(chains[step])])
    return run


def test_a_runs_rollouts_and_its_data_set_are_found(run: Path, chains: list[Example]) -> None:
    files = files_of(run)
    assert files == files_of(run / "rollouts") and [step for step, _ in files] == [1, 2]
    assert files_of(files[1][1]) == [files[1]] and rollouts_in(files[1][1]) == [oracle(chains[2]), idle(chains[2])]
    for path in (run, files[0][1]):
        assert examples_in(data_of([path])) == by_id(*chains[:4])
    assert examples_in(data_of([run]).parent) == by_id(*chains[:4])


def test_another_data_set_in_its_place_is_not_taken_for_it(run: Path, chains: list[Example]) -> None:
    write_lines(data_of([run]), chains[:3])
    with pytest.raises(UnreadableData, match="pass its folder with --data"):
        data_of([run])


def test_what_holds_no_rollouts_or_no_data_set_is_named(tmp_path: Path) -> None:
    for read in (files_of, examples_in):
        with pytest.raises(UnreadableData, match=f"{tmp_path}.*pass"):
            read(tmp_path)


def test_a_file_cut_short_is_named_with_its_line(run: Path) -> None:
    file = files_of(run)[0][1]
    file.write_bytes(file.read_bytes()[:-40])
    with pytest.raises(UnreadableData, match=r"step-000001\.jsonl, line 2: not a valid Rollout.*may be truncated"):
        rollouts_in(file)


@pytest.mark.parametrize("card", ['{"x":', "[1]", "{}", "\ud800"])
def test_a_run_whose_card_is_damaged_asks_for_its_data_set_in_words(card: str, tmp_path: Path) -> None:
    (tmp_path / "run.json").write_bytes(card.encode("utf-8", "surrogatepass"))
    with pytest.raises(UnreadableData, match=r"run\.json is not a run's card: pass the dataset's folder with --data"):
        data_of([tmp_path])
