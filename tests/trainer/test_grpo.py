"""GRPO: invalid groups do not teach, an interrupted run resumes as if nothing had been, and no step is logged twice."""

from __future__ import annotations

import json
import resource
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from torch.nn.utils.rnn import pad_sequence
from transformers import PreTrainedTokenizerFast, Qwen3ForCausalLM

from training_worker.config.grpo import TokenLimits
from training_worker.core.trajectory import Example, Rollout, write_lines
from training_worker.monitoring.metrics import METRICS, TERMS, TOOLS
from training_worker.policy.policy_folder import load_policy, save_policy
from training_worker.rollout.generate import sample
from training_worker.store.folder import step_name, tokens_name
from training_worker.store.steps import read_summaries
from training_worker.store.tokens import read_tokens
from training_worker.training import grpo_trainer
from training_worker.training.grpo import Event, GRPORun, train
from training_worker.training.grpo_trainer import GroupedTrainer, as_batch
from training_worker.training.metrics import batch_metrics
from training_worker.training.run_folder import RunFolder, RunMismatch
from training_worker.training.shared_prefix_logprobs import group_logprobs
from training_worker.training.stop_signal import Stop

from .double import Bank
from .run_output import lines_of, rollouts_in, without_times

LIMITS = TokenLimits(turn=40, completion=160)


@pytest.fixture
def run(
    tmp_path: Path, taught: Qwen3ForCausalLM, tokenizer: PreTrainedTokenizerFast, examples: list[Example]
) -> GRPORun:
    save_policy(tmp_path / "warm", taught, tokenizer, {"made_by": "test"})
    write_lines(tmp_path / "train.jsonl", examples)
    return GRPORun(
        policy=tmp_path / "warm",
        data=tmp_path / "train.jsonl",
        out=tmp_path / "run",
        prompts=2,
        group=4,
        limits=LIMITS,
        max_steps=4,
        checkpoint_every=2,
        threads=1,
    )


class Unplugged(Bank):
    """Infrastructure that fails: no reward, for no fault of the policy."""

    def finish(self) -> Rollout:
        return replace(super().finish(), end="infrastructure", failed_at="infrastructure", reward=None)


def weights(folder: Path) -> torch.Tensor:
    return torch.cat([p.detach().flatten() for p in load_policy(folder).model.parameters()])


def lines(run: GRPORun) -> list[dict[str, Any]]:
    return lines_of(run.out)


SOMETIMES = {"abstention", "kl", *(term.name for term in TERMS)}  # logged by runs, machines or steps that have them
SOMETIMES |= set("token_accuracy epoch gpu_load gpu_memory gpu_memory_peak dropped_groups wasted_rollouts".split())
SOMETIMES |= set("wasted_s easy_examples middle_examples hard_examples goal_success act_accuracy".split())


def rollouts_of(run: GRPORun) -> list[list[Rollout]]:
    return rollouts_in(run.out)


def test_a_run_moves_the_policy_and_tells_every_step(run: GRPORun) -> None:
    events: list[Event] = []
    done = train(run, events.append, attempt=Bank)
    assert (done.step, done.ended, done.policy) == (4, "steps", run.out / "policy")
    assert [line["step"] for line in lines(run)] == [1, 2, 3, 4]
    assert [{"event": "step", **line} for line in lines(run)] == [e for e in events if e["event"] == "step"]
    assert [len(step) for step in rollouts_of(run)] == [8] * 4
    assert not torch.equal(weights(run.policy), weights(done.policy))
    always = {metric.name for metric in METRICS} - SOMETIMES
    assert {"step", TOOLS} | always <= lines(run)[0].keys() <= {"step", TOOLS} | always | SOMETIMES


def test_a_run_that_was_cut_goes_on_as_if_it_had_not_been(run: GRPORun, tmp_path: Path) -> None:
    uninterrupted = replace(run, out=tmp_path / "whole")
    train(uninterrupted, lambda event: None, attempt=Bank)

    class Killed(Exception):
        pass

    def kill(event: Event) -> None:
        if event["event"] == "step" and event["step"] == 3:
            raise Killed

    with pytest.raises(Killed):
        train(run, kill, attempt=Bank)
    assert [line["step"] for line in lines(run)] == [1, 2, 3], "the third step is told, and not in a checkpoint"
    with (run.out / "metrics.jsonl").open("a") as file:
        file.write('{"step": 4, "rew')  # a line that the kill cut short
    train(run, lambda event: None, attempt=Bank)
    assert without_times(lines(run)) == without_times(lines(uninterrupted))
    assert rollouts_of(run) == rollouts_of(uninterrupted)
    assert torch.equal(weights(run.out / "policy"), weights(uninterrupted.out / "policy"))


