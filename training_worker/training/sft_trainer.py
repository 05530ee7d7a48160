"""Supervised training with TRL's SFTTrainer: the baseline that GRPO is measured against, and a warm-up for it.

We prepare tokens and labels, so that a policy learns from exactly the ids that it will be sampled with; TRL computes
the loss over its own tokens and the update. The data's order depends on the seed alone, and a killed run resumes from
its newest complete checkpoint.
"""

from __future__ import annotations

from contextlib import nullcontext
from pathlib import Path

import torch

from ..config.sft import SupervisedRun
from ..core.trajectory import Example, read_lines
from ..environment.episode import Prompt
from ..policy.malloc import keep_memory
from ..policy.policy_folder import load_policy, save_policy
from .curriculum import Show, shorten_answers
from .demonstrations import demonstrations
from .device import device_of, use_unplanned_attention
from .footprint import require_memory
from .grpo import TrainingResult, silence_libraries
from .grpo_callback import Evaluate, OnEvent
from .run_folder import RunFolder
from .run_identity import identity
from .sft_callback import Loop, NotFinite, NothingToLearn
from .stop_signal import Stop, on_signals

__all__ = ["NotFinite", "NothingToLearn", "SupervisedRun", "train_supervised"]


def train_supervised(
    config: SupervisedRun,
    on_event: OnEvent,
    *,
    stop: Stop | None = None,
    show: Show = Prompt,
    evaluate: Evaluate | None = None,
    evaluate_every: int = 0,
) -> TrainingResult:
    """Train, or resume from the newest complete checkpoint in `config.out`. Events and files are those of GRPO.

    `evaluate` is called with the policy and the step at step 0 (or where the run resumes) and every `evaluate_every`
    steps after it; its time does not count as training. Raises RunMismatch, UnreadablePolicy, TooLarge, SettingsError,
    NothingToLearn and NotFinite.
    """
    silence_libraries()
    keep_memory()
    use_unplanned_attention()
    torch.set_num_threads(config.threads)
    folder = RunFolder(config.out)
    folder.open(identity(config))
    start = folder.newest()
    folder.rewind(start.step if start else 0)
    require_memory(config, device_of(config))
    policy = load_policy(config.policy)
    examples = training_examples(config.data)
    if policy.has_short_answers:
        examples = [shorten_answers(example) for example in examples]
    data = demonstrations(policy.tokenizer, examples, config.longest, show)
    if start:
        on_event({"event": "resumed", "step": start.step, "seconds": start.progress["seconds"]})
    with nullcontext(stop) if stop else on_signals() as stop_requested:
        loop = Loop(config, policy, data, folder, on_event, stop_requested, start)
        loop.evaluate, loop.evaluate_every = evaluate, evaluate_every
        on_event({"event": "planned", "steps": loop.steps})
        ended = loop.run()
    target = config.out / "policy"
    card = {"made_by": "sft", "run": identity(config), "steps": loop.step, "seconds": loop.seconds}
    save_policy(target, loop.model, policy.tokenizer, {**card, "left_out": data.too_long, "from": policy.card})
    on_event({"event": "ended", "step": loop.step, "seconds": loop.seconds, "why": ended})
    return TrainingResult(loop.step, loop.seconds, ended, target)


def training_examples(path: Path) -> list[Example]:
    return [example for example in read_lines(Example, path) if example.split == "train"]
