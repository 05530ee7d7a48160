"""Supervised runs: the loss falls over a policy's own tokens, and one that was cut goes on as if it had not been."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
import torch
from transformers import PreTrainedTokenizerFast, Qwen3ForCausalLM

from training_worker.config.sft import SupervisedRun
from training_worker.core.trajectory import Example, read_lines, write_lines
from training_worker.policy.policy_folder import SHORT, load_policy, save_policy
from training_worker.training import sft_trainer
from training_worker.training.demonstrations import IGNORED, demonstrations
from training_worker.training.footprint import TooLarge, require_memory
from training_worker.training.run_folder import RunMismatch
from training_worker.training.sft_trainer import NotFinite, NothingToLearn, train_supervised
from training_worker.training.stop_signal import Stop

from .double import Bank

TIMES = {"step_s", "elapsed_s", "tokens_per_s"}
Event = dict[str, Any]


@pytest.fixture
def run(
    tmp_path: Path, model: Qwen3ForCausalLM, tokenizer: PreTrainedTokenizerFast, examples: list[Example]
) -> SupervisedRun:
    save_policy(tmp_path / "start", model, tokenizer, {"made_by": "test"})
    write_lines(tmp_path / "train.jsonl", examples)
    return SupervisedRun(
        policy=tmp_path / "start",
        data=tmp_path / "train.jsonl",
        out=tmp_path / "run",
        batch=4,
        learning_rate=3e-3,
        warmup_steps=2,
        max_steps=6,
        checkpoint_every=2,
        threads=1,
    )


def trained(run: SupervisedRun, on_event: Any = lambda event: None, **more: Any) -> Any:
    return train_supervised(run, on_event, show=Bank, **more)


def weights(folder: Path) -> torch.Tensor:
    return torch.cat([p.detach().flatten() for p in load_policy(folder).model.parameters()])


def lines(run: SupervisedRun) -> list[Event]:
    return [json.loads(line) for line in (run.out / "metrics.jsonl").read_text().splitlines()]


def without_times(lines: list[Event]) -> list[Event]:
    return [{name: value for name, value in line.items() if name not in TIMES} for line in lines]


def test_the_loss_falls_and_every_step_is_logged(run: SupervisedRun) -> None:
    events: list[Event] = []
    done = trained(replace(run, max_steps=20), events.append)
    rows = lines(run)
    assert (done.step, done.ended, done.policy) == (20, "steps", run.out / "policy")
    assert [line["step"] for line in rows] == list(range(1, 21))
    assert [{"event": "step", **line} for line in rows] == [e for e in events if e["event"] == "step"]
    assert rows[-1]["loss"] < 0.8 * rows[0]["loss"] and rows[-1]["token_accuracy"] > rows[0]["token_accuracy"]
    assert {"loss", "token_accuracy", "tokens", "tokens_per_s", "learning_rate", "grad_norm", "epoch"} <= rows[0].keys()
    assert rows[-1]["epoch"] == 2.0, "forty conversations, four a step"
    assert not torch.equal(weights(run.policy), weights(done.policy))


def test_a_run_ends_with_its_epochs(run: SupervisedRun) -> None:
    assert trained(replace(run, epochs=1, batch=10, max_steps=99)).step == 4


def test_only_what_the_policy_says_has_a_label(tokenizer: PreTrainedTokenizerFast, examples: list[Example]) -> None:
    [row] = demonstrations(tokenizer, examples[1:2], 10_000, Bank).build_training_rows()
    spoken = tokenizer.decode([id for id in row["labels"] if id != IGNORED])
    assert "find_account" in spoken and spoken.count(tokenizer.eos_token) == 4
    assert examples[1].turns[0] not in spoken and examples[1].steps[0].observations[0] not in spoken
    assert all(label in (id, IGNORED) for id, label in zip(row["input_ids"], row["labels"], strict=True))


def test_a_run_that_was_cut_goes_on_as_if_it_had_not_been(run: SupervisedRun, tmp_path: Path) -> None:
    uninterrupted = replace(run, out=tmp_path / "whole")
    trained(uninterrupted)

    class Killed(Exception):
        pass

    def kill(event: Event) -> None:
        if event["event"] == "step" and event["step"] == 5:
            raise Killed

    with pytest.raises(Killed):
        trained(run, kill)
    assert [line["step"] for line in lines(run)] == [1, 2, 3, 4, 5], "the fifth is told, and not in a checkpoint"
    trained(run)
    assert without_times(lines(run)) == without_times(lines(uninterrupted))
    assert torch.equal(weights(run.out / "policy"), weights(uninterrupted.out / "policy"))


def test_a_request_to_stop_ends_after_the_step_with_a_checkpoint(run: SupervisedRun) -> None:
    stop = Stop()
    stopped = trained(run, lambda event: stop.request() if event["event"] == "step" else None, stop=stop)
    assert (stopped.step, stopped.ended) == (1, "stopped")
    assert trained(run).step == 6
    assert [line["step"] for line in lines(run)] == [1, 2, 3, 4, 5, 6]


def test_the_policy_is_evaluated_at_the_start_and_every_few_steps(run: SupervisedRun) -> None:
    evaluations: list[tuple[int, bool]] = []
    trained(run, evaluate=lambda model, step: evaluations.append((step, model.training)), evaluate_every=3)
    assert evaluations == [(0, False), (3, False), (6, False)]


def test_a_run_ends_when_what_is_measured_does_not_rise(run: SupervisedRun) -> None:
    rewards = [0.1, 0.3, 0.2, 0.3]
    run = replace(run, patience=2, max_steps=20)
    done = trained(run, evaluate=lambda model, step: rewards[step], evaluate_every=1)
    assert (done.step, done.ended) == (3, "patience")
    assert trained(run, evaluate=lambda model, step: 0.9, evaluate_every=1).step == 3, "and does not go on"


def test_a_loss_that_is_no_number_stops_the_run_and_keeps_the_last_good_checkpoint(
    run: SupervisedRun, examples: list[Example]
) -> None:
    models: list[Qwen3ForCausalLM] = []

    def spoil(event: Event) -> None:
        if event["event"] == "checkpoint":
            torch.nn.init.constant_(models[0].model.norm.weight, torch.nan)

    says = r"The loss of step 3 \(batch 3, epoch 1\) .* Its conversations: .* The checkpoint of step 2 is intact"
    with pytest.raises(NotFinite, match=says) as broke:
        trained(run, spoil, evaluate=lambda model, step: models.append(model), evaluate_every=3)
    named = str(broke.value).split("conversations: ")[1].split(". ")[0].split(", ")
    assert len(set(named)) == 4 and set(named) <= {one.id for one in examples}
    assert [line["step"] for line in lines(run)] == [1, 2]
    assert [folder.name for folder in (run.out / "checkpoints").glob("checkpoint-*")] == ["checkpoint-2"]
    assert trained(run).step == 6, "and it can be gone on from"


def test_adapters_alone_are_trained_and_gone_on_with(run: SupervisedRun, tmp_path: Path) -> None:
    lora = replace(run, lora_rank=2, lora_alpha=4, learning_rate=1e-2, max_steps=4)
    uninterrupted = replace(lora, out=tmp_path / "whole")
    trained(uninterrupted)
    stop = Stop()
    trained(lora, lambda event: stop.request() if event.get("step") == 2 else None, stop=stop)
    assert trained(lora).step == 4
    assert without_times(lines(lora)) == without_times(lines(uninterrupted))
    moved = weights(uninterrupted.out / "policy")
    assert torch.equal(weights(lora.out / "policy"), moved) and not torch.equal(weights(run.policy), moved)
    assert lines(lora)[-1]["loss"] < lines(lora)[0]["loss"]


@pytest.mark.long
def test_a_run_goes_on_from_what_adapters_made_of_a_model(run: SupervisedRun, tmp_path: Path) -> None:
    lora = replace(run, lora_rank=2, lora_alpha=4, learning_rate=1e-2, max_steps=2)
    trained(lora)
    second = replace(lora, policy=run.out / "policy", out=tmp_path / "second", learning_rate=1e-9)
    assert trained(second).step == 2
    moved, still = weights(run.out / "policy"), weights(second.out / "policy")
    assert torch.allclose(still, moved, atol=1e-6) and not torch.allclose(still, weights(run.policy), atol=1e-4)


def test_a_model_that_does_not_fit_is_refused_before_it_is_read(run: SupervisedRun) -> None:
    needed = require_memory(run, "cpu")
    assert (needed.gradients, needed.optimizer, needed.cache) == (needed.weights, 2 * needed.weights, 0)
    with pytest.raises(
        TooLarge, match=r"needs at least [\d.,]+ GB \(weights.*\(lora_rank 8\), or use a smaller model\."
    ):
        trained(replace(run, lora_rank=10**12))


def test_a_checkpoint_is_a_policy_that_another_run_can_start_from(run: SupervisedRun, tmp_path: Path) -> None:
    trained(replace(run, max_steps=2))
    start = run.out / "checkpoints" / "checkpoint-2"
    assert torch.equal(weights(start), weights(run.out / "policy"))
    assert trained(replace(run, policy=start, out=tmp_path / "second", max_steps=1)).step == 1


def test_too_few_conversations_for_a_batch_are_refused(run: SupervisedRun) -> None:
    with pytest.raises(NothingToLearn, match=r"0 training conversations of at most 5 tokens \(40 are longer\)"):
        trained(replace(run, longest=5))


def test_a_folder_of_another_run_is_refused(run: SupervisedRun) -> None:
    trained(replace(run, max_steps=1))
    with pytest.raises(RunMismatch, match="learning_rate"):
        trained(replace(run, learning_rate=1.0))


@pytest.mark.long
def test_the_best_checkpoint_is_written_at_once_and_outlives_the_others(run: SupervisedRun) -> None:
    rewards = {0: 0.9, 3: 0.6, 6: 0.5, 9: 0.4}

    def checkpoints() -> list[str]:
        return sorted(folder.name for folder in (run.out / "checkpoints").glob("checkpoint-*"))

    looks = {"evaluate": lambda model, step: rewards[step], "evaluate_every": 3}
    trained(replace(run, max_steps=7), **looks)
    assert checkpoints() == ["checkpoint-3", "checkpoint-6", "checkpoint-7"], "the start is no checkpoint"
    trained(replace(run, max_steps=9), **looks)
    assert checkpoints() == ["checkpoint-3", "checkpoint-8", "checkpoint-9"], "a run that goes on knows its best"
    rewards[12] = 0.7
    trained(replace(run, max_steps=12), **looks)
    assert checkpoints() == ["checkpoint-10", "checkpoint-12"], "until there is a better one"


def test_a_policy_of_short_answers_trains_on_short_answers_and_so_do_its_children(
    run: SupervisedRun, tokenizer: PreTrainedTokenizerFast, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The test records the answers among the demonstrations that the policy learns from."""
    demonstrated: list[str] = []

    def watched(tokenizer: PreTrainedTokenizerFast, examples: list[Example], *rest: Any) -> Any:
        demonstrated.extend(answer for one in examples for answer in one.answers)
        return demonstrations(tokenizer, examples, *rest)

    monkeypatch.setattr(sft_trainer, "demonstrations", watched)
    examples = [replace(one, acts=("call",) * len(one.answers)) for one in read_lines(Example, run.data)]
    assert any(answer != "All right." for one in examples for answer in one.answers)
    write_lines(run.data, examples)
    start = load_policy(run.policy)
    for card, short in (({}, False), ({"answers": SHORT}, True), ({"from": {"from": {"answers": SHORT}}}, True)):
        demonstrated.clear()
        save_policy(run.policy, start.model, tokenizer, card)
        trained(replace(run, out=run.out.with_name(f"run-{len(str(card))}"), max_steps=1))
        assert (set(demonstrated) == {"All right."}) == short
