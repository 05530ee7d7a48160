"""The switches of GRPO: each one changes what the policy is updated by, as its definition says."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import replace
from functools import cache
from pathlib import Path
from typing import Any

import pytest
import torch
from transformers import PreTrainedTokenizerFast, Qwen3ForCausalLM

from training_worker.config.grpo import GRPORun, TokenLimits
from training_worker.core.trajectory import Example, Rollout, read_lines, write_lines
from training_worker.policy.models import weights_digest
from training_worker.policy.policy_folder import load_policy, save_policy
from training_worker.rollout.generate import Sample, sample
from training_worker.training.device import SettingsError, train_final_norm_only
from training_worker.training.dynamic_sampling import has_signal
from training_worker.training.grpo import RunBroke, silence_libraries, train, trainer_for
from training_worker.training.grpo import run as run_it
from training_worker.training.grpo_callback import Loop
from training_worker.training.grpo_trainer import Trainer, as_batch
from training_worker.training.reward_components import parts_of
from training_worker.training.rollout_collector import Player
from training_worker.training.run_folder import RunFolder
from training_worker.training.stop_signal import Stop

from .double import Bank
from .run_output import lines_of, rollouts_in, without_times

LIMITS = TokenLimits(turn=40, completion=120)
Step = Callable[..., dict[str, Any]]


class Same(Bank):
    """Every rollout earns the same: there is nothing to learn."""

    def finish(self) -> Rollout:
        rollout = super().finish()
        assert rollout.reward
        return replace(rollout, reward=replace(rollout.reward, total=0.5))


def uneven(example: Example) -> Bank:
    """At every other example there is nothing to learn."""
    return (Same if example.world.seed % 2 else Bank)(example)


@pytest.fixture(scope="module")
def start(
    tmp_path_factory: pytest.TempPathFactory,
    taught: Qwen3ForCausalLM,
    tokenizer: PreTrainedTokenizerFast,
    examples: list[Example],
) -> GRPORun:
    folder = tmp_path_factory.mktemp("switches")
    save_policy(folder / "warm", taught, tokenizer, {"made_by": "test"})
    write_lines(folder / "train.jsonl", examples)
    return GRPORun(
        policy=folder / "warm",
        data=folder / "train.jsonl",
        out=folder / "run",
        prompts=4,
        group=4,
        credit="rollout",
        limits=LIMITS,
        max_steps=1,
        checkpoint_every=1,
        threads=1,
    )


@pytest.fixture
def run(start: GRPORun, tmp_path: Path) -> GRPORun:
    return replace(start, out=tmp_path / "run")


@pytest.fixture(scope="module")
def first(start: GRPORun) -> Step:
    """The metrics of the first step of the run with other settings: its rollouts are the same ones."""

    @cache
    def step(attempt: Any = Bank, **settings: Any) -> dict[str, Any]:
        out = folder_of(start, attempt, settings)
        train(replace(start, out=out, **settings), lambda event: None, attempt=attempt)
        line: dict[str, Any] = json.loads((out / "metrics.jsonl").read_text().splitlines()[0])
        return line

    return step


def folder_of(run: GRPORun, attempt: Any, settings: dict[str, Any]) -> Path:
    named = [attempt.__name__, *(f"{name}={value}" for name, value in settings.items())]
    return run.policy.parent / "-".join(named)


def first_rollouts(run: GRPORun, attempt: Any = Bank, **settings: Any) -> list[Rollout]:
    [step] = rollouts_in(folder_of(run, attempt, settings))
    return step


@pytest.fixture
def samples(run: GRPORun, taught: Qwen3ForCausalLM, tokenizer: PreTrainedTokenizerFast, examples: list[Example]) -> Any:
    """Groups of four, some with a signal and some without."""
    made = sample(taught, tokenizer, examples[:8], 4, limits=LIMITS, attempt=uneven)
    groups = [made[i : i + 4] for i in range(0, 32, 4)]
    assert {has_signal(group, run) for group in groups} == {True, False}
    return made


def ready(run: GRPORun) -> tuple[Trainer, Loop]:
    """TRL's trainer of a run that has not begun."""
    silence_libraries()
    policy, folder = load_policy(run.policy), RunFolder(run.out)
    folder.open({})
    examples = list(read_lines(Example, run.data))
    player = Player(run, policy.tokenizer, examples, Bank, folder)
    loop = Loop(run, player, folder, lambda event: None, Stop())
    return trainer_for(run, policy, loop, folder, "cpu"), loop