def test_a_request_to_stop_ends_after_the_step_with_a_checkpoint(run: GRPORun) -> None:
    stop = Stop()
    stopped = train(run, lambda event: stop.request(), attempt=Bank, stop=stop)
    assert (stopped.step, stopped.ended) == (1, "stopped")
    assert train(run, lambda event: None, attempt=Bank).step == 4
    assert [line["step"] for line in lines(run)] == [1, 2, 3, 4]


def test_a_half_written_checkpoint_is_not_gone_on_from(run: GRPORun) -> None:
    train(replace(run, max_steps=2), lambda event: None, attempt=Bank)
    half = run.out / "checkpoints" / "checkpoint-3"
    half.mkdir()
    (half / "model.safetensors").write_bytes(b"half")
    events: list[Event] = []
    train(run, events.append, attempt=Bank)
    assert events[0] == {"event": "resumed", "step": 2, "seconds": pytest.approx(events[0]["seconds"])}
    assert events[-1]["step"] == 4


def test_minutes_count_training_over_all_resumes(run: GRPORun) -> None:
    train(replace(run, max_steps=2), lambda event: None, attempt=Bank)
    spent = lines(run)[-1]["elapsed_s"] / 61  # a little less, or rounding could ask for another step
    done = train(replace(run, minutes=spent), lambda event: None, attempt=Bank)
    assert (done.step, done.ended) == (2, "minutes")
    assert torch.equal(weights(done.policy), weights(run.out / "policy"))


def test_a_folder_of_another_run_is_refused(run: GRPORun) -> None:
    train(replace(run, max_steps=1), lambda event: None, attempt=Bank)
    with pytest.raises(RunMismatch, match="learning_rate"):
        train(replace(run, learning_rate=1.0), lambda event: None, attempt=Bank)


@pytest.mark.long
def test_a_run_that_was_begun_before_there_were_all_settings_goes_on(run: GRPORun) -> None:
    train(replace(run, max_steps=2), lambda event: None, attempt=Bank)
    card = run.out / "run.json"
    known = json.loads(card.read_text())
    del known["limits"]["observation"], known["reward"], known["zero_variance"]
    card.write_text(json.dumps(known))
    assert train(run, lambda event: None, attempt=Bank).step == 4
    with pytest.raises(RunMismatch, match="limits"):
        train(replace(run, limits=replace(LIMITS, turn=39)), lambda event: None, attempt=Bank)


def test_batches_that_are_invalid_leave_the_policy_as_it_was(run: GRPORun) -> None:
    done = train(replace(run, max_steps=2), lambda event: None, attempt=Unplugged)
    assert torch.equal(weights(run.policy), weights(done.policy))
    assert [line["invalid_groups"] for line in lines(run)] == [2, 2]
    assert not any({"reward", "coverage", "success"} & line.keys() for line in lines(run)), "nothing was earned, not 0"


def test_failures_that_are_not_the_policys_say_nothing_of_how_hard_an_example_is(run: GRPORun) -> None:
    train(replace(run, difficulty="pools", max_steps=1), lambda event: None, attempt=Unplugged)
    newest = RunFolder(run.out).newest()
    assert newest and newest.progress["asking"]["rates"] == {}


def test_one_invalid_rollout_silences_its_group_and_no_other(
    taught: Qwen3ForCausalLM, tokenizer: PreTrainedTokenizerFast, examples: list[Example]
) -> None:
    samples = sample(taught, tokenizer, examples[1:3], 4, limits=LIMITS, attempt=Bank)
    samples[1] = replace(samples[1], rollout=replace(samples[1].rollout, end="infrastructure", reward=None))
    batch = as_batch(samples, 4)
    assert batch["total"][:4] == [None] * 4 and None not in batch["total"][4:]
    assert not any(map(any, batch["env_mask"][:4]))
    assert batch["env_mask"][4:] == [
        one.env_mask if one.rollout.end != "tokens" else [0] * len(one.env_mask) for one in samples[4:]
    ]
    assert batch_metrics(samples, 4)["invalid_groups"] == 1


