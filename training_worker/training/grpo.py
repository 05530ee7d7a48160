"""GRPO on live tool servers: TRL's trainer, our rollouts.

TRL computes advantages, loss and updates; `rollout_func` passes it the sampled tokens unchanged.
"""

from __future__ import annotations

import gc
import logging
import warnings
from contextlib import nullcontext
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import torch
from datasets import Dataset
from transformers import PrinterCallback, ProgressCallback

from ..config.grpo import GRPORun, defaults
from ..core.trajectory import Example, UnreadableData, file_digest, read_lines
from ..policy.malloc import keep_memory
from ..policy.policy_folder import Policy, load_policy, save_policy
from . import distributed
from .device import check_settings, device_of, is_fast, train_final_norm_only, use_unplanned_attention
from .footprint import require_memory, rows_at_once
from .grpo_callback import Ended, Evaluate, Event, Loop, OnEvent
from .grpo_trainer import GroupedTrainer, NotFinite, Trainer, adapter, arguments, column, rewards
from .rollout_collector import Player, Try
from .run_folder import Checkpoint, RunFolder
from .run_identity import identity
from .stop_signal import Stop, on_signals

__all__ = ["Event", "GRPORun", "RunBroke", "TrainingResult", "file_digest", "silence_libraries", "train"]


class RunBroke(UnreadableData):
    """A run that cannot continue; the message says at which step, what was in the batch, and what to do."""


@dataclass(frozen=True)
class TrainingResult:
    """The end of a run: its last step, its training time, why it ended, and the folder of the trained policy."""

    step: int
    seconds: float
    ended: Ended
    policy: Path


def train(
    config: GRPORun,
    on_event: OnEvent,
    *,
    stop: Stop | None = None,
    attempt: Try | None = None,
    evaluate: Evaluate | None = None,
    evaluate_every: int = 0,
) -> TrainingResult:
    """Train, or resume from the newest complete checkpoint in `config.out`.

    `evaluate` is called with the policy and the step at step 0 (or where the run resumes) and every `evaluate_every`
    steps after it. It may return a score, and its time does not count as training. Raises RunMismatch,
    UnreadablePolicy, TooLarge, SettingsError and RunBroke.
    """
    silence_libraries()
    keep_memory()
    use_unplanned_attention()
    torch.set_num_threads(config.threads)
    check_settings(config)
    device = device_of(config)
    folder, start = open_run_folder(config, on_event)
    require_memory(config, device)
    lora = config.lora_rank > 0
    policy = load_policy(config.policy, torch.bfloat16 if lora and config.precision == "bf16" else torch.float32)
    if config.trainable == "final_norm":
        train_final_norm_only(policy.model)
    examples = [one for one in read_lines(Example, config.data) if one.split == "train"]
    gc.freeze()  # imported modules and read data stay, so the garbage collector need not scan them again
    player = Player(config, policy.tokenizer, examples, attempt, folder, rows_at_once(config, device))
    with nullcontext(stop) if stop else on_signals() as stop_requested:
        loop = Loop(config, player, folder, on_event, stop_requested)
        loop.evaluate, loop.evaluate_every = evaluate, evaluate_every
        if start:
            loop.go_on_from(start)
        trainer = trainer_for(config, policy, loop, folder, device)
        ended = run(trainer, loop, start)
    return finish(config, policy, trainer, loop, ended)


def open_run_folder(config: GRPORun, on_event: OnEvent) -> tuple[RunFolder, Checkpoint | None]:
    """Return the run's folder, claimed by the first process, and the checkpoint to resume from. Raises RunMismatch."""
    folder = RunFolder(config.out, lambda event: on_event({"event": "rollouts", **event}))
    if distributed.is_first():
        folder.open(identity(config), defaults())
        start = folder.newest()
        folder.rewind(start.step if start else 0)
    if distributed.count() > 1:
        from accelerate import PartialState

        PartialState(cpu=device_of(config) == "cpu").wait_for_everyone()
    return folder, folder.newest()


def trainer_for(config: GRPORun, policy: Policy, loop: Loop, folder: RunFolder, device: str) -> Trainer:
    """Return TRL's trainer for this policy, on the path that its model and device allow."""
    rows = [{"prompt": [{"role": "user", "content": ""}]}] * (config.max_steps * config.prompts)
    kind = GroupedTrainer if is_fast(config, policy.model, device) else Trainer
    trainer = kind(
        credit=config.credit,
        choices=lambda: loop.player.choices,
        model=policy.model,
        reward_funcs=[column(name) for name in rewards(config)],
        args=arguments(config, folder.checkpoints, device),
        train_dataset=Dataset.from_list(rows),
        processing_class=policy.tokenizer,
        rollout_func=loop.roll_out,
        peft_config=adapter(config),
        callbacks=[loop],
    )
    for callback in (PrinterCallback, ProgressCallback):
        trainer.remove_callback(callback)
    loop.model, loop.vllm = trainer.model, getattr(trainer, "vllm_generation", None)
    return trainer


def run(trainer: Trainer, loop: Loop, start: Checkpoint | None) -> Ended:
    """Train until the run is over or a stop is requested. Raises RunBroke."""
    if (over := loop.find_end_reason()) is None:
        try:
            trainer.train(resume_from_checkpoint=str(start.folder) if start else None)
        except NotFinite as error:
            raise RunBroke(explain_nonfinite_step(error, loop)) from None
        return loop.find_end_reason() or "stopped"
    if start:
        trainer._load_from_checkpoint(str(start.folder))
    return over


def explain_nonfinite_step(error: NotFinite, loop: Loop) -> str:
    checkpoint = loop.folder.newest()
    where = f"The checkpoint of step {checkpoint.step} is intact" if checkpoint else "No checkpoint was written yet"
    examples = loop.player.batch
    batch = ", ".join(examples[:16]) + (f" and {len(examples) - 16} more" if len(examples) > 16 else "")
    return (
        f"The {error.what} of step {error.step} is not finite, so the run stops before it can corrupt a checkpoint. "
        f"Its batch: {batch}. {where}. "
        "Launch the run again with a lower learning rate, a lower max_grad_norm, or precision fp32."
    )


def finish(config: GRPORun, policy: Policy, trainer: Trainer, loop: Loop, ended: Ended) -> TrainingResult:
    """Write the trained policy, or its adapter, next to the run's metrics."""
    target = config.out / "policy"
    card = {
        "made_by": "grpo",
        "run": identity(config),
        "steps": loop.step,
        "seconds": loop.seconds,
        "from": policy.card,
    }
    how: dict[str, Any] = {}
    if distributed.count() > 1:  # all processes have to gather sharded weights
        how["state_dict"] = trainer.accelerator.get_state_dict(trainer.model_wrapped)
    if distributed.is_first():
        save_policy(target, trainer.accelerator.unwrap_model(trainer.model), policy.tokenizer, card, **how)
    loop.on_event({"event": "ended", "step": loop.step, "seconds": loop.seconds, "why": ended})
    return TrainingResult(loop.step, loop.seconds, ended, target)


def silence_libraries() -> None:
    """Silence library messages about deprecations, void groups and stacked adapters."""
    logging.getLogger("trl").setLevel(logging.ERROR)
    warnings.filterwarnings("ignore", category=FutureWarning, module="transformers")
    warnings.filterwarnings("ignore", message="Could not find a config file", module="peft")