def weights(folder: Path) -> torch.Tensor:
    return torch.cat([p.detach().flatten() for p in load_policy(folder).model.parameters()])


def lines(run: GRPORun) -> list[dict[str, Any]]:
    return lines_of(run.out)


def test_dr_grpo_divides_by_the_longest_completion_and_dapo_by_the_tokens_there_are(first: Step, run: GRPORun) -> None:
    dapo, fixed = first(), first(loss="dr_grpo")
    rollouts = first_rollouts(run)
    spoken = sum(rollout.end != "tokens" for rollout in rollouts)
    assert spoken < len(rollouts), "some are truncated, and so not counted"
    tokens = fixed["grad_norm"] / dapo["grad_norm"] * 16 * LIMITS.completion
    assert tokens == pytest.approx(round(tokens), abs=0.05), "the gradients differ by a whole number of tokens"
    assert first(loss="bnpo")["grad_norm"] == pytest.approx(dapo["grad_norm"], rel=1e-3), "one batch, one process"
    assert first(loss="grpo")["grad_norm"] != pytest.approx(dapo["grad_norm"], rel=2e-3)


def test_a_ratio_above_clip_high_is_clipped_and_below_it_is_not(run: GRPORun) -> None:
    def gradient(clip_high: float, ratio: float) -> float:
        trainer, _ = ready(replace(run, clip_high=clip_high, out=run.out / f"{clip_high}-{ratio}"))
        batch = trainer._prepare_inputs([dict(trainer.train_dataset[0]) for _ in range(16)])
        batch["advantages"] = batch["advantages"].abs()  # only for these is the upper bound
        ids = torch.cat([batch["prompt_ids"], batch["completion_ids"]], 1)
        mask = torch.cat([batch["prompt_mask"], batch["completion_mask"]], 1)
        with torch.no_grad():
            said = trainer._get_per_token_logps_and_entropies(
                trainer.model, ids, mask, batch["completion_ids"].shape[1]
            )[0]
        batch["old_per_token_logps"] = said - torch.tensor(ratio).log()
        trainer.compute_loss(trainer.model, batch).backward()
        return float(torch.cat([p.grad.flatten() for p in trainer.model.parameters() if p.grad is not None]).norm())

    assert gradient(0.2, 1.25) == 0 and gradient(0.28, 1.25) > 0 and gradient(0.28, 1.3) == 0


def test_a_dropped_group_counts_neither_in_the_gradient_nor_in_its_denominator(first: Step, run: GRPORun) -> None:
    retained, dropped = first(uneven), first(uneven, zero_variance="drop")
    dead = round(retained["zero_variance"] * 4)
    assert dropped["dropped_groups"] == dead > 0 and dropped["reward"] == retained["reward"]
    assert dropped["grad_norm"] > 1.05 * retained["grad_norm"]


def test_dropped_groups_have_no_token_and_no_reward(samples: list[Sample], run: GRPORun) -> None:
    batch = as_batch(samples, 4, void=lambda members: not has_signal(members, run))
    for i, one in enumerate(samples):
        alive = has_signal(samples[i - i % 4 : i - i % 4 + 4], run)
        assert (batch["total"][i] is not None) == alive
        assert any(batch["env_mask"][i]) == (alive and one.rollout.end != "tokens")


@pytest.mark.long
def test_resampling_asks_further_prompts_until_the_batch_has_signal(first: Step, run: GRPORun) -> None:
    retained, again = first(uneven), first(uneven, zero_variance="resample")
    assert retained["zero_variance"] > 0 and again["dropped_groups"] == 0
    rollouts = first_rollouts(run, uneven, zero_variance="resample")
    assert len(rollouts) == 16 + again["wasted_rollouts"] > 16, "what was sampled in vain is kept and counted"
    assert again["wasted_s"] > 0


def test_resampling_gives_up_after_three_batches_and_leaves_the_policy_as_it_was(run: GRPORun) -> None:
    done = train(replace(run, prompts=2, zero_variance="resample"), lambda event: None, attempt=Same)
    [line] = map(json.loads, (run.out / "metrics.jsonl").read_text().splitlines())
    assert (line["dropped_groups"], line["wasted_rollouts"]) == (2, 4 * 4)
    assert torch.equal(weights(run.policy), weights(done.policy))