def test_log_probabilities_of_groups_are_those_of_separate_rows(
    taught: Qwen3ForCausalLM, tokenizer: PreTrainedTokenizerFast, examples: list[Example]
) -> None:
    samples = sample(taught, tokenizer, examples[:3], 3, limits=LIMITS, attempt=Bank)
    samples = [samples[i] for i in torch.randperm(9, generator=torch.Generator().manual_seed(0))]
    with torch.no_grad():
        prompts, completions = [one.prompt_ids for one in samples], [one.completion_ids for one in samples]
        spoken = pad_sequence([torch.tensor(one.env_mask) for one in samples], batch_first=True)
        found = group_logprobs(taught, prompts, completions, spoken, temperature=1.0)
        first = spoken * (spoken.cumsum(1) < 6)  # as where only the first choices of a rollout get credit
        parts = group_logprobs(taught, prompts, completions, first, temperature=1.0)
    expected = pad_sequence([torch.tensor(one.logprobs) for one in samples], batch_first=True)
    assert torch.allclose(found, expected, atol=1e-4) and found.abs().sum() > 1
    assert torch.allclose(parts, expected * first, atol=1e-4)


def test_what_is_held_for_the_backward_pass_does_not_grow_with_the_groups(taught: Qwen3ForCausalLM) -> None:
    def held(groups: int) -> int:
        """Bytes of the tensors that a forward pass leaves for the backward pass, but for the model's own."""
        own = {weight.data_ptr() for weight in taught.parameters()}
        sizes: dict[int, int] = {}

        def note(tensor: torch.Tensor) -> torch.Tensor:
            if tensor.data_ptr() not in own:
                sizes[tensor.data_ptr()] = tensor.nbytes
            return tensor

        prompts = [[5 + number, 6, 7] for number in range(groups) for _ in range(4)]
        with torch.autograd.graph.saved_tensors_hooks(note, lambda tensor: tensor):
            ids = torch.tensor([[8, 9, 10, 11]] * len(prompts))
            logprobs = group_logprobs(taught, prompts, ids.tolist(), torch.ones_like(ids), temperature=1.0)
        assert logprobs.requires_grad
        return sum(sizes.values())

    hidden = taught.config.hidden_size * 4 * 4 * 4  # one hidden state of one group: rows, tokens, bytes
    assert held(9) - held(1) < 8 * hidden


@given(st.lists(st.integers(1, 9), min_size=1, max_size=12), st.integers(1, 20))
def test_portions_hold_all_rows_in_order_and_no_more_tokens_than_a_pass_reads(lengths: list[int], most: int) -> None:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(grpo_trainer, "PASS", most)
        made = list(grpo_trainer.portions(range(len(lengths)), lengths))
    assert [row for portion in made for row in portion] == list(range(len(lengths)))
    assert all(len(portion) == 1 or sum(lengths[row] for row in portion) <= most for portion in made)
    starts = [portion[0] for portion in made[1:]]
    assert all(sum(lengths[row] for row in (*before, at)) > most for before, at in zip(made, starts, strict=False))


@pytest.mark.parametrize(
    ("credit", "most"), [("branch", grpo_trainer.PASS), ("rollout", grpo_trainer.PASS), ("rollout", 60)]
)
def test_the_cheaper_update_is_the_one_trl_makes(
    run: GRPORun, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, credit: Any, most: int
) -> None:
    monkeypatch.setattr(grpo_trainer, "PASS", most)
    for seed in range(8):  # what is drawn differs a little from one kind of processor to another
        run = replace(run, max_steps=1, prompts=16, credit=credit, seed=seed, out=tmp_path / f"cheap-{seed}")
        cheap = train(run, lambda event: None, attempt=Bank)
        if 0 < lines(run)[0]["zero_variance"] < 1:
            break
    for name in ("_compute_loss", "_get_per_token_logps_and_entropies"):
        monkeypatch.delattr(GroupedTrainer, name)
    plain = train(replace(run, out=tmp_path / "plain"), lambda event: None, attempt=Bank)
    [ours], [theirs] = lines(run), lines(replace(run, out=tmp_path / "plain"))
    assert 0 < ours["zero_variance"] < 1, "some rollouts are left out of the cheaper update, and some are not"
    assert ours["loss"] == pytest.approx(theirs["loss"], abs=1e-6)
    assert ours["grad_norm"] == pytest.approx(theirs["grad_norm"], rel=1e-4)
    moved, expected = (weights(one.policy) - weights(run.policy) for one in (cheap, plain))
    assert torch.cosine_similarity(moved, expected, 0) > 0.999


def test_a_kl_term_is_logged_and_starts_at_nothing(run: GRPORun) -> None:
    train(replace(run, max_steps=2, beta=0.01, prompts=4), lambda event: None, attempt=Bank)
    first, second = (line["kl"] for line in lines(run))
    assert first == pytest.approx(0, abs=1e-6) and second > 0


def test_a_disk_that_is_full_leaves_the_checkpoint_before(run: GRPORun) -> None:
    """A limit on the size of files stands for the disk: the weights of the second checkpoint no longer fit."""
    train(replace(run, max_steps=2), lambda event: None, attempt=Bank)
    [checkpoint] = (run.out / "checkpoints").glob("checkpoint-*")
    limits = resource.getrlimit(resource.RLIMIT_FSIZE)

    def fill(event: Event) -> None:
        if event["event"] == "step" and event["step"] == 4:
            resource.setrlimit(resource.RLIMIT_FSIZE, (50_000, limits[1]))

    try:
        with pytest.raises(Exception, match=r"(?i)file too large|os error 27|enforce fail"):
            train(run, fill, attempt=Bank)
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, limits)
    newest = RunFolder(run.out).newest()
    assert newest and newest.folder == checkpoint
    assert train(run, lambda event: None, attempt=Bank).step == 4


@pytest.mark.parametrize("scale", ["none", "group", "batch"])
def test_the_advantages_that_are_stored_are_those_that_trl_trains_with(
    scale: Any, run: GRPORun, monkeypatch: pytest.MonkeyPatch
) -> None:
    used: list[float] = []
    loss = GroupedTrainer._compute_loss

    def watched(self: GroupedTrainer, model: Any, inputs: dict[str, Any]) -> Any:
        used.extend(inputs["advantages"].tolist())
        return loss(self, model, inputs)

    monkeypatch.setattr(GroupedTrainer, "_compute_loss", watched)
    train(replace(run, max_steps=1, prompts=4, scale_rewards=scale, credit="rollout"), lambda event: None, attempt=Bank)
    summaries = read_summaries(run.out / "rollouts" / step_name(1))
    assert any(used) and len({one.group for one in summaries}) == 4
    assert sorted(one.advantage or 0.0 for one in summaries) == pytest.approx(sorted(used), abs=1e-5)


@pytest.mark.parametrize("credit", ["branch", "rollout"])
def test_what_each_token_was_trained_with_is_recorded(
    credit: Any, run: GRPORun, monkeypatch: pytest.MonkeyPatch
) -> None:
    used: list[float] = []
    loss = GroupedTrainer._compute_loss

    def watched(self: GroupedTrainer, model: Any, inputs: dict[str, Any]) -> Any:
        advantages = inputs["advantages"].reshape(len(inputs["advantages"]), -1)
        used.extend((advantages * inputs["completion_mask"] * inputs["tool_mask"]).flatten().tolist())
        return loss(self, model, inputs)

    monkeypatch.setattr(GroupedTrainer, "_compute_loss", watched)
    train(replace(run, max_steps=1, prompts=4, credit=credit), lambda event: None, attempt=Bank)
    folder = run.out / "rollouts"
    recorded, summaries = [], read_summaries(folder / step_name(1))
    for one in summaries:
        row = read_tokens(folder / tokens_name(1), one.index)
        assert row
        trained = [token.advantage or 0.0 for token in row.completion]
        recorded += trained
        if credit == "branch":
            assert one.advantage == pytest.approx(sum(trained), abs=1e-4)
        else:
            assert all(value in (0.0, pytest.approx(one.advantage, abs=1e-5)) for value in trained)
    assert any(recorded)
    assert sorted(filter(None, recorded)) == pytest.approx(sorted(filter(None, used)), abs=1e-5)


def test_the_tokens_of_the_last_step_are_stored_as_they_were_sampled(run: GRPORun) -> None:
    events: list[Event] = []
    train(replace(run, max_steps=2), events.append, attempt=Bank)
    folder = run.out / "rollouts"
    assert [file.name for file in folder.glob("tokens-*")] == [tokens_name(2)]
    for index, one in enumerate(read_summaries(folder / step_name(2)), 1):
        row = read_tokens(folder / tokens_name(2), index)
        assert row is not None and len(row.completion) == one.completion_tokens
        assert sum(token.model for token in row.completion) == one.model_tokens
        assert all(token.logprob is not None and token.logprob <= 0 for token in row.completion if token.model)
        assert "".join(token.text for token in row.prompt).count("<|im_start|>") >= 2
    assert [event["step"] for event in events if event["event"] == "rollouts"] == [1, 2]