def test_truncated_rollouts_are_masked_or_not(samples: list[Sample], first: Step) -> None:
    cut = [i for i, one in enumerate(samples) if one.rollout.end == "tokens"]
    masked, spoken = as_batch(samples, 4), as_batch(samples, 4, mask_truncated=False)
    assert cut and not any(any(masked["env_mask"][i]) for i in cut)
    assert all(spoken["env_mask"][i] == samples[i].env_mask for i in cut) and masked["total"] == spoken["total"]
    assert first(mask_truncated=False)["grad_norm"] != pytest.approx(first()["grad_norm"], rel=1e-3)


def test_components_are_normalised_within_their_group_before_they_are_summed(run: GRPORun) -> None:
    trainer, loop = ready(replace(run, normalise="components"))
    made: list[list[Sample]] = []
    played = loop.player.generate_groups
    loop.player.generate_groups = lambda *given: made.extend(played(*given)) or made  # type: ignore[method-assign]
    found = trainer._generate_and_score_completions([dict(trainer.train_dataset[0]) for _ in range(16)])["advantages"]
    weigh = {"validity": 0.5, "coverage": 0.5, "efficiency": 0.15, "name": 0.2, "arguments": 0.1, "abstention": 1.0}
    wanted = torch.zeros(4, 4)
    for row, group in enumerate(made):
        parts = [parts_of(one.rollout.reward) for one in group]  # type: ignore[arg-type]
        for name in parts[0]:
            values = torch.tensor([part[name] for part in parts])
            wanted[row] += weigh[name] * (values - values.mean()) / (values.std() + 1e-4)
    wanted = wanted.flatten()
    wanted = (wanted - wanted.mean()) / (wanted.std() + 1e-4)
    assert torch.allclose(found, wanted, atol=2e-3) and found.abs().max() > 0.5


@pytest.mark.long
def test_lora_trains_adapters_only_and_its_checkpoints_hold_nothing_else(run: GRPORun) -> None:
    run = replace(run, lora_rank=4, max_steps=2, beta=0.01, learning_rate=1e-2, checkpoint_every=2)
    done = train(run, lambda event: None, attempt=Bank)
    [checkpoint] = (run.out / "checkpoints").glob("checkpoint-*")
    for folder in (checkpoint, done.policy):
        assert (folder / "adapter_model.safetensors").exists() and not (folder / "model.safetensors").exists()
    assert not torch.equal(weights(run.policy), weights(done.policy)), "merged, it is another policy"
    assert weights_digest(done.policy).endswith(f"+{weights_digest(run.policy)}"), "its name tells what it is on"
    kl = [json.loads(line)["kl"] for line in (run.out / "metrics.jsonl").read_text().splitlines()]
    assert kl[0] == pytest.approx(0, abs=1e-6) and kl[1] > 0, "the reference is the policy without its adapter"


def test_the_final_norm_alone_is_trained_and_a_resumed_run_equals_an_unbroken_one(run: GRPORun, tmp_path: Path) -> None:
    run = replace(run, trainable="final_norm", learning_rate=1e-2, max_steps=2)
    unbroken = train(run, lambda event: None, attempt=Bank)
    before, after = (dict(load_policy(one).model.named_parameters()) for one in (run.policy, unbroken.policy))
    assert [name for name in before if not torch.equal(before[name], after[name])] == ["model.norm.weight"]
    resumed = replace(run, out=tmp_path / "resumed")
    for steps in (1, 2):
        trained = train(replace(resumed, max_steps=steps), lambda event: None, attempt=Bank)
    assert torch.equal(weights(trained.policy), weights(unbroken.policy))


def test_a_model_without_a_final_norm_is_refused_by_name_of_the_setting() -> None:
    with pytest.raises(SettingsError, match="set trainable to all"):
        train_final_norm_only(torch.nn.ModuleDict({"base_model": torch.nn.Linear(1, 1)}))


@pytest.mark.parametrize("settings", [{"micro_batch": 4}, {"gradient_checkpointing": True}], ids=str)
def test_what_saves_memory_leaves_the_gradient_as_it_is(first: Step, settings: dict[str, Any]) -> None:
    assert first(**settings)["grad_norm"] == pytest.approx(first()["grad_norm"], rel=2e-3)


def test_bf16_is_the_same_update_with_fewer_digits(first: Step) -> None:
    short, full = first(precision="bf16")["grad_norm"], first()["grad_norm"]
    assert short == pytest.approx(full, rel=0.1) and short != full


def test_a_loss_that_is_not_finite_ends_the_run_and_names_step_and_batch(run: GRPORun) -> None:
    trainer, loop = ready(replace(run, beta=0.01))
    trainer.ref_model.model.norm.weight.data.fill_(torch.nan)
    before = torch.cat([p.detach().flatten() for p in trainer.model.parameters()])
    with pytest.raises(RunBroke, match=r"The loss of step 1 is not finite.*Its batch: bank-.*No checkpoint"):
        run_it(trainer, loop, None)
    assert torch.equal(before, torch.cat([p.detach().flatten() for p in trainer.model.parameters()]))


def test_weights_that_are_not_finite_never_become_a_checkpoint(run: GRPORun) -> None:
    run = replace(run, max_steps=3)

    def spoil(model: Any, step: int) -> None:
        if step == 2:
            model.model.norm.weight.data[0] = torch.nan

    with pytest.raises(RunBroke, match=r"The policy of step 2 .*The checkpoint of step 1 is intact"):
        train(run, lambda event: None, attempt=Bank, evaluate=spoil, evaluate_every=1)
    newest = RunFolder(run.out).newest()
    assert newest and newest.step == 1 and torch.isfinite(weights(run.policy)).all()


def test_a_policy_that_can_no_longer_speak_ends_the_run(run: GRPORun) -> None:
    models: list[Any] = []

    def spoil(event: dict[str, Any]) -> None:
        if event["event"] == "checkpoint":
            models[0].model.norm.weight.data[0] = torch.nan

    with pytest.raises(RunBroke, match=r"The policy of step 2 .*The checkpoint of step 1 is intact"):
        train(
            replace(run, max_steps=3),
            spoil,
            attempt=Bank,
            evaluate=lambda model, step: models.append(model),
            evaluate_every=1,
        )


@pytest.mark.long
def test_patience_ends_a_run_without_gain_and_outlives_a_resume(run: GRPORun) -> None:
    run = replace(run, prompts=2, max_steps=9, patience=2)
    values = {0: 0.5, 1: 0.7, 2: 0.6, 3: 0.7, 4: 0.9}
    stop = Stop()

    def tell(event: dict[str, Any]) -> None:
        if event["event"] == "step" and event["step"] == 2:
            stop.request()

    def measure(model: Any, step: int) -> float:
        return values[step]

    train(run, tell, attempt=Bank, stop=stop, evaluate=measure, evaluate_every=1)
    done = train(run, lambda event: None, attempt=Bank, evaluate=measure, evaluate_every=1)
    assert (done.step, done.ended) == (3, "patience")


class Killed(Exception):
    """What stands for a kill between two checkpoints."""


@pytest.mark.long
def test_a_killed_run_goes_on_with_its_pools_curriculum_resampling_and_adapters(run: GRPORun, tmp_path: Path) -> None:
    run = replace(
        run,
        prompts=2,
        max_steps=4,
        checkpoint_every=2,
        zero_variance="resample",
        difficulty="pools",
        curriculum="length",
        normalise="components",
        lora_rank=4,
        learning_rate=1e-2,
        beta=0.01,
    )
    uninterrupted = replace(run, out=tmp_path / "whole")
    train(uninterrupted, lambda event: None, attempt=uneven)

    def kill(event: dict[str, Any]) -> None:
        if event["event"] == "step" and event["step"] == 3:
            raise Killed

    with pytest.raises(Killed):
        train(run, kill, attempt=uneven)
    train(run, lambda event: None, attempt=uneven)
    ours, theirs = (lines(one) for one in (run, uninterrupted))
    assert without_times(ours) == without_times(theirs)
    assert rollouts_in(run.out) == rollouts_in(uninterrupted.out)
    assert torch.equal(weights(run.out / "policy"), weights(uninterrupted.out / "policy"))
    assert ours[-1]["middle_examples"] < 40, "pass rates were measured on the way"
